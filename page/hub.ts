import { signal } from "@preact/signals";
import type { SessionEntry } from "../src/frontend/web/schemas.ts";
import { secret, signedIn, signOut } from "./api.ts";
import {
  type HubMessage,
  type HubState,
  join,
  type PageMessage,
  serve,
  Stream,
  type StreamEvent,
} from "./stream.ts";

type Listener = (event: StreamEvent) => void;

/** The stream as this page uses it. */
class Hub {
  readonly state = signal<HubState>("connecting");
  /** The sessions that are known, by id. */
  readonly sessions = signal<readonly SessionEntry[]>([]);
  /** Gets the events that are about no session. */
  heard: Listener = () => {};
  #view: { id: string | undefined; after: number; view: number } = { id: undefined, after: 0, view: 0 };
  #listener: Listener = () => {};
  /** The other end is the stream. */
  #port: MessagePort | undefined;
  #isShared = "SharedWorker" in globalThis;

  constructor() {
    addEventListener("pagehide", () => this.#post("left"));
    addEventListener("pageshow", ({ persisted }) => persisted && this.refresh());
    addEventListener("online", () => this.#post("wake"));
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return this.#isShared || this.#post("left");
      this.refresh();
      this.#post("wake");
    });
  }

  /** Gives the events of a session after one of them, in place of those before; without id of none. */
  watch(id?: string, after = 0, listener: Listener = () => {}): void {
    this.#view = { id, after, view: this.#view.view + 1 };
    this.#listener = listener;
    this.refresh();
  }

  /** Adds or replaces entries of sessions, and removes others. */
  add(entries: readonly SessionEntry[] = [], removed: readonly string[] = []): void {
    const all = new Map([...this.sessions.value, ...entries].map((entry) => [entry.id, entry]));
    for (const id of removed) all.delete(id);
    this.sessions.value = [...all.values()].sort((a, b) => a.updated < b.updated ? 1 : -1);
  }

  /** Opens the stream, or sends it what has changed. */
  refresh(): void {
    if (signedIn.value === "no" || signedIn.value === "unknown") return;
    if (!this.#port) this.#connect();
    this.#post({ secret: secret(), ...this.#view });
  }

  #post(message: PageMessage): void {
    this.#port?.postMessage(message);
  }

  #connect(): void {
    const again = () => {
      this.#port = undefined;
      this.refresh();
    };
    if (this.#isShared) {
      const worker = new SharedWorker(document.documentElement.dataset.worker ?? "", { type: "module" });
      this.#port = worker.port;
      worker.onerror = () => {
        this.#isShared = false;
        again();
      };
    } else {
      const { port1, port2 } = new MessageChannel();
      serve(new Stream(location.origin), port1);
      this.#port = port2;
    }
    join<HubMessage>(this.#port, (message) => this.#receive(message), again);
  }

  #receive(message: HubMessage): void {
    if ("state" in message) this.state.value = message.state;
    else if ("refused" in message) {
      if (message.refused === secret()) signOut();
    } else if (message.data.session === undefined) this.heard(message);
    else if (message.data.session === this.#view.id) {
      this.#view.after = message.data.event?.seq || this.#view.after;
      this.#listener(message);
    }
  }
}

export const hub = new Hub();
