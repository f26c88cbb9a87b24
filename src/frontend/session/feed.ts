import type { Event } from "../../core/mod.ts";
import { loadFollow } from "../../session/mod.ts";
import { attempt } from "../../util/lazy.ts";
import { EventStream, serverEvent } from "../../util/network/event_stream.ts";
import { type Clock, Pace } from "../../util/timer.ts";
import type { SessionFact } from "./facts.ts";
import type { Snapshot } from "./live_session.ts";
import { joinPieces } from "./live_state.ts";
import type { QuestionEvent } from "./questions.ts";
import type { SessionEntry } from "./session_list.ts";

/** A session that a feed gives to its readers: live, or in a file. */
export interface FeedSource {
  /** The stored events after one, up to the snapshot; undefined while the session is being opened. */
  history(after: number): readonly Event[] | undefined;
  snapshot(): Snapshot;
  readonly facts: readonly SessionFact[];
  check?(): void;
  close?(): void;
}

/** Bytes and number of the stored events that a reader gets at once, and texts that wait for one. */
const MOST = { bytes: 4 * 1024 * 1024, events: 2000, unread: 100 };
/** Least time between two batches, in ms. */
const [BATCH_MS, LIST_MS] = [10, 250];
const ENCODER = new TextEncoder();

/** The stream of a reader, with its feeds: the last stored event, and whether it gets what comes. */
export class FeedReader {
  readonly watched = new Map<Feed, { last: number; isSynced: boolean }>();
  readonly stream: EventStream;

  /** `more` returns what it has missed apart from feeds; `left` is called when the reader is gone. */
  constructor(more: () => string, left: () => void) {
    const parts = () => [more(), ...[...this.watched.keys()].map((feed) => feed.sync(this))];
    this.stream = new EventStream(() => parts().join(""), left);
  }
}

/**
 * The events of one session for slow readers, serialized once for all of them.
 *
 * Contract: nothing waits for a reader. One that is behind gets nothing until it has read what it has; then
 * the stored events after its last one, or a reset, and a snapshot, and what comes from there on.
 */
export class Feed {
  readonly id: string;
  readonly readers = new Set<FeedReader>();
  #source: FeedSource | undefined;
  #batch: string[] = [];
  /** A piece of text that later ones are added to. */
  #piece: Event | QuestionEvent | undefined;
  /** The last stored event that was written. */
  #last = 0;
  /** Texts for people that no reader has got. */
  #unread: string[] = [];
  readonly #pace: Pace;

  constructor(id: string, clock: Clock) {
    this.id = id;
    this.#pace = new Pace(BATCH_MS, () => this.#flush(), clock);
  }

  get source(): FeedSource | undefined {
    return this.#source;
  }

  /** Readers continue with the other source. */
  set source(source: FeedSource | undefined) {
    this.#flush();
    this.#source?.close?.();
    this.#source = source;
    for (const { watched, stream } of this.readers) {
      const watch = watched.get(this);
      if (watch) watch.isSynced = false;
      stream.wake();
    }
  }

  /** It has readers, or texts for one. */
  get isUsed(): boolean {
    return this.readers.size > 0 || this.#unread.length > 0;
  }

  event(event: Event | QuestionEvent): void {
    if (this.readers.size === 0) return;
    const joined = this.#piece && joinPieces(this.#piece, event);
    if (!joined) this.#endPiece();
    this.#piece = joined ?? event;
    this.#pace.touch();
  }

  send(name: string, data: object): void {
    if (this.readers.size === 0) return;
    this.#endPiece();
    this.#batch.push(serverEvent(name, { session: this.id, ...data }));
    this.#pace.touch();
  }

  /** Sends a text for people, or keeps it for the next reader. */
  report(name: string, data: object): void {
    if (this.#synced().length > 0) return this.send(name, data);
    this.#unread = [...this.#unread, serverEvent(name, { session: this.id, ...data })].slice(-MOST.unread);
  }

  /** Everything that a reader has missed; it gets what comes then. Empty: nothing, or no session. */
  sync(reader: FeedReader): string {
    const watch = reader.watched.get(this);
    if (!watch || watch.isSynced || !this.#source) return "";
    this.#flush();
    const { facts } = this.#source;
    const snapshot = this.#source.snapshot();
    const missed = this.#missed(watch.last, snapshot.seq);
    if (missed) watch.last = snapshot.seq;
    watch.isSynced = true;
    const joined = serverEvent("snapshot", { session: this.id, snapshot, facts });
    return [...missed ?? [], joined, ...this.#unread.splice(0)].join("");
  }

  /** The stored events after one, or a reset when they are many; undefined: they cannot be read. */
  #missed(last: number, end: number): string[] | undefined {
    const isFar = last > end || end - last > MOST.events;
    const events = attempt(() => this.#source?.history(isFar ? end : last));
    let size = isFar ? Infinity : 0;
    const parts = events?.map((event) => {
      const part = size > MOST.bytes ? "" : this.#written(event);
      size += part.length;
      return part;
    });
    return parts && size > MOST.bytes ? [serverEvent("reset", { session: this.id })] : parts;
  }

  #synced(): readonly FeedReader[] {
    return [...this.readers].filter(({ watched }) => watched.get(this)?.isSynced);
  }

  #flush(): void {
    this.#endPiece();
    const text = this.#batch.join("");
    const readers = text === "" ? [] : this.#synced();
    this.#batch = [];
    const bytes = readers.length > 0 ? ENCODER.encode(text) : new Uint8Array();
    for (const { watched, stream } of readers) {
      const watch = watched.get(this);
      if (!watch) continue;
      watch.isSynced = stream.take(bytes);
      if (watch.isSynced) watch.last = Math.max(watch.last, this.#last);
    }
  }

  #endPiece(): void {
    if (this.#piece && "seq" in this.#piece) this.#last = Math.max(this.#last, this.#piece.seq);
    if (this.#piece) this.#batch.push(this.#written(this.#piece));
    this.#piece = undefined;
  }

  #written(event: Event | QuestionEvent): string {
    const seq = "seq" in event ? event.seq : 0;
    return serverEvent("event", { session: this.id, event }, seq > 0 ? `${this.id}@${seq}` : undefined);
  }
}

interface ListFeedOptions {
  /** Reasonix home. */
  readonly home: string;
  /** A session as lists show it; undefined: there is none. */
  readonly entry: (id: string) => SessionEntry | undefined;
  readonly readers: () => Iterable<FeedReader>;
  readonly clock: Clock;
}

/** The changes of the list of sessions for all readers. */
export class ListFeed {
  readonly #options: ListFeedOptions;
  readonly #changed = new Set<string>();
  /** Entries as they were sent last. */
  readonly #sent = new Map<string, string>();
  readonly #behind = new Set<FeedReader>();
  readonly #pace: Pace;
  /** Sessions that other programs change. */
  #others: { take(): ReadonlySet<string> } | undefined;

  constructor(options: ListFeedOptions) {
    this.#options = options;
    this.#pace = new Pace(LIST_MS, () => this.#send(), options.clock);
  }

  /** Begins for the first reader. */
  async begin(): Promise<void> {
    this.#sent.clear();
    const { SessionChanges } = await loadFollow();
    this.#others = new SessionChanges(this.#options.home);
    this.#others.take();
  }

  /** The entry of a session may have changed. */
  changed(id: string): void {
    this.#changed.add(id);
    this.#pace.touch();
  }

  /** Notices what other programs have changed; `all`: also that one was killed, which leaves no sign. */
  check(all: boolean): void {
    for (const id of this.#others?.take() ?? []) this.changed(id);
    for (const [id, entry] of all ? this.#sent : []) if (entry.includes('"elsewhere":true')) this.changed(id);
  }

  /** Everything that a reader has missed. */
  sync(reader: FeedReader): string {
    return this.#behind.delete(reader) ? this.#written([...this.#sent.keys()]) : "";
  }

  #send(): void {
    const ids = [...this.#changed].filter((id) => {
      const [before, entry] = [this.#sent.get(id), JSON.stringify(this.#options.entry(id)) ?? ""];
      this.#sent.set(id, entry);
      return entry !== before;
    });
    this.#changed.clear();
    const bytes = ENCODER.encode(this.#written(ids));
    for (const reader of this.#options.readers()) if (!reader.stream.take(bytes)) this.#behind.add(reader);
  }

  #written(ids: readonly string[]): string {
    const entries = ids.map((id) => [id, this.#options.entry(id)] as const);
    const changed = entries.flatMap(([_, entry]) => entry ?? []);
    const removed = entries.flatMap(([id, entry]) => entry ? [] : [id]);
    return ids.length === 0 ? "" : serverEvent("sessions", { changed, removed });
  }
}
