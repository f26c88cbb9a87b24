import type { Chunk, Message, ToolSchema } from "../../core/mod.ts";
import type { IgnoreRule, RecordedChunk, RecordedMessage } from "./format.ts";

/** A value shorter than this (such as "/") would be found everywhere. */
const SHORTEST_VALUE = 3;

/** Puts names in place of values that differ between runs, and back. */
export class Template {
  /** Longest value first, so that a path inside another one is found. */
  readonly #values: readonly (readonly [name: string, value: string])[];

  constructor(values: Readonly<Record<string, string>>) {
    this.#values = Object.entries(values).filter(([, value]) => value.length >= SHORTEST_VALUE)
      .sort(([, a], [, b]) => b.length - a.length);
  }

  hide(text: string): string {
    let out = text;
    for (const [name, value] of this.#values) {
      out = out.replaceAll(value, `{{${name}}}`);
      const escaped = escapeJson(value);
      if (escaped !== value) out = out.replaceAll(escaped, `{{${name}}}`);
    }
    return out;
  }

  show(text: string): string {
    let out = text;
    for (const [name, value] of this.#values) out = out.replaceAll(`{{${name}}}`, () => value);
    return out;
  }

  hideChunk(chunk: Chunk): RecordedChunk {
    if ("text" in chunk) return { ...chunk, text: this.hide(chunk.text) };
    if (chunk.type !== "tool_call") return chunk;
    return { ...chunk, call: { ...chunk.call, arguments: this.hide(chunk.call.arguments) } };
  }

  /** The chunk as it would have come in this run. */
  showChunk(recorded: RecordedChunk): Chunk {
    const { delay: _delay, ...chunk } = recorded;
    if ("text" in chunk) return { ...chunk, text: this.show(chunk.text) };
    if (chunk.type !== "tool_call") return chunk;
    let args = chunk.call.arguments;
    for (const [name, value] of this.#values) args = args.replaceAll(`{{${name}}}`, () => escapeJson(value));
    return { ...chunk, call: { ...chunk.call, arguments: args } };
  }

  message(message: Message): RecordedMessage {
    const content = this.hide(message.content);
    if (message.role === "assistant") {
      const calls = message.calls?.map((call) => ({ name: call.name, arguments: this.hide(call.arguments) }));
      return { role: message.role, content, ...(calls?.length ? { calls } : {}) };
    }
    const images = message.images?.length ? { images: message.images.length } : {};
    return message.role === "tool"
      ? { role: message.role, name: message.name, content, ...images }
      : { role: message.role, content, ...images };
  }
}

function escapeJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** Texts that differ between two honest runs: line ends, times, dates, durations, addresses. */
const ALWAYS_IGNORED: readonly (readonly [RegExp, string])[] = [
  [/\r\n?/g, "\n"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, "<time>"],
  [/\b\d{4}-\d\d-\d\d\b/g, "<date>"],
  [/\b\d\d?:\d\d:\d\d(?:\.\d+)?\b/g, "<time>"],
  [/\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|seconds?|m|min|mins|minutes?)\b/g, "<duration>"],
  [/<duration>(?:\s?<duration>)+/g, "<duration>"],
  [/\b0x[0-9a-f]{6,}\b/gi, "<address>"],
];

/** Makes the function that reduces a text to what two runs of the same work have in common. */
export function normaliser(rules: readonly IgnoreRule[] = []): (text: string) => string {
  const own = rules.map((rule) => [new RegExp(rule.match, "gmu"), rule.replace ?? ""] as const);
  return (text) => {
    let out = text;
    for (const [pattern, replacement] of [...own, ...ALWAYS_IGNORED]) out = out.replace(pattern, replacement);
    return out;
  };
}

/** Name and hash of each tool, so that a changed description is noticed without storing it. */
export function toolPrints(tools: readonly ToolSchema[]): readonly string[] {
  return tools.map((tool) => `${tool.name}#${hash(JSON.stringify(tool))}`);
}

/** FNV-1a, 32 bits: tells versions of a text apart, nothing more. */
function hash(text: string): string {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return (h >>> 0).toString(16).padStart(8, "0");
}
