import { ReasonixError } from "../../../src/core/mod.ts";
import { describeItem, entryItem, type TrustItem, TrustStore } from "../../../src/trust/mod.ts";
import { assertEquals, assertRejects } from "../../support/assert.ts";
import { sandboxDirs } from "../sandbox/support.ts";

const SERVER: TrustItem = {
  kind: "mcp",
  name: "db",
  definition: { command: "node", args: ["server.js"], env: { A: "1", B: "2" } },
  place: { file: ".mcp.json" },
};

Deno.test("TrustStore trusts nothing until the user has decided", async () => {
  await using g = await sandboxDirs();
  const store = new TrustStore({ home: g.home, project: g.ws });
  assertEquals(await store.inspect([SERVER]), { trusted: [], untrusted: [SERVER] });
  const forThisRun = new TrustStore({ home: g.home, project: g.ws, trustAll: true });
  assertEquals([await forThisRun.isTrusted(SERVER), await store.isTrusted(SERVER)], [true, false]);
  assertEquals(await forThisRun.list(), []);
  await store.trust([SERVER], new Date(0));
  assertEquals(await store.inspect([SERVER]), { trusted: [SERVER], untrusted: [] });
  assertEquals(await store.list(), [{
    project: g.ws,
    kind: "mcp",
    name: "db",
    time: "1970-01-01T00:00:00.000Z",
  }]);
});

Deno.test("TrustStore prompts again when anything that would run has changed", async () => {
  await using g = await sandboxDirs();
  const script = `${g.ws}/src/a.ts`;
  const item = { ...SERVER, files: [script] };
  const store = new TrustStore({ home: g.home, project: g.ws });
  await store.trust([item]);
  const reordered = {
    ...item,
    definition: { env: { B: "2", A: "1" }, args: ["server.js"], command: "node" },
  };
  assertEquals((await store.inspect([reordered])).untrusted.length, 0);
  const changes: TrustItem[] = [
    { ...item, name: "other" },
    { ...item, kind: "hook" },
    { ...item, definition: { command: "node", args: ["server.js", "--evil"], env: { A: "1", B: "2" } } },
    { ...item, files: [] },
    { ...item, files: [script, `${g.outside}/secret.txt`] },
    { ...item, files: [`${g.ws}/missing`] },
  ];
  assertEquals((await store.inspect(changes)).untrusted.length, changes.length);
  assertEquals((await new TrustStore({ home: g.home, project: g.outside }).inspect([item])).untrusted, [
    item,
  ]);
  await Deno.writeTextFile(script, "changed");
  assertEquals((await store.inspect([item])).untrusted, [item]);
});

Deno.test("TrustStore keeps decisions of other projects and concurrent sessions", async () => {
  await using g = await sandboxDirs();
  const here = new TrustStore({ home: g.home, project: g.ws });
  const there = new TrustStore({ home: g.home, project: g.outside });
  const items = Array.from({ length: 10 }, (_, index) => ({ ...SERVER, name: `s${index}` }));
  await Promise.all(items.flatMap((item) => [here.trust([item]), there.trust([item])]));
  assertEquals((await here.inspect(items)).trusted.length, 10);
  await here.revoke();
  assertEquals((await here.inspect(items)).trusted.length, 0);
  assertEquals((await there.inspect(items)).trusted.length, 10);
});

Deno.test("TrustStore creates a private file", { ignore: Deno.build.os === "windows" }, async () => {
  await using g = await sandboxDirs();
  await new TrustStore({ home: `${g.base}/fresh`, project: g.ws }).trust([SERVER]);
  assertEquals(((await Deno.stat(`${g.base}/fresh/trust.json`)).mode ?? 0) & 0o777, 0o600);
  assertEquals(((await Deno.stat(`${g.base}/fresh`)).mode ?? 0) & 0o777, 0o700);
});

Deno.test("TrustStore ignores a damaged file and does not overwrite it", async () => {
  await using g = await sandboxDirs();
  await Deno.writeTextFile(`${g.home}/trust.json`, '{"version": 1, "trusted"');
  const store = new TrustStore({ home: g.home, project: g.ws });
  assertEquals((await store.inspect([SERVER])).untrusted, [SERVER]);
  await assertRejects(() => store.trust([SERVER]), ReasonixError, "Cannot save the trust decision");
  assertEquals(await Deno.readTextFile(`${g.home}/trust.json`), '{"version": 1, "trusted"');
});

Deno.test("a decision about an entry is keyed by its canonical text and the project files it names", async () => {
  await using g = await sandboxDirs();
  const written = { name: "s", command: "sh", args: ["src/a.ts", `${g.outside}/secret.txt`] };
  const paths = [`${g.ws}/src/a.ts`, `${g.ws}/src/missing.ts`, `${g.outside}/secret.txt`];
  const reason = "it would run it";
  const item = entryItem(
    { kind: "plugin", name: "s", written, paths, describe: () => ({ reason }) },
    { cwd: g.ws, place: () => ({ file: "reasonix.toml", line: 3 }) },
  );
  const content = `{"args":["src/a.ts","${g.outside}/secret.txt"],"command":"sh","name":"s"}`;
  const hash = await sha256(
    JSON.stringify([g.ws, "plugin", "s", content, [[`${g.ws}/src/a.ts`, await sha256("inside")]]]),
  );
  const record = { project: g.ws, kind: "plugin", name: "s", time: "2026-01-01T00:00:00.000Z" };
  await Deno.writeTextFile(
    `${g.home}/trust.json`,
    JSON.stringify({ version: 1, trusted: { [hash]: record } }),
  );
  const isTrusted = () => new TrustStore({ home: g.home, project: g.ws }).isTrusted(item);
  assertEquals(await isTrusted(), true);
  await Deno.writeTextFile(`${g.outside}/secret.txt`, "changed");
  assertEquals(await isTrusted(), true);
  await Deno.writeTextFile(`${g.ws}/src/missing.ts`, "appeared");
  assertEquals(await isTrusted(), false);
  assertEquals(describeItem(item), ["plugin s  reasonix.toml:3", reason, content]);
});

async function sha256(text: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toHex();
}
