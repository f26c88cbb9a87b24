import {
  type Chunk,
  errorMessage,
  type Message,
  message,
  ReasonixError,
  type ToolSchema,
} from "../../core/mod.ts";
import { defined, isRecord, mapTexts, parseJson } from "../../util/json.ts";

/** Version of the cassette format; docs/cassette.md describes it. */
export const CASSETTE_VERSION = 1;

interface IgnoreRule {
  /** Regular expression, applied with the flags g, m and u. */
  readonly match: string;
  readonly replace?: string;
}

export interface CassetteHeader {
  readonly cassette: typeof CASSETTE_VERSION;
  readonly provider?: string;
  readonly model?: string;
  /** Names of values that are `{{name}}` in the texts. */
  readonly values?: readonly string[];
  /** The parts that a replay does not compare. */
  readonly loose?: readonly ("system" | "tools" | "messages")[];
  /** Texts that vary between runs and are compared by their replacements. */
  readonly ignore?: readonly IgnoreRule[];
}

export interface RecordedMessage {
  readonly role: string;
  readonly content: string;
  readonly name?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
  readonly images?: number;
}

/** A request by what is new in it: messages before `from` are those of the exchange before. */
export interface RecordedRequest {
  readonly from: number;
  readonly messages: readonly RecordedMessage[];
  /** Present when it differs from the exchange before. */
  readonly system?: string;
  readonly tools?: readonly string[];
}

export type RecordedChunk = Chunk & {
  /** Milliseconds to wait before it. */
  readonly delay?: number;
};

/** Every further line: a request and what came back. */
export interface Exchange {
  /**
   * Distinguishes conversations that run side by side; exchanges without one serve any conversation in order.
   */
  readonly conversation?: number;
  /** Absent = any request is answered. */
  readonly request?: RecordedRequest;
  readonly reply: readonly RecordedChunk[];
  /** The reply never ended: it was stopped by the user. */
  readonly hang?: boolean;
}

export interface Cassette {
  readonly file: string;
  readonly header: CassetteHeader;
  readonly exchanges: readonly Exchange[];
}

/** Reads a cassette. Rejects with a ReasonixError of exit "config" that names file and line. */
export async function readCassette(file: string): Promise<Cassette> {
  let text: string;
  try {
    text = await Deno.readTextFile(file);
  } catch (error) {
    throw new ReasonixError(message`Could not read the cassette ${file}: ${errorMessage(error)}`, {
      exit: "config",
      remedy: message`set cassette of this provider to a file made with --record`,
      cause: error,
    });
  }
  const parsed = text.split("\n").flatMap((line, at) =>
    line.trim() === "" ? [] : [{ value: parseJson(line), at: at + 1 }]
  );
  const header = parsed.shift()?.value;
  if (!isHeader(header)) throw broken(file, 1, `the first line must be {"cassette":${CASSETTE_VERSION}, …}`);
  const exchanges = parsed.map(({ value, at }) => {
    if (isExchange(value)) return value;
    throw broken(file, at, "an exchange must be a JSON object with a list named reply");
  });
  return { file, header, exchanges };
}

function isHeader(value: unknown): value is CassetteHeader {
  return isRecord(value) && value.cassette === CASSETTE_VERSION;
}

function isExchange(value: unknown): value is Exchange {
  return isRecord(value) && Array.isArray(value.reply);
}

function broken(file: string, line: number, what: string): ReasonixError {
  return new ReasonixError(message`Could not use the cassette ${file}: ${what}`, {
    exit: "config",
    place: { file, line },
    remedy: message`record it again with --record`,
  });
}

/** A value shorter than this (such as "/") would be found everywhere. */
const SHORTEST_VALUE = 3;

/** Replaces values that differ between runs by their names, and back. */
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

  show(text: string, write = (value: string) => value): string {
    let out = text;
    for (const [name, value] of this.#values) out = out.replaceAll(`{{${name}}}`, () => write(value));
    return out;
  }

  hideChunk(chunk: Chunk): RecordedChunk {
    return withTexts(chunk, (text) => this.hide(text));
  }

  /** The chunk as it would have come in this run. */
  showChunk({ delay: _, ...chunk }: RecordedChunk): Chunk {
    return withTexts(chunk, (text) => this.show(text), (text) => this.show(text, escapeJson));
  }

  message(message: Message): RecordedMessage {
    const { role } = message;
    const content = this.hide(message.content);
    if (role !== "assistant") {
      const images = message.images?.length || undefined;
      return defined({ role, name: role === "tool" ? message.name : undefined, content, images });
    }
    const calls = message.calls?.map((call) => ({ name: call.name, arguments: this.hide(call.arguments) }));
    return { role, content, ...(calls?.length ? { calls } : {}) };
  }
}

/** A chunk with its texts changed, those in the data of a part included; arguments are JSON. */
function withTexts(chunk: Chunk, change: (text: string) => string, changeJson = change): Chunk {
  if ("text" in chunk) return { ...chunk, text: change(chunk.text) };
  if (chunk.type === "part") {
    return { ...chunk, part: { ...chunk.part, data: mapTexts(chunk.part.data, change) } };
  }
  if (chunk.type !== "tool_call") return chunk;
  return { ...chunk, call: { ...chunk.call, arguments: changeJson(chunk.call.arguments) } };
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
export function normalizer(rules: readonly IgnoreRule[] = []): (text: string) => string {
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

/** FNV-1a, 32 bits: distinguishes versions of a text, nothing more. */
function hash(text: string): string {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return (h >>> 0).toString(16).padStart(8, "0");
}
