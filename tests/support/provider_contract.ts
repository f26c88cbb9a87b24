import type {
  AssistantMessage,
  Chunk,
  Message,
  ModelRequest,
  Provider,
  ProviderError,
  ToolCall,
  ToolMessage,
  Usage,
} from "../../mod.ts";

/** The answer of the server to one request of a case. */
export interface ContractTurn {
  readonly text?: string | readonly string[];
  readonly reasoning?: string;
  readonly calls?: readonly { readonly id?: string; readonly name: string; readonly args?: unknown }[];
  /** Tokens: the whole input, the part of it from the cache, the whole output, the part of it thought. */
  readonly usage?: {
    readonly input: number;
    readonly cached: number;
    readonly output: number;
    readonly reasoning: number;
  };
  /** True: the limit of output ended the answer. */
  readonly limited?: boolean;
  /**
   * In place of a good answer. `refused`: status 401. `overloaded`: status 503. `cut`: the connection breaks
   * after the first words. `silent`: after the first words nothing comes until the client hangs up.
   */
  readonly failure?: "refused" | "overloaded" | "cut" | "silent";
}

/** One rule for every provider, with the replies that test it. */
export interface ContractCase {
  readonly name: string;
  /** Replies of the server, in the order of the requests. */
  readonly turns: readonly ContractTurn[];
  /** Rejects with an error of the expected and the actual value. */
  run(provider: Provider): Promise<void>;
}

const HELLO: readonly Message[] = [{ role: "user", content: "Hello" }];
const WIDE = 'héllo 世界 👩‍👩‍👧 \u{1F98A} tab\t quote" back\\slash\nline';

/**
 * The promises of every provider kind to the agent. A new kind takes part by giving each case a
 * provider whose server answers with the turns; its retries must not wait (see `deps.clock` of
 * {@linkcode CreateOptions}).
 */
export const PROVIDER_CONTRACT: readonly ContractCase[] = [
  one("names provider and model", [], (provider) => {
    const { name, model } = provider;
    expect("provider.name and model.provider are the same", name, model.provider);
    expect("a model has an identifier", model.id !== "", true);
    return Promise.resolve();
  }),
  one("streams an answer and ends with exactly one done", [{
    text: ["a", "b", WIDE],
    reasoning: "hm",
    usage: { input: 10, cached: 4, output: 5, reasoning: 2 },
  }], async (provider) => {
    const reply = await answered(provider, HELLO);
    expect("the text", reply.text, `ab${WIDE}`);
    expect("the reasoning, unless the wire keeps it", ["hm", ""].includes(reply.reasoning), true);
    expect("the finish reason", reply.finish, "stop");
    const { usage } = reply;
    expect("tokens of input and output", [usage?.inputTokens, usage?.outputTokens], [10, 5]);
    expect("tokens from the cache", usage?.cachedTokens, 4);
  }),
  one("gives complete calls with unique ids", [{
    calls: [{ id: "a", name: "look", args: { path: WIDE } }, { id: "a", name: "look", args: { path: "." } }],
  }], async (provider) => {
    const { calls, finish } = await answered(provider, HELLO);
    const read = calls.map((call) => [call.name, JSON.parse(call.arguments)]);
    expect("the calls", read, [["look", { path: WIDE }], ["look", { path: "." }]]);
    expect("different ids", new Set(calls.map(({ id }) => id)).size, 2);
    expect("the finish reason", finish, "tool_calls");
  }),
  one("announces calls on request, by their names and ids, with no more than their arguments", [{
    text: "I look",
    calls: [{ id: "a", name: "look", args: { path: WIDE.repeat(200) } }, {
      name: "look",
      args: { path: "." },
    }],
  }], async (provider) => {
    const { chunks, calls } = await answered(provider, HELLO, { announceCalls: true });
    const announced = chunks.filter((chunk) => chunk.type === "call_progress");
    for (const { id, name, arguments: begun = "" } of announced) {
      const call = calls.find((each) => each.id === id);
      expect("the name of an announced call", name, call?.name);
      expect("the beginning of its arguments", call?.arguments.startsWith(begun), true);
    }
    const last = chunks.findLastIndex(({ type }) => type === "call_progress");
    expect("announced before it is whole", last < chunks.findIndex(({ type }) => type === "tool_call"), true);
    // A provider may announce none.
    expect("announced a few times", announced.length <= 20, true);
  }),
  one(
    "reports that the limit of output ended an answer",
    [{ text: "half", limited: true }],
    async (provider) => {
      expect("the finish reason", (await answered(provider, HELLO)).finish, "length");
    },
  ),
  one("ends with exactly one error when the server refuses", [{ failure: "refused" }], async (provider) => {
    const { chunks, error } = await replyTo(provider, HELLO);
    expect("chunks", chunks.map(({ type }) => type), ["error"]);
    expect("kind and status", [error?.kind, error?.status], ["auth", 401]);
  }),
  one("announces each new attempt and says whether what was shown counts", [
    { failure: "overloaded" },
    { text: "par", failure: "cut" },
    { text: "whole" },
  ], async (provider) => {
    const { chunks, text } = await answered(provider, HELLO);
    const retries = chunks.flatMap((chunk) => chunk.type === "retry" ? [chunk.discarded] : []);
    expect("discarded text of each retry", retries, [false, true]);
    expect("the text that counts", text, "whole");
  }),
  one(
    "ends with kind aborted when the signal aborts",
    [{ text: "a", failure: "silent" }],
    async (provider) => {
      const controller = new AbortController();
      const seen: string[] = [];
      for await (const chunk of provider.stream({ prefix: PREFIX, messages: HELLO }, controller.signal)) {
        seen.push(chunk.type === "error" ? chunk.error.kind : chunk.type);
        controller.abort();
      }
      expect("what came", seen, ["text", "aborted"]);
    },
  ),
  one("sends nothing when the signal was aborted before", [], async (provider) => {
    const { error } = await replyTo(provider, HELLO, {}, AbortSignal.abort());
    expect("the error", error?.kind, "aborted");
  }),
  one("lets the consumer stop early and take the next request", [
    { text: "a", failure: "silent" },
    { text: "b" },
  ], async (provider) => {
    const signal = new AbortController().signal;
    for await (const _ of provider.stream({ prefix: PREFIX, messages: HELLO }, signal)) break;
    expect("the text", (await answered(provider, HELLO)).text, "b");
  }),
  one("continues a conversation when its array grows, and in a copy of it", [
    { reasoning: "first", calls: [{ name: "look", args: { path: "a" } }] },
    { text: "next", calls: [{ name: "look", args: { path: "b" } }, { name: "look", args: { path: "c" } }] },
    { text: "done" },
    { text: "more" },
  ], async (provider) => {
    const messages = [...HELLO];
    let reply = await answered(provider, messages);
    for (; reply.calls.length > 0; reply = await answered(provider, messages)) {
      messages.push(reply.message, ...reply.calls.map(resultOf));
    }
    expect("the last answer", reply.text, "done");
    // As after a restart: equal objects with other identities.
    const again: Message[] = structuredClone([...messages, reply.message]);
    again.push({ role: "user", content: "Go on" });
    expect("the answer to the copy", (await answered(provider, again)).text, "more");
  }),
  one(
    "takes results without text, broken arguments and texts in a row",
    [{ text: "ok" }],
    async (provider) => {
      const call = (id: string, text: string) => ({ id, name: "look", arguments: text });
      const messages: Message[] = [
        { role: "user", content: "a" },
        { role: "user", content: "b" },
        { role: "assistant", content: "", calls: [call("x", '{"path":'), call("y", '{"path":"."}')] },
        { role: "tool", callId: "x", name: "look", content: "" },
        { role: "tool", callId: "y", name: "look", content: "\ud800 half a pair" },
        { role: "user", content: "c" },
      ];
      expect("the text", (await answered(provider, messages)).text, "ok");
    },
  ),
  one("leaves out what another model signed", [{ text: "ok" }], async (provider) => {
    const part = { kind: "other", provider: "other", model: "other", data: { secret: "SIGNED" } };
    const messages: Message[] = [
      ...HELLO,
      { role: "assistant", content: "Hi", reasoning: "thought", parts: [part] },
      { role: "user", content: "Again" },
    ];
    expect("the text", (await answered(provider, messages)).text, "ok");
  }),
  one("takes a conversation in which tools may not be called", [{ text: "ok" }], async (provider) => {
    const reply = await answered(provider, HELLO, { toolChoice: "none", maxOutputTokens: 100 });
    expect("the text", reply.text, "ok");
  }),
];

function one(name: string, turns: readonly ContractTurn[], run: ContractCase["run"]): ContractCase {
  return { name, turns, run };
}

function resultOf({ id, name }: { readonly id: string; readonly name: string }): ToolMessage {
  return { role: "tool", callId: id, name, content: "seen" };
}

async function answered(...request: Parameters<typeof replyTo>): Promise<ContractReply> {
  const reply = await replyTo(...request);
  if (reply.error) throw new Error(`Expected an answer; the request failed: ${reply.error.message}`);
  const ends = reply.chunks.filter(({ type }) => type === "done" || type === "error");
  expect("the number of done and error chunks", ends.length, 1);
  expect("the last chunk", reply.chunks.at(-1)?.type, "done");
  const { usage } = reply;
  if (usage) {
    const { inputTokens, cachedTokens, outputTokens, reasoningTokens, cacheWriteTokens = 0 } = usage;
    expect("cached tokens are part of the input", cachedTokens + cacheWriteTokens <= inputTokens, true);
    expect("reasoning tokens are part of the output", reasoningTokens <= outputTokens, true);
  }
  return reply;
}

function expect(what: string, is: unknown, promised: unknown): void {
  const [left, right] = [JSON.stringify(is), JSON.stringify(promised)];
  if (left !== right) throw new Error(`Expected ${what} to be ${right}, not ${left}`);
}

/** One reply, sorted. What a retry discarded is left out of all but `chunks`. */
interface ContractReply {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly usage: Usage | undefined;
  readonly finish: string | undefined;
  readonly error: ProviderError | undefined;
  /** The reply as recorded in the conversation. */
  readonly message: AssistantMessage;
}

/** Runs one request to its end, as the agent does. */
async function replyTo(
  provider: Provider,
  messages: readonly Message[],
  more: Partial<ModelRequest> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<ContractReply> {
  const request = { prefix: PREFIX, messages, ...more };
  const chunks: Chunk[] = [];
  for await (const chunk of provider.stream(request, signal)) chunks.push(chunk);
  return sorted(chunks);
}

/** One tool, which calls can name. */
const PREFIX: ModelRequest["prefix"] = {
  system: "Be brief",
  tools: [{
    name: "look",
    description: "Looks at a path",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  }],
};

function sorted(chunks: readonly Chunk[]): ContractReply {
  const counted = chunks.slice(chunks.findLastIndex((one) => one.type === "retry" && one.discarded) + 1);
  const of = <T extends Chunk["type"]>(type: T) =>
    counted.filter((chunk): chunk is Extract<Chunk, { type: T }> => chunk.type === type);
  const text = of("text").map((chunk) => chunk.text).join("");
  const reasoning = of("reasoning").map((chunk) => chunk.text).join("");
  const calls = of("tool_call").map((chunk) => chunk.call);
  const parts = of("part").map((chunk) => chunk.part);
  return {
    chunks,
    text,
    reasoning,
    calls,
    usage: of("usage").at(-1)?.usage,
    finish: of("done")[0]?.reason,
    error: of("error")[0]?.error,
    message: {
      role: "assistant",
      content: text,
      ...(reasoning === "" ? {} : { reasoning }),
      ...(calls.length === 0 ? {} : { calls }),
      ...(parts.length === 0 ? {} : { parts }),
    },
  };
}
