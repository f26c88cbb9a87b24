/** Fallback models: servers of several provider kinds and one agent. */
import { createAgent } from "../../../src/features/mod.ts";
import { Fallback } from "../../../src/run/fallback.ts";
import type { ConfigInput } from "../../../src/config/mod.ts";
import { Recorder } from "../../../src/control/mod.ts";
import { MemoryStore } from "../../../src/control/memory_store.ts";
import {
  type Chunk,
  type Event,
  type EventOf,
  type ProviderErrorKind,
  ReasonixError,
} from "../../../src/core/mod.ts";
import type { Provider } from "../../../src/provider/mod.ts";
import { say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { type ModelServer, type ScriptedTurn, startModelServer } from "../../support/model_server.ts";
import { WIRES } from "../../support/wires/wires.ts";
import { configFixture } from "../config/fixture.ts";

type ProviderInput = NonNullable<ConfigInput["providers"]>[number];

const PRICE = { input: 1, output: 10, cached_input: 0.1 };
const BUSY: ScriptedTurn = { status: 503, body: { error: { message: "overloaded" } } };

function serve(kind: string, ...script: ScriptedTurn[]): ModelServer {
  const wire = WIRES[kind]?.();
  return startModelServer(script, wire ? { wire } : {});
}

function entry(name: string, server: ModelServer, more: Partial<ProviderInput> = {}): ProviderInput {
  return {
    name,
    kind: server.wire.kind,
    base_url: server.url,
    model: `${name}-1`,
    max_attempts: 1,
    context_window: 100_000,
    price: PRICE,
    ...server.wire.entry,
    ...more,
  };
}

async function agentOf(config: ConfigInput, provider?: Provider) {
  const events: Event[] = [];
  const agent = await createAgent({
    config,
    onEvent: (event) => void events.push(event),
    ...(provider ? { provider } : {}),
  });
  const of = <T extends Event["type"]>(type: T) =>
    events.filter((event): event is EventOf<T> => event.type === type);
  return { agent, events, of, notices: () => of("notice").map(({ text }) => text) };
}

function failing(kind: ProviderErrorKind, more: readonly Chunk[] = []): Chunk[] {
  return [...more, { type: "error", error: { kind, message: `it failed (${kind})` } }];
}

Deno.test("a model that fails before any output is replaced by the next one, of another kind", async () => {
  await using first = serve(
    "openai",
    { text: "one", usage: { input: 1_000_000, output: 100_000 } },
    BUSY,
  );
  await using second = serve("anthropic", { text: "two", usage: { input: 500_000, output: 0 } }, {
    text: "three",
  });
  const price = { input: 4, output: 8, cached_input: 4, currency: "USD" };
  const { agent, of, notices } = await agentOf({
    agent: { supplemental_prompt: "For all.", fallback: ["b/b-1"] },
    providers: [
      entry("a", first),
      entry("b", second, { price, supplemental_prompt: "For b.", context_window: 9_000_000 }),
    ],
  });
  await using _agent = agent;
  assertEquals((await agent.run("first 任务")).answer, "one");
  const outcome = await agent.run("second");
  assertEquals([outcome.reason, outcome.answer], ["done", "two"]);
  assertEquals(outcome.cost, { amount: 2, currency: "USD" });
  const resets = of("context.prefix").map(({ reason, detail, model, provider, system }) => ({
    at: [reason, detail, `${provider}/${model}`],
    ends: system.slice(-17).trim(),
  }));
  assertEquals(resets, [
    { at: ["start", undefined, "a/a-1"], ends: resets[0]?.ends ?? "" },
    { at: ["fallback", "a/a-1 → b/b-1", "b/b-1"], ends: "For all.\n\nFor b." },
  ]);
  assert(
    notices().some((text) => /overloaded.*; b\/b-1 answers instead of a\/a-1$/.test(text)),
    notices().join(),
  );
  // Within five minutes the next turn stays with the model that has the conversation cached.
  assertEquals((await agent.run("third")).answer, "three");
  assertEquals([first.requests.length, second.requests.length], [2, 2]);
  for (const text of ["first 任务", "one", "second", "two", "third"]) {
    assertStringIncludes(second.requests[1]?.body ?? "", text);
  }
});

Deno.test("fallbacks are used in order, each once, and unusable ones are skipped", async () => {
  await using a = serve("openai", BUSY, { text: "back" });
  await using b = serve("openai", { status: 401, body: { error: { message: "bad key" } } });
  await using c = serve("openai", BUSY);
  const { agent, notices, of } = await agentOf({
    agent: { fallback: ["c"] },
    providers: [
      entry("a", a, { fallback: ["a", "locked", "b", "c", "b"] }),
      entry("b", b),
      entry("c", c),
      entry("locked", c, { base_url: "https://example.invalid", api_key_env: "NO_SUCH_KEY_HERE" }),
    ],
  });
  await using _agent = agent;
  const outcome = await agent.run("go");
  assertEquals([outcome.reason, outcome.steps], ["provider", 0]);
  assertStringIncludes(outcome.detail ?? "", '"c"');
  assert(notices().some((text) => /^locked\/locked-1 cannot answer instead: .*NO_SUCH_KEY_HERE/.test(text)));
  assertEquals([a, b, c].map(({ requests }) => requests.length), [1, 1, 1]);
  // When no fallback is left, the next turn starts with the first model.
  assertEquals((await agent.run("again")).answer, "back");
  assertEquals(of("context.prefix").map(({ model }) => model), ["a-1", "b-1", "c-1", "a-1"]);
});

const FAILURES: [ProviderErrorKind, taken: boolean][] = [
  ["auth", true],
  ["not_found", true],
  ["rate_limit", true],
  ["server", true],
  ["connection", true],
  ["timeout", true],
  ["protocol", true],
  ["bad_request", false],
  ["content_filter", false],
  ["mismatch", false],
  ["aborted", false],
  ["context_length", false],
];

for (const [kind, taken] of FAILURES) {
  Deno.test(`a failure of kind ${kind} ${taken ? "starts" : "starts no"} fallback`, async () => {
    await using server = serve("openai", ...(taken ? [{ text: "instead" }] : []));
    const { agent } = await agentOf(
      { agent: { fallback: ["b"] }, providers: [entry("b", server)] },
      scriptedProvider([failing(kind)]),
    );
    await using _agent = agent;
    assertEquals((await agent.run("go")).answer, taken ? "instead" : "");
  });
}

Deno.test("a reply with visible output is not restarted by another model, also after a retry", async () => {
  await using server = serve("openai");
  const retry: Chunk = {
    type: "retry",
    attempt: 2,
    maxAttempts: 2,
    waitMs: 0,
    reason: "cut",
    discarded: true,
  };
  const first = scriptedProvider([
    failing("server", [{ type: "text", text: "so far" }]),
    failing("server", [{ type: "reasoning", text: "hm" }]),
    failing("server", [{ type: "text", text: "gone" }, retry]),
  ]);
  const { agent } = await agentOf({ agent: { fallback: ["b"] }, providers: [entry("b", server)] }, first);
  await using _agent = agent;
  for (const _ of first.requests.concat([[], [], []])) {
    assertEquals((await agent.run("go")).reason, "provider");
  }
  assertEquals(server.requests.length, 0);
});

Deno.test("a conversation that is too long falls back only to a model with a larger window", async () => {
  await using same = serve("openai");
  await using large = serve("openai", { text: "fits" });
  const { agent, notices } = await agentOf(
    {
      agent: { fallback: ["same", "large"] },
      providers: [
        entry("same", same, { context_window: 4000 }),
        entry("large", large, { context_window: 8000 }),
      ],
    },
    scriptedProvider([failing("context_length")], { contextWindow: 4000 }),
  );
  await using _agent = agent;
  assertEquals((await agent.run("go")).answer, "fits");
  assert(notices().some((text) => text.startsWith("same/same-1 cannot answer instead: its context window")));
});

Deno.test("a cost limit skips models whose price would exceed it", async () => {
  await using server = serve("openai", { text: "counted" });
  const { agent, notices } = await agentOf(
    {
      agent: { fallback: ["free", "euro", "b"], max_cost: 5 },
      providers: [
        { ...entry("free", server), price: undefined },
        entry("euro", server, { price: { ...PRICE, currency: "EUR" } }),
        entry("b", server),
      ].map(({ price, ...rest }) => price ? { ...rest, price } : rest),
    },
    scriptedProvider([failing("server")], {
      price: { input: 1, output: 1, cachedInput: 1, currency: "USD" },
    }),
  );
  await using _agent = agent;
  assertEquals((await agent.run("go")).answer, "counted");
  assertEquals(notices().filter((text) => text.includes("agent.max_cost")).length, 2);
});

Deno.test("an unknown fallback is an error with its location before any request", async () => {
  await using fixture = configFixture({
    "home/config.toml": `[agent]\nfallback = ["missing/x"]\n[[providers]]\nname = "a"\nmodel = "m"\n` +
      'base_url = "http://127.0.0.1:9"\n',
  });
  const { home, cwd } = fixture;
  const error = await assertRejects(() => createAgent({ config: "load", home, cwd }), Error);
  assertStringIncludes(error.message, 'Unknown model "missing/x"');
  assertStringIncludes(JSON.stringify(error), '"line":2');
});

Deno.test("a fallback with an untrusted provider of the project is reported as untrusted", async () => {
  await using fixture = configFixture({
    "home/config.toml": '[[providers]]\nname = "a"\nmodel = "m"\nbase_url = "http://127.0.0.1:9"\n' +
      'fallback = ["theirs/m"]\n',
    "project/reasonix.toml":
      '[[providers]]\nname = "theirs"\nmodel = "m"\nbase_url = "https://theirs.example"\n',
  });
  const { home, cwd } = fixture;
  const error = await assertRejects(
    () => createAgent({ config: "load", home, cwd, ignoreUntrusted: true }),
    ReasonixError,
    'Provider "theirs" of this project is not trusted yet',
  );
  assertEquals(error.exit, "blocked");
});

Deno.test("the first model is tried again in the first turn after five minutes, never after a wrong key", async () => {
  for (const [kind, asked] of [["server", true], ["auth", false]] as const) {
    let now = 1_000_000;
    const first = scriptedProvider([], { provider: "a" });
    const second = scriptedProvider([say("x")], { provider: "b" });
    const choice = { entry: { name: "b" }, model: "m" };
    const fallback = new Fallback({
      // Only what limits costs is looked at.
      loaded: { config: { agent: { max_cost: 0 } } } as never,
      first,
      chain: [choice as never],
      create: () => Promise.resolve(second),
      now: () => now,
    });
    const parts = {
      recorder: new Recorder(new MemoryStore()),
      inputs: { systemOf: () => "S" },
      registry: { schemas: () => [] },
    };
    const error = { kind, message: "gone" };
    assertEquals(await fallback.onFailure(error, fallback.provider, parts), true);
    assertEquals(fallback.provider.model.provider, "b");
    now += 299_999;
    await fallback.beforeTurn(parts);
    assertEquals(fallback.provider.model.provider, "b");
    now += 1;
    await fallback.beforeTurn(parts);
    assertEquals(fallback.provider.model.provider, asked ? "a" : "b");
    assertEquals(parts.recorder.state.provider, asked ? "a" : "b");
  }
});
