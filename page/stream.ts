/**
 * The one stream of this browser. Browsers open six connections to an origin, so that pages share a stream in
 * a SharedWorker, of which this is the code. Where there is none, as in Chrome on Android, each page has a
 * stream while it is visible: such a system freezes hidden pages, and a page gets what it missed when it is
 * shown again.
 */
import { createParser } from "eventsource-parser";
import type { Event as SessionEvent } from "../src/core/event.ts";
import type { SessionFact } from "../src/frontend/session/facts.ts";
import type { Snapshot } from "../src/frontend/session/live_session.ts";
import type { SessionEntry } from "../src/frontend/web/schemas.ts";

export type HubState = "live" | "connecting" | "offline";

/** The fields of the events of the stream; each kind has some of them. */
export interface StreamData {
  /** Absent in events about no session. */
  readonly session?: string;
  readonly event?: SessionEvent;
  readonly snapshot?: Snapshot;
  readonly facts?: readonly SessionFact[];
  readonly fact?: SessionFact;
  readonly text?: string;
  readonly form?: "plain";
  readonly error?: { readonly message: string; readonly remedy?: string };
  readonly drafts?: readonly unknown[];
  readonly waiting?: Snapshot["waiting"];
  readonly steering?: Snapshot["steering"];
  readonly changed?: readonly SessionEntry[];
  readonly removed?: readonly string[];
  readonly build?: string;
}

export interface StreamEvent {
  readonly name: string;
  readonly data: StreamData;
}

/** The session that a page shows, if any: its last event, and a number that differs for each view of it. */
interface Watched {
  readonly id: string | undefined;
  readonly after: number;
  readonly view: number;
}

/** A message of a page; "left": it is closed or hidden. */
export type PageMessage = "left" | "wake" | Watched & { readonly secret: string };
export type HubMessage = { readonly state: HubState } | { readonly refused: string } | StreamEvent;

/** Time without a byte after which a stream is dead: the server sends a comment each 15 s. */
const SILENCE = 40_000;
const LAST_WAIT = 15_000;
/** A stream that lasted this long was none that the server ends at once. */
const LASTED = 5_000;
/** Failed attempts in a row, about 4 s, before a page says that there is no connection. */
const OFFLINE = 4;

/** Reads one stream for all pages, and gives each page the events of its sessions, none twice. */
export class Stream {
  readonly #pages = new Map<(message: HubMessage) => void, Watched>();
  #secret = "";
  #state: HubState = "connecting";
  #open: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wake = () => {};
  readonly #origin: string;
  readonly #firstWait: number;

  /** `firstWait`: ms before the second attempt; each further one waits twice as long. */
  constructor(origin: string, firstWait = 250) {
    [this.#origin, this.#firstWait] = [origin, firstWait];
  }

  page(send: (message: HubMessage) => void, message: PageMessage): void {
    if (message === "wake") return this.#wake();
    const before = this.#pages.get(send);
    if (message === "left") {
      if (this.#pages.delete(send) && (this.#pages.size === 0 || before?.id !== undefined)) this.#reopen();
      return;
    }
    const isOther = this.#secret !== message.secret || (before?.view ?? 0) !== message.view;
    this.#secret = message.secret;
    if (!before) send({ state: this.#state });
    if (before?.view !== message.view) this.#pages.set(send, message);
    if (isOther || !this.#open) this.#reopen();
  }

  /** Ends the stream before the next one begins: what comes in between is in the snapshot of that one. */
  #reopen(): void {
    this.#timer ??= setTimeout(() => {
      this.#open?.abort();
      this.#timer = this.#open = undefined;
      if (this.#pages.size > 0) void this.#keepOpen(this.#open = new AbortController());
    });
  }

  async #keepOpen({ signal }: AbortController): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      const key = this.#secret;
      const began = Date.now();
      const status = await this.#read(signal).catch(() => 0);
      if (signal.aborted) return;
      if (status === 401) return this.#all({ refused: key });
      failures = Date.now() - began > LASTED ? 1 : failures + 1;
      this.#show(failures < OFFLINE ? "connecting" : "offline");
      const wait = Math.min(this.#firstWait * 2 ** (failures - 1), LAST_WAIT) * (0.8 + 0.4 * Math.random());
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, wait);
        this.#wake = () => (clearTimeout(timer), resolve());
        signal.addEventListener("abort", this.#wake, { once: true });
      });
    }
  }

  /** Resolves with the status of the answer when the stream has ended. */
  async #read(ended: AbortSignal): Promise<number> {
    const silent = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENCE);
    };
    heard();
    const signal = AbortSignal.any([ended, silent.signal]);
    try {
      const response = await fetch(`${this.#origin}/api/v1/stream?${this.#query()}`, {
        headers: { ...(this.#secret && { authorization: `Bearer ${this.#secret}` }) },
        signal,
        credentials: "omit",
        cache: "no-store",
      });
      if (!response.ok || !response.body) return response.status;
      const parser = createParser({
        onEvent: ({ event: name = "event", data }) => {
          if (signal.aborted) return;
          this.#show("live");
          this.#give({ name, data: JSON.parse(data) });
        },
      });
      const write = (text: string) => {
        heard();
        parser.feed(text);
      };
      await response.body.pipeThrough(new TextDecoderStream()).pipeTo(new WritableStream({ write }));
      return response.status;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The sessions of all pages, from the last event that each page has. */
  #query(): URLSearchParams {
    const views = [...this.#pages.values()].filter(({ id }) => id !== undefined);
    return new URLSearchParams(
      [...Map.groupBy(views, ({ id }) => id)].map((
        [id, of],
      ) => ["session", `${id}@${Math.min(...of.map(({ after }) => after))}`]),
    );
  }

  #give(event: StreamEvent): void {
    const { session, event: { seq } = { seq: 0 } } = event.data;
    for (const [send, view] of this.#pages) {
      if (session !== undefined && session !== view.id || seq > 0 && seq <= view.after) continue;
      if (seq > 0) this.#pages.set(send, { ...view, after: seq });
      send(event);
    }
  }

  #show(state: HubState): void {
    if (state !== this.#state) this.#all({ state: this.#state = state });
  }

  #all(message: HubMessage): void {
    for (const send of [...this.#pages.keys()]) send(message);
  }
}

/** Missing outside of secure contexts. */
const { locks } = navigator as {
  readonly locks?: { request(name: string, held: () => unknown): Promise<unknown> };
};

/** Joins a side to the other one. Each side holds a lock while it lives: a crash frees it, too. */
export function join<T>(port: MessagePort, receive: (message: T) => void, gone: () => void): void {
  const lock = `reasonix.${Math.random()}`;
  void locks?.request(lock, () => (port.postMessage({ lock }), new Promise(() => {})));
  port.onmessage = ({ data }) => {
    if (data.lock === undefined) receive(data);
    else void locks?.request(data.lock, gone);
  };
}

/** Gives a page its part of a stream. */
export function serve(stream: Stream, port: MessagePort): void {
  const send = (message: HubMessage) => port.postMessage(message);
  join<PageMessage>(port, (message) => stream.page(send, message), () => stream.page(send, "left"));
}

if ("onconnect" in globalThis) {
  const stream = new Stream(location.origin);
  addEventListener("connect", (event) => {
    for (const port of event instanceof MessageEvent ? event.ports : []) serve(stream, port);
  });
}
