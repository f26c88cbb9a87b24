/** The page without a browser: its model of sessions, fed by the streams of a server. */
import { createParser } from "eventsource-parser";
import { SessionModel } from "../../page/store.ts";
import type { StreamData } from "../../page/stream.ts";
import type { Event } from "../../src/core/mod.ts";
import { loadTexts } from "../../src/i18n/mod.ts";

const [run, turns] = await Promise.all([loadTexts("run", "en"), loadTexts("turn_view", "en")]);
const TEXTS = { ...run, ...turns };

interface PageServer {
  /** Streams sessions, each given as `ID@SEQ`. */
  open(sessions: readonly string[]): Promise<ReadableStream<Uint8Array>>;
  /** Loads the events of a session before one. */
  load(id: string, before: number): Promise<{ readonly events: readonly Event[]; readonly first: boolean }>;
}

/** A browser with some sessions: it loads windows of the history and follows the stream, which can be cut. */
export class Browser {
  readonly models: Map<string, SessionModel>;
  readonly names: string[] = [];
  /** The stored events that the stream has given, by session. */
  readonly seqs = new Map<string, number[]>();
  /** Changes of the list, each as `id state`, with a mark where another program has the session. */
  readonly listed: string[] = [];
  /** The stream is cut after this number of bytes. */
  cutAt = Infinity;
  cuts = 0;
  readonly #server: PageServer;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(sessions: readonly string[], server: PageServer) {
    this.#server = server;
    this.models = new Map(sessions.map((id) => {
      const load = (before = Infinity) => server.load(id, before);
      return [id, new SessionModel({ texts: () => TEXTS, load })];
    }));
  }

  async load(): Promise<this> {
    for (const model of this.models.values()) while (!model.view.value.first) await model.older();
    void this.#follow();
    return this;
  }

  view(id: string) {
    const model = this.models.get(id);
    if (!model) throw new Error(`The browser does not show ${id}`);
    const { said: _said, ...view } = model.view.value;
    return view;
  }

  async close(): Promise<void> {
    this.cutAt = -1;
    await this.#reader?.cancel();
  }

  async #follow(): Promise<void> {
    while (this.cutAt >= 0) {
      const sessions = [...this.models].map(([id, { seq }]) => `${id}@${seq}`);
      const stream = await this.#server.open(sessions).catch(() => undefined);
      if (!stream) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      const reader = this.#reader = stream.getReader();
      const decoder = new TextDecoder();
      const events: { readonly name: string; readonly data: StreamData }[] = [];
      const parser = createParser({
        onEvent: ({ event: name = "", data }) => events.push({ name, data: JSON.parse(data) }),
      });
      for (;;) {
        const value = await reader.read().then((read) => read.value, () => undefined);
        if (!value) break;
        const size = Math.min(value.length, this.cutAt);
        parser.feed(decoder.decode(value.subarray(0, size), { stream: true }));
        for (let one = events.shift(); one; one = events.shift()) await this.#take(one.name, one.data);
        this.cutAt -= size;
        if (this.cutAt > 0) continue;
        await reader.cancel();
        this.cuts++;
        this.cutAt = Infinity;
        break;
      }
    }
  }

  async #take(name: string, data: StreamData): Promise<void> {
    this.names.push(name);
    for (const { id, state, elsewhere } of data.changed ?? []) {
      this.listed.push(`${id} ${state}${elsewhere ? " elsewhere" : ""}`);
    }
    const { session = "", event: { seq } = { seq: 0 } } = data;
    if (seq > 0) this.seqs.set(session, [...this.seqs.get(session) ?? [], seq]);
    const model = this.models.get(session);
    if (!model) return;
    if (name === "event" && data.event) model.event(data.event);
    else if (name === "snapshot" && data.snapshot) model.snapshot({ ...data, snapshot: data.snapshot });
    else if (name === "reset") {
      model.reset();
      while (!model.view.value.first) await model.older();
    } else model.other(name, data as never);
  }
}
