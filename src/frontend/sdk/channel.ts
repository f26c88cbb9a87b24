import { errorMessage, type ImagePart, message, ReasonixError, usageError } from "../../core/mod.ts";
import type { Output } from "../output.ts";
import { IMAGE_MIME_TYPES } from "../../path/reference_text.ts";
import { isRecord, parseJson, recordOf } from "../../util/json.ts";
import { LineSplitter } from "../../util/lines.ts";
import { attempt } from "../../util/lazy.ts";

export type Fields = Record<string, unknown>;

export type RequestHandlers = Readonly<Record<string, (fields: Fields) => Fields | Promise<Fields>>>;

/** Lines that ask for nothing here. */
const IDLE_LINES = [
  "assistant",
  "control_cancel_request",
  "keep_alive",
  "system",
  "update_environment_variables",
];

/**
 * Standard input and output of a run that an SDK drives: lines of users in, and requests in both directions.
 * Requests are handled at once; messages of the user wait for their turn.
 */
export class ControlChannel {
  /** Carries out what the SDK asks for. */
  handlers: RequestHandlers = {};
  readonly #out: Output;
  /** Messages of the user, and what was wrong with lines that should have been one. */
  #messages: (UserLine | ReasonixError)[] = [];
  readonly #pending = new Map<string, (answer: Fields) => void>();
  #wake: () => void = () => {};
  #ended = false;
  #failure: unknown;

  constructor(out: Output) {
    this.#out = out;
  }

  /** Reads until the input ends; to be called once. */
  async read(input: ReadableStream<Uint8Array>): Promise<void> {
    const lines = new LineSplitter();
    try {
      for await (const bytes of input) lines.push(bytes).forEach((line) => this.#take(line));
      this.#take(lines.end());
    } catch (error) {
      this.#failure = error;
    }
    this.#ended = true;
    for (const answer of this.#pending.values()) answer({ subtype: "error", error: "the input has ended" });
    this.#wake();
  }

  /** The next message of the user, or what was wrong with it; undefined when there will be none. */
  async next(signal: AbortSignal): Promise<UserLine | ReasonixError | undefined> {
    while (this.#messages.length === 0 && !this.#ended && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
    return signal.aborted ? undefined : this.#messages.shift();
  }

  /** Names of the messages that wait. */
  queued(): readonly string[] {
    return this.#messages.flatMap((each) => "uuid" in each && each.uuid !== undefined ? [each.uuid] : []);
  }

  /** Forgets the messages with a name that wait. */
  dropQueued(): void {
    this.#messages = this.#messages.filter((each) => !("uuid" in each && each.uuid !== undefined));
  }

  /** Asks the SDK; an abort takes the question back. Resolves with its `control_response`. */
  async ask(request: Fields, signal: AbortSignal): Promise<Fields> {
    const id = crypto.randomUUID();
    const answer = new Promise<Fields>((resolve) => this.#pending.set(id, resolve));
    const cancel = () => {
      void this.#send({ type: "control_cancel_request", request_id: id });
      this.#pending.get(id)?.({ subtype: "error", error: "interrupted" });
    };
    signal.addEventListener("abort", cancel, { once: true });
    if (this.#ended) this.#pending.get(id)?.({ subtype: "error", error: "the input has ended" });
    else await this.#send({ type: "control_request", request_id: id, request });
    try {
      return await answer;
    } finally {
      signal.removeEventListener("abort", cancel);
      this.#pending.delete(id);
    }
  }

  #take(line: string): void {
    if (line.trim() === "") return;
    const message = parseJson(line);
    const { type, response }: Fields = recordOf(message);
    if (type === "control_request") void this.#answer(message as Fields);
    else if (type === "control_response" && isRecord(response)) {
      this.#pending.get(String(response.request_id))?.(response);
    } else if (!IDLE_LINES.includes(String(type))) this.#messages.push(messageOf(line, message));
    this.#wake();
  }

  async #answer({ request_id, request }: Fields): Promise<void> {
    const { subtype, ...fields }: Fields = recordOf(request);
    const name = String(subtype);
    try {
      const handler = Object.hasOwn(this.handlers, name) ? this.handlers[name] : undefined;
      if (!handler) {
        throw new ReasonixError(message`Cannot carry out "${name}": there is nothing like it here`);
      }
      const response = await handler(fields);
      await this.#send({ type: "control_response", response: { subtype: "success", request_id, response } });
    } catch (error) {
      const remedy = error instanceof ReasonixError && error.remedy ? `; ${error.remedy}` : "";
      const text = errorMessage(error) + remedy;
      await this.#send({ type: "control_response", response: { subtype: "error", request_id, error: text } });
    }
  }

  #send(line: Fields): void | Promise<void> {
    return this.#out.write(`${JSON.stringify(line)}\n`);
  }
}

/** The message of a line that is none of the protocol's own, or what is wrong with it. */
function messageOf(line: string, given: unknown): UserLine | ReasonixError {
  try {
    if (isRecord(given) && given.type === "user") return readUserLine(given);
    const why = !isRecord(given) ? "it is not a JSON object" : `unknown type ${JSON.stringify(given.type)}`;
    throw usageError(
      message`Cannot read a line of standard input: ${why}: ${line.slice(0, 80)}`,
      message`send one JSON object on each line, as --input-format stream-json says`,
    );
  } catch (error) {
    if (error instanceof ReasonixError) return error;
    throw error;
  }
}

/** A message of the user from a line of `--input-format stream-json`. */
export interface UserLine {
  readonly text: string;
  readonly images: readonly ImagePart[];
  /** The name its sender gave it. */
  readonly uuid?: string;
}

/** Reads a line of type "user". Throws a ReasonixError (usage) that names the part that cannot be used. */
function readUserLine({ message, uuid }: Record<string, unknown>): UserLine {
  const content = isRecord(message) ? message.content : undefined;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(blocks)) throw unusable("it has no message.content, a text or a list of blocks");
  const texts: string[] = [];
  const images: ImagePart[] = [];
  for (const [index, block] of blocks.entries()) addBlock(block, `content[${index}]`, { texts, images });
  const text = texts.filter((each) => each !== "").join("\n\n");
  if (text === "" && images.length === 0) throw unusable("it says nothing");
  return { text, images, ...(typeof uuid === "string" ? { uuid } : {}) };
}

interface Read {
  readonly texts: string[];
  readonly images: ImagePart[];
}

function addBlock(block: unknown, at: string, into: Read): void {
  const { type, text, source, content, title }: Record<string, unknown> = recordOf(block);
  switch (type) {
    case "text":
      if (typeof text !== "string") throw unusable(`${at}.text is ${shown(text)}, not a text`);
      into.texts.push(text);
      return;
    case "image":
      into.images.push(imageOf(source, `${at}.source`));
      return;
    case "document":
      into.texts.push(documentText(source, title, `${at}.source`));
      return;
    case "tool_result":
      // The agent runs its tools itself: what a client says of one is only text here.
      if (typeof content === "string") into.texts.push(content);
      else if (Array.isArray(content)) {
        for (const [index, part] of content.entries()) addBlock(part, `${at}.content[${index}]`, into);
      }
      return;
    default:
      throw unusable(`${at} has the type ${shown(type)}; known are text, image, document and tool_result`);
  }
}

function imageOf(source: unknown, at: string): ImagePart {
  const { type, media_type, data }: Record<string, unknown> = recordOf(source);
  if (type !== "base64") throw unusable(`${at}.type is ${shown(type)}; images are sent as base64`);
  if (typeof media_type !== "string" || !IMAGE_MIME_TYPES.includes(media_type)) {
    throw unusable(`${at}.media_type is ${shown(media_type)}; known are ${IMAGE_MIME_TYPES.join(", ")}`);
  }
  if (typeof data !== "string" || !isBase64(data)) throw unusable(`${at}.data is not base64`);
  return { mime: media_type, data };
}

function documentText(source: unknown, title: unknown, at: string): string {
  const { type, data }: Record<string, unknown> = recordOf(source);
  if (type !== "text" || typeof data !== "string") {
    throw unusable(`${at}.type is ${shown(type)}; documents are sent as text`);
  }
  const name = typeof title === "string" ? ` title=${JSON.stringify(title)}` : "";
  return `<document${name}>\n${data}\n</document>`;
}

function isBase64(text: string): boolean {
  return attempt(() => Uint8Array.fromBase64(text).length > 0) ?? false;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function unusable(why: string): ReasonixError {
  return usageError(
    message`Cannot use a line of the user: ${why}`,
    message`send the message again with what can be used`,
  );
}
