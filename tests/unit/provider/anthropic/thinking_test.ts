import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { Message, Prefix } from "../../../../src/core/mod.ts";
import { createProvider, type Provider } from "../../../../src/provider/mod.ts";
import { collect, InstantClock, PREFIX, providerEntry, takeStep } from "../../../support/model_client.ts";
import { type ModelServer, startModelServer, type Turn } from "../../../support/model_server.ts";
import {
  anthropicWire,
  type AnthropicWireOptions,
  type BlockAnswer,
} from "../../../support/wires/anthropic.ts";

interface Setting {
  readonly model?: string;
  readonly effort?: string;
  readonly name?: string;
  readonly entry?: Record<string, unknown>;
}

function open(
  server: ModelServer,
  { model = "claude-sonnet-4-5", effort, name = "test", entry }: Setting = {},
) {
  return createProvider({
    entry: providerEntry({ name, kind: "anthropic", base_url: server.url, facts: "anthropic", ...entry }),
    model,
    version: "1",
    ...(effort === undefined ? {} : { effort }),
    deps: { clock: new InstantClock() },
  });
}

/** Sends one request and appends the answer, with a result for each call, to the conversation. */
const ask = async (provider: Provider, messages: Message[], prefix: Prefix = PREFIX): Promise<void> => {
  await takeStep(provider, messages, { prefix });
};

const THINKS: BlockAnswer = {
  blocks: [
    { type: "thinking", thinking: "hm 任务" },
    { type: "text", text: "I look." },
    { type: "thinking", thinking: "more" },
    { type: "tool_use", id: "a", name: "ls", input: {} },
  ],
  finish: "tool_calls",
};
const CALLS: BlockAnswer = { calls: [{ name: "ls" }] };
const start = (): Message[] => [{ role: "user", content: "Go" }];

/** Kinds of blocks of each answer in the last request. */
function answers(server: ModelServer): string[] {
  const { messages } = server.requests.at(-1)?.json ?? {};
  return messages.filter(({ role }: Message) => role === "assistant").map((
    { content }: { content: { type: string }[] },
  ) => content.map(({ type }) => type).join(" "));
}

function serverFor(turns: readonly BlockAnswer[], options: AnthropicWireOptions = {}): ModelServer {
  return startModelServer(turns as readonly Turn[], {
    wire: anthropicWire(options),
    check: { prefix: false },
  });
}

Deno.test("anthropic request enables thinking in the form each model supports", async () => {
  const shown = { type: "adaptive", display: "summarized" };
  const table: readonly (readonly [Setting, unknown, unknown])[] = [
    [{ model: "claude-sonnet-4-5" }, undefined, undefined],
    [
      { model: "claude-sonnet-4-5-20250929", effort: "low" },
      { type: "enabled", budget_tokens: 4096 },
      undefined,
    ],
    [{ model: "claude-opus-4-5", effort: "medium" }, { type: "enabled", budget_tokens: 10_000 }, {
      effort: "medium",
    }],
    [{ model: "claude-opus-4-6", effort: "high" }, shown, { effort: "high" }],
    [{ model: "claude-opus-4-8", effort: "max" }, shown, { effort: "max" }],
    [{ model: "claude-opus-4-8", effort: "minimal" }, shown, { effort: "low" }],
    [{ model: "claude-opus-4-8" }, shown, undefined],
    [{ model: "claude-sonnet-5", effort: "none" }, { type: "disabled" }, undefined],
    [{ model: "claude-next" }, undefined, undefined],
    [{ model: "claude-next", effort: "high" }, shown, { effort: "high" }],
    [{ model: "other", effort: "high", entry: { compat: { thinking_style: "budget" } } }, {
      type: "enabled",
      budget_tokens: 24_000,
    }, undefined],
  ];
  for (const [setting, thinking, output] of table) {
    const style = (thinking as { type?: string } | undefined)?.type === "enabled" ? "budget" : "adaptive";
    await using server = serverFor([{ text: "ok" }], { thinking: style });
    await ask(await open(server, setting), start());
    const [{ json, headers }] = server.requests as [typeof server.requests[0]];
    assertEquals([json.thinking, json.output_config], [thinking, output], JSON.stringify(setting));
    assertEquals(headers.get("anthropic-beta") !== null, style === "budget");
    assert(json.max_tokens > (json.thinking?.budget_tokens ?? 0));
  }
});

Deno.test("anthropic request keeps thinking within the user's token limit, or sends no larger budget", async () => {
  await using server = serverFor([{ text: "ok" }, { text: "ok" }], { thinking: "budget" });
  await ask(await open(server, { effort: "max", entry: { max_output_tokens: 8000 } }), start());
  await ask(await open(server, { effort: "max", entry: { max_output_tokens: 500 } }), start());
  assertEquals(server.requests.map(({ json }) => [json.thinking.budget_tokens, json.max_tokens]), [
    [6000, 8000],
    [1024, 1524],
  ]);
});

Deno.test("anthropic request omits sampling parameters with thinking, and the model lists them as unsent", async () => {
  const entry = { temperature: 0.2, top_p: 0.5, seed: 7 };
  await using server = serverFor([{ text: "ok" }, { text: "ok" }]);
  const thinks = await open(server, { model: "claude-opus-4-8", entry });
  await ask(thinks, start());
  assertEquals([server.requests[0]?.json.temperature, thinks.model.unsent], [
    undefined,
    ["temperature", "top_p", "seed"],
  ]);
  const plain = await open(server, { model: "other", entry: { temperature: 1, top_p: 0.5 } });
  await ask(plain, start());
  assertEquals([server.requests[1]?.json.top_p, plain.model.unsent], [0.5, undefined]);
});

Deno.test("anthropic request returns thinking blocks in order, byte for byte", async () => {
  for (const bound of [true, false]) {
    await using server = serverFor([THINKS, { text: "done" }, { text: "more" }], { bound });
    const provider = await open(server, { model: "claude-opus-4-8", effort: "high" });
    const messages = start();
    await ask(provider, messages);
    await ask(provider, messages);
    // As a session that is opened again has it.
    const again = JSON.parse(JSON.stringify([...messages, ...start()]));
    await ask(await open(server, { model: "claude-opus-4-8", effort: "high" }), again);
    assertEquals(answers(server), ["thinking text thinking tool_use", "text"]);
  }
});

Deno.test("anthropic request omits thinking that is bound to another prefix", async () => {
  await using server = serverFor(
    [THINKS, THINKS, { text: "done" }].map((turn, n) =>
      n === 1
        ? {
          ...turn,
          blocks:
            THINKS.blocks?.map((block) =>
              block === "redacted" || !block.id ? block : { ...block, id: "b" }
            ) ?? [],
        }
        : turn
    ),
    { bound: true },
  );
  const provider = await open(server, { model: "claude-opus-4-8" });
  const messages = start();
  await ask(provider, messages);
  const tools = [{ name: "new", description: "", parameters: {} }];
  const prefix = { ...PREFIX, tools };
  await ask(provider, messages, prefix);
  await ask(provider, messages, prefix);
  assertEquals(answers(server), ["text tool_use", "thinking text thinking tool_use"]);
});

Deno.test("anthropic request omits thinking of other models and providers, and when thinking is off", async () => {
  await using server = serverFor([THINKS, { text: "a" }, { text: "b" }, { text: "c" }, { text: "d" }, {
    text: "e",
  }]);
  const messages = start();
  await ask(await open(server, { model: "claude-sonnet-5", effort: "high" }), messages);
  for (
    const setting of [
      { model: "claude-opus-4-8" },
      { model: "claude-sonnet-5", name: "other" },
      { model: "claude-sonnet-5", effort: "none" },
    ]
  ) {
    await ask(await open(server, setting), [...messages]);
    assertEquals(answers(server), ["text tool_use"]);
  }
  const [user, answer, result] = messages as [Message, Extract<Message, { role: "assistant" }>, Message];
  const changed = [user, { ...answer, reasoning: answer.reasoning?.replace("hm", "ha") ?? "" }, result];
  await ask(await open(server, { model: "claude-sonnet-5", effort: "high" }), changed);
  assertEquals(answers(server), ["text tool_use"]);
  // As a redaction changes them: in the message and in its part.
  const redacted = JSON.parse(JSON.stringify(messages).replaceAll("hm", "ha"));
  await ask(await open(server, { model: "claude-sonnet-5", effort: "high" }), redacted);
  assertEquals(answers(server), ["text tool_use"]);
});

Deno.test("anthropic request with a budget disables thinking in tool loops that began without it", async () => {
  await using server = serverFor([CALLS, CALLS, { text: "done" }, { text: "again" }], { thinking: "budget" });
  const messages = start();
  await ask(await open(server), messages);
  const thinking = await open(server, { effort: "high" });
  await ask(thinking, messages);
  await ask(thinking, messages);
  messages.push(...start());
  await ask(thinking, messages);
  const asked = server.requests.map(({ json }) => json.thinking?.type);
  assertEquals(asked, [undefined, undefined, undefined, "enabled"]);
});

Deno.test("anthropic request uses a cache lifetime of one hour when the entry says so", async () => {
  await using server = serverFor([{ text: "ok" }]);
  await ask(await open(server, { entry: { cache_ttl: "1h" } }), start());
  const { system, messages } = server.requests[0]?.json ?? {};
  const mark = { type: "ephemeral", ttl: "1h" };
  assertEquals([system[0].cache_control, messages[0].content[0].cache_control], [mark, mark]);
});

Deno.test("anthropic request drops an effort that an unknown model rejects, and reports it once", async () => {
  const refusals: readonly (readonly [effort: string, message: string])[] = [
    ["none", '"thinking.type.disabled" is not supported for this model.'],
    ["high", "adaptive thinking is not supported on this model"],
    ["low", "This model does not support the effort parameter."],
  ];
  for (const [effort, message] of refusals) {
    const body = { type: "error", error: { type: "invalid_request_error", message } };
    await using server = serverFor([{ status: 400, body } as BlockAnswer, { text: "ok" }, { text: "ok" }]);
    const provider = await open(server, { model: "claude-next", effort });
    const { text, retries } = await collect(provider, start());
    assertEquals([text, retries.length], ["ok", 1]);
    assertStringIncludes(retries[0]?.reason ?? "", `from now on the request omits effort = "${effort}"`);
    assertEquals((await collect(provider, start())).retries, []);
    const sent = server.requests.map(({ json }) => [json.thinking?.type, json.output_config?.effort]);
    assertEquals(sent.slice(1), [[undefined, undefined], [undefined, undefined]]);
  }
});

Deno.test("anthropic request is not retried when the server rejects thinking or the user's settings", async () => {
  const rejection = (message: string): BlockAnswer =>
    ({ status: 400, body: { error: { type: "invalid_request_error", message } } }) as BlockAnswer;
  const cases: readonly (readonly [BlockAnswer, Setting, AnthropicWireOptions])[] = [
    [rejection("messages.1.content.0: `thinking` blocks cannot be modified"), { effort: "high" }, {}],
    [
      rejection('"thinking.type.enabled" is not supported for this model.'),
      { entry: { extra_body: { thinking: { type: "enabled", budget_tokens: 2000 } } } },
      { thinking: "budget" },
    ],
  ];
  for (const [answer, setting, options] of cases) {
    await using server = serverFor([answer], options);
    const { error } = await collect(await open(server, { model: "claude-next", ...setting }), start());
    assertEquals(error?.kind, "bad_request");
  }
});
