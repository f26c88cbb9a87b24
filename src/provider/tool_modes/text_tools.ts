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
import { type ModelInfo, type ModelRequest, type Provider, wrapProvider } from "../provider.ts";
import { ConversationStates } from "../wire/request_buffer.ts";
import { digestOf } from "../wire/fingerprint.ts";
import { partsFor, TEXT_CALLS } from "../wire/message_parts.ts";
import { CallScanner } from "./call_scanner.ts";
import {
  escapeMarkers,
  exampleCall,
  readTaughtCall,
  requiredNames,
  taughtPrefix,
  type TextCall,
  writeCall,
  writeResult,
} from "./taught_form.ts";

/**
 * - "pseudo": the system prompt teaches how to write calls; results are messages of the user.
 * - "none": there are no tools; calls of earlier models are sent as text.
 * - "official with text": tools are declared as the wire has it, and calls in the text count, too.
 */
export type TextToolMode = "pseudo" | "none" | "official with text";

/** Gives a provider another way of calling tools, whatever its wire is. */
export function withTextTools(provider: Provider, mode: TextToolMode): Provider {
  const isTaught = mode === "pseudo";
  const prefixes = new WeakMap<Prefix, Prefix>();
  const sentPrefix = (prefix: Prefix): Prefix => {
    const known = prefixes.get(prefix);
    if (known) return known;
    const sent = isTaught ? taughtPrefix(prefix) : { system: prefix.system, tools: [] };
    prefixes.set(prefix, sent);
    return sent;
  };
  const messagesAsText = textHistory(provider.model);
  const sentRequest = (request: ModelRequest): ModelRequest => {
    if (mode === "official with text") return request;
    const { prefix, messages, maxOutputTokens } = request;
    return {
      prefix: sentPrefix(prefix),
      messages: messagesAsText(messages, prefix),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    };
  };
  const wrap = (stream: Provider["stream"]): Provider["stream"] => (request, signal) => {
    const replies = stream(sentRequest(request), signal);
    const reads = mode !== "none" && request.toolChoice !== "none" && request.prefix.tools.length > 0;
    if (reads) return readCalls(replies, { model: provider.model, request, isTaught });
    return mode === "official with text" ? replies : withoutCalls(replies);
  };
  const { warmUp, count } = provider;
  return wrapProvider(provider, {
    stream: wrap((request, signal) => provider.stream(request, signal)),
    ...(warmUp ? { warmUp: wrap((request, signal) => warmUp.call(provider, request, signal)) } : {}),
    ...(count ? { count: (request, signal) => count.call(provider, sentRequest(request), signal) } : {}),
    ...(mode === "official with text" ? {} : { sentPrefix }),
  });
}

/** A model that has no tools may still send a call: nothing is there to run it. */
async function* withoutCalls(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk, void> {
  for await (const chunk of chunks) {
    if (chunk.type === "done" && chunk.reason === "tool_calls") yield { type: "done", reason: "stop" };
    else if (chunk.type !== "tool_call") yield chunk;
  }
}

type Model = Pick<ModelInfo, "provider" | "id">;

interface ReplyOptions {
  readonly model: Model;
  readonly request: ModelRequest;
  readonly isTaught: boolean;
}

/** A reply with the calls that its text has. Calls that the server recognized count alone. */
async function* readCalls(
  chunks: AsyncIterable<Chunk>,
  { model, request: { prefix, messages }, isTaught }: ReplyOptions,
): AsyncGenerator<Chunk, void> {
  const tools = new Map(prefix.tools.map((tool) => [tool.name, tool]));
  const begin = () => ({ scanner: new CallScanner({ tools, taught: isTaught }), text: "" });
  let reply = begin();
  let serverCalls: ToolCall[] = [];
  let parts: ProviderPart[] = [];
  function* say(text: string): Generator<Chunk, void> {
    reply.text += text;
    if (text !== "") yield { type: "text", text };
  }
  function* end(finish: FinishReason): Generator<Chunk, void> {
    const hasOwn = serverCalls.length > 0;
    const { text, calls, raw, shortened } = reply.scanner.end(hasOwn ? "content_filter" : finish);
    yield* say(text);
    const all = hasOwn ? serverCalls : withIds(calls, messages);
    for (const call of all) yield { type: "tool_call", call };
    // Parts of the wire belong to the text as it came, which is not the text that goes back.
    if (!shortened && !(hasOwn && isTaught)) { for (const part of parts) yield { type: "part", part }; }
    if (isTaught && calls.length > 0) {
      const data = { text: raw, of: digestOfReply(reply.text, all) };
      yield { type: "part", part: { kind: TEXT_CALLS, provider: model.provider, model: model.id, data } };
    }
    const called = all.length > 0 && (finish === "stop" || finish === "unknown");
    yield { type: "done", reason: called ? "tool_calls" : finish };
  }
  for await (const chunk of chunks) {
    if (chunk.type === "text") yield* say(reply.scanner.push(chunk.text));
    else if (chunk.type === "tool_call") serverCalls.push(chunk.call);
    else if (chunk.type === "part") parts.push(chunk.part);
    else if (chunk.type === "done") yield* end(chunk.reason);
    else {
      if (chunk.type === "error") yield* say(reply.scanner.rest());
      if (chunk.type === "retry") [reply, serverCalls, parts] = [begin(), [], []];
      yield chunk;
    }
  }
}

/** The calls with ids that no other call of the conversation has. */
function withIds(calls: readonly TextCall[], messages: readonly Message[]): readonly ToolCall[] {
  const earlier = messages.flatMap((message) => message.role === "assistant" ? message.calls ?? [] : []);
  const taken = new Set(earlier.map(({ id }) => id));
  let number = 0;
  return calls.map((call) => {
    let id = `call_${messages.length}_${number++}`;
    while (taken.has(id)) id = `call_${messages.length}_${number++}`;
    return { id, ...call };
  });
}

interface Written {
  readonly messages: Message[];
  calls: ReadonlyMap<string, ToolCall>;
}

/**
 * Conversations without tool calls and tool results for a wire that does not get them: a reply is the text
 * that the model wrote, the results of its calls are one message of the user.
 *
 * Contract: what was written of a conversation stays, byte for byte; the same messages give the same text,
 * also after a resume.
 */
function textHistory(
  model: Model,
): (messages: readonly Message[], prefix: Prefix) => readonly Message[] {
  const written = new ConversationStates<Written>();
  // The same array for the same conversation, only ever appended to.
  return (messages, prefix) => {
    const begin = () => ({ messages: [], calls: new Map() });
    const { state, added } = written.read(messages, begin, prefix);
    const results: ToolMessage[] = [];
    const flush = () => {
      if (results.length > 0) state.messages.push(resultMessage(results, state.calls, prefix.tools));
      results.length = 0;
    };
    for (const message of added) {
      if (message.role === "tool") {
        results.push(message);
        continue;
      }
      flush();
      if (message.role === "assistant") {
        state.calls = new Map((message.calls ?? []).map((call) => [call.id, call]));
        state.messages.push(replyAsText(message, model));
      } else {
        const content = escapeMarkers(message.content);
        state.messages.push(content === message.content ? message : { ...message, content });
      }
    }
    flush();
    return state.messages;
  };
}

/** A reply as the model wrote it, or with its calls in the canonical form where that is not known. */
function replyAsText(whole: AssistantMessage, model: Model): AssistantMessage {
  const { calls = [], parts = [], ...message } = whole;
  const [part] = partsFor(whole, TEXT_CALLS, model);
  const others = parts.filter(({ kind }) => kind !== TEXT_CALLS);
  const otherParts = others.length > 0 ? { parts: others } : {};
  if (calls.length === 0) return { ...message, ...otherParts };
  const content = part && restored(part.data, message.content, calls);
  // Other parts belong to the text as it was.
  if (content !== undefined) return { ...message, content, ...otherParts };
  const texts = [message.content.trimEnd(), ...calls.map(writeCall)].filter((text) => text !== "");
  return { ...message, content: texts.join("\n\n") };
}

/**
 * The text of a reply as the model wrote it; undefined where text and calls are no longer those that it had.
 * Earlier versions stored a layout instead of the text: the length of the shown text that comes next, the
 * index of a call in the taught form, or a text.
 */
function restored(data: unknown, content: string, calls: readonly ToolCall[]): string | undefined {
  if (!isRecord(data)) return undefined;
  if (typeof data.text === "string") return data.of === digestOfReply(content, calls) ? data.text : undefined;
  if (!Array.isArray(data.layout)) return undefined;
  let at = 0;
  const texts = data.layout.map((item) => {
    if (typeof item === "number") return content.slice(at, at += item);
    const call = calls[item.call];
    return typeof item === "string" ? item : call && writeCall(call);
  });
  return at === content.length && texts.every((text) => text !== undefined) ? texts.join("") : undefined;
}

function digestOfReply(content: string, calls: readonly ToolCall[]): string {
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
