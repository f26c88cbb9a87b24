/** Two front ends and a terminal answer the questions of one session at random moments. */
import type { LiveSession } from "../../../../src/frontend/session/live_session.ts";
import type { QuestionEvent } from "../../../../src/frontend/session/questions.ts";
import { call, say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { type ChatStage, openChat } from "../../../support/chat_stage.ts";
import { RecordingFrontEnd } from "../../../support/live_stage.ts";
import { Random, SEED } from "../../../support/seed.ts";

const QUESTIONS = 200;

/** Answers of each question that is asked, in the order of the answers. */
function answersOf(live: LiveSession): Map<string, QuestionEvent[]> {
  const answers = new Map<string, QuestionEvent[]>();
  live.questions.subscribe((event) => {
    if (event.state === "opened") answers.set(event.id, []);
    else if (event.state !== "changed") answers.get(event.id)?.push(event);
  });
  return answers;
}

/** Tries to answer at another front end; returns the refusal where it came too late. */
function answerAt(
  live: LiveSession,
  id: string,
  answer: number | boolean | string,
  by: string,
): string | undefined {
  try {
    live.questions.answer(id, answer, by);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

const tasks = async (count: number) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setTimeout(resolve));
};

function shown({ terminal }: ChatStage, text: string): boolean {
  return terminal.text().slice(-terminal.rows).some((line) => line.includes(text));
}

Deno.test("of the answers of two front ends and a terminal the first one counts", async () => {
  const random = new Random(SEED);
  await using stage = await openChat({ replies: [say("Still here")], rows: 20 });
  await stage.until(() => stage.live.id !== undefined);
  const { live, terminal } = stage;
  const answers = answersOf(live);
  const editors = [new RecordingFrontEnd("editor"), new RecordingFrontEnd("page")];
  for (const editor of editors) live.attach(editor);
  const wins = new Map<string, number>();
  for (let at = 1; at <= QUESTIONS; at++) {
    const title = `Question ${at}?`;
    const kind = random.pick(["confirm", "choose", "prompt"] as const);
    const [question, values] = kind === "confirm"
      ? [{ title }, [true, false]] as const
      : kind === "prompt"
      ? [{ title, initial: "as it was" }, ["one", "two"]] as const
      : [{ title, entries: [{ label: "first" }, { label: "second" }] }, [0, 1]] as const;
    const asked = live.questions.ask(kind, question as never, { called: true });
    const id = live.questions.open.at(-1)?.id ?? "";
    const isOpen = () => live.questions.open.some((open) => open.id === id);
    const others = editors.map((editor, index) => async () => {
      await tasks(random.below(4));
      const refusal = answerAt(live, id, values[index] ?? "", editor.name);
      if (refusal !== undefined) assertStringIncludes(refusal, "it has an answer from the front end");
      return refusal === undefined ? editor.name : undefined;
    });
    const atTerminal = async () => {
      await stage.until(() => !isOpen() || shown(stage, title));
      if (!isOpen()) return undefined;
      for (const key of random.pick([["down", "enter"], ["escape"]])) terminal.press(key);
      return undefined;
    };
    // Sometimes the terminal has time to show the question.
    if (random.chance(0.4)) await atTerminal();
    const won = await Promise.all(random.shuffled([...others, atTerminal]).map((act) => act()));
    const answer = await asked;
    const [event, ...more] = answers.get(id) ?? [];
    assertEquals([event?.state, more], ["answered", []]);
    assertEquals(event?.answer, answer);
    const { by = "" } = event ?? {};
    wins.set(by, (wins.get(by) ?? 0) + 1);
    assertEquals(won.filter((name) => name !== undefined), by === "terminal" ? [] : [by]);
    if (by !== "terminal") assertEquals<unknown>(answer, values[by === "editor" ? 0 : 1]);
    assertEquals(live.questions.open, []);
  }
  assertEquals([...wins.values()].reduce((sum, count) => sum + count), QUESTIONS);
  for (const name of ["terminal", "editor", "page"]) assert((wins.get(name) ?? 0) > 0, `${name} never won`);
  for (const editor of editors) {
    const states = editor.events.filter((event) => event.type === "question.state").map(({ state }) => state);
    assertEquals(states.filter((state) => state === "opened").length, QUESTIONS);
    assertEquals(states.filter((state) => state === "answered").length, QUESTIONS);
  }
  // Nothing is open: a message goes to the model.
  await stage.until(() => !shown(stage, "Question"));
  stage.say("Are you there?");
  await stage.shows("Still here");
});

Deno.test("an approval that several front ends answer is decided once", async () => {
  const random = new Random(SEED + 1);
  const count = 12;
  const calls = Array.from(
    { length: count },
    (_, at) => call(`c${at}`, "bash", { command: `touch file-${at}` }),
  );
  await using stage = await openChat({ replies: [calls, say("All done")] });
  await stage.until(() => stage.live.id !== undefined);
  const { live } = stage;
  const answers = answersOf(live);
  const decided = new Map<string, string>();
  for (const name of ["editor", "page"]) {
    const frontEnd = new RecordingFrontEnd(name);
    frontEnd.onEvent = async (event) => {
      if (event.type !== "question.state" || event.kind !== "approval" || event.state !== "opened") return;
      await tasks(random.below(3));
      try {
        const allow = random.chance(0.5);
        live.questions.answer(event.id, { allow, scope: "once" }, name);
        decided.set(event.id, `${name} ${allow}`);
      } catch (error) {
        assertStringIncludes(String(error), "it has an answer from the front end");
      }
    };
    live.attach(frontEnd);
  }
  stage.say("Make them");
  await stage.shows("All done");
  const events = [...answers.values()].map((each) => each.map(({ state }) => state));
  assertEquals(events, new Array(count).fill(["answered"]));
  assertEquals(decided.size, count);
  const decisions = stage.events.filter((event) => event.type === "approval.decision");
  assertEquals(
    decisions.map(({ decision }) => decision),
    [...decided.values()].map((each) => each.endsWith("true") ? "allow" : "deny"),
  );
  assertEquals(live.questions.open, []);
});
