import { createAgent, type Event } from "../../../../mod.ts";
import { isTaskToPlan } from "../../../../src/features/plan/session_plans.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { planOf, startPlannerStage, TASK } from "../../../support/planner_stage.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

const PLANNED = [
  TASK,
  "Plan this first: rename foo",
  "先做个计划，再改",
  "Fix the crash when the file is empty, and add a test that shows it was there",
  "Can you change the parser so that it reads comments and keeps them in the tree?",
  "Refactor the whole session package so that events are read lazily",
  "fix these:\n- the title\n- the footer",
  "修复空文件时的崩溃，并且添加一个能够证明问题存在的测试，然后更新文档",
];

const NOT_PLANNED = [
  "",
  "hello",
  "yes, do that, then write the test for the parser and update all of the documents",
  "ok",
  "go on with the second step and write the test for it as you have said before",
  "好的，继续修改第二个文件，并且添加测试，然后更新所有的文档和说明",
  "fix the typo in README.md",
  "rename foo to bar in a.ts",
  "What does the session package do when it writes and updates the index of all the sessions?",
  "Can you explain how the parser handles comments that come before a change of the tree?",
  "/review fix everything that you find in the changes of this branch and write a test",
  "! git log --oneline and write the changes to a file that is called changes in the root",
  "explain the refactoring in the last commit",
  "修复拼写错误",
  "这个函数做什么？",
];

Deno.test("a larger task is planned; answers, questions and small changes are not", () => {
  assertEquals(PLANNED.filter((text) => !isTaskToPlan(text)), []);
  assertEquals(NOT_PLANNED.filter((text) => isTaskToPlan(text)), []);
});

/** A library agent with both models. */
async function withAgent(
  stage: ReturnType<typeof startPlannerStage>,
  work: (agent: Awaited<ReturnType<typeof createAgent>>, events: Event[]) => Promise<void>,
  settings: Record<string, unknown> = {},
): Promise<void> {
  await using dir = await makeTempDir();
  const events: Event[] = [];
  const entry = { kind: "openai", max_attempts: 1 };
  await using agent = await createAgent({
    cwd: dir.path,
    config: {
      default_model: "mock",
      agent: { planner_model: "deep", ...settings },
      providers: [
        { ...entry, name: "mock", base_url: stage.main.url, model: "mock-1" },
        { ...entry, name: "deep", base_url: stage.planner.url, model: "deep-1" },
      ],
    },
    onEvent: (event) => void events.push(event),
  });
  await work(agent, events);
}

Deno.test("over 50 turns the prefix of both sessions grows byte for byte", async () => {
  const turns = 50;
  await using stage = startPlannerStage({
    main: Array.from({ length: turns }, (_, at) => ({ text: `done ${at}` })),
    planner: Array.from(
      { length: turns },
      (_, at) => at % 3 === 0 ? { text: `Prose ${at}` } : planOf(`objective ${at}`, "a", "b"),
    ),
  });
  await withAgent(stage, async (agent) => {
    for (let at = 0; at < turns; at++) {
      assertEquals((await agent.run(`${TASK} (${at})`)).answer, `done ${at}`);
    }
    // The servers hold that the messages extend; system prompt and tools are the same all along.
    for (const { requests } of [stage.main, stage.planner]) {
      assertEquals(requests.length, turns);
      assertEquals(new Set(requests.map(({ json }) => JSON.stringify(json.tools))).size, 1);
      let before = "";
      for (const { json } of requests) {
        const messages = JSON.stringify(json.messages).slice(0, -1);
        assert(messages.startsWith(before));
        before = messages;
      }
    }
  });
});

Deno.test("a planner that failed twice in a row is disabled with a notice", async () => {
  const refused = { status: 401, body: { error: { message: "no such key" } } };
  await using stage = startPlannerStage({
    main: Array.from({ length: 5 }, () => ({ text: "done" })),
    planner: [refused, planOf("x", "y"), refused, refused],
  });
  await withAgent(stage, async (agent, events) => {
    for (let at = 0; at < 5; at++) await agent.run(`${TASK} (${at})`);
    const texts = events.flatMap((event) =>
      event.type === "notice" && event.code === "planner" ? [event.text.split(" ")[0]] : []
    );
    assertEquals(texts, ["No", "Plan", "No", "No"]);
    assertEquals(stage.planner.requests.length, 4);
  });
});

Deno.test("an abort stops planning", async () => {
  await using stage = startPlannerStage({
    main: [],
    planner: [{ before: new Promise(() => {}), text: "never" }],
  });
  await withAgent(stage, async (agent, events) => {
    const stop = new AbortController();
    const turn = agent.run(TASK, stop.signal).then(() => "ran", () => "rejected");
    await stage.planner.received(1);
    stop.abort();
    await turn;
    await stage.planner.requests[0]?.gone;
    const end = events.find((event) => event.type === "subagent.end");
    assertEquals(end?.outcome, "aborted");
    assertEquals(stage.main.requests.length, 0);
  });
});
