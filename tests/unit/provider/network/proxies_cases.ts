/** Tests that change the environment of their process: run by proxies_test.ts in a separate one. */
import { createProvider } from "../../../../src/provider/mod.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { createRedactor } from "../../../../src/util/redact.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { collect, InstantClock, openClient, providerEntry } from "../../../support/model_client.ts";
import { startModelServer } from "../../../support/model_server.ts";
import { startProxy } from "../../../support/proxy.ts";

const NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((
  name,
) => [name, name.toLowerCase()]);

/** Clients stay open until the program ends. */
function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, sanitizeResources: false, sanitizeOps: false });
}

async function inEnvironment(env: Record<string, string>, run: () => Promise<void>): Promise<void> {
  const before = NAMES.map((name) => [name, Deno.env.get(name)] as const);
  for (const name of NAMES) Deno.env.delete(name);
  for (const [name, value] of Object.entries(env)) Deno.env.set(name, value);
  try {
    await run();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
}

async function ask(url: string, proxy?: string) {
  const entry = { max_attempts: 1, ...(proxy === undefined ? {} : { proxy }) };
  const { text, error } = await collect(await openClient({ url }, { clock: new InstantClock(), entry }));
  return error === undefined ? text : error.message;
}

for (const variable of ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]) {
  test(`a provider on this machine does not go through the proxy of ${variable}`, async () => {
    await using server = startModelServer([{ text: "Hi" }, { text: "Hi" }]);
    await using proxy = startProxy();
    await inEnvironment({ [variable]: `http://127.0.0.1:${proxy.port}` }, async () => {
      assertEquals(await ask(server.url), "Hi");
      assertEquals(await ask(server.url.replace("127.0.0.1", "localhost")), "Hi");
      assertEquals(Deno.env.get("NO_PROXY"), undefined);
      assertEquals(Deno.env.get("no_proxy"), undefined);
    });
    assertEquals(proxy.asked, []);
  });
}

test("a provider uses its own proxy with its password, for any server and any NO_PROXY", async () => {
  await using server = startModelServer([{ text: "one" }, { text: "two" }]);
  await using proxy = startProxy("me:p@ss");
  const address = `http://me:p%40ss@127.0.0.1:${proxy.port}`;
  await inEnvironment({ NO_PROXY: "127.0.0.1,localhost" }, async () => {
    assertEquals(await ask(server.url, address), "one");
    assertEquals(await ask(server.url.replace("127.0.0.1", "model.test"), address), "two");
    assertEquals([Deno.env.get("NO_PROXY"), Deno.env.get("no_proxy")], ["127.0.0.1,localhost", undefined]);
  });
  assertEquals(proxy.asked.length, 2);
});

test('a provider with proxy = "none" goes through none, though the environment has one', async () => {
  await using server = startModelServer([{ text: "Hi" }]);
  await using proxy = startProxy();
  // An address of this machine that nothing takes for one, so that only the setting keeps the proxy out.
  const url = server.url.replace("127.0.0.1", Deno.hostname());
  const hasName = await Deno.connect({ hostname: Deno.hostname(), port: server.port }).then(
    (connection) => (connection.close(), true),
    () => false,
  );
  await inEnvironment({ HTTP_PROXY: `http://127.0.0.1:${proxy.port}` }, async () => {
    const reported = await ask(url, "none");
    if (hasName) assertEquals(reported, "Hi");
  });
  assertEquals(proxy.asked, []);
});

test("a provider without a proxy uses the proxy of the environment", async () => {
  await using server = startModelServer([{ text: "Hi" }]);
  await using proxy = startProxy();
  const script = `
    const { createProvider, parseProvider } = await import(${
    JSON.stringify(import.meta.resolve("../../../../mod.ts"))
  });
    const entry = parseProvider({ name: "p", base_url: Deno.args[0], max_attempts: 1 });
    const provider = await createProvider({ entry, model: "m", version: "1" });
    const request = { prefix: { system: "s", tools: [] }, messages: [{ role: "user", content: "x" }] };
    for await (const chunk of provider.stream(request, new AbortController().signal)) {
      if (chunk.type === "text") console.log(chunk.text);
      if (chunk.type === "error") console.log(chunk.error.message);
    }`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", script, server.url.replace("127.0.0.1", "model.test")],
    cwd: new URL("../../../../", import.meta.url).pathname,
    env: { http_proxy: `http://127.0.0.1:${proxy.port}`, NO_PROXY: "elsewhere.test" },
  }).output();
  assertEquals(new TextDecoder().decode(stdout).trim(), "Hi");
  assertEquals(proxy.asked.length, 1);
});

test("a message about a proxy never contains its password", async () => {
  await using proxy = startProxy("me:right-password");
  const refused = await ask("http://model.test:8/v1", `http://me:wr0ng-password@127.0.0.1:${proxy.port}`);
  assert(/407/.test(refused) && !refused.includes("wr0ng-password"), refused);
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  closed.close();
  const gone = await ask("http://model.test:8/v1", `http://me:wr0ng-password@127.0.0.1:${closed.addr.port}`);
  assert(!gone.includes("wr0ng-password"), gone);
  assertEquals(createRedactor([])("it was wr0ng-password"), "it was [redacted]");
});

for (
  const proxy of ["nonsense", "ftp://127.0.0.1:1", "127.0.0.1:8080", "http://", "http://me:s3cret-word@:80"]
) {
  test(`createProvider refuses ${JSON.stringify(proxy)} as a proxy without repeating it`, async () => {
    const entry = providerEntry({ base_url: "http://127.0.0.1:1/v1", proxy });
    const error = await assertRejects(
      () => createProvider({ entry, model: "m", version: "1" }),
      ReasonixError,
    );
    assertEquals([error.message, error.exit, error.setting], [
      'Cannot use proxy of provider "test": it is not the address of a proxy',
      "config",
      "proxy",
    ]);
  });
}
