import type { FinishReason } from "../../../core/mod.ts";
import type { CallDelta } from "../../tool_calls.ts";
import { readUsage, type ReplyContext, WireReply } from "../../wire/wire_reply.ts";

/** The parts of a stream event, or of a whole completion, that are read. */
interface WireEvent {
  readonly choices?: readonly (WireChoice | null)[] | null;
  readonly usage?: unknown;
  readonly x_groq?: { readonly usage?: unknown } | null;
  readonly error?: unknown;
}

interface WireChoice {
  readonly delta?: WireDelta | null;
  readonly message?: WireDelta | null;
  readonly text?: unknown;
  readonly finish_reason?: unknown;
  readonly usage?: unknown;
}

interface WireDelta {
  readonly content?: unknown;
  readonly refusal?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly tool_calls?: readonly CallDelta[] | null;
  readonly function_call?: CallDelta["function"];
}

const FINISH: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  eos: "stop",
  eos_token: "stop",
  tool_calls: "tool_calls",
  tool_use: "tool_calls",
  function_call: "tool_calls",
  length: "length",
  max_tokens: "length",
  model_length: "length",
  content_filter: "content_filter",
  sensitive: "content_filter",
  safety: "content_filter",
};

const GAVE_UP = new Set(["insufficient_system_resource", "network_error", "abort", "error"]);

export class CompletionReply extends WireReply {
  readonly #tags: ThinkTags | undefined;

  constructor(context: ReplyContext, thinkTags: boolean) {
    super("openai", context, /tool_call/);
    this.#tags = thinkTags ? new ThinkTags() : undefined;
  }

  protected override add(event: unknown): void {
    if (typeof event !== "object" || event === null) return;
    const { choices, usage, x_groq, error } = event as WireEvent;
    const choice = choices?.[0];
    // The delta first: some servers put the last words and the error into one event.
    if (choice) this.#choice(choice);
    const counted = usage ?? x_groq?.usage ?? choice?.usage;
    if (counted !== undefined && counted !== null) this.usage = readUsage(counted) ?? this.usage;
    if (error !== undefined && error !== null) throw this.reported(error);
    if (!choice && choices === undefined && isErrorObject(event)) throw this.reported(event);
  }

  protected override flush(): void {
    if (this.#tags?.done === false) this.#split(this.#tags.end());
  }

  #choice(choice: WireChoice): void {
    const delta = choice.delta ?? choice.message;
    if (delta) this.#delta(delta);
    else if (typeof choice.text === "string") this.#text(choice.text);
    const reason = choice.finish_reason;
    if (typeof reason !== "string" || reason === "") return;
    if (GAVE_UP.has(reason)) {
      throw this.reported(`server_error: finish reason ${reason}`);
    }
    this.finish = FINISH[reason.toLowerCase()] ?? "unknown";
  }

  #delta(delta: WireDelta): void {
    const reasoning = delta.reasoning_content ?? delta.reasoning;
    if (typeof reasoning === "string") this.spoken.append("reasoning", reasoning);
    const content = delta.content ?? delta.refusal;
    if (typeof content === "string") this.#text(content);
    else if (Array.isArray(content)) this.#parts(content);
    for (const call of delta.tool_calls ?? []) if (call) this.announce(this.calls.add(call));
    if (delta.function_call) this.announce(this.calls.add({ index: 0, function: delta.function_call }));
  }

  /** Reads content as a list of parts, each text or thinking. */
  #parts(parts: readonly unknown[]): void {
    for (const part of parts as readonly { type?: unknown; text?: unknown; thinking?: unknown }[]) {
      if (typeof part?.text === "string") this.#text(part.text);
      for (const thought of Array.isArray(part?.thinking) ? part.thinking : []) {
        if (typeof thought?.text === "string") this.spoken.append("reasoning", thought.text);
      }
    }
  }

  #text(text: string): void {
    if (text === "") return;
    if (this.#tags === undefined || this.#tags.done) this.spoken.append("text", text);
    else this.#split(this.#tags.push(text));
  }

  #split({ reasoning, text }: ReasoningSplit): void {
    this.spoken.append("reasoning", reasoning);
    this.spoken.append("text", text);
  }
}

/** An error that stands alone in its event, without the usual wrapper. */
function isErrorObject(event: object): boolean {
  const { object, type, message, code, detail } = event as Record<string, unknown>;
  return object === "error" || type === "error" ||
    (typeof message === "string" && code !== undefined) || typeof detail === "string";
}

const OPEN = /^\s*<(think|thinking)>/;
const LONGEST_OPEN = "<thinking>";

interface ReasoningSplit {
  readonly reasoning: string;
  readonly text: string;
}

/** Separates `<think>…</think>` at the start of a reply from the answer; later tags belong to the answer. */
class ThinkTags {
  #state: "start" | "inside" | "done" = "start";
  #held = "";
  #close = "";

  /** True when all further text is part of the answer. */
  get done(): boolean {
    return this.#state === "done";
  }

  push(piece: string): ReasoningSplit {
    this.#held += piece;
    let reasoning = "";
    while (true) {
      if (this.#state === "done") return { reasoning, text: this.#take(this.#held.length) };
      if (this.#state === "start") {
        if (!this.#opened()) return { reasoning, text: this.done ? this.#take(this.#held.length) : "" };
      } else {
        const end = this.#held.indexOf(this.#close);
        if (end < 0) {
          return { reasoning: reasoning + this.#take(this.#held.length - this.#heldBack()), text: "" };
        }
        reasoning += this.#take(end);
        this.#take(this.#close.length);
        this.#state = "start";
      }
    }
  }

  /** Returns the held text when the reply ends. */
  end(): ReasoningSplit {
    const rest = this.#take(this.#held.length);
    if (this.#state === "inside") return { reasoning: rest, text: "" };
    return { reasoning: "", text: rest.trim() === "" ? "" : rest };
  }

  /** Looks for an opening tag; false when more text is needed or there is none, which ends the search. */
  #opened(): boolean {
    const tag = OPEN.exec(this.#held);
    if (tag) {
      this.#take(tag[0].length);
      this.#close = `</${tag[1]}>`;
      this.#state = "inside";
      return true;
    }
    const seen = this.#held.trimStart();
    const undecided = seen === "" || LONGEST_OPEN.startsWith(seen) || "<think>".startsWith(seen);
    if (undecided) return false;
    this.#state = "done";
    // Blank lines between the closing tag and the answer belong to neither.
    if (this.#close !== "") this.#held = seen;
    return false;
  }

  /** Length of the tail that may be the beginning of the closing tag. */
  #heldBack(): number {
    for (let n = Math.min(this.#close.length - 1, this.#held.length); n > 0; n--) {
      if (this.#close.startsWith(this.#held.slice(-n))) return n;
    }
    return 0;
  }

  #take(length: number): string {
    const taken = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return taken;
  }
}
