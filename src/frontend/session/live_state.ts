import type { TurnState } from "../../control/mod.ts";
import type { EventBodies } from "../../core/event_schema.ts";
import type { Event, EventOf, NewEventOf, WrittenMessage } from "../../core/mod.ts";
import { defined } from "../../util/json.ts";
import { callTitle } from "../../view/mod.ts";

/** Characters of the output of a running call that are kept. */
const TAIL_CHARACTERS = 8 * 1024;

/** The end of the output of a running call. */
export function boundedTail(output: string): string {
  // Half a surrogate pair is no text.
  return output.length > TAIL_CHARACTERS
    ? output.slice(-TAIL_CHARACTERS).replace(/^[\uDC00-\uDFFF]/, "")
    : output;
}

type Shown = Event | NewEventOf<"question.state">;

/** Joins two neighboring pieces of a text; undefined where they are of different texts, or no pieces. */
export function joinPieces(first: Shown, second: Shown): Event | undefined {
  if (first.type === "message.delta" && second.type === "message.delta" && first.channel === second.channel) {
    return { ...second, text: first.text + second.text };
  }
  if (first.type === "tool.delta" && second.type === "tool.delta" && first.callId === second.callId) {
    return { ...second, text: first.text + second.text };
  }
  return undefined;
}

type Progress = Pick<NewEventOf<"subagent.progress">, "agent" | "text" | "calls">;

/** A reply of the model as far as it has come; step 0 is a summary, which is no part of the conversation. */
interface LiveMessage {
  readonly step: number;
  readonly model: string;
  text: string;
  thinking: string;
  /** Calls that it has begun to write. */
  calls: readonly Omit<EventBodies["tool.call"], "step">[];
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
  tail: string;
  /** The last activity of the agent that works on it. */
  progress?: Progress;
  /** When it began: RFC 3339, UTC. */
  readonly since: string;
}

/**
 * The part of a session that no durable event holds yet. A front end that joins shows the durable events up
 * to `seq`, replaces its open message and running calls by the snapshot, and takes events from there on.
 */
export interface LiveParts {
  /** The last durable event. */
  readonly seq: number;
  readonly turnState: TurnState;
  readonly message?: Readonly<LiveMessage>;
  readonly calls: readonly Readonly<LiveCall>[];
}

const RESTS: ReadonlySet<TurnState | undefined> = new Set([undefined, "idle", "done", "failed", "stopped"]);

/** Reports whether a turn works or waits; undefined: nothing is known of it. */
export function isBusy(turnState: TurnState | undefined): boolean {
  return !RESTS.has(turnState);
}

const ENGLISH = { written: (_: unknown, english: string) => english };

/** Follows the events of a session and keeps what only live events say, as long as it holds. */
export class LiveState {
  #seq: number;
  #turnState: TurnState = "idle";
  #message: LiveMessage | undefined;
  readonly #calls = new Map<string, LiveCall>();

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
        if (isBusy(event.to)) break;
        this.#message = undefined;
        this.#calls.clear();
        break;
      case "message.start":
        this.#message = { step: event.step, model: event.model, text: "", thinking: "", calls: [] };
        break;
      case "message.delta":
        if (this.#message) this.#message[event.channel === "text" ? "text" : "thinking"] += event.text;
        break;
      case "message.retry":
        if (event.discarded && this.#message) {
          Object.assign(this.#message, { text: "", thinking: "", calls: [] });
        }
        break;
      case "message.end":
        this.#message = undefined;
        break;
      case "tool.call":
        this.#writes(event);
        break;
      case "tool.start": {
        const { call: { id: callId, name, arguments: written }, said, time: since } = event;
        const title = callTitle(event, ENGLISH);
        const call = { callId, name, title, arguments: written, tail: "", since, ...defined({ said }) };
        this.#calls.set(callId, call);
        break;
      }
      case "tool.delta": {
        const call = this.#calls.get(event.callId);
        if (call) call.tail = boundedTail(call.tail + event.text);
        break;
      }
      case "subagent.progress": {
        const { callId = "", agent, text, calls } = event;
        const call = this.#calls.get(callId);
        if (call) call.progress = { agent, text, calls };
        break;
      }
      case "tool.end":
        this.#calls.delete(event.callId);
        break;
    }
  }

  /** Continues from the state that another one had. */
  restore({ seq, turnState, message, calls }: LiveParts): void {
    [this.#seq, this.#turnState, this.#message] = [seq, turnState, message && { ...message }];
    this.#calls.clear();
    for (const call of calls) this.#calls.set(call.callId, { ...call });
  }

  snapshot(): LiveParts {
    return {
      seq: this.#seq,
      turnState: this.#turnState,
      ...(this.#message ? { message: { ...this.#message } } : {}),
      calls: [...this.#calls.values()].map((call) => ({ ...call })),
    };
  }

  #writes({ callId, name, arguments: written }: EventOf<"tool.call">): void {
    if (!this.#message) return;
    const others = this.#message.calls.filter((call) => call.callId !== callId);
    this.#message.calls = [...others, { callId, name, ...defined({ arguments: written }) }];
  }
}
