import { loadLsp } from "../../../src/lsp/mod.ts";
import { loadProcesses } from "../../../src/tool/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import type { FakeBehaviour } from "../../support/fake_language_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const SERVER = new URL("../../support/fake_language_server.ts", import.meta.url).pathname;

/** A project with one server; `edit` writes a file like a tool and returns the text for its result. */
async function stage(behaviour: FakeBehaviour, { budgetMs = 20_000, limitMs = 20_000 } = {}) {
  const { EditChecks, LanguageServers, serverSpecs } = await loadLsp();
  const { ServerProcess } = await loadProcesses();
  const temp = await makeTempDir();
  const changes: string[] = [];
  const args = ["run", "-A", "--no-config", "--quiet", SERVER, JSON.stringify(behaviour)];
  const entry = { enabled: true, env: {}, language_id: "", root_markers: [], extensions: [".fake"], args };
  const servers = new LanguageServers({
    specs: serverSpecs({ fake: { ...entry, command: "deno", install_hint: "" } }),
    cwd: temp.path,
    find: () => Deno.execPath(),
    spawn: ({ root }, [command = "", ...words]) => {
      const plan = { command, args: words, env: Deno.env.toObject() };
      return Promise.resolve(new ServerProcess(plan, { cwd: root, guard: undefined }));
    },
    changed: ({ server, state, why }) => changes.push([server, state, why ?? ""].join(" ").trim()),
  });
  const shown = (path: string) => path.slice(temp.path.length + 1);
  const checks = new EditChecks({ servers, budgetMs, limitMs, shown });
  const path = `${temp.path}/a.fake`;
  const { signal } = new AbortController();
  return {
    path,
    checks,
    servers,
    changes,
    edit(text: string): Promise<string | undefined> {
      checks.before([path]);
      Deno.writeTextFileSync(path, text);
      return checks.after([{ path, change: "changed" }], signal);
    },
    async [Symbol.asyncDispose]() {
      checks.close();
      await servers.close();
      await temp[Symbol.asyncDispose]();
    },
  };
}

for (const publishes of [false, true]) {
  Deno.test(`an edit reports new errors of a server that ${publishes ? "publishes" : "answers requests"}`, async () => {
    await using s = await stage({ publishes });
    Deno.writeTextFileSync(s.path, "one BAD\ntwo\n");
    assertEquals(await s.edit("zero\none BAD\ntwo\n"), undefined, "it only moved");
    assertEquals(s.servers.states.map(({ name, state }) => `${name} ${state}`), ["fake ready"]);
    assertEquals(
      await s.edit("zero\none BAD\n文字🎉 BAD\n"),
      "New errors after this edit:\na.fake:3:5: error bad: 文字🎉 BAD (fake)",
    );
    assertEquals(await s.edit("zero\none BAD\n文字🎉 BAD\nmore\n"), undefined, "it was reported");
    assertEquals(
      await s.edit("zero\none BAD\n文字🎉 BAD\n文字🎉 BAD\n"),
      "New errors after this edit:\na.fake:4:5: error bad: 文字🎉 BAD (fake)",
    );
  });
}

Deno.test("every error in a new file is new, and at most ten are reported", async () => {
  await using s = await stage({ flood: 1_500, garbage: true });
  const output = await s.edit("x\n") ?? "";
  assertEquals(output.split("\n").length, 12);
  assertStringIncludes(output, "\nand 990 more");
});

Deno.test("a server that hangs uses up the budget once and is stopped after its time limit", async () => {
  await using s = await stage({ hangsOn: "HANG" }, { budgetMs: 50, limitMs: 3_000 });
  Deno.writeTextFileSync(s.path, "one\n");
  assertEquals(await s.edit("HANG\n"), undefined);
  const begun = performance.now();
  for (let edit = 0; edit < 20; edit++) assertEquals(await s.edit(`HANG ${edit}\n`), undefined);
  assert(performance.now() - begun < 1_000, "an edit waits for a server that is behind");
});

Deno.test("late diagnostics are reported with the next result, unless the file has changed", async () => {
  await using s = await stage({}, { budgetMs: 0 });
  Deno.writeTextFileSync(s.path, "one\n");
  assertEquals(await s.edit("one BAD\n"), undefined);
  let late: string | undefined;
  while ((late = s.checks.late()) === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(late, "New errors after an earlier edit:\na.fake:1:5: error bad: one BAD (fake)");
  assertEquals(s.checks.late(), undefined);
});

Deno.test("the final answer waits for checks in progress, up to a limit", async () => {
  const { signal } = new AbortController();
  await using s = await stage({ hangsOn: "HANG" }, { budgetMs: 0 });
  assertEquals(await s.checks.rest(60_000, signal), undefined, "nothing is checked");
  Deno.writeTextFileSync(s.path, "one\n");
  assertEquals(await s.edit("one BAD\n"), undefined);
  assertEquals(
    await s.checks.rest(60_000, signal),
    "New errors after an earlier edit:\na.fake:1:5: error bad: one BAD (fake)",
  );
  assertEquals(await s.edit("HANG\n"), undefined);
  assertEquals(await s.checks.rest(1, signal), undefined);
  const stop = new AbortController();
  const waiting = s.checks.rest(60_000, stop.signal);
  stop.abort();
  await assertRejects(() => waiting, DOMException);
});

Deno.test("a server that crashes repeatedly is not restarted", async () => {
  await using s = await stage({ diesOn: "DIE" });
  for (let edit = 0; edit < 5; edit++) assertEquals(await s.edit(`DIE ${edit}\n`), undefined);
  assertEquals(s.changes.filter((change) => change.startsWith("fake failed")).length, 1);
  assertStringIncludes(s.changes.at(-1) ?? "", "fake failed it ended with exit code 3");
  assertEquals(s.changes.filter((change) => change === "fake starting").length, 3);
  assertStringIncludes(
    s.changes.find((change) => change.startsWith("fake stopped")) ?? "",
    "it ended with exit code 3",
  );
  assertEquals(s.servers.serverFor(s.path), undefined);
  assertEquals(s.servers.states.map(({ state }) => state), ["failed"]);
});

Deno.test("each state of a server is reported once, but not that the session closes", async () => {
  const s = await stage({});
  await s.edit("BAD\n");
  assertEquals(s.changes, ["fake starting", "fake ready"]);
  await s.servers.serverFor(s.path)?.stop();
  assertEquals(s.servers.states.map(({ state }) => state), ["stopped"]);
  await s.edit("BAD BAD\n");
  const all = ["fake starting", "fake ready", "fake stopped", "fake starting", "fake ready"];
  assertEquals(s.changes, all);
  await s[Symbol.asyncDispose]();
  assertEquals(s.changes, all);
});
