import { errorMessage, ReasonixError } from "../../../../src/core/mod.ts";
import type { Output } from "../../../../src/frontend/mod.ts";
import { isRecord, parseJson } from "../../../../src/util/json.ts";
import { LineSplitter } from "../../../../src/util/lines.ts";
import { readUserLine, type UserLine } from "./user_line.ts";

export type { UserLine };
export type Fields = Record<string, unknown>;

/** Carries out requests of the SDK by subtype. A rejection is told to the SDK. */
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
 * What arrives is handled as it comes; messages of the user wait for their turn.
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
    const { type, response }: Fields = isRecord(message) ? message : {};
    if (type === "control_request") void this.#answer(message as Fields);
    else if (type === "control_response" && isRecord(response)) {
      this.#pending.get(String(response.request_id))?.(response);
    } else if (!IDLE_LINES.includes(String(type))) this.#messages.push(messageOf(line, message));
    this.#wake();
  }

  async #answer({ request_id, request }: Fields): Promise<void> {
    const { subtype, ...fields }: Fields = isRecord(request) ? request : {};
    const name = String(subtype);
    try {
      const handler = Object.hasOwn(this.handlers, name) ? this.handlers[name] : undefined;
      if (!handler) throw new ReasonixError(`Cannot carry out "${name}": there is nothing like it here`);
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
function messageOf(line: string, message: unknown): UserLine | ReasonixError {
  try {
    if (isRecord(message) && message.type === "user") return readUserLine(message);
    const why = !isRecord(message)
      ? "it is not a JSON object"
      : `unknown type ${JSON.stringify(message.type)}`;
    throw new ReasonixError(`Cannot read a line of standard input: ${why}: ${line.slice(0, 80)}`, {
      exit: "usage",
      remedy: "send one JSON object on each line, as --input-format stream-json says",
    });
  } catch (error) {
    if (error instanceof ReasonixError) return error;
    throw error;
  }
}
