import { type Event, EVENT_VERSION, type EventOf } from "../../core/mod.ts";
import { loadFollow, storedEvents } from "../../session/mod.ts";
import { defined } from "../../util/json.ts";
import type { SessionFact } from "./facts.ts";
import type { FeedSource } from "./feed.ts";
import type { Snapshot } from "./live_session.ts";
import { LiveState } from "./live_state.ts";

interface StoredSessionOptions {
  readonly path: string;
  /** The session as lists show it. */
  readonly entry: () =>
    | { readonly title: string; readonly updated: string; readonly elsewhere: boolean }
    | undefined;
  /** Gets what the other program appends, and turn states as a live session has them. */
  readonly event: (event: Event) => void;
}

/** A session that is not open in this process, as a front end shows it; another program may be writing it. */
export class StoredSession implements FeedSource {
  readonly #options: StoredSessionOptions;
  readonly #live = new LiveState();
  readonly #follower: { check(): void; close(): void };

  private constructor(
    options: StoredSessionOptions,
    { SessionFollower }: Awaited<ReturnType<typeof loadFollow>>,
  ) {
    this.#options = options;
    this.#follower = new SessionFollower(options.path, (events) => {
      for (const event of events) this.#take(event);
    });
    this.check();
  }

  static async open(options: StoredSessionOptions): Promise<StoredSession> {
    return new StoredSession(options, await loadFollow());
  }

  /** The stored events after one, up to the one of a snapshot that is taken at the same time. */
  history(after: number): readonly Event[] {
    return storedEvents(this.#options.path, after).filter(({ seq }) => seq <= this.#live.seq);
  }

  get facts(): readonly SessionFact[] {
    const { title = "", updated } = this.#options.entry() ?? {};
    return title === "" ? [] : [{ kind: "title", title, ...defined({ updated }) }];
  }

  snapshot(): Snapshot {
    return { ...this.#live.snapshot(), questions: [], waiting: [], steering: [] };
  }

  /** Reads what was appended where the system does not report it, and notices that the program has ended. */
  check(): void {
    this.#follower.check();
    if (this.#live.snapshot().turnState === "generating" && this.#options.entry()?.elsewhere !== true) {
      this.#enter("stopped");
    }
  }

  close(): void {
    this.#follower.close();
  }

  #take(event: Event): void {
    this.#give(event);
    if (event.type === "turn.start") this.#enter("generating");
    if (event.type !== "turn.end") return;
    const isStopped = event.reason === "interrupted" || event.reason === "terminated";
    this.#enter(event.reason === "done" ? "done" : isStopped ? "stopped" : "failed");
  }

  #enter(to: EventOf<"turn.state">["to"]): void {
    const { turnState: from } = this.#live.snapshot();
    this.#give({ type: "turn.state", from, to, v: EVENT_VERSION, seq: 0, time: new Date().toISOString() });
  }

  #give(event: Event): void {
    this.#live.event(event);
    this.#options.event(event);
  }
}
