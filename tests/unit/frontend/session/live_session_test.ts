import type { Chunk, Event } from "../../../../src/core/mod.ts";
import type { FrontEnd, LiveSession } from "../../../../src/frontend/session/live_session.ts";
import type { QuestionEvent } from "../../../../src/frontend/session/questions.ts";
import type { DraftEnd } from "../../../../src/frontend/session/submissions.ts";
import { SessionLog } from "../../../../src/session/mod.ts";
import { call, type Reply, say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { heldReply } from "../../../support/chat_stage.ts";
import { liveStage, RecordingFrontEnd } from "../../../support/live_stage.ts";
import { Random, SEED } from "../../../support/seed.ts";

const isLogged = (event: Event | QuestionEvent): event is Event =>
  event.type !== "question.state" && event.seq > 0;

const numbers = (events: readonly (Event | QuestionEvent)[]) => events.filter(isLogged).map(({ seq }) => seq);

/** Sends a message and returns its end. */
function prompt(live: LiveSession, text: string, by: FrontEnd): Promise<DraftEnd> {
  return new Promise((ended) => void live.submissions.submit({ text, steer: false, by, ended }));
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve));
}

/** A reply in pieces, each in its own task. */
function pieces(...chunks: readonly Chunk[]): Reply {
  return async function* () {
    for (const chunk of chunks) {
      await new Promise((resolve) => setTimeout(resolve));
      yield chunk;
    }
    yield { type: "done", reason: "stop" };
  };
}

const words = (count: number): Chunk[] =>
  Array.from(
    { length: count },
    (_, at): Chunk => ({ type: at % 3 === 0 ? "reasoning" : "text", text: `${at} ` }),
  );

/** A front end that joins in the middle: durable events, a snapshot, then the stream. */
class Latecomer implements FrontEnd {
  readonly name = "late";
  readonly seqs: number[] = [];
  text = "";
  #message = "";

  join(live: LiveSession): void {
    this.seqs.push(...numbers(live.history(0)));
    this.#message = live.snapshot().message?.text ?? "";
    assertEquals(live.snapshot().seq, this.seqs.at(-1) ?? 0);
    live.attach(this);
  }

  event(event: Event | QuestionEvent): void {
    this.seqs.push(...numbers([event]));
    if (event.type === "message.start") this.#message = "";
    if (event.type === "message.delta" && event.channel === "text") this.#message += event.text;
    if (event.type !== "message.end") return;
    assertEquals(this.#message, event.content);
    this.text += event.content;
  }
}

Deno.test("a front end that attaches at any moment gets every event of the session once", async () => {
  const random = new Random(SEED);
  const replies = [
    pieces(...words(12), call("a", "bash", { command: "printf 'x%.0s' $(seq 1 2000)" })),
    pieces(...words(20)),
  ];
  await using stage = await liveStage({ replies });
  const live = await stage.sessions.open({ approvalMode: "yolo" });
  const first = new RecordingFrontEnd("first");
  live.attach(first);
  const late: Latecomer[] = [];
  first.onEvent = () => {
    if (!random.chance(0.3)) return;
    const one = new Latecomer();
    late.push(one);
    one.join(live);
  };
  const { outcome } = await prompt(live, "Count", first);
  assertEquals(outcome?.reason, "done");
  const all = live.history(0).map(({ seq }) => seq);
  assertEquals(all, all.map((_, at) => at + 1));
  assertEquals(numbers(first.events), all);
  assert(late.length > 3);
  for (const each of late) assertEquals(each.seqs, all);
  assertEquals(live.snapshot().calls, []);
  assertEquals(live.snapshot().turnState, "done");
  assertEquals(live.history(all.length - 1).map(({ type }) => type), ["turn.end"]);
});

Deno.test("a front end that throws disturbs neither the turn nor the other front ends", async () => {
  await using stage = await liveStage({ replies: [say("Hello")] });
  const live = await stage.sessions.open({});
  const [bad, good] = [new RecordingFrontEnd("bad"), new RecordingFrontEnd("good")];
  live.attach({
    ...bad,
    name: "bad",
    event() {
      throw new Error("Cannot draw");
    },
    failed() {
      throw new Error("Nor say so");
    },
  });
  live.attach(good);
  const { outcome } = await prompt(live, "Hi", good);
  assertEquals([outcome?.reason, outcome?.answer], ["done", "Hello"]);
  assertEquals(numbers(good.events), live.history(0).map(({ seq }) => seq));
});

Deno.test("what was said before a front end attached is said to the first one", async () => {
  await using stage = await liveStage({ beforeOpen: (_, person) => person.say("The file has a mistake") });
  const live = await stage.sessions.open({});
  const [one, two] = [new RecordingFrontEnd("one"), new RecordingFrontEnd("two")];
  live.attach(one);
  live.attach(two);
  await live.host.replace({});
  assertEquals([one.texts.length, two.texts.length], [2, 1]);
});

Deno.test("what ends with a session that is left is reported, and belongs to no history of the next one", async () => {
  const job = call("a", "bash", { command: "sleep 60", run_in_background: true });
  await using stage = await liveStage({ replies: [[job], say("Started")] });
  const live = await stage.sessions.open({ approvalMode: "yolo" });
  const one = new RecordingFrontEnd("one");
  live.attach(one);
  assertEquals((await prompt(live, "Start it", one)).outcome?.answer, "Started");
  one.events.length = 0;
  await live.commandsOf(one).reopen({});
  const left = one.events.filter((event) => event.type !== "question.state");
  assertEquals(left.map((event) => [event.type, event.type === "job.change" && event.status, event.seq]), [
    ["job.change", "killed", 0],
  ]);
  assertEquals(live.snapshot().seq, 0);
  assertEquals(live.history(0), []);
});

Deno.test("commands without an owner go to the front end whose message they are", async () => {
  await using stage = await liveStage({ replies: [say("Hello")] });
  const live = await stage.sessions.open({});
  const [one, two] = [new RecordingFrontEnd("one"), new RecordingFrontEnd("two")];
  live.attach(one);
  live.attach(two);
  for (const line of ["/quit", "/status"]) {
    const { outcome, error } = await prompt(live, line, two);
    assertEquals([outcome, error], [undefined, undefined]);
  }
  live.commandsOf().quit();
  assertEquals([one.calls, two.calls], [[], ["quit"]]);
  assertEquals([one.texts.length, two.texts.length], [0, 1]);
  assert(String((await prompt(live, "/no-such-command", one)).error).includes("no-such-command"));
  assertEquals(two.errors, []);
});

Deno.test("a stop ends the turn and returns the waiting messages of the front end that stops, or of all", async () => {
  const hold = heldReply("Working");
  await using stage = await liveStage({ replies: [say("One"), say("Two"), hold, hold, say("Five")] });
  const live = await stage.sessions.open({});
  const [one, two] = [new RecordingFrontEnd("one"), new RecordingFrontEnd("two")];
  live.attach(one);
  live.attach(two);
  const ends = [
    prompt(live, "First", one),
    prompt(live, "Second", two),
  ];
  assertEquals((await Promise.all(ends)).map(({ outcome }) => outcome?.answer), ["One", "Two"]);
  const running = prompt(live, "Third", one);
  await live.submissions.submit({ text: "Fourth", steer: false, by: two });
  const waiting = prompt(live, "Fifth", two);
  await until(() => live.snapshot().message?.text === "Working" && live.snapshot().waiting.length === 2);
  assertEquals(live.snapshot().waiting, [{ text: "Fourth" }, { text: "Fifth" }]);
  await live.submissions.submit({ text: "Sixth", steer: false, by: one });
  live.submissions.stop("interrupted", one);
  assertEquals((await running).outcome?.reason, "interrupted");
  // Those of the other one follow.
  await until(() => live.snapshot().message?.text === "Working" && live.snapshot().waiting.length === 1);
  assertEquals([live.snapshot().waiting, one.returnedTexts, two.returnedTexts], [[{ text: "Fifth" }], [
    "Sixth",
  ], []]);
  await live.submissions.submit({ text: "Seventh", steer: false, by: one });
  await live.submissions.submit({ text: "Eighth", steer: false, by: two });
  // The person at the second one leaves an approval: it is the turn of the second one.
  live.submissions.stopOwn();
  await until(() => two.returnedTexts.length === 1);
  assertEquals([await waiting, two.returnedTexts], [{ stopped: true }, ["Eighth"]]);
  await until(() => live.snapshot().turnState === "done");
  const last = live.history(0).at(-1);
  assertEquals(last?.type === "turn.end" && last.answer, "Five");
  live.submissions.stop();
  assertEquals([one.returnedTexts, live.snapshot().waiting], [["Sixth"], []]);
});

Deno.test("LiveSessions attaches a second front end to a session that is open", async () => {
  await using stage = await liveStage({ replies: [say("One"), say("Two")] });
  const first = await stage.sessions.open({});
  const one = new RecordingFrontEnd("one");
  first.attach(one);
  await prompt(first, "Begin", one);
  const { id = "" } = first;
  assertEquals(await stage.sessions.open({ resume: id }), first);
  // By a part of its identifier, too, which the opener alone can read.
  const second = await stage.sessions.open({ resume: id.slice(0, -2) }, (live) => live.attach(one));
  assertEquals(second, first);
  assertEquals(stage.sessions.all, [first]);
  await first.close();
  assertEquals(stage.sessions.get(id), first);
  void first.end();
  assertEquals(stage.sessions.get(id), undefined);
  // Closed: the file is free, and two that open it at the same time have one session.
  const opened = await Promise.all([
    stage.sessions.open({ resume: id }),
    stage.sessions.open({ resume: id.slice(0, -2) }),
    stage.sessions.open({ resume: id.slice(0, -3) }),
  ]);
  assertEquals(new Set(opened).size, 1);
  assertEquals(stage.sessions.all, opened.slice(0, 1));
  assertEquals(opened[0]?.history(0).length, first.history(0).length);
});

Deno.test("a session that another process has open is a question for a copy", async () => {
  await using stage = await liveStage({ replies: [say("One")] });
  const first = await stage.sessions.open({});
  const one = new RecordingFrontEnd("one");
  await prompt(first, "Begin", one);
  const { id = "" } = first;
  const { path } = (await first.host.current()).session.paths;
  await first.end();
  using _other = SessionLog.open(path);
  const asked: unknown[] = [];
  const answering = (answer: boolean) => (live: LiveSession) => {
    live.attach({
      name: "two",
      event(event) {
        if (event.type !== "question.state" || event.state !== "opened") return;
        asked.push(event.kind, event.question);
        live.questions.answer(event.id, answer, "two");
      },
    });
  };
  await assertRejects(() => stage.sessions.open({ resume: id }, answering(false)), Error, "has it open");
  assertEquals(stage.sessions.all, []);
  const copy = await stage.sessions.open({ resume: id }, answering(true));
  assert(copy.id !== undefined && copy.id !== id);
  assertEquals(asked, ["copy", { session: id, pid: Deno.pid }, "copy", { session: id, pid: Deno.pid }]);
});

Deno.test("a session that is closed leaves no question open", async () => {
  await using stage = await liveStage({ replies: [[call("a", "bash", { command: "touch x" })]] });
  const live = await stage.sessions.open({});
  const one = new RecordingFrontEnd("one");
  live.attach(one);
  const asked = Promise.withResolvers<void>();
  one.onEvent = () => {
    if (live.questions.open.length === 2) asked.resolve();
  };
  const states: string[] = [];
  live.questions.subscribe(({ kind, state }) => void states.push(`${kind} ${state}`));
  const ended = prompt(live, "Do it", one);
  const chosen = live.commandsOf(one).choose("Which one?", [{ label: "this", value: 1 }]);
  await asked.promise;
  await live.end();
  assertEquals(await chosen, undefined);
  assertEquals(states.filter((each) => each.endsWith("withdrawn")).sort(), [
    "approval withdrawn",
    "choose withdrawn",
  ]);
  assertEquals((await ended).outcome?.reason, "terminated");
  assertEquals(live.questions.open, []);
});

Deno.test("a command that runs when its session is closed does its work before that", async () => {
  await using stage = await liveStage({ replies: [heldReply("Hello")] });
  const order: string[] = [];
  for (const line of ["/bug report.txt", "/rename During a turn"]) {
    const live = await stage.sessions.open({});
    const begun = Promise.withResolvers<void>();
    const mayRun = Promise.withResolvers<void>();
    const one = Object.assign(new RecordingFrontEnd("one"), {
      async headed<T>(_line: string, run: () => Promise<T>): Promise<T> {
        begun.resolve();
        await mayRun.promise;
        return await run().finally(() => order.push("command"));
      },
    });
    live.attach(one);
    if (line.startsWith("/rename")) {
      void prompt(live, "Hi", one);
      await until(() => live.snapshot().message?.text === "Hello");
    }
    void prompt(live, line, one);
    await begun.promise;
    const end = live.end().then(() => order.push("session"));
    await Promise.race([end, new Promise((resolve) => setTimeout(resolve, 50))]);
    mayRun.resolve();
    await end;
    assertEquals(one.errors, []);
  }
  assert((await Deno.readTextFile(`${stage.cwd}/report.txt`)).includes("Reasonix"));
  assertEquals(order, ["command", "session", "command", "session"]);
});

Deno.test("the facts of a session are plain data and follow it", async () => {
  const usage = { inputTokens: 900, cachedTokens: 450, outputTokens: 100, reasoningTokens: 0 };
  const reply: Chunk[] = [{ type: "text", text: "Hi" }, { type: "usage", usage }, {
    type: "done",
    reason: "stop",
  }];
  await using stage = await liveStage({ replies: [reply] });
  const live = await stage.sessions.open({ approvalMode: "auto" });
  await prompt(live, "Hello", new RecordingFrontEnd("one"));
  const facts = live.assembly?.facts;
  const { session, directory, confined, spending, ...rest } = JSON.parse(JSON.stringify(facts));
  assertEquals([session, directory, typeof confined], [live.id, stage.cwd, "boolean"]);
  assertEquals(spending, { usage, costs: {}, unpriced: 1 });
  assertEquals(rest, {
    model: { provider: "scripted", id: "scripted-1" },
    modes: {
      approval: "auto",
      permission: "workspace-write",
      collaboration: "normal",
      approvedPlan: false,
    },
    turns: 1,
    context: { tokens: 1000, window: 0 },
    servers: { ready: 0, failed: 0, enabled: 0, configured: 0 },
    todos: [],
    instructions: [],
    languageServers: [],
    skills: rest.skills,
  });
});
