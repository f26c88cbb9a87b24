import type { Chunk, FinishReason, Prefix, ProviderPart, ToolCall } from "../../core/mod.ts";
import type { ModelRequest, Provider } from "../provider.ts";
import { wrapProvider } from "../wrap.ts";
import { taughtPrefix } from "./addendum.ts";
import { CallScanner } from "./call_scanner.ts";
import type { ReplyRead } from "./reply_log.ts";
import type { TextCall } from "./syntax.ts";
import { TEXT_CALLS } from "../wire/message_parts.ts";
import { TextHistory } from "./text_history.ts";

/**
 * - "pseudo": the model is told in the system prompt how to write calls; results are messages of the user.
 * - "none": there are no tools; calls of earlier models are told as text.
 * - "official with text": tools are declared as the wire has it, and calls in the text count, too.
 */
export type TextToolMode = "pseudo" | "none" | "official with text";

type Stream = Provider["stream"];

/** Gives a provider another way of calling tools, whatever its wire is. */
export function withTextTools(provider: Provider, mode: TextToolMode): Provider {
  const requests = new TextRequests(provider, mode);
  const wrap = (stream: Stream): Stream => (request, signal) => {
    const sent = requests.of(request);
    const { tools } = request.prefix;
    const reads = mode !== "none" && request.toolChoice !== "none" && tools.length > 0;
    const replies = stream(sent, signal);
    if (reads) return new TextReply(provider, mode, request).chunks(replies);
    return mode === "official with text" ? replies : withoutCalls(replies);
  };
  const { rehearse, count } = provider;
  return wrapProvider(provider, {
    stream: wrap((request, signal) => provider.stream(request, signal)),
    ...(rehearse ? { rehearse: wrap((request, signal) => rehearse.call(provider, request, signal)) } : {}),
    ...(count ? { count: (request, signal) => count.call(provider, requests.of(request), signal) } : {}),
    ...(mode === "official with text" ? {} : { sentPrefix: (prefix: Prefix) => requests.prefix(prefix) }),
  });
}

/** Requests as the wire gets them. */
class TextRequests {
  readonly #mode: TextToolMode;
  readonly #history: TextHistory;
  readonly #prefixes = new WeakMap<Prefix, Prefix>();

  constructor({ model }: Provider, mode: TextToolMode) {
    this.#mode = mode;
    this.#history = new TextHistory(model);
  }

  of(request: ModelRequest): ModelRequest {
    if (this.#mode === "official with text") return request;
    const { prefix, messages, maxOutputTokens } = request;
    return {
      prefix: this.prefix(prefix),
      messages: this.#history.messages(messages, prefix),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    };
  }

  prefix(prefix: Prefix): Prefix {
    const known = this.#prefixes.get(prefix);
    if (known) return known;
    const made = this.#mode === "pseudo" ? taughtPrefix(prefix) : { system: prefix.system, tools: [] };
    this.#prefixes.set(prefix, made);
    return made;
  }
}

/** A model that has no tools may still send a call: nothing is there to run it. */
async function* withoutCalls(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk, void> {
  for await (const chunk of chunks) {
    if (chunk.type === "done" && chunk.reason === "tool_calls") yield { type: "done", reason: "stop" };
    else if (chunk.type !== "tool_call") yield chunk;
  }
}

/** One reply whose text may hold calls. */
class TextReply {
  readonly #provider: Provider;
  readonly #request: ModelRequest;
  readonly #taught: boolean;
  #scanner: CallScanner;
  #calls: ToolCall[] = [];
  #parts: ProviderPart[] = [];

  constructor(provider: Provider, mode: TextToolMode, request: ModelRequest) {
    this.#provider = provider;
    this.#request = request;
    this.#taught = mode === "pseudo";
    this.#scanner = this.#open();
  }

  async *chunks(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk, void> {
    for await (const chunk of chunks) {
      switch (chunk.type) {
        case "text":
          yield* said(this.#scanner.push(chunk.text));
          break;
        case "tool_call":
          this.#calls.push(chunk.call);
          break;
        case "part":
          this.#parts.push(chunk.part);
          break;
        case "retry":
          [this.#scanner, this.#calls, this.#parts] = [this.#open(), [], []];
          yield chunk;
          break;
        case "done":
          yield* this.#end(chunk.reason);
          break;
        case "error":
          yield* said(this.#scanner.rest);
          yield chunk;
          break;
        default:
          yield chunk;
      }
    }
  }

  #open(): CallScanner {
    const { prefix: { tools }, onCall } = this.#request;
    return new CallScanner({
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      taught: this.#taught,
      onCall,
    });
  }

  /** What the server itself takes for calls counts alone: a text that repeats them is none. */
  *#end(finish: FinishReason): Generator<Chunk, void> {
    const own = this.#calls.length > 0;
    const { text, calls, layout, shortened } = this.#scanner.end(own ? "content_filter" : finish);
    yield* said(text);
    const all = own ? this.#calls : this.#named(calls);
    for (const call of all) yield { type: "tool_call", call };
    // Parts of the wire belong to the text as it came, which is not the text that goes back.
    if (!shortened && !(own && this.#taught)) {
      for (const part of this.#parts) {
        yield { type: "part", part };
      }
    }
    if (this.#taught && layout !== undefined) yield { type: "part", part: this.#layoutPart(layout) };
    const called = all.length > 0 && (finish === "stop" || finish === "unknown");
    yield { type: "done", reason: called ? "tool_calls" : finish };
  }

  #layoutPart(layout: ReplyRead["layout"]): ProviderPart {
    const { provider, id } = this.#provider.model;
    return { kind: TEXT_CALLS, provider, model: id, data: { layout } };
  }

  /** Calls with ids that no other call of the conversation has. */
  #named(calls: readonly TextCall[]): readonly ToolCall[] {
    if (calls.length === 0) return [];
    const { messages } = this.#request;
    const taken = new Set(
      messages.flatMap((message) =>
        message.role === "assistant" ? (message.calls ?? []).map((call) => call.id) : []
      ),
    );
    let number = 0;
    return calls.map((call) => {
      let id = `call_${messages.length}_${number++}`;
      while (taken.has(id)) id = `call_${messages.length}_${number++}`;
      return { id, ...call };
    });
  }
}

function* said(text: string): Generator<Chunk, void> {
  if (text !== "") yield { type: "text", text };
}
