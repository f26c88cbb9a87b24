import { isDeepStrictEqual } from "node:util";
import { createParser } from "eventsource-parser";
import { SessionModel } from "../../../../page/store.ts";
import type { StreamData } from "../../../../page/stream.ts";
import type { Chunk, Event } from "../../../../src/core/mod.ts";
import type { LiveSession } from "../../../../src/frontend/session/live_session.ts";
import type { DraftEnd } from "../../../../src/frontend/session/submissions.ts";
import type { SessionEntry } from "../../../../src/frontend/web/schemas.ts";
import { Streams } from "../../../../src/frontend/web/stream.ts";
import { texts as web } from "../../../../src/i18n/en/web.ts";
import { loadTexts, loadTranslator } from "../../../../src/i18n/mod.ts";
import { call, type Reply } from "../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { type LiveStage, liveStage } from "../../../support/live_stage.ts";
import { Random, SEED, soakSize } from "../../../support/seed.ts";

const [run, turns, { t }] = await Promise.all([
  loadTexts("run", "en"),
  loadTexts("turn_view", "en"),
  loadTranslator("en"),
]);
const TEXTS = { ...run, ...turns, ...web(t).rows };
const LIMIT_MS = 20_000;

const task = () => new Promise<void>((resolve) => setTimeout(resolve));

async function until(holds: () => boolean, said = "a condition"): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`It never came to ${said}`);
    await task();
  }
}

/** A reply in pieces, each in its own task. */
function pieces(...chunks: readonly Chunk[]): Reply {
  return async function* () {
    for (const chunk of chunks) {
      await task();
      yield chunk;
    }
    yield { type: "done", reason: chunks.some(({ type }) => type === "tool_call") ? "tool_calls" : "stop" };
  };
}

const words = (count: number, text = "word"): Chunk[] =>
  Array.from(
    { length: count },
    (_, at): Chunk => ({ type: at % 5 === 0 ? "reasoning" : "text", text: `${text} ${at}\n\n` }),
  );

function prompt(live: LiveSession, text: string): Promise<DraftEnd> {
  return new Promise((ended) => void live.submissions.submit({ text, steer: false, ended }));
}

/** Streams of a stage; each session is listed as it is. */
function streamsOf(
  { sessions, texts, home }: LiveStage,
  more: Partial<ConstructorParameters<typeof Streams>[0]> = {},
) {
  const entry = (id: string): SessionEntry => ({
    id,
    title: "",
    directory: "",
    updated: "",
    state: sessions.get(id)?.submissions.busy ? "working" : "idle",
    live: sessions.get(id) !== undefined,
    elsewhere: false,
  });
  return new Streams({
    sessions,
    texts,
    home,
    build: "b1",
    list: { entry, paths: () => undefined },
    ...more,
  });
}

/** A browser with some sessions: it loads windows of the history and follows the stream, which can be cut. */
class Browser {
  readonly models: Map<string, SessionModel>;
  readonly names: string[] = [];
  /** The stream is cut after this number of bytes. */
  cutAt = Infinity;
  cuts = 0;
  readonly #streams: Streams;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(streams: Streams, sessions: Readonly<Record<string, () => readonly Event[]>>) {
    this.#streams = streams;
    this.models = new Map(
      Object.entries(sessions).map(([id, history]) => {
        const load = (before = Infinity, limit = 40) => {
          const known = history().filter(({ seq }) => seq < before);
          const events: Event[] = JSON.parse(JSON.stringify(known.slice(-limit)));
          return Promise.resolve({ events, first: events.length === known.length });
        };
        return [id, new SessionModel({ texts: () => TEXTS, load })];
      }),
    );
  }

  async load(): Promise<this> {
    for (const model of this.models.values()) while (!model.view.value.first) await model.older();
    void this.#follow();
    return this;
  }

  view(id: string) {
    const { said: _said, ...view } = this.models.get(id)?.view.value ?? {};
    return view;
  }

  async close(): Promise<void> {
    this.cutAt = -1;
    await this.#reader?.cancel();
  }

  async #follow(): Promise<void> {
    while (this.cutAt >= 0) {
      const sessions = [...this.models].map(([id, { seq }]) => `${id}@${seq}`);
      const reader = this.#reader = this.#streams.open(sessions, { role: "owner", from: "here" }).getReader();
      const decoder = new TextDecoder();
      const events: { readonly name: string; readonly data: StreamData }[] = [];
      const parser = createParser({
        onEvent: ({ event: name = "", data }) => events.push({ name, data: JSON.parse(data) }),
      });
      for (;;) {
        const { value } = await reader.read();
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
    const model = this.models.get(data.session ?? "");
    if (!model) return;
    if (name === "event" && data.event) model.event(data.event);
    else if (name === "snapshot" && data.snapshot) model.snapshot({ ...data, snapshot: data.snapshot });
    else if (name === "reset") {
      model.reset();
      while (!model.view.value.first) await model.older();
    } else model.other(name, data as never);
  }
}

Deno.test("after a cut at any point of a session a browser shows what a fresh load shows", async () => {
  const random = new Random(SEED);
  const rounds = soakSize(250, 25);
  const replies = Array.from({ length: rounds }, (_, at): Reply[] => [
    pieces(
      ...words(2 + random.below(30), `turn ${at}`),
      call(`a${at}`, "bash", { command: "echo one; ls" }),
      call(`b${at}`, "bash", { command: "echo two" }),
      call(`c${at}`, "bash", { command: `touch file-${at}` }),
    ),
    pieces(...words(2 + random.below(20), `end ${at}`)),
  ]).flat();
  await using stage = await liveStage({ replies });
  const streams = streamsOf(stage);
  const live = await stage.sessions.open({});
  const { id = "" } = live;
  const history = () => live.history(0);
  const browsers = await Promise.all(
    Array.from({ length: 20 }, () => new Browser(streams, { [id]: history }).load()),
  );
  let compared = 0;
  const compare = async () => {
    const fresh = await new Browser(streams, { [id]: history }).load();
    await until(() => fresh.names.includes("snapshot"), "a fresh snapshot");
    for (const browser of browsers) {
      const isEqual = () => isDeepStrictEqual(browser.view(id), fresh.view(id));
      await until(isEqual, "equal views").catch(() => {});
      assertEquals(browser.view(id), fresh.view(id));
      compared++;
    }
    await fresh.close();
  };
  for (let at = 0; at < rounds; at++) {
    for (const browser of browsers) browser.cutAt = 1 + random.below(random.pick([500, 5_000, 20_000]));
    const ended = prompt(live, `Do ${at}`);
    await until(() => live.questions.open.length > 0, "an approval");
    await compare();
    const [question] = live.questions.open;
    live.questions.answer(question?.id ?? "", { allow: random.chance(0.7), scope: "once" }, "web");
    assertEquals((await ended).outcome?.reason, "done");
    if (random.chance(0.2)) {
      const assembly = await live.host.current();
      await assembly.rewind(assembly.session.state.turns.at(-1)?.turn ?? 1, "conversation");
    }
    await compare();
  }
  const cuts = browsers.reduce((sum, each) => sum + each.cuts, 0);
  assert(cuts >= rounds * 16, `${cuts} cuts`);
  assertEquals(compared, rounds * 40);
  for (const browser of browsers) await browser.close();
  assertEquals(streams.readers, []);
  streams.close();
});
