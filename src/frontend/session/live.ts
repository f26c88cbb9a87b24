import type { TurnState } from "../../control/mod.ts";
import type { Event, EventOf, NewEventOf, WrittenMessage } from "../../core/mod.ts";
import { callTitle } from "../../view/mod.ts";

/** Characters of the output of a running call that are kept. */
const TAIL_CHARACTERS = 8 * 1024;

interface RunningCall {
  readonly started: EventOf<"tool.start">;
  readonly title: string;
  readonly since: number;
  tail: string;
  /** The last activity of the agent that works on it. */
  progress: Progress | undefined;
}

type Progress = Pick<NewEventOf<"subagent.progress">, "agent" | "text" | "calls">;

/** The calls that run, each with the end of its output. */
export class RunningCalls {
  readonly #calls = new Map<string, RunningCall>();

  /** In the order in which they began. */
  get all(): readonly RunningCall[] {
    return [...this.#calls.values()];
  }

  get any(): boolean {
    return this.#calls.size > 0;
  }

  start(started: EventOf<"tool.start">, title: string, since: number): void {
    this.#calls.set(started.call.id, { started, title, since, tail: "", progress: undefined });
  }

  output({ callId, text }: Pick<NewEventOf<"tool.delta">, "callId" | "text">): void {
    const call = this.#calls.get(callId);
    if (!call) return;
    const all = call.tail + text;
    const end = all.slice(-TAIL_CHARACTERS);
    // Half a surrogate pair is no text.
    call.tail = end.length < all.length ? end.replace(/^[\uDC00-\uDFFF]/, "") : all;
  }

  progress({ callId = "", agent, text, calls }: NewEventOf<"subagent.progress">): void {
    const call = this.#calls.get(callId);
    if (call) call.progress = { agent, text, calls };
  }

  /** Removes a call and returns it. */
  end(callId: string): RunningCall | undefined {
    const call = this.#calls.get(callId);
    this.#calls.delete(callId);
    return call;
  }

  clear(): void {
    this.#calls.clear();
  }
}

/** A reply of the model as far as it has come; step 0 is a summary, which is no part of the conversation. */
interface LiveMessage {
  readonly step: number;
  readonly model: string;
  text: string;
  thinking: string;
}

interface LiveCall {
  readonly callId: string;
  readonly name: string;
  /** One line that says what it does. */
  readonly title: string;
  /** The title for other languages. */
  readonly said?: readonly WrittenMessage[];
  /** As the model sent them. */
  readonly arguments: string;
  /** The end of its output. */
  readonly tail: string;
  readonly progress?: Progress;
  /** When it began: RFC 3339, UTC. */
  readonly since: string;
}

/**
 * The part of a session that no durable event holds yet. A front end that joins shows the durable events up
 * to `seq`, replaces its open message and running calls by the snapshot, and takes events from there on.
 */
export interface Snapshot {
  /** The last durable event. */
  readonly seq: number;
  readonly turnState: TurnState;
  readonly message?: Readonly<LiveMessage>;
  readonly calls: readonly LiveCall[];
}

const RESTS: readonly TurnState[] = ["idle", "done", "failed", "stopped"];

const ENGLISH = { written: (_: unknown, english: string) => english };

/** Follows the events of a session and keeps what only live events say, as long as it holds. */
export class LiveState {
  #seq: number;
  #turnState: TurnState = "idle";
  #message: LiveMessage | undefined;
  readonly #calls = new RunningCalls();

  /** `seq`: the last durable event before the first one that it is given. */
  constructor(seq = 0) {
    this.#seq = seq;
  }

  get seq(): number {
    return this.#seq;
  }

  event(event: Event): void {
    if (event.seq > this.#seq) this.#seq = event.seq;
    switch (event.type) {
      case "turn.state":
        this.#turnState = event.to;
        // A reply that broke off before its first word has no end.
        if (RESTS.includes(event.to)) this.#rest();
        break;
      case "message.start":
        this.#message = { step: event.step, model: event.model, text: "", thinking: "" };
        break;
      case "message.delta":
        if (this.#message) this.#message[event.channel === "text" ? "text" : "thinking"] += event.text;
        break;
      case "message.retry":
        if (event.discarded && this.#message) Object.assign(this.#message, { text: "", thinking: "" });
        break;
      case "message.end":
        this.#message = undefined;
        break;
      case "tool.start":
        this.#calls.start(event, callTitle(event, ENGLISH), Date.parse(event.time));
        break;
      case "tool.delta":
        this.#calls.output(event);
        break;
      case "subagent.progress":
        this.#calls.progress(event);
        break;
      case "tool.end":
        this.#calls.end(event.callId);
        break;
    }
  }

  snapshot(): Snapshot {
    return {
      seq: this.#seq,
      turnState: this.#turnState,
      ...(this.#message ? { message: { ...this.#message } } : {}),
      calls: this.#calls.all.map(({ started: { call, said, time }, title, tail, progress }) => ({
        callId: call.id,
        name: call.name,
        title,
        ...(said ? { said } : {}),
        arguments: call.arguments,
        tail,
        ...(progress ? { progress } : {}),
        since: time,
      })),
    };
  }

  #rest(): void {
    this.#message = undefined;
    this.#calls.clear();
  }
}
