import { signal } from "@preact/signals";
import type { SessionEntry } from "../src/frontend/web/schemas.ts";
import { secret, signedIn, signOut } from "./api.ts";
import { type HubMessage, type HubState, type PageMessage, Stream, type StreamEvent } from "./stream.ts";

/** The stream as this page uses it. */
class Hub {
  readonly state = signal<HubState>("connecting");
  /** The sessions that are known, by id. */
  readonly sessions = signal<readonly SessionEntry[]>([]);
  /** Gets the events that are about no session. */
  heard: (event: StreamEvent) => void = () => {};
  readonly #watched = new Map<
    string,
    { after: number; call: number; listener: (event: StreamEvent) => void }
  >();
  #send: ((message: PageMessage) => void) | undefined;
  #calls = 0;

  /** Gives the events of a session after one of them, until the returned function is called. */
  watch(id: string, after: number, listener: (event: StreamEvent) => void): () => void {
    const one = { after, call: ++this.#calls, listener };
    this.#watched.set(id, one);
    this.refresh();
    return () => {
      if (this.#watched.get(id) !== one) return;
      this.#watched.delete(id);
      this.refresh();
    };
  }

  /** Adds or replaces entries of sessions; without state the session is gone. */
  add(entries: readonly SessionEntry[] = [], removed: readonly string[] = []): void {
    const all = new Map(this.sessions.value.map((entry) => [entry.id, entry]));
    for (const entry of entries) all.set(entry.id, entry);
    for (const id of removed) all.delete(id);
    this.sessions.value = [...all.values()].sort((a, b) => a.updated < b.updated ? 1 : -1);
  }

  /** Opens the stream, or sends it what has changed. */
  refresh(): void {
    if (signedIn.value === "no" || signedIn.value === "unknown") return;
    this.#send ??= this.#connect();
    const sessions = [...this.#watched].map(([id, { after, call }]) => [id, after, call] as const);
    this.#send({ secret: secret(), sessions });
  }

  #connect(): (message: PageMessage) => void {
    const own = new Stream(location.origin);
    const receive = (message: HubMessage) => this.#receive(message);
    let [isShared, send] = [false, (message: PageMessage) => own.page(receive, message)];
    if ("SharedWorker" in globalThis) {
      const worker = new SharedWorker(document.documentElement.dataset.worker ?? "", { type: "module" });
      worker.port.onmessage = ({ data }) => receive(data);
      const [alone, share] = [send, (message: PageMessage) => worker.port.postMessage(message)];
      worker.onerror = () => {
        [isShared, send] = [false, alone];
        this.refresh();
      };
      [isShared, send] = [true, share];
    }
    addEventListener("pagehide", () => send("left"));
    addEventListener("pageshow", ({ persisted }) => persisted && this.refresh());
    addEventListener("online", () => send("wake"));
    document.addEventListener("visibilitychange", () => {
      if (isShared) return document.hidden || send("wake");
      return document.hidden ? send("left") : this.refresh();
    });
    return (message) => send(message);
  }

  #receive(message: HubMessage): void {
    if ("state" in message) this.state.value = message.state;
    else if ("refused" in message) {
      if (message.refused === secret()) signOut();
    } else if (message.data.session === undefined) this.heard(message);
    else {
      const one = this.#watched.get(message.data.session);
      if (one) one.after = message.data.event?.seq || one.after;
      one?.listener(message);
    }
  }
}

export const hub = new Hub();
