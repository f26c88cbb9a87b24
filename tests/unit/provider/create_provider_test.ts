import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { PROVIDER_KINDS } from "../../../src/provider/kinds.ts";
import { createProvider, listModels } from "../../../src/provider/create_provider.ts";
import { collect, openClient, providerEntry } from "../../support/model_client.ts";
import { startModelServer } from "../../support/model_server.ts";

Deno.test("createProvider describes the model from price and sizes of the entry", async () => {
  const describe = async (fields: Record<string, unknown>) => {
    const entry = providerEntry({ base_url: "http://127.0.0.1:1", ...fields });
    return (await createProvider({ entry, model: "v4", version: "1" })).model;
  };
  const full = await describe({
    name: "deepseek",
    context_window: 1000,
    max_output_tokens: 50,
    vision: true,
    price: { input: 2, output: 8, cache_hit: 0.5 },
  });
  assertEquals(full, {
    provider: "deepseek",
    id: "v4",
    contextWindow: 1000,
    effort: {},
    outputLimit: 50,
    maxOutputTokens: 50,
    vision: true,
    price: { input: 2, cachedInput: 0.5, output: 8, currency: "USD" },
  });
  assertEquals((await describe({ price: { input: 2, output: 8 } })).price?.cachedInput, 2);
});

Deno.test("createProvider lists the known kinds when the kind is unknown", async () => {
  for (const kind of ["telepathy", "constructor"]) {
    const options = { entry: providerEntry({ kind }), model: "m", version: "1" };
    const error = await assertRejects(() => createProvider(options), ReasonixError, kind);
    assertEquals([error.exit, error.remedy], [
      "config",
      `set kind to one of ${Object.keys(PROVIDER_KINDS).join(", ")}`,
    ]);
  }
});

Deno.test("createProvider rejects a base_url that is not a web address", async () => {
  for (const base_url of ["", "localhost:8080", "ftp://x/"]) {
    const options = { entry: providerEntry({ base_url }), model: "m", version: "1" };
    const error = await assertRejects(() => createProvider(options), ReasonixError, "no usable base_url");
    assertEquals(error.exit, "config");
  }
});

Deno.test("createProvider sends key, user agent and configured headers with every request", async () => {
  await using server = startModelServer([{ text: "ok" }, { text: "ok" }]);
  const entry = { headers: { "X-Team": "blue", "User-Agent": "mine" } };
  await collect(await openClient(server, { apiKey: "secret", entry }));
  await collect(await openClient(server));
  const [keyed, bare] = server.requests.map((request) => request.headers);
  assertEquals(
    [keyed?.get("authorization"), keyed?.get("x-team"), keyed?.get("user-agent")],
    ["Bearer secret", "blue", "mine"],
  );
  assertEquals([bare?.get("authorization"), bare?.get("user-agent")], [null, "reasonix/1.2.3"]);
});

Deno.test("createProvider keeps path and query of base_url when it builds addresses", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" } });
  for (const tail of ["", "/", "/chat/completions", "?api-version=3"]) {
    await collect(await openClient({ url: server.url + tail }));
  }
  assertEquals(server.requests.map((request) => request.path), [
    "/v1/chat/completions",
    "/v1/chat/completions",
    "/v1/chat/completions",
    "/v1/chat/completions?api-version=3",
  ]);
});

Deno.test("listModels returns the identifiers that the server lists", async () => {
  await using server = startModelServer([], { models: ["small", "large"] });
  const entry = providerEntry({ base_url: server.url });
  assertEquals(await listModels({ entry, version: "1" }), ["small", "large"]);
});

Deno.test("listModels rejects with exit provider when the server refuses or is unreachable", async () => {
  const refuse = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("no", { status: 401 }),
  );
  const entry = providerEntry({ base_url: `http://127.0.0.1:${refuse.addr.port}`, api_key_env: "K" });
  const refused = await assertRejects(
    () => listModels({ entry, version: "1" }),
    ReasonixError,
    "status 401: no",
  );
  assertEquals(refused.exit, "provider");
  assertStringIncludes(refused.message, "set K");
  await refuse.shutdown();
  await assertRejects(() => listModels({ entry, version: "1" }), ReasonixError, "could not be reached");
});

Deno.test("listModels rejects an answer that is not a list", async () => {
  const page = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("<html>"),
  );
  const entry = providerEntry({ base_url: `http://127.0.0.1:${page.addr.port}` });
  await assertRejects(
    () => listModels({ entry, version: "1" }),
    ReasonixError,
    "did not answer with a list of models",
  );
  await page.shutdown();
});

Deno.test("listModels returns an empty list when the kind has none", async () => {
  assertEquals(await listModels({ entry: providerEntry({ kind: "replay" }), version: "1" }), []);
});

Deno.test("a DNS failure is reported as a network or proxy problem, not a server problem", async () => {
  const reported =
    "error sending request for url (http://nowhere.invalid/v1/models): client error (Connect): " +
    "dns error: failed to lookup address information: Name or service not known";
  const fetch = () => Promise.reject(new TypeError("fetch failed", { cause: new Error(reported) }));
  const entry = providerEntry({ base_url: "http://nowhere.invalid/v1" });
  const error = await assertRejects(
    () => listModels({ entry, version: "1", deps: { fetch } }),
    ReasonixError,
    "nowhere.invalid cannot be found (DNS); check the network",
  );
  assertStringIncludes(error.message, "proxy");
  assert(!error.message.includes("server is running"), error.message);
});
