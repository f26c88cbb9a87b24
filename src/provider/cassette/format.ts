import { type Chunk, errorMessage, ReasonixError } from "../../core/mod.ts";

/** Version of the cassette format; docs/cassette.md describes it. */
export const CASSETTE_VERSION = 1;

/** The parts that a replay does not compare. */
export type Looseness = "system" | "tools" | "messages";

/** A text that varies between runs and is compared by its replacement. */
export interface IgnoreRule {
  /** Regular expression, applied with the flags g, m and u. */
  readonly match: string;
  readonly replace?: string;
}

/** First line of a cassette. */
export interface CassetteHeader {
  readonly cassette: typeof CASSETTE_VERSION;
  readonly provider?: string;
  readonly model?: string;
  /** Names that stand as `{{name}}` in the texts. */
  readonly values?: readonly string[];
  readonly loose?: readonly Looseness[];
  readonly ignore?: readonly IgnoreRule[];
}

/** A message as far as it is compared. */
export interface RecordedMessage {
  readonly role: string;
  readonly content: string;
  readonly name?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: string }[];
  /** Number of images. */
  readonly images?: number;
}

/** A request by what is new in it: messages before `from` are those of the exchange before. */
export interface RecordedRequest {
  readonly from: number;
  readonly messages: readonly RecordedMessage[];
  /** Present when it differs from the exchange before. */
  readonly system?: string;
  /** Name and hash of every tool; present when they differ from the exchange before. */
  readonly tools?: readonly string[];
}

export type RecordedChunk = Chunk & {
  /** Milliseconds to wait before it. */
  readonly delay?: number;
};

/** Every further line: a request and what came back. */
export interface Exchange {
  /**
   * Tells conversations apart that run side by side; exchanges without one serve any conversation in order.
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
    throw new ReasonixError(`Could not read the cassette ${file}: ${errorMessage(error)}`, {
      exit: "config",
      remedy: "set cassette of this provider to a file made with --record",
      cause: error,
    });
  }
  const lines = text.split("\n");
  const parsed = lines.flatMap((line, at) =>
    line.trim() === "" ? [] : [{ value: parseLine(line), at: at + 1 }]
  );
  const header = parsed.shift()?.value;
  if (!isHeader(header)) throw broken(file, 1, `the first line must be {"cassette":${CASSETTE_VERSION}, …}`);
  const exchanges = parsed.map(({ value, at }) => {
    if (!isExchange(value)) {
      throw broken(file, at, "an exchange must be a JSON object with a list named reply");
    }
    return value;
  });
  return { file, header, exchanges };
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isHeader(value: unknown): value is CassetteHeader {
  return typeof value === "object" && value !== null && "cassette" in value &&
    value.cassette === CASSETTE_VERSION;
}

function isExchange(value: unknown): value is Exchange {
  return typeof value === "object" && value !== null && "reply" in value && Array.isArray(value.reply);
}

function broken(file: string, line: number, what: string): ReasonixError {
  return new ReasonixError(`Could not use the cassette ${file}: ${what}`, {
    exit: "config",
    place: { file, line },
    remedy: "record it again with --record",
  });
}
