import { ReasonixError } from "../../../src/core/mod.ts";
import type { Output } from "../../../src/frontend/mod.ts";
import { isRecord, parseJson } from "../../../src/util/json.ts";

type Fields = Record<string, unknown>;

/**
 * Standard input and output of a run that an SDK drives: lines of users in, and requests in both directions.
 * What arrives is handled as it comes; messages of the user wait for their turn.
 */
export class ControlChannel {
  /** What the SDK sent with `initialize`. */
  settings: Fields = {};
  /** Called for a request to interrupt the turn. */
  interrupt: () => void = () => {};
  readonly #out: Output;
  readonly #commands: readonly string[];
  readonly #messages: string[] = [];
  readonly #pending = new Map<string, (answer: Fields) => void>();
  #wake: () => void = () => {};
  #ended = false;
  #failure: unknown;

  constructor(out: Output, commands: readonly string[]) {
    this.#out = out;
    this.#commands = commands;
  }

  /** Reads until the input ends; to be called once. */
  async read(input: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    try {
      for await (const bytes of input) {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.#take(line);
      }
      this.#take(rest);
    } catch (error) {
      this.#failure = error;
    }
    this.#ended = true;
    for (const answer of this.#pending.values()) answer({ subtype: "error", error: "the input has ended" });
    this.#wake();
  }

  /** The next message of the user; undefined when there will be none. Throws what was wrong with a line. */
  async next(signal: AbortSignal): Promise<string | undefined> {
    while (this.#messages.length === 0 && !this.#ended && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
    return signal.aborted ? undefined : this.#messages.shift();
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
    if (!isRecord(message)) throw notALine(line);
    if (message.type === "user") this.#messages.push(textOf(message));
    else if (message.type === "control_request") this.#answer(message);
    else if (message.type === "control_response" && isRecord(message.response)) {
      this.#pending.get(String(message.response.request_id))?.(message.response);
    }
    this.#wake();
  }

  #answer({ request_id, request }: Fields): void {
    const { subtype, ...fields } = isRecord(request) ? request : {};
    if (subtype === "initialize") this.settings = fields;
    if (subtype === "interrupt") this.interrupt();
    const unable = isRecord(fields.jsonSchema) ? "Cannot answer by a JSON Schema in this version" : undefined;
    const response = unable !== undefined
      ? undefined
      : subtype === "initialize"
      ? this.#greeting()
      : subtype === "interrupt"
      ? {}
      : undefined;
    void this.#send({
      type: "control_response",
      response: response
        ? { subtype: "success", request_id, response }
        : { subtype: "error", request_id, error: unable ?? `Cannot handle the request "${String(subtype)}"` },
    });
  }

  #greeting(): Fields {
    return {
      commands: this.#commands.map((name) => ({ name, description: "", argumentHint: "" })),
      agents: [],
      output_style: "default",
      available_output_styles: ["default"],
      models: [],
      account: {},
    };
  }

  #send(line: Fields): void | Promise<void> {
    return this.#out.write(`${JSON.stringify(line)}\n`);
  }
}

function notALine(line: string): ReasonixError {
  return new ReasonixError(`Cannot read a line of standard input: ${line.slice(0, 80)}`, {
    exit: "usage",
    remedy: "send one JSON object on each line, as --input-format stream-json says",
  });
}

/** The text of a message, which is a string or a list of blocks. */
function textOf({ message }: Fields): string {
  const content = isRecord(message) ? message.content : undefined;
  if (typeof content === "string") return content;
  const blocks = Array.isArray(content) ? content.filter(isRecord) : [];
  return blocks.map(({ text }) => typeof text === "string" ? text : "").filter(Boolean).join("\n\n");
}
