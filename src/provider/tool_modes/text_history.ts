import type { AssistantMessage, Message, Prefix, ToolCall, ToolMessage, ToolSchema } from "../../core/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import type { ModelInfo } from "../provider.ts";
import { partsFor, TEXT_CALLS } from "../wire/message_parts.ts";
import { readBlockCall } from "./block_call.ts";
import type { Layout } from "./reply_log.ts";
import { escapeMarkers, exampleCall, requiredNames, writeCall, writeResult } from "./syntax.ts";

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
export class TextHistory {
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

/** The text of a reply by its layout; undefined when the two do not fit. */
function restored(layout: unknown, content: string, calls: readonly ToolCall[]): string | undefined {
  if (!isRecord(layout) || !Array.isArray(layout.layout)) return undefined;
  let at = 0;
  let text = "";
  for (const item of layout.layout as Layout) {
    if (typeof item === "number") {
      text += content.slice(at, at + item);
      at += item;
    } else if (typeof item === "string") text += item;
    else {
      const call = calls[item.call];
      if (call === undefined) return undefined;
      text += writeCall(call);
    }
  }
  return at === content.length ? text : undefined;
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
  const read = readBlockCall(raw, new Map());
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
