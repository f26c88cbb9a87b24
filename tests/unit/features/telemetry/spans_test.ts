/** Spans of real runs with a scripted model, as a receiver decodes them. */
import {
  type Chunk,
  type Event,
  ReasonixError,
  type Spending,
  type Usage,
} from "../../../../src/core/mod.ts";
import { assemble } from "../../../../src/features/mod.ts";
import type { Provider } from "../../../../src/provider/mod.ts";
import { type Assembly, type AssemblyOptions, loadTrustedConfig } from "../../../../src/run/mod.ts";
import { call, type Reply, say, scriptedProvider } from "../../../support/agent_fixture.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { OtlpReceiver, type ReceivedSpan } from "../../../support/otlp_receiver.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

const calls = (...chunks: Chunk[]): Chunk[] => [...chunks, { type: "done", reason: "tool_calls" }];
const task = (id: string, args: Record<string, unknown> = {}) =>
  calls(call(id, "task", { prompt: "look", description: "look", ...args }), usage(10, 5));
const bash = (id: string, command = "true") => calls(call(id, "bash", { command }), usage(20, 6));
const answer = (text: string) => [...say(text), usage(30, 7)];
const fails = (kind: "auth" | "context_length", message: string): Chunk[] => [
  { type: "error", error: { kind, message } },
];

function usage(inputTokens: number, outputTokens: number): Chunk {
  const counted: Usage = {
    inputTokens,
    cachedTokens: 1,
    cacheWriteTokens: 3,
    outputTokens,
    reasoningTokens: 2,
  };
  return { type: "usage", usage: counted };
}

const RETRY: Chunk = {
  type: "retry",
  attempt: 1,
  maxAttempts: 2,
  waitMs: 1,
  reason: "status 503",
  discarded: false,
};

interface Stage {
  readonly replies: readonly Reply[];
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly telemetry?: Readonly<Record<string, unknown>>;
  readonly options?: Partial<AssemblyOptions>;
  readonly model?: Partial<Provider["model"]>;
  readonly env?: Readonly<Record<string, string>>;
  readonly work?: (assembly: Assembly) => Promise<unknown>;
}

interface Received {
  readonly receiver: OtlpReceiver;
  readonly spans: readonly ReceivedSpan[];
  readonly session: string;
  readonly spending: Spending;
  readonly events: readonly Event[];
}

/** Runs a session; returns what the receiver got. */
async function received(
  { replies, flags, telemetry, options, model, env = {}, work }: Stage,
): Promise<Received> {
  await using temp = await makeTempDir();
  await using receiver = new OtlpReceiver();
  const paths = {
    cwd: `${temp.path}/work`,
    home: `${temp.path}/home`,
    env: (name: string) => env[name] ?? (/^(?:OTEL_|TRACE)/.test(name) ? undefined : Deno.env.get(name)),
  };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  const loaded = await loadTrustedConfig({
    ...paths,
    noFiles: true,
    flags: {
      permissions: { allow: ["Bash", "Task"], deny: ["Bash(rm:*)"] },
      ...flags,
      telemetry: { otlp: receiver.url, signals: ["traces"], ...telemetry },
    },
  }, {});
  const events: Event[] = [];
  const assembly = await assemble({ paths, loaded, provider: scriptedProvider(replies, model), ...options });
  assembly.controller.subscribe((event) => void events.push(event));
  await (work ?? ((assembly) => assembly.run("go")))(assembly);
  await assembly[Symbol.asyncDispose]();
  const { session: { id, state: { usage, costs, unpriced } } } = assembly;
  return { receiver, spans: receiver.spans, session: id, spending: { usage, costs, unpriced }, events };
}

function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.filter((span) => span.name === name);
  assertEquals(found.length, 1, `${name} in ${spans.map((span) => span.name).join(", ")}`);
  return found[0] as ReceivedSpan;
}

/** The names of spans below one another, each in the order of its beginning. */
function tree(receiver: OtlpReceiver, span?: ReceivedSpan): unknown[] {
  const below = span
    ? receiver.childrenOf(span)
    : receiver.spans.filter(({ parent }) => parent === undefined);
  return below.map((child) => {
    const children = tree(receiver, child);
    return children.length === 0 ? child.name : [child.name, ...children];
  });
}

Deno.test("spans of requests, calls and agents are below what began them", async () => {
  const { receiver, spans, session, spending } = await received({
    replies: [task("t1"), bash("b1"), answer("found"), [RETRY, ...answer("done")]],
  });
  assertEquals(tree(receiver), [
    [
      "invoke_agent reasonix",
      "chat scripted-1",
      ["execute_tool task", [
        "invoke_agent general",
        "chat scripted-1",
        "execute_tool bash",
        "chat scripted-1",
      ]],
      "chat scripted-1",
    ],
  ]);
  assertEquals(new Set(spans.map(({ trace }) => trace)).size, 1);
  const agent = named(spans, "invoke_agent general");
  assertEquals(agent.attributes["reasonix.parent.session"], session);
  for (const span of spans) {
    assert(span.end >= span.start, span.name);
    const parent = spans.find(({ id }) => id === span.parent);
    if (parent) {
      assert(parent.start <= span.start && parent.end >= span.end, `${span.name} within its parent`);
    }
    const isAgents = parent === agent || span === agent;
    assertEquals(span.attributes["gen_ai.conversation.id"] === session, !isAgents, span.name);
  }
  const chats = spans.filter(({ name }) => name === "chat scripted-1");
  const sum = (key: string) => chats.reduce((total, { attributes }) => total + Number(attributes[key]), 0);
  assertEquals({
    inputTokens: sum("gen_ai.usage.input_tokens"),
    outputTokens: sum("gen_ai.usage.output_tokens"),
    cachedTokens: sum("gen_ai.usage.cache_read.input_tokens"),
    cacheWriteTokens: sum("gen_ai.usage.cache_write.input_tokens"),
    reasoningTokens: sum("gen_ai.usage.reasoning.output_tokens"),
  }, spending.usage);
  const turn = named(spans, "invoke_agent reasonix");
  assertEquals(turn.attributes["gen_ai.usage.input_tokens"], spending.usage.inputTokens);
  assertEquals(chats.map(({ attributes }) => attributes["reasonix.retry.count"]).filter(Boolean), [1]);
});

Deno.test("agents side by side, and one in the background that outlives the turn, are below their calls", async () => {
  let inner = 0;
  const lane: Reply = async function* (_signal, { messages }) {
    const text = JSON.stringify(messages);
    const own = ["left", "right", "later"].find((name) => text.includes(`agent-${name}`));
    if (own !== undefined && messages.every(({ role }) => role !== "tool")) yield* bash(`b${++inner}`);
    else if (own !== undefined || messages.some(({ role }) => role === "tool")) yield* answer("done");
    else {
      yield* calls(
        call("left", "task", { prompt: "agent-left", description: "left" }),
        call("right", "task", { prompt: "agent-right", description: "right" }),
        call("later", "task", { prompt: "agent-later", description: "later", background: true }),
        usage(1, 1),
      );
    }
  };
  const { receiver, spans } = await received({
    replies: Array<Reply>(9).fill(lane),
    options: { waitForAgents: true },
  });
  const tasks = spans.filter(({ name }) => name === "execute_tool task");
  assertEquals(tasks.length, 3);
  let later = 0;
  for (const span of tasks) {
    const [agent, ...more] = receiver.childrenOf(span);
    assert(agent && more.length === 0, "one agent below each call");
    assertEquals(tree(receiver, agent), ["chat scripted-1", "execute_tool bash", "chat scripted-1"]);
    if (agent.end > span.end) later += 1;
    const conversation = agent.attributes["gen_ai.conversation.id"];
    for (const child of receiver.childrenOf(agent)) {
      assertEquals(child.attributes["gen_ai.conversation.id"], conversation);
    }
  }
  assertEquals(later, 1);
});

Deno.test("a compaction within a turn and one on request have the request for the summary below them", async () => {
  const { receiver, spans } = await received({
    replies: [
      answer("one"),
      fails("context_length", "too long"),
      answer("a summary"),
      answer("two"),
      answer("three"),
      answer("another summary"),
    ],
    work: async (assembly) => {
      await assembly.run(`first ${"word ".repeat(4000)}`);
      await assembly.run("second");
      await assembly.run(`third ${"word ".repeat(4000)}`);
      await assembly.controller.compact();
    },
  });
  assertEquals(tree(receiver), [
    ["invoke_agent reasonix", "chat scripted-1"],
    ["invoke_agent reasonix", "chat scripted-1", ["compaction", "chat scripted-1"], "chat scripted-1"],
    ["invoke_agent reasonix", "chat scripted-1"],
    ["compaction", "chat scripted-1"],
  ]);
  const [first, second] = spans.filter(({ name }) => name === "compaction");
  assert(Number(first?.attributes["reasonix.compaction.tokens_before"]) > 0);
  assertEquals(second?.attributes["reasonix.compaction.reason"], "manual");
  const failed = spans.filter(({ status }) => status === "error");
  assertEquals(failed.map(({ name, attributes }) => [name, attributes["error.type"]]), [
    ["chat scripted-1", "_OTHER"],
  ]);
});

/** Attributes that version 0.1.0 of the conventions requires, always or where they are known. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  invoke_agent: ["gen_ai.agent.name", "gen_ai.conversation.id", "gen_ai.request.model"],
  chat: [
    "gen_ai.provider.name",
    "gen_ai.conversation.id",
    "gen_ai.request.model",
    "gen_ai.request.stream",
    "server.address",
    "server.port",
  ],
  execute_tool: ["gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.type"],
};

Deno.test("spans have the attributes that the conventions require", async () => {
  const { spans } = await received({
    replies: [bash("b1"), bash("b2", "exit 3"), bash("b3", "rm -r x"), fails("auth", "status 401: no key")],
    model: { provider: "mistral", id: "m-1" },
    flags: {
      providers: [{
        name: "mistral",
        kind: "openai",
        base_url: "https://me:pw@models.test/v1?k=v",
        model: "m-1",
      }],
    },
  });
  for (const { name, kind, attributes, scope, resource } of spans) {
    assertEquals([scope.name, resource["service.name"]], ["reasonix", "reasonix"]);
    assertEquals(Object.keys(resource).filter((key) => /^(?:host|process|os)[.]/.test(key)), []);
    const [operation = "", subject] = name.split(" ");
    assertEquals(attributes["gen_ai.operation.name"], operation);
    assertEquals(kind, operation === "chat" ? "client" : "internal");
    const missing = REQUIRED[operation]?.filter((key) => attributes[key] === undefined);
    assertEquals(missing, [], name);
    const names = ["gen_ai.agent.name", "gen_ai.request.model", "gen_ai.tool.name"];
    assert(names.some((key) => attributes[key] === subject), name);
    if (operation !== "chat") continue;
    assertEquals(attributes["gen_ai.provider.name"], "mistral_ai");
    assertEquals([attributes["server.address"], attributes["server.port"]], ["models.test", 443]);
  }
  const errors = spans.map(({ status, attributes }) => [status, attributes["error.type"]])
    .filter(([status]) => status !== "unset");
  assertEquals(errors, [["error", "error"], ["error", "blocked"], ["error", "401"], ["error", "provider"]]);
  const [, failed] = spans.filter(({ name }) => name === "execute_tool bash");
  assertEquals(failed?.attributes["process.exit.code"], 3);
});

/** Texts of a user, a model and a tool, next to secrets in each of them. */
const KEY = "sk-live-0123456789abcdefABCDEF";
const CONTENT = ["the-prompt", "the-answer", "the-argument", "the-result"];

function secretStage(content: boolean): Stage {
  const url = `https://user:${KEY}@models.test/${KEY}?key=${KEY}`;
  return {
    replies: [
      bash("b1", `echo the-result ${KEY} # the-argument ${url} https://me:in-url@h.test/?token=in-url`),
      answer(`the-answer ${KEY} ${btoa(KEY)}`),
      fails("auth", `status 401 from ${url} for the-prompt`),
    ],
    model: { provider: "secret", id: "m-1" },
    env: { TEST_KEY: KEY },
    telemetry: { content, signals: ["traces", "metrics", "logs"] },
    flags: {
      providers: [{
        name: "secret",
        kind: "openai",
        base_url: url,
        model: "m-1",
        headers: { "x-key": "${TEST_KEY}" },
      }],
    },
    work: async (assembly) => {
      await assembly.run(`the-prompt ${KEY}`);
      await assembly.run("again");
    },
  };
}

for (const content of [false, true]) {
  Deno.test(`no secret arrives, and texts ${content ? "do" : "do not"} with content = ${content}`, async () => {
    const { receiver, spans } = await received(secretStage(content));
    const all = receiver.raw.join("\n");
    assertEquals([KEY, btoa(KEY), "in-url"].filter((secret) => all.includes(secret)), []);
    assertEquals(CONTENT.filter((text) => all.includes(text)), content ? CONTENT : []);
    if (!content) return;
    const { attributes } = named(spans, "execute_tool bash");
    const [turn] = spans.filter(({ name }) => name === "invoke_agent reasonix");
    const message = (value: unknown) => JSON.parse(String(value))[0];
    const { role, parts } = message(turn?.attributes["gen_ai.input.messages"]);
    assertEquals([role, parts.length, parts[0].type], ["user", 1, "text"]);
    const [first] = spans.filter(({ name }) => name.startsWith("chat"));
    assertEquals(message(first?.attributes["gen_ai.output.messages"]).parts[0].type, "tool_call");
    assertEquals(typeof attributes["gen_ai.tool.call.result"], "string");
  });
}

const UNSAMPLED = `00-${"a".repeat(32)}-${"b".repeat(16)}-00`;

for (
  const [OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, TRACEPARENT, expected] of [
    ["always_off", "", "", 0],
    ["parentbased_always_off", "", "", 0],
    ["traceidratio", "0", "", 0],
    ["parentbased_traceidratio", "1", "", 2],
    ["traceidratio", "all", "", 2],
    ["always_on", "", UNSAMPLED, 2],
    ["parentbased_always_on", "", UNSAMPLED, 0],
  ] as const
) {
  const within = TRACEPARENT === "" ? "" : " within a trace that is not sampled";
  Deno.test(`sampler ${OTEL_TRACES_SAMPLER} (${OTEL_TRACES_SAMPLER_ARG})${within}: ${expected} spans`, async () => {
    const env = { OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, TRACEPARENT };
    assertEquals((await received({ replies: [answer("done")], env })).spans.length, expected);
  });
}

for (
  const [telemetry, message] of [
    [
      { otlp: "localhost:4318" },
      'Cannot export telemetry to "localhost:4318": [telemetry] otlp is no http address',
    ],
    [{ signals: ["spans"] }, 'Cannot export "spans": telemetry.signals names no such signal'],
  ] as const
) {
  Deno.test(`a run with ${JSON.stringify(telemetry)} does not begin`, async () => {
    await assertRejects(() => received({ replies: [], telemetry }), ReasonixError, message);
  });
}
