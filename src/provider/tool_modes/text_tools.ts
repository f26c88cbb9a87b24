import type {
  AssistantMessage,
  Chunk,
  FinishReason,
  Message,
  Prefix,
  ProviderPart,
  ToolCall,
  ToolMessage,
  ToolSchema,
} from "../../core/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import type { ModelInfo, ModelRequest, Provider } from "../provider.ts";
import { digestOf } from "../wire/fingerprint.ts";
import { partsFor, TEXT_CALLS } from "../wire/message_parts.ts";
import { wrapProvider } from "../wrap.ts";
import { CallScanner } from "./call_scanner.ts";
import {
  escapeMarkers,
  exampleCall,
  requiredNames,
  taughtPrefix,
  type TextCall,
  writeCall,
  writeResult,
} from "./syntax.ts";
import { readTaughtCall } from "./taught_call.ts";

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
  #said = "";
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
          yield* this.#say(this.#scanner.push(chunk.text));
          break;
        case "tool_call":
          this.#calls.push(chunk.call);
          break;
        case "part":
          this.#parts.push(chunk.part);
          break;
        case "retry":
          [this.#scanner, this.#said, this.#calls, this.#parts] = [this.#open(), "", [], []];
          yield chunk;
          break;
        case "done":
          yield* this.#end(chunk.reason);
          break;
        case "error":
          yield* this.#say(this.#scanner.rest);
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

  /** Ends the reply. Calls of the server count alone: a text that repeats them is text. */
  *#end(finish: FinishReason): Generator<Chunk, void> {
    const own = this.#calls.length > 0;
    const { text, calls, raw, shortened } = this.#scanner.end(own ? "content_filter" : finish);
    yield* this.#say(text);
    const all = own ? this.#calls : this.#named(calls);
    for (const call of all) yield { type: "tool_call", call };
    // Parts of the wire belong to the text as it came, which is not the text that goes back.
    if (!shortened && !(own && this.#taught)) {
      for (const part of this.#parts) yield { type: "part", part };
    }
    if (this.#taught && calls.length > 0) {
      const { provider, id } = this.#provider.model;
      const data = { text: raw, of: nameOf(this.#said, all) };
      yield { type: "part", part: { kind: TEXT_CALLS, provider, model: id, data } };
    }
    const called = all.length > 0 && (finish === "stop" || finish === "unknown");
    yield { type: "done", reason: called ? "tool_calls" : finish };
  }

  *#say(text: string): Generator<Chunk, void> {
    this.#said += text;
    if (text !== "") yield { type: "text", text };
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

/** A conversation as text, as far as it has been written. */
interface Written {
  readonly prefix: Prefix;
  readonly messages: Message[];
  /** Messages of the conversation that are written, and the last of them. */
  count: number;
  last: Message | undefined;
  /** Calls of the last reply by their id. */
  calls: ReadonlyMap<string, ToolCall>;
}

/**
 * Conversations without tool calls and tool results for a wire that does not get them: a reply is the text
 * that the model wrote, the results of its calls are one message of the user.
 *
 * Contract: what was written of a conversation stays, byte for byte; the same messages give the same text,
 * also after a resume.
 */
class TextHistory {
  readonly #model: Pick<ModelInfo, "provider" | "id">;
  readonly #written = new WeakMap<readonly Message[], Written>();

  constructor(model: Pick<ModelInfo, "provider" | "id">) {
    this.#model = model;
  }

  /** The conversation as text: the same array for the same conversation, only ever appended to. */
  messages(messages: readonly Message[], prefix: Prefix): readonly Message[] {
    const written = this.#find(messages, prefix);
    const results: ToolMessage[] = [];
    const flush = () => {
      if (results.length > 0) written.messages.push(resultMessage(results, written.calls, prefix.tools));
      results.length = 0;
    };
    for (; written.count < messages.length; written.count++) {
      const message = messages[written.count];
      if (message === undefined) break;
      written.last = message;
      if (message.role === "tool") {
        results.push(message);
        continue;
      }
      flush();
      if (message.role === "assistant") {
        written.calls = new Map((message.calls ?? []).map((call) => [call.id, call]));
        written.messages.push(this.#reply(message));
      } else {
        const content = escapeMarkers(message.content);
        written.messages.push(content === message.content ? message : { ...message, content });
      }
    }
    flush();
    return written.messages;
  }

  #find(messages: readonly Message[], prefix: Prefix): Written {
    const known = this.#written.get(messages);
    const stands = known?.prefix === prefix && known.count <= messages.length &&
      (known.count === 0 || messages[known.count - 1] === known.last);
    if (known && stands) return known;
    const written: Written = { prefix, messages: [], count: 0, last: undefined, calls: new Map() };
    this.#written.set(messages, written);
    return written;
  }

  /** A reply as the model wrote it, or with its calls in the canonical form where that is not known. */
  #reply(whole: AssistantMessage): AssistantMessage {
    const { calls = [], parts = [], ...message } = whole;
    const [own] = partsFor(whole, TEXT_CALLS, this.#model);
    const others = parts.filter(({ kind }) => kind !== TEXT_CALLS);
    const kept = others.length > 0 ? { parts: others } : {};
    if (calls.length === 0) return { ...message, ...kept };
    const content = own && restored(own.data, message.content, calls);
    // Other parts belong to the text as it was.
    if (content !== undefined) return { ...message, content, ...kept };
    const texts = [message.content.trimEnd(), ...calls.map(writeCall)].filter((text) => text !== "");
    return { ...message, content: texts.join("\n\n") };
  }
}

/**
 * The text of a reply as the model wrote it; undefined where text and calls are no longer those that it had.
 * Earlier versions kept a layout in place of the text: how much of what was shown comes next, the place of a
 * call in the taught form, or a text for itself.
 */
function restored(data: unknown, content: string, calls: readonly ToolCall[]): string | undefined {
  if (!isRecord(data)) return undefined;
  if (typeof data.text === "string") return data.of === nameOf(content, calls) ? data.text : undefined;
  if (!Array.isArray(data.layout)) return undefined;
  let at = 0;
  const texts = data.layout.map((item) => {
    if (typeof item === "number") return content.slice(at, at += item);
    const call = calls[item.call];
    return typeof item === "string" ? item : call && writeCall(call);
  });
  return at === content.length && texts.every((text) => text !== undefined) ? texts.join("") : undefined;
}

/** Name of what was shown of a reply, and of its calls. */
function nameOf(content: string, calls: readonly ToolCall[]): string {
  return digestOf([content, calls.map((call) => [call.name, call.arguments])]);
}

function resultMessage(
  results: readonly ToolMessage[],
  calls: ReadonlyMap<string, ToolCall>,
  tools: readonly ToolSchema[],
): Message {
  const texts = results.map((result, at) => {
    const call = calls.get(result.callId);
    const problem = call && !isRecord(parseJson(call.arguments)) ? problemOf(call.arguments) : undefined;
    const content = problem === undefined ? result.content : `Not executed: ${problem}`;
    const help = call && (problem !== undefined || isRefused(result)) ? howTo(call, tools) : "";
    return `${writeResult(at + 1, result.name, content)}${help}`;
  });
  const images = results.flatMap((result) => result.images ?? []);
  return { role: "user", content: texts.join("\n\n"), ...(images.length > 0 ? { images } : {}) };
}

/** Tells results about the form of a call from all others. */
function isRefused({ name, content }: ToolMessage): boolean {
  return content.startsWith(`Invalid arguments for ${name}: `) ||
    content.startsWith(`Unknown tool "${name}"`);
}

function problemOf(raw: string): string {
  if (!/^\s*%%CMD%%/i.test(raw)) return "the call is not a JSON object with a name and arguments";
  const read = readTaughtCall(raw, new Map());
  if (read.state === "bad") return `the call cannot be read: ${read.problem}`;
  return read.state === "open"
    ? "the call is not closed by a line %%END%%; if it was cut off, write less at a time"
    : "a text in the call has a line %%END%% of its own, which needs a backslash in front";
}

function howTo(call: ToolCall, tools: readonly ToolSchema[]): string {
  const meant = tools.find(({ name }) => name === call.name);
  const tool = meant ?? tools.find(({ parameters }) => requiredNames(parameters).length > 0);
  return tool
    ? `\n${meant ? `Write a call of ${tool.name}` : "Write a call"} like this:\n${exampleCall(tool)}`
    : "";
}
