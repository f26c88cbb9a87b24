import { isDeepStrictEqual } from "node:util";
import type { Chunk, Event } from "../../../../src/core/mod.ts";
import type { LiveSession } from "../../../../src/frontend/session/live_session.ts";
import type { DraftEnd } from "../../../../src/frontend/session/submissions.ts";
import { SessionList } from "../../../../src/frontend/session/session_list.ts";
import { SessionLog } from "../../../../src/session/mod.ts";
import type { Clock } from "../../../../src/util/timer.ts";
import { Streams } from "../../../../src/frontend/web/stream.ts";
import { call, type Reply, say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { type LiveStage, liveStage } from "../../../support/live_stage.ts";
import { Browser } from "../../../support/page_model.ts";
import { Random, SEED, soakSize } from "../../../support/seed.ts";

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

type Options = ConstructorParameters<typeof Streams>[0];

function streamsOf({ sessions, texts, home }: LiveStage, more: Partial<Options> = {}): Streams {
  const list = new SessionList({ home, sessions });
  return new Streams({ sessions, texts, home, list, ...more });
}

/** A clock that the test moves. */
class TestClock implements Clock {
  #now = 0;
  #tasks: { readonly at: number; readonly task: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, task: () => void): void {
    this.#tasks.push({ at: this.#now + ms, task });
  }

  /** Goes forward in steps of a second. */
  async forward(ms: number): Promise<void> {
    for (const end = this.#now + ms; this.#now < end;) {
      this.#now = Math.min(end, this.#now + 1000);
      const due = this.#tasks.filter(({ at }) => at <= this.#now);
      this.#tasks = this.#tasks.filter(({ at }) => at > this.#now);
      for (const { task } of due) task();
    }
    await task();
  }
}

/** A browser with the page's model of sessions, whose streams can be cut. */
function browserOf(streams: Streams, sessions: Readonly<Record<string, () => readonly Event[]>>) {
  return new Browser(Object.keys(sessions), {
    open: (wanted) => Promise.resolve(streams.open(wanted, { role: "owner", from: "here" }, "b1")),
    load(id, before) {
      const known = sessions[id]?.().filter(({ seq }) => seq < before) ?? [];
      const events: Event[] = JSON.parse(JSON.stringify(known.slice(-40)));
      return Promise.resolve({ events, first: events.length === known.length });
    },
  }).load();
}

Deno.test("after a cut at any point of a session a browser shows what a fresh load shows", async () => {
  const random = new Random(SEED);
  const rounds = soakSize(250, 10);
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
    Array.from({ length: 20 }, () => browserOf(streams, { [id]: history })),
  );
  let compared = 0;
  const compare = async () => {
    const fresh = await browserOf(streams, { [id]: history });
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

Deno.test("a browser gets each event once while its session is closed and opened again", async () => {
  const random = new Random(SEED + 1);
  const rounds = 12;
  await using stage = await liveStage({ replies: Array.from({ length: rounds }, () => pieces(...words(8))) });
  const streams = streamsOf(stage);
  const first = await stage.sessions.open({});
  const { id = "" } = first;
  let live = first;
  let stored: readonly Event[] = [];
  const history = () => live.assembly ? live.history(0) : stored;
  const browser = await browserOf(streams, { [id]: history });
  for (let at = 0; at < rounds; at++) {
    const ended = prompt(live, `Do ${at}`);
    // A session that is closed in the middle of a turn ends it.
    if (random.chance(0.3)) await until(() => live.snapshot().message !== undefined, "a message");
    else await ended;
    stored = live.history(0);
    await live.end();
    live = await stage.sessions.open({ resume: id });
    if (random.chance(0.5)) browser.cutAt = 0;
  }
  const last = live.history(0).at(-1)?.seq ?? 0;
  await until(() => browser.models.get(id)?.seq === last, "the last event");
  const fresh = await browserOf(streams, { [id]: history });
  await until(() => isDeepStrictEqual(browser.view(id), fresh.view(id)), "equal views");
  assertEquals(browser.seqs.get(id), Array.from({ length: last }, (_, at) => at + 1));
  assert(!browser.names.includes("reset"));
  // Nothing is stored between a session that the browser does not know and one with fewer events.
  const ahead = streams.open(
    [`${id}@${last + 1}`, "no-such-session@0"],
    { role: "viewer", from: "here" },
    "b1",
  );
  const reader = ahead.getReader();
  let text = "";
  while (!text.includes("event: snapshot")) text += new TextDecoder().decode((await reader.read()).value);
  assertEquals(text.match(/^event: \w+$/gm), ["event: hello", "event: reset", "event: snapshot"]);
  for (const each of [browser, fresh]) await each.close();
  await reader.cancel();
  streams.close();
});

Deno.test("a stuck reader of ten slows nothing and has bounded memory, and catches up when it reads again", async () => {
  const count = 1_800;
  const text = `${"x".repeat(998)}\n\n`;
  const reply: Reply = async function* () {
    for (let at = 0; at < count; at++) {
      if (at % 20 === 0) await task();
      yield { type: "text", text };
    }
    yield { type: "done", reason: "stop" };
  };
  await using stage = await liveStage({ replies: [reply] });
  const streams = streamsOf(stage);
  const live = await stage.sessions.open({});
  const { id = "" } = live;
  const readers = Array.from({ length: 10 }, () => {
    const reader = streams.open([`${id}@0`], { role: "owner", from: "here" }, "b1").getReader();
    const decoder = new TextDecoder();
    const parts: string[] = [];
    return {
      async read(wanted: string): Promise<string> {
        while (!parts.slice(-2).join("").includes(wanted)) {
          parts.push(decoder.decode((await reader.read()).value, { stream: true }));
        }
        return parts.join("");
      },
      cancel: () => reader.cancel(),
    };
  });
  const [stuck, ...others] = readers;
  for (const reader of readers) await reader.read("event: snapshot");
  const ending = prompt(live, "Write");
  const ends = await Promise.all(others.map((reader) => reader.read('"type":"turn.end"')));
  assertEquals((await ending).outcome?.answer.length, count * text.length);
  for (const end of ends) assertEquals(end.match(/^event: snapshot$/gm)?.length, 1);
  // It gets what waited, the stored events after that, a snapshot, and what comes.
  const got = await stuck?.read('"type":"turn.end"') ?? "";
  const waited = got.indexOf('"type":"message.end"');
  assert(waited > 1024 * 1024 && waited < 1.5 * 1024 * 1024, `${waited} bytes waited`);
  const last = live.history(0).at(-1)?.seq ?? 0;
  const seqs = [...got.matchAll(/^id: \S+@(\d+)$/gm)].map(([_, seq]) => Number(seq));
  assertEquals(seqs, Array.from({ length: last }, (_, at) => at + 1));
  for (const reader of readers) await reader.cancel();
  assertEquals(streams.readers, []);
  streams.close();
});

Deno.test("a session of another program is followed from its file, and marked", async () => {
  await using stage = await liveStage({ replies: [say("Hello")] });
  const first = await stage.sessions.open({});
  const { id = "" } = first;
  await prompt(first, "Begin");
  const { path } = (await first.host.current()).session.paths;
  await first.end();
  const entries = new SessionList({ home: stage.home, sessions: stage.sessions });
  let isOpen = true;
  const entry = (asked: string) => {
    const known = entries.entry(asked);
    return known && { ...known, elsewhere: isOpen, state: isOpen ? "working" as const : known.state };
  };
  const clock = new TestClock();
  const streams = streamsOf(stage, { clock, list: { entry, paths: (asked) => entries.paths(asked) } });
  const log = SessionLog.open(path);
  const browser = await browserOf(streams, { [id]: () => log.eventsAfter(0) });
  const shows = async (holds: () => boolean, said: string) => {
    for (const end = performance.now() + LIMIT_MS; !holds() && performance.now() < end;) {
      await clock.forward(1000);
    }
    assert(holds(), said);
  };
  await shows(() => browser.view(id).turnState === "done", "the end of the turn before");
  log.append({ type: "turn.start", turn: 2 });
  log.append({ type: "message.user", content: "From elsewhere", origin: "user" });
  const called = { id: "c1", name: "bash", arguments: "{}" };
  log.append({ type: "tool.start", call: called, readOnly: false, summary: "ls", title: "$ ls" });
  await shows(() => browser.view(id).turnState === "generating", "the turn of the other program");
  await shows(() => browser.view(id).calls?.has("c1") === true, "its running call");
  await shows(() => browser.listed.includes(`${id} working elsewhere`), "the mark in the list");
  // The program is killed: no event says so.
  isOpen = false;
  log.close();
  await shows(() => browser.view(id).turnState === "stopped", "the end of the program");
  assertEquals(browser.view(id).calls?.size, 0);
  // It is opened here, which ends the turn that broke off, and closed again.
  const live = await stage.sessions.open({ resume: id });
  const last = () => live.history(0).at(-1)?.seq ?? 0;
  await shows(() => browser.models.get(id)?.seq === last(), "the repaired turn");
  const { length } = browser.seqs.get(id) ?? [];
  assertEquals(new Set(browser.seqs.get(id)).size, length);
  await browser.close();
  streams.close();
});

Deno.test("an idle session without readers is closed after 15 minutes, and no other", async () => {
  const job = call("a", "bash", { command: "sleep 60", run_in_background: true });
  await using stage = await liveStage({ replies: [say("Hello"), [job], say("Started")] });
  const clock = new TestClock();
  const streams = streamsOf(stage, { clock });
  const open = async (more: object = {}) => await stage.sessions.open({ approvalMode: "yolo", ...more });
  const idle = await open();
  await prompt(idle, "Begin");
  const { id = "" } = idle;
  const [watched, attached, asking, working] = [await open(), await open(), await open(), await open()];
  const browser = await browserOf(streams, { [watched.id ?? ""]: () => watched.history(0) });
  attached.attach({ name: "terminal", event() {} });
  void asking.questions.ask("confirm", { title: "Sure?" }).catch(() => {});
  assertEquals((await prompt(working, "In the background")).outcome?.answer, "Started");
  await clock.forward(14 * 60_000);
  assertEquals(stage.sessions.all.length, 5);
  // A request of a script counts as use.
  assert(streams.frontEnd(id));
  await clock.forward(14 * 60_000);
  assertEquals(stage.sessions.get(id), idle);
  await clock.forward(2 * 60_000);
  assertEquals(stage.sessions.all, [watched, attached, asking, working]);
  assertEquals(streams.frontEnd(id), undefined);
  assertEquals((await streams.snapshot(id))?.snapshot.turnState, "done");
  const again = await open({ resume: id });
  assertEquals(again.history(0).length, idle.history(0).length);
  // Once its reader has left, the watched one is closed, too.
  await browser.close();
  await clock.forward(16 * 60_000);
  assertEquals(stage.sessions.all, [attached, asking, working]);
  streams.close();
});

Deno.test("texts for people wait for the first reader of a session", async () => {
  await using stage = await liveStage({ beforeOpen: (_, person) => person.say("The file has a mistake") });
  const streams = streamsOf(stage);
  const id = "20260101-000000-abcd";
  await stage.sessions.open({ sessionId: id });
  const by = streams.frontEnd(id);
  by?.failed(new Error("broken"));
  by?.returned([{ text: "Not sent", steer: false, id: "message-1", by, ended() {} }]);
  const reader = streams.open([`${id}@0`], { role: "owner", from: "here" }, "b1").getReader();
  let text = "";
  while (!text.includes("event: returned")) text += new TextDecoder().decode((await reader.read()).value);
  const data = [...text.matchAll(/^event: (said|failed|returned)\ndata: (.*)$/gm)]
    .map(([_, name, json = ""]) => [name, JSON.parse(json)]);
  assertEquals(data, [
    ["said", { session: id, text: "The file has a mistake" }],
    ["failed", { session: id, error: { message: data[1]?.[1].error.message } }],
    ["returned", { session: id, drafts: [{ text: "Not sent", steer: false, id: "message-1" }] }],
  ]);
  await reader.cancel();
  streams.close();
});
