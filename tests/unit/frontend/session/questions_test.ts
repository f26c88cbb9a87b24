import { message, ReasonixError } from "../../../../src/core/mod.ts";
import { personOf, questionsOfCommands } from "../../../../src/frontend/session/person.ts";
import {
  type Answer,
  type OpenQuestion,
  type QuestionEvent,
  Questions,
} from "../../../../src/frontend/session/questions.ts";
import type { ApprovalRequest } from "../../../../src/permission/mod.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "../../../support/assert.ts";
import { Random, SEED } from "../../../support/seed.ts";

const CONFIRM = { title: "Delete 3 sessions?", danger: true };

/** Questions, and the events that they have sent. */
function recorded() {
  const questions = new Questions();
  const events: QuestionEvent[] = [];
  questions.subscribe((event) => void events.push(event));
  const ids = () => questions.open.map(({ id }) => id);
  return { questions, events, ids };
}

function fakePerson(questions: Questions) {
  const stops: number[] = [];
  const person = personOf(questions, {
    stop: () => void stops.push(1),
    say() {},
    speak: () => Promise.resolve(),
  });
  return { person, stops };
}

Deno.test("Questions.answer accepts the first answer and refuses later ones with the name of the first", async () => {
  const { questions, events, ids } = recorded();
  const answer = questions.ask("confirm", CONFIRM, { called: true });
  const [id = ""] = ids();
  assertEquals(questions.open, [{ id, kind: "confirm", question: CONFIRM, called: true }]);
  questions.answer(id, true, "editor");
  assertEquals(await answer, true);
  assertEquals(questions.open, []);
  for (const late of [false, undefined]) {
    const refusal = assertThrows(() => questions.answer(id, late, "terminal"), ReasonixError);
    assertEquals(
      refusal.message,
      'Cannot answer the question: it has an answer from the front end "editor"',
    );
  }
  assertThrows(() => questions.answer("q", true, "terminal"), ReasonixError, "there is no such question");
  const common = { type: "question.state", id, kind: "confirm" } as const;
  assertEquals(events, [
    { ...common, called: true, state: "opened", question: CONFIRM },
    { ...common, state: "answered", by: "editor", answer: true },
  ]);
});

Deno.test("an abort withdraws a question, and a question left without an answer has none", async () => {
  const { questions, events, ids } = recorded();
  const turn = new AbortController();
  const asked = questions.ask("prompt", { title: "Name?", initial: "" }, { signal: turn.signal });
  const [id = ""] = ids();
  turn.abort(new Error("interrupted"));
  await assertRejects(() => asked, Error, "interrupted");
  assertThrows(() => questions.answer(id, "x", "terminal"), ReasonixError, "it was withdrawn");
  await assertRejects(() => questions.ask("confirm", CONFIRM, { signal: turn.signal }), Error, "interrupted");
  assertEquals(events.map(({ state }) => state), ["opened", "withdrawn"]);
  const left = questions.ask("confirm", CONFIRM);
  questions.answer(ids()[0] ?? "", undefined, "terminal");
  assertEquals(await left, undefined);
  assertEquals(Object.keys(events.at(-1) ?? {}).includes("answer"), false);
  // An answer that came first is not withdrawn.
  const again = new AbortController();
  const kept = questions.ask("confirm", CONFIRM, { signal: again.signal });
  questions.answer(ids()[0] ?? "", true, "terminal");
  again.abort();
  assertEquals(await kept, true);
});

Deno.test("fields of a question change while it is open, and calls go to the asking side by id", async () => {
  const { questions, events, ids } = recorded();
  const trust = questions.ask("trust", { lines: ["1 hook"], details: "" });
  const [id = ""] = ids();
  questions.change(id, { details: "hooks.toml: make" });
  assertEquals(questions.open[0]?.question, { lines: ["1 hook"], details: "hooks.toml: make" });
  assertEquals(events.at(-1)?.question, { lines: ["1 hook"], details: "hooks.toml: make" });
  assertThrows(() => questions.call(id, "checkRule", "Bash"), ReasonixError, "no such call");
  questions.answer(id, "trust", "terminal");
  assertEquals(await trust, "trust");
  questions.change(id, { details: "late" });
  assertEquals(events.length, 3);
  assertThrows(() => questions.call(id, "checkRule", "Bash"), ReasonixError);

  const moved: string[] = [];
  const choice = questionsOfCommands(questions).choose("Session?", [
    { label: "one", value: "1", preview: () => "first" },
    { label: "two", value: "2", detail: "2 MB", key: "t" },
  ], { filter: true, onMove: (value) => void moved.push(value) });
  const [{ id: at = "", question, called } = {}] = questions.open;
  assertEquals(question, {
    title: "Session?",
    entries: [{ label: "one", preview: true }, { label: "two", detail: "2 MB", key: "t" }],
    filter: true,
    moves: true,
  });
  assertEquals(called, true);
  assertEquals(await questions.call(at, "preview", 0), "first");
  questions.call(at, "move", 1);
  questions.call(at, "move", 7);
  assertEquals(moved, ["2"]);
  questions.answer(at, 1, "editor");
  assertEquals(await choice, "2");
});

const REQUEST: ApprovalRequest = {
  callId: "c1",
  agent: "reviewer",
  tool: "bash",
  subject: "rm -rf build",
  reason: message`matches the ask rule ${"Bash(rm:*)"}`,
  scopes: ["once", "session"],
  rule: "Bash(rm -rf build)",
  projectRule: "Bash(rm -rf build)",
  destructive: [{ command: "rm -rf build", targets: [{ path: "/w/build", files: 3 }], reason: "deletes" }],
  personOnly: true,
  checkRule: (rule) => rule === "Bash" ? { code: "noMatch" } : undefined,
  changes: [{ path: "a", change: "updated", added: 1, removed: 0, diff: "+a", written: false }],
};

Deno.test("every question survives JSON, and a person answers each kind", async () => {
  const { questions } = recorded();
  const { person, stops } = fakePerson(questions);
  const commands = questionsOfCommands(questions);
  const { signal } = new AbortController();
  const { checkRule: _checkRule, ...data } = REQUEST;
  const file = { path: "a", what: "changed", added: 1, removed: 0, diff: "+a" };
  const options = [{ label: "SQLite" }];
  const plan = { plan: "1. Do it", file: "plan.md" };
  /** Asks; the question it makes; an answer, and what the asking side gets for it and for none. */
  const table: readonly {
    readonly ask: () => Promise<unknown>;
    readonly data: unknown;
    readonly answer: Answer;
    readonly got?: unknown;
    readonly left: unknown;
  }[] = [
    {
      ask: () => person.approver.ask(REQUEST, signal),
      data: { ...data, checksRule: true },
      answer: { allow: true, scope: "session" },
      left: { allow: false, scope: "once" },
    },
    {
      ask: () => person.asker.ask([{ question: "Which?", options, multiple: false }], signal),
      data: { questions: [{ question: "Which?", options, multiple: false }] },
      answer: [["SQLite"]],
      left: undefined,
    },
    {
      ask: () => person.planReviewer.review(plan, signal),
      data: plan,
      answer: { approve: false, note: "smaller" },
      left: undefined,
    },
    {
      ask: () => person.trust(["1 hook"], "make"),
      data: { lines: ["1 hook"], details: "make" },
      answer: "trust",
      left: "ignore",
    },
    {
      ask: () => person.copy({ session: "s1", pid: undefined }),
      data: { session: "s1" },
      answer: true,
      left: false,
    },
    {
      ask: () => commands.confirm(CONFIRM.title, { danger: true }),
      data: CONFIRM,
      answer: true,
      left: false,
    },
    {
      ask: () => commands.prompt("Name?"),
      data: { title: "Name?", initial: "" },
      answer: "x",
      left: undefined,
    },
    {
      ask: () => commands.show("Log", "line"),
      data: { title: "Log", text: "line" },
      answer: null,
      got: undefined,
      left: undefined,
    },
    {
      ask: () => commands.lookAt("Changes", [file]),
      data: { title: "Changes", files: [file] },
      answer: null,
      got: undefined,
      left: undefined,
    },
  ];
  for (const { ask, data, answer, left, ...rest } of table) {
    for (
      const [given, expected] of [[answer, "got" in rest ? rest.got : answer], [undefined, left]] as const
    ) {
      const asked = ask();
      const [{ id = "", question } = {}] = questions.open;
      assertEquals(question, data);
      assertEquals(JSON.parse(JSON.stringify(question)), question);
      questions.answer(id, given, "terminal");
      assertEquals(await asked, expected);
    }
  }
  assertEquals(stops.length, 1);
  const asked = person.approver.ask(REQUEST, signal);
  const [{ id = "" } = {}] = questions.open;
  assertEquals(questions.call(id, "checkRule", "Bash"), { code: "noMatch" });
  assertEquals(questions.call(id, "checkRule", "Bash(rm:*)"), undefined);
  questions.answer(id, { allow: false, scope: "once" }, "terminal");
  await asked;
});

/** A front end whose person answers after some ticks; `log` has what it is shown and what it learns. */
function attach(questions: Questions, name: string, ticks: (question: OpenQuestion) => number) {
  const log: string[] = [];
  const failures: unknown[] = [];
  let shown = 0;
  const detach = questions.attach({
    name,
    async show(question, signal) {
      shown++;
      signal.addEventListener("abort", () => shown--, { once: true });
      for (let left = ticks(question); left > 0 && !signal.aborted; left--) await Promise.resolve();
      return name;
    },
    elsewhere: (by) => void log.push(by),
    failed: (error) => void failures.push(error),
  });
  return { log, failures, detach, shown: () => shown };
}

Deno.test("exactly one of several front ends answers each question at any moment, and none stays open", async () => {
  const random = new Random(SEED);
  const names = ["terminal", "editor", "page"];
  let wins = 0;
  for (let round = 0; round < 200; round++) {
    const { questions, events } = recorded();
    const ends = names.map((name) => attach(questions, name, () => random.below(6)));
    const count = 1 + random.below(4);
    const aborts = Array.from({ length: count }, () => new AbortController());
    const asked = aborts.map(({ signal }, at) =>
      questions.ask("prompt", { title: `${at}`, initial: "" }, { signal }).catch(() => "withdrawn")
    );
    if (random.below(3) === 0) {
      for (let left = random.below(6); left > 0; left--) await Promise.resolve();
      random.pick(aborts).abort();
    }
    if (random.below(4) === 0) random.pick(ends).detach();
    const answers = await Promise.all(asked);
    assertEquals(questions.open, []);
    for (const [at, answer] of answers.entries()) {
      const { id } = events.filter(({ state }) => state === "opened")[at] ?? {};
      const [opened, closed, ...more] = events.filter((event) => event.id === id);
      assertEquals([opened?.state, more], ["opened", []]);
      assertEquals(closed?.by ?? "withdrawn", answer, `round ${round}`);
      if (answer !== "withdrawn") wins++;
    }
    for (let left = 12; left > 0; left--) await Promise.resolve();
    for (const { failures, shown } of ends) assertEquals([failures, shown()], [[], 0]);
  }
  assert(wins > 200);
});

Deno.test("a front end learns who answered, shows what was open before, and one that fails leaves the question", async () => {
  const { questions } = recorded();
  const first = questions.ask("prompt", { title: "1", initial: "" });
  const never = attach(questions, "terminal", () => Infinity);
  assertEquals(never.shown(), 1);
  questions.subscribe(() => {
    throw new Error("broken listener");
  });
  questions.answer(questions.open[0]?.id ?? "", "x", "editor");
  assertEquals([await first, never.log, never.shown()], ["x", ["editor"], 0]);
  const failures: unknown[] = [];
  questions.attach({
    name: "page",
    show({ kind }) {
      if (kind === "prompt") throw new Error("cannot begin");
      return kind === "confirm" ? Promise.reject(new Error("cannot draw")) : undefined;
    },
    failed: (error) => void failures.push(error),
  });
  never.detach();
  assertEquals(await questions.ask("confirm", CONFIRM), undefined);
  assertEquals(await questions.ask("prompt", { title: "2", initial: "" }), undefined);
  assertEquals(failures.map(String), ["Error: cannot draw", "Error: cannot begin"]);
  // Answered while it is announced: the order of events stays.
  const { questions: eager } = recorded();
  eager.subscribe(({ state, id }) => state === "opened" && eager.answer(id, true, "rule"));
  const states: string[] = [];
  eager.subscribe(({ state }) => void states.push(state));
  assertEquals(await eager.ask("confirm", CONFIRM), true);
  assertEquals(states, ["opened", "answered"]);
});

Deno.test("the answer of a secret prompt is in no event, and only a front end that hides it shows the prompt", async () => {
  const { questions, events } = recorded();
  const shown: string[] = [];
  const presenter = (name: string) => ({
    name,
    show: (_: unknown, signal: AbortSignal) => {
      shown.push(name);
      return new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    failed() {},
  });
  questions.attach(presenter("terminal"));
  questions.attach({ ...presenter("page"), hides: true });
  const asked = questions.ask("prompt", { title: "Key?", initial: "", secret: true });
  questions.answer(questions.open[0]?.id ?? "", "sk-secret", "page");
  assertEquals([await asked, shown], ["sk-secret", ["page"]]);
  assertEquals(events.map(({ state }) => state), ["opened", "answered"]);
  assert(!JSON.stringify(events).includes("sk-secret"));
});
