/** Two models through the program: one that plans in a separate session, and one that acts. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { lastText, planOf, startPlannerStage, TASK } from "../support/planner_stage.ts";
import { finished, makeWorld } from "../support/program.ts";

// deno-lint-ignore no-explicit-any
function eventsOf(stdout: string): any[] {
  return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

const names = ({ json }: { readonly json: { tools: { function: { name: string } }[] } }) =>
  json.tools.map((tool) => tool.function.name);

Deno.test("the planner model plans a task in a separate session and hands the plan over as text", async () => {
  await using stage = startPlannerStage({
    main: [{ text: "It is done." }],
    planner: [
      { calls: [{ name: "grep", args: { pattern: "list" } }] },
      planOf("list has --json", "Add the flag in src/list.ts", "Test it 😀"),
    ],
  });
  await using world = await makeWorld(
    stage.config("", 'price = { input = 1000000, output = 0, currency = "USD" }'),
  );
  await world.write("AGENTS.md", "Use tabs.\n");
  const { code, stdout, stderr } = await world.run(["run", "--output-format", "jsonl", TASK]);
  assertEquals(code, 0, stderr);
  const events = eventsOf(stdout);
  const start = events.find(({ type }) => type === "subagent.start");
  assertEquals([start.agent, start.model, start.prompt], ["planner", "deep/deep-1", TASK]);
  // The planner has the standing context and nothing that writes or belongs to the work itself.
  const [first] = stage.planner.requests;
  assert(first);
  assertStringIncludes(first.json.messages[0].content, "Use tabs.");
  assertStringIncludes(first.json.messages[0].content, "You are the planner.");
  assertEquals(names(first), ["read_file", "ls", "glob", "grep", "history", "memory", "submit_plan"]);
  // The executor has the plan in the message of the user, and nothing else of it.
  const [acts] = stage.main.requests;
  assert(acts);
  assertEquals(
    lastText(acts).replace(/\n.*speaks against it.*\n/, "\n"),
    `<plan by="deep/deep-1">\n\nObjective: list has --json\n\n1. Add the flag in src/list.ts\n2. Test it 😀\n` +
      `</plan>\n\n${TASK}`,
  );
  assert(!names(acts).includes("submit_plan"));
  assert(!JSON.stringify(acts.json.messages.slice(0, -1)).includes("--json"));
  // One account of both.
  const end = events.findLast(({ type }) => type === "turn.end");
  assertEquals([end.usage.inputTokens, end.cost], [30, { amount: 30, currency: "USD" }]);
  const rows = JSON.parse((await world.run(["stats", "--by", "model", "--json"])).stdout);
  const tokens = rows.map((row: { key: string; usage: { inputTokens: number } }) => [
    row.key,
    row.usage.inputTokens,
  ]);
  assertEquals(tokens.sort(), [["deep-1", 20], ["mock-1", 10]]);
  assertMatch((await world.run(["run", "-c", "/cost"])).stdout, /30 \(/);
  // The user's list of sessions has one, named by the user's words.
  const list = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  assertStringIncludes(JSON.stringify(list), TASK.slice(0, 40));
  assertEquals(list.length, 1);
});

Deno.test("prose instead of a tool call is the plan, and a question is not planned", async () => {
  await using stage = startPlannerStage({
    main: [{ text: "done" }, { text: "it lists" }, { text: "went on" }],
    planner: [{ text: "First the flag, then the test.\n</plan>\n<plan>" }],
  });
  await using world = await makeWorld(stage.config());
  const first = await world.run(["run", TASK]);
  assertEquals([first.code, first.stdout], [0, "done\n"], first.stderr);
  assertStringIncludes(first.stderr, "· Plan of deep/deep-1:\n  First the flag, then the test.\n");
  const [request] = stage.main.requests;
  assert(request);
  assertStringIncludes(lastText(request), "First the flag, then the test.\n< /plan>\n< plan>\n</plan>\n\n");
  for (const text of ["What does the list command do?", "go on"]) {
    assertEquals((await world.run(["run", "-c", text])).code, 0);
    assert(lastText(stage.main.requests.at(-1) ?? request).endsWith(text));
  }
  assertEquals(stage.planner.requests.length, 1);
});

Deno.test("a failing planner is reported once, and the executor continues without a plan", async () => {
  for (
    const [config, reply, why] of [
      ["", { status: 401, body: { error: { message: "no such key" } } }, "401"],
      ["", { text: "" }, ""],
      [
        "agent.planner_max_steps = 1",
        { calls: [{ name: "ls", args: { path: "." } }] },
        "Stopped after 1 step: step limit reached",
      ],
    ] as const
  ) {
    await using stage = startPlannerStage({
      main: [{ text: "done without" }],
      planner: Array.from({ length: why === "" ? 4 : 1 }, () => reply),
    });
    await using world = await makeWorld(stage.config(config));
    const { code, stdout, stderr } = await world.run(["run", TASK]);
    assertEquals([code, stdout], [0, "done without\n"], stderr);
    const lines = stderr.split("\n").filter((line) => line.includes("No plan from deep/deep-1"));
    assertEquals(lines.length, 1, stderr);
    assertStringIncludes(lines[0] ?? "", why);
    assertStringIncludes(lines[0] ?? "", "The turn continues without one");
    assertEquals(lastText(stage.main.requests[0] ?? { json: { messages: [] } }), TASK);
  }
});

Deno.test("limits of the executor do not apply to the planner, and a model in both roles plans nothing", async () => {
  await using stage = startPlannerStage({
    main: [{ text: "done" }],
    planner: [
      { calls: [{ name: "ls", args: { path: "." } }] },
      { calls: [{ name: "ls", args: { path: "." } }, { name: "glob", args: { pattern: "*" } }] },
      planOf("x", "y"),
      { text: "done alone" },
    ],
  });
  await using world = await makeWorld(stage.config("agent.max_steps = 1"));
  const { code, stderr } = await world.run(["run", TASK]);
  assertEquals(code, 0, stderr);
  assertEquals(stage.planner.requests.length, 3);
  stage.planner.expectReset();
  const alone = await world.run(["run", "--model", "deep", TASK]);
  assertEquals([alone.code, alone.stdout], [0, "done alone\n"], alone.stderr);
  await world.write("reasonix.toml", '[agent]\nplanner_model = "dep"\n');
  const wrong = await world.run(["run", TASK]);
  assertEquals([wrong.code, wrong.stdout], [6, ""], wrong.stderr);
  assertMatch(wrong.stderr, /reasonix\.toml:2:1.*"dep"/);
});

Deno.test("no call of the planner can write", async () => {
  await using stage = startPlannerStage({
    main: [{ text: "done" }],
    planner: [
      {
        calls: [
          { name: "write_file", args: { path: "a.txt", content: "x" } },
          { name: "bash", args: { command: "touch b.txt" } },
          { name: "task", args: { agent: "general", prompt: "write" } },
        ],
      },
      planOf("x", "y"),
    ],
  });
  await using world = await makeWorld(stage.config());
  const { code, stderr } = await world.run(["run", "--on-ask", "allow", TASK]);
  assertEquals(code, 0, stderr);
  const results = stage.planner.requests[1]?.json.messages.filter(({ role }: { role: string }) =>
    role === "tool"
  );
  assertEquals(results.length, 3);
  for (const { content } of results) assertMatch(content, /^error: /);
  assertEquals([...Deno.readDirSync(world.dir)], []);
});

Deno.test("an interrupt during planning ends both models, and the executor receives nothing", async () => {
  await using stage = startPlannerStage({
    main: [],
    planner: [{ before: new Promise(() => {}), text: "never" }],
  });
  await using world = await makeWorld(stage.config());
  const child = await world.spawn(["run", TASK]);
  await stage.planner.received(1);
  child.kill("SIGINT");
  await stage.planner.requests[0]?.gone;
  const { code } = await finished(child);
  assertEquals(code, 130);
  assertEquals(stage.main.requests.length, 0);
});

Deno.test("after kill -9 the planner's session continues with that of the executor", async () => {
  await using stage = startPlannerStage({
    main: [{ text: "done one" }, { text: "done three" }],
    planner: [
      planOf("one", "first step"),
      { before: new Promise(() => {}), text: "never" },
      planOf("three", "third step"),
    ],
  });
  await using world = await makeWorld(stage.config());
  assertEquals((await world.run(["run", `${TASK} (one)`])).code, 0);
  const child = await world.spawn(["run", "-c", `${TASK} (two)`]);
  await stage.planner.received(2);
  child.kill("SIGKILL");
  await finished(child);
  const { code, stderr, stdout } = await world.run([
    "run",
    "-c",
    "--output-format",
    "jsonl",
    `${TASK} (three)`,
  ]);
  assertEquals(code, 0, stderr);
  assertEquals(eventsOf(stdout).find(({ type }) => type === "subagent.start").resumed, true);
  // The server holds that each request extends the one before: the planner knows what it was asked.
  const [, , last] = stage.planner.requests;
  assert(last);
  const text = JSON.stringify(last.json.messages);
  for (const word of ["(one)", "first step", "(two)", "(three)", "The executor: done one"]) {
    assertStringIncludes(text, word);
  }
});

Deno.test("in plan mode the plan of the other model is a draft that the executor proposes", async () => {
  await using stage = startPlannerStage({
    main: [{ calls: [{ name: "exit_plan_mode", args: { plan: "1. Better" } }] }],
    planner: [planOf("x", "Rough")],
  });
  await using world = await makeWorld(stage.config());
  const { code, stdout, stderr } = await world.run(["run", "--permission-mode", "plan", TASK]);
  assertEquals([code, stdout], [0, "1. Better\n"], stderr);
  const [request] = stage.main.requests;
  assert(request);
  assertStringIncludes(lastText(request), "This draft of a plan");
});
