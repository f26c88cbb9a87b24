import type { Event } from "../../core/mod.ts";
import type { Assembly } from "../../run/mod.ts";
import { defined } from "../../util/json.ts";
import { serverEvent } from "../../util/network/event_stream.ts";
import { CLOCK, type Clock } from "../../util/timer.ts";
import { type SessionFact, SessionWatcher } from "../session/facts.ts";
import { Feed, FeedReader, type FeedSource, ListFeed } from "../session/feed.ts";
import type { FrontEnd, LiveSession, LiveSessions, Snapshot } from "../session/live_session.ts";
import type { QuestionEvent } from "../session/questions.ts";
import { StoredSession } from "../session/stored_session.ts";
import type { Draft } from "../session/submissions.ts";
import type { SessionTexts } from "../session/texts.ts";
import type { SessionList } from "../session/session_list.ts";
import type { Role } from "./schemas.ts";

export interface StreamOptions {
  readonly sessions: LiveSessions;
  readonly list: Pick<SessionList, "entry" | "paths">;
  /** Reasonix home. */
  readonly home: string;
  readonly texts: SessionTexts;
  /** Called when a browser connects or leaves. */
  readonly changed?: (() => void) | undefined;
  readonly clock?: Clock;
}

/** A browser that reads a stream. */
export interface Reader {
  readonly role: Role;
  readonly from: string;
}

type Activity = { readonly snapshot: Snapshot; readonly facts: SessionFact[] };

/** Times in ms. */
const [TICK, HEARTBEAT, IDLE] = [1000, 15_000, 15 * 60_000];

/** The page as a front end of a live session: all browsers are its readers. */
export class WebFrontEnd implements FrontEnd, FeedSource {
  readonly name = "web";
  readonly setsUp = true;
  readonly commands = { oneSession: true, showsEvents: true } as const;
  readonly live: LiveSession;
  feed: Feed | undefined;
  /** The last moment of the clock at which the session was in use. */
  used: number;
  readonly #streams: Streams;
  readonly #watcher: SessionWatcher;
  readonly #detach: () => void;

  constructor(live: LiveSession, streams: Streams, { texts, clock = CLOCK }: StreamOptions) {
    [this.live, this.#streams, this.used] = [live, streams, clock.now()];
    const changed = (fact: SessionFact) => {
      this.feed?.send("facts", { fact });
      if (fact.kind === "title") streams.changed(this.feed?.id);
    };
    this.#watcher = new SessionWatcher({ locale: () => texts.locale, changed, modes: "two", details: true });
    this.#detach = live.attach(this);
  }

  get facts(): readonly SessionFact[] {
    return this.#watcher.facts;
  }

  history(after: number): readonly Event[] | undefined {
    return this.live.assembly && this.live.history(after);
  }

  snapshot(): Snapshot {
    return this.live.snapshot();
  }

  leave(): void {
    this.#watcher.close();
    this.#detach();
  }

  opened(assembly: Assembly): void {
    this.#streams.move(this, assembly.session.id);
    void this.#watcher.opened(assembly);
  }

  event(event: Event | QuestionEvent): void {
    this.feed?.event(event);
    const isState = event.type === "turn.state" || event.type === "question.state";
    if (isState) this.#streams.changed(this.feed?.id);
    if (event.type !== "question.state") this.#watcher.event(event);
  }

  ended(end: Promise<void>): void {
    this.#watcher.close();
    this.#streams.ended(this, end);
  }

  queued(): void {
    const { waiting, steering } = this.live.snapshot();
    this.feed?.send("queue", { waiting, steering });
  }

  said(text: string, form?: "plain"): void {
    this.feed?.report("said", { text, ...defined({ form }) });
  }

  failed(error: unknown): void {
    this.feed?.report("failed", { error: this.#streams.texts.parts(error) });
  }

  returned(drafts: readonly Draft[]): void {
    this.feed?.report("returned", { drafts: drafts.map(({ by: _, ended: __, ...draft }) => draft) });
  }
}

/** The streams of all browsers. A session without readers that is idle is closed after a while. */
export class Streams {
  readonly texts: SessionTexts;
  readonly #options: StreamOptions;
  readonly #clock: Clock;
  readonly #readers = new Map<FeedReader, Reader>();
  readonly #feeds = new Map<string, Feed>();
  readonly #frontEnds = new Map<LiveSession, WebFrontEnd>();
  readonly #list: ListFeed;
  readonly #unwatch: () => void;
  #beat = 0;
  #isClosed = false;

  constructor(options: StreamOptions) {
    const { sessions, texts, home, list, clock = CLOCK } = options;
    [this.#options, this.texts, this.#clock] = [options, texts, clock];
    const entry = (id: string) => list.entry(id);
    this.#list = new ListFeed({ home, clock, entry, readers: () => this.#readers.keys() });
    this.#unwatch = sessions.watch((live, { sessionId, resume, copy } = {}) => {
      const frontEnd = new WebFrontEnd(live, this, options);
      this.#frontEnds.set(live, frontEnd);
      const id = live.id ?? sessionId ?? (copy ? undefined : resume);
      if (live.assembly) frontEnd.opened(live.assembly);
      else if (id !== undefined) this.move(frontEnd, id);
    });
    this.#tick();
  }

  /** The browsers that are connected. */
  get readers(): readonly Reader[] {
    return [...this.#readers.values()];
  }

  /** The front end of a session that is open or being opened here; the session counts as used. */
  frontEnd(id: string): WebFrontEnd | undefined {
    const frontEnd = [...this.#frontEnds.values()].find(({ feed }) => feed?.id === id);
    if (frontEnd) frontEnd.used = this.#clock.now();
    return frontEnd;
  }

  /** Describes the current activity of a session; undefined: there is no such session. */
  snapshot(id: string): Promise<Activity | undefined> {
    return this.#follow(this.#feed(id));
  }

  /**
   * Streams sessions, each given as `ID@SEQ` with the last stored event that the browser has. `lastId`: the
   * last one of a stream that broke off; `build`: of the page that the server has.
   */
  open(sessions: readonly string[], browser: Reader, build: string, lastId = ""): ReadableStream<Uint8Array> {
    const reader: FeedReader = new FeedReader(() => this.#list.sync(reader), () => this.#leave(reader));
    if (this.#readers.size === 0) void this.#list.begin();
    this.#readers.set(reader, browser);
    reader.stream.write(serverEvent("hello", { build, role: browser.role }));
    const [, known, since = 0] = /^(?:([\w-]+)@)?(\d{1,15})$/.exec(lastId) ?? [];
    for (const text of sessions) {
      const [, id, last = 0] = /^([\w-]+)@(\d{1,15})$/.exec(text) ?? [];
      if (id === undefined) continue;
      const feed = this.#feed(id);
      feed.readers.add(reader);
      const isKnown = (known ?? id) === id;
      reader.watched.set(feed, { last: Math.max(+last, isKnown ? +since : 0), isSynced: false });
      void this.#follow(feed);
    }
    this.#options.changed?.();
    return reader.stream.body;
  }

  /** Ends all streams; the sessions stay open. */
  close(): void {
    this.#isClosed = true;
    this.#unwatch();
    for (const frontEnd of this.#frontEnds.values()) frontEnd.leave();
    for (const { stream } of this.#readers.keys()) stream.close();
    for (const feed of this.#feeds.values()) feed.source = undefined;
  }

  /** The front end shows this session from now on. */
  move(frontEnd: WebFrontEnd, id: string): void {
    const { feed: before } = frontEnd;
    const feed = frontEnd.feed = this.#feed(id);
    feed.source = frontEnd;
    if (before && before !== feed) this.#left(before, frontEnd);
    this.changed(id);
  }

  ended(frontEnd: WebFrontEnd, end: Promise<void>): void {
    const { feed } = frontEnd;
    this.#frontEnds.delete(frontEnd.live);
    void end.catch(() => {}).then(() => feed && this.#left(feed, frontEnd));
  }

  /** The entry of a session in the list may have changed. */
  changed(id: string | undefined): void {
    if (this.#readers.size > 0 && id !== undefined) this.#list.changed(id);
  }

  #feed(id: string): Feed {
    const feed = this.#feeds.get(id) ?? new Feed(id, this.#clock);
    this.#feeds.set(id, feed);
    return feed;
  }

  /** Follows the file of a session that is not live, for readers. Returns the current activity. */
  async #follow(feed: Feed): Promise<Activity | undefined> {
    const { list } = this.#options;
    const { path } = feed.source ? {} : list.paths(feed.id) ?? {};
    if (path !== undefined) {
      const event = (event: Event) => feed.event(event);
      const stored = await StoredSession.open({ path, entry: () => list.entry(feed.id), event });
      if (feed.source || this.#isClosed) stored.close();
      else feed.source = stored;
    }
    const { source } = feed;
    const now = source && { snapshot: source.snapshot(), facts: [...source.facts] };
    this.#drop(feed);
    return now;
  }

  /** The session of a feed is live no more: its readers continue with its file. */
  #left(feed: Feed, frontEnd: WebFrontEnd): void {
    if (feed.source !== frontEnd) return;
    feed.source = undefined;
    this.changed(feed.id);
    void this.#follow(feed);
  }

  #leave(reader: FeedReader): void {
    this.#readers.delete(reader);
    for (const feed of reader.watched.keys()) {
      feed.readers.delete(reader);
      this.#drop(feed);
    }
    this.#options.changed?.();
  }

  #drop(feed: Feed): void {
    if (feed.isUsed || feed.source instanceof WebFrontEnd) return;
    feed.source = undefined;
    this.#feeds.delete(feed.id);
  }

  #tick(): void {
    if (this.#isClosed) return;
    this.#clock.after(TICK, () => this.#tick());
    const now = this.#clock.now();
    for (const frontEnd of this.#frontEnds.values()) {
      const { live, feed } = frontEnd;
      const isIdle = live.isIdle && live.frontEnds.length === 1 && feed?.readers.size === 0;
      if (!isIdle) frontEnd.used = now;
      else if (now - frontEnd.used >= IDLE) void live.end();
    }
    if (this.#readers.size === 0) return;
    for (const { source } of this.#feeds.values()) source?.check?.();
    const isBeat = now - this.#beat >= HEARTBEAT;
    this.#list.check(isBeat);
    if (!isBeat) return;
    this.#beat = now;
    for (const { stream } of this.#readers.keys()) if (stream.unsent === 0) stream.write(": \n\n");
  }
}
