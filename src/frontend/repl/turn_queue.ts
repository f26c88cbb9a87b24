import type { TurnInput } from "../../assembly/mod.ts";
import type { Draft } from "./composer/create_composer.ts";

/** A draft of the user, or a text that a command sends in their place. */
export interface Sent extends Draft {
  /** What goes to the model as it is; absent: the text is read first. */
  readonly input?: TurnInput;
}

export interface TurnQueueOptions {
  /** Does what a draft asks for, until the signal stops it. Never rejects. */
  readonly work: (draft: Sent, signal: AbortSignal) => Promise<void>;
  /** Another draft waits, or none is worked on any more. */
  readonly changed: () => void;
}

/** What the user sent: one draft is worked on, the others wait in order. */
export class TurnQueue {
  readonly #options: TurnQueueOptions;
  readonly #waiting: Sent[] = [];
  #turn: AbortController | undefined;

  constructor(options: TurnQueueOptions) {
    this.#options = options;
  }

  get busy(): boolean {
    return this.#turn !== undefined;
  }

  /** It was asked to stop and has not yet. */
  get stopping(): boolean {
    return this.#turn?.signal.aborted === true;
  }

  get waiting(): readonly Sent[] {
    return this.#waiting;
  }

  /** Takes a draft; it is worked on at once when nothing else is. */
  add(draft: Sent): void {
    this.#waiting.push(draft);
    if (!this.#turn) void this.#run();
    else this.#options.changed();
  }

  /** Takes a draft that goes before those that wait. */
  addFirst(draft: Sent): void {
    this.#waiting.unshift(draft);
    if (!this.#turn) void this.#run();
    else this.#options.changed();
  }

  /** The last one of those that wait, which waits no longer. */
  takeBack(): Sent | undefined {
    const draft = this.#waiting.pop();
    if (draft) this.#options.changed();
    return draft;
  }

  /** All of those that wait, which wait no longer. */
  takeAll(): readonly Sent[] {
    return this.#waiting.splice(0);
  }

  /** Stops what is being worked on; what waited is the user's again. */
  stop(reason: "interrupted" | "terminated"): readonly Sent[] {
    this.#turn?.abort(reason);
    return this.takeAll();
  }

  async #run(): Promise<void> {
    for (let draft = this.#waiting.shift(); draft; draft = this.#waiting.shift()) {
      this.#turn = new AbortController();
      this.#options.changed();
      await this.#options.work(draft, this.#turn.signal);
    }
    this.#turn = undefined;
    this.#options.changed();
  }
}
