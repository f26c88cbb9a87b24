/** Plan mode through the program: scripts, SDKs, lines and the chat. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { launch, user } from "../support/sdk_client.ts";
import { EMPTY, onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

const PLAN = "# A greeting\n\n1. Write hello.txt\n2. Look at it 😀\n";
const OPEN = '[sandbox]\nbash = "off"';

interface Message {
  readonly role: string;
  readonly content: string;
}

/** Plans for "greet", executes a plan in two calls, and reports it. */
function planner({ json }: RecordedRequest): Turn {
  const messages: Message[] = json.messages;
  const last = messages.at(-1);
  const { role = "", content = "" } = last ?? {};
  if (content.includes("approved the plan")) {
    return {
      calls: [
        { name: "write_file", args: { path: "hello.txt", content: "hello\n" } },
        { name: "complete_step", args: { step: 1 } },
        { name: "complete_step", args: { step: 2 } },
      ],
    };
  }
  if (content.includes("wants the plan changed")) {
    return { calls: [{ name: "exit_plan_mode", args: { plan: `${PLAN}3. And again\n` } }] };
  }
  if (role === "user" && content.includes("greet in prose")) return { text: PLAN };
  if (role === "user" && /greet/i.test(content)) {
    return { text: "I have looked around.", calls: [{ name: "exit_plan_mode", args: { plan: PLAN } }] };
  }
  return { text: "All is done." };
}

const scripted = () => startModelServer([], { fallback: planner, check: { prefix: false } });

Deno.test("run in plan mode prints the plan as its answer, saves it, and a later run approves it", async () => {
  await using server = scripted();
  await using world = await makeWorld(mockConfig(server.url, OPEN));
  const plain = await world.run(["run", "--permission-mode", "plan", "greet"]);
  assertEquals([plain.code, plain.stdout], [0, PLAN]);
  const [, file = ""] = /the plan is saved in (\S+)/.exec(plain.stderr) ?? [];
  assertEquals(await Deno.readTextFile(file), PLAN);
  assertEquals([...Deno.readDirSync(world.dir)], []);
  const shown = await world.run(["run", "-c", "/plan show"]);
  assertStringIncludes(shown.stdout, "2. Look at it 😀");
  const done = await world.run(["run", "-c", "--output-format", "json", "/plan approve"]);
  const result = JSON.parse(done.stdout);
  assertEquals([done.code, result.result, result.plan_state], [0, "All is done.", "finished"]);
  assertEquals(await world.read("hello.txt"), "hello\n");
  const again = await world.run(["run", "-c", "/plan approve"]);
  assertEquals(again.code, 2);
  assertStringIncludes(again.stderr, "none was proposed");
});

Deno.test("the example of docs/plan-and-goal.md plans, shows and executes", async () => {
  await using server = scripted();
  await using world = await makeWorld(mockConfig(server.url, OPEN));
  const page = await Deno.readTextFile(new URL("../../docs/plan-and-goal.md", import.meta.url));
  const [, example = ""] = /## Plan mode.*?```sh\n(.*?)```/s.exec(page) ?? [];
  const lines = example.trim().split("\n");
  assertEquals(lines.length, 3);
  for (const line of lines) {
    const [, options = "", task = ""] = /^reasonix (.*?) "(.*)"$/.exec(line) ?? [];
    const { code, stdout } = await world.run([...options.split(" "), task]);
    assertEquals(code, 0, line);
    assert(stdout !== "", line);
  }
  assertEquals(await world.read("hello.txt"), "hello\n");
});

Deno.test("run in plan mode accepts prose as the plan, and its result contains plan and file", async () => {
  await using server = scripted();
  await using world = await makeWorld(mockConfig(server.url, OPEN));
  const args = ["run", "--permission-mode", "plan", "--output-format", "json", "greet in prose"];
  const { code, stdout } = await world.run(args);
  const result = JSON.parse(stdout);
  assertEquals([code, result.result, result.plan, result.plan_state], [0, PLAN, PLAN.trim(), "proposed"]);
  assertEquals(await Deno.readTextFile(result.plan_file), PLAN);
  assertMatch(result.plan_file, /\/plans\/plan-1\.md$/);
});

for (const task of ["greet", "greet in prose"]) {
  Deno.test(`run --plan-then-run executes the plan of "${task}" in the same session`, async () => {
    await using server = scripted();
    await using world = await makeWorld(mockConfig(server.url, OPEN));
    const { code, stdout, stderr } = await world.run(["run", "--plan-then-run", task]);
    assertEquals([code, stdout], [0, "All is done.\n"]);
    assertStringIncludes(stderr, "the plan is approved, as the command line says");
    assertStringIncludes(stderr, "the plan is carried out");
    assertEquals(await world.read("hello.txt"), "hello\n");
    const sessions = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
    assertEquals(sessions.length, 1);
  });
}

Deno.test("run --plan-then-run grants no call with --on-ask deny", async () => {
  await using server = scripted();
  await using world = await makeWorld(mockConfig(server.url, OPEN));
  const args = ["run", "--plan-then-run", "--on-ask", "deny", "--output-format", "json", "greet"];
  const result = JSON.parse((await world.run(args)).stdout);
  assertEquals(result.permission_denials.map(({ tool_name }: { tool_name: string }) => tool_name), [
    "write_file",
  ]);
  assertEquals([...Deno.readDirSync(world.dir)], []);
  const wrong = await world.run(["run", "--plan-then-run", "--permission-mode", "read-only", "greet"]);
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.stderr, "--permission-mode read-only");
});

Deno.test("an SDK is prompted for ExitPlanMode: a refusal revises, an approval can change the plan and accept edits", async () => {
  await using server = scripted();
  await using world = await makeWorld(mockConfig(server.url, OPEN));
  const asked: Record<string, unknown>[] = [];
  const answers: unknown[] = [
    { behavior: "deny", message: "once more" },
    {
      behavior: "allow",
      updatedInput: { plan: "1. Only this" },
      updatedPermissions: [{ type: "setMode", mode: "acceptEdits", destination: "session" }],
    },
  ];
  const flags = ["--permission-prompt-tool=stdio", "--permission-mode", "plan"];
  const sdk = await launch(world, flags, (request) => {
    asked.push({ ...request });
    return answers.shift() ?? { behavior: "deny", message: "unexpected" };
  });
  await sdk.send(user("greet"));
  await sdk.seen('"type":"result"');
  await sdk.send(user("and now?"));
  await sdk.seen('"type":"result"', 2);
  const { lines } = await sdk.end();
  assertEquals(asked.map(({ tool_name }) => tool_name), ["ExitPlanMode", "ExitPlanMode"]);
  const [first, second] = asked.map(({ input }) => input as Record<string, string>);
  assertEquals([first?.plan, second?.plan], [PLAN.trim(), `${PLAN}3. And again`]);
  assertEquals(await world.read("hello.txt"), "hello\n", "the edit was accepted with the plan");
  const results = lines.filter(({ type }) => type === "result");
  assertEquals(results.map(({ result, plan }) => [result, plan]), [
    ["All is done.", "1. Only this"],
    ["All is done.", undefined],
  ]);
  const modes = lines.flatMap((line) => line.subtype === "init" ? [line.permissionMode] : []);
  assertEquals(modes, ["plan", "acceptEdits"]);
});

Deno.test("plan mode on a pipe of lines prints the plan and shows no prompt", async () => {
  await using server = scripted();
  await using world = await makeWorld(mockConfig(server.url, OPEN));
  const { code, stdout } = await world.run([], { stdin: "/plan greet\n/plan off\n/plan off\n" });
  assertEquals([code, stdout], [0, `${PLAN}Plan mode is off\nPlan mode is off already\n`]);
  assertEquals([...Deno.readDirSync(world.dir)], []);
});

onTerminal(
  "a plan of a killed chat waits in the next chat and is executed after approval",
  async () => {
    await using server = scripted();
    await using chat = await openChat(mockConfig(server.url, OPEN), { rows: 50 });
    const { terminal, world } = chat;
    await terminal.shows(EMPTY);
    await chat.enter("/plan greet");
    await terminal.shows("Carry out this plan?");
    for (const part of ["A greeting", "1. Write hello.txt", "2. Look at it 😀"]) await terminal.shows(part);
    assertStringIncludes(await terminal.screen(), "· plan ·");
    await chat.kill();
    assertEquals([...Deno.readDirSync(world.dir)], []);
    await chat.enter("reasonix -c; echo left-with-$?");
    await terminal.shows("Carry out this plan?");
    await terminal.shows("2. Look at it 😀");
    await chat.answer("n");
    await chat.answer("Enter");
    await terminal.shows(EMPTY);
    await chat.enter("/plan");
    await terminal.shows("Carry out this plan?");
    await chat.answer("w");
    await terminal.shows("All is done.");
    assertEquals(await world.read("hello.txt"), "hello\n");
    await shownSoon(
      terminal,
      (now) => now.includes("the plan is carried out") && !now.includes("plan approved"),
    );
    assert(!(await terminal.screen()).includes("· plan ·"));
  },
);

onTerminal(
  "a note about a plan is sent to the model, and the changed plan requires approval again",
  async () => {
    await using server = scripted();
    await using chat = await openChat(mockConfig(server.url, OPEN), {
      columns: 40,
      rows: 20,
      env: { REASONIX_LANG: "zh-CN" },
    });
    const { terminal, world } = chat;
    await terminal.shows("> ");
    await chat.enter("/plan greet");
    await terminal.shows("执行这个计划吗？");
    await chat.answer("n");
    await terminal.type("再来一次");
    await terminal.press("Enter");
    await terminal.shows("3. And again");
    await terminal.shows("执行这个计划吗？");
    await chat.answer("w");
    await terminal.shows("All is done.");
    assertEquals(await world.read("hello.txt"), "hello\n");
    const messages = server.requests.at(-2)?.json.messages as Message[];
    assert(messages.some(({ content }) => String(content).includes("再来一次")));
  },
);

onTerminal("run --plan-then-run prompts on a terminal and in the line chat", async () => {
  await using server = scripted();
  await using chat = await openChat(mockConfig(server.url, OPEN), {
    args: "run --plan-then-run greet",
    rows: 40,
  });
  const { terminal, world } = chat;
  const first = await terminal.shows("Carry out this plan?");
  assertStringIncludes(first, "2. Look at it 😀");
  await chat.enter("4");
  await terminal.shows("Tell the model what to change");
  await terminal.press("Enter");
  await terminal.shows("left-with-0");
  assertEquals([...Deno.readDirSync(world.dir)], []);
  await chat.enter("clear; reasonix --linear; echo left-again-$?");
  await terminal.shows("Linear mode");
  await chat.enter("/plan greet");
  const second = await terminal.shows("Carry out this plan?");
  assertStringIncludes(second, "2. Look at it 😀");
  await terminal.shows("empty for none");
  // A line that comes sooner was typed before the question.
  const pause = () => new Promise((resolve) => setTimeout(resolve, 350));
  await pause();
  await chat.enter("4");
  await terminal.shows("Tell the model what to change");
  await chat.enter("once more");
  await terminal.shows("3. And again");
  await shownSoon(terminal, (screen) => screen.split("empty for none").length === 3);
  await pause();
  await chat.enter("2");
  await terminal.shows("All is done.");
  assertEquals(await world.read("hello.txt"), "hello\n");
});

onTerminal("--auto-plan starts a complex task in plan mode with a notice", async () => {
  await using server = scripted();
  await using chat = await openChat(mockConfig(server.url, OPEN), {
    args: "--auto-plan --approval-mode yolo",
    rows: 60,
  });
  const { terminal, world } = chat;
  await terminal.shows(EMPTY);
  await chat.enter("greet me");
  await terminal.shows("plan mode is off");
  await terminal.shows("All is done.");
  await chat.enter("Rewrite how we greet across the whole project");
  await terminal.shows("it begins in plan mode");
  await terminal.shows("Carry out this plan?");
  assertEquals([...Deno.readDirSync(world.dir)], []);
  await chat.answer("w");
  await terminal.shows("the plan is carried out");
  assertEquals(await world.read("hello.txt"), "hello\n");
});

const COMPLEX =
  "Refactor all modules of the project:\n1. Split the parser\n2. Move the tests\n3. Update the docs";

Deno.test("a complex task in preset offline begins with a todo list of its steps, others do not", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const run = (...args: string[]) => world.run(["run", "--preset", "offline", ...args]);
  const hasTodoNote = () =>
    JSON.stringify(server.requests.at(-1)?.json.messages).includes("A todo list was begun");
  await run("What does this project do?");
  assertEquals(hasTodoNote(), false);
  const { stdout } = await run("--output-format", "jsonl", COMPLEX);
  assertEquals(hasTodoNote(), true);
  const events = stdout.trim().split("\n").map((line) => JSON.parse(line));
  const types = events.map(({ type }) => type);
  assert(types.indexOf("turn.start") < types.indexOf("todo.update"), "the list is part of the turn");
  assertEquals(events.find(({ type }) => type === "todo.update").items, [
    { content: "Split the parser", status: "in_progress" },
    { content: "Move the tests", status: "pending" },
    { content: "Update the docs", status: "pending" },
  ]);
  // A list that is open stays.
  await run("-c", "Rewrite the whole codebase in every module");
  assertEquals(
    JSON.stringify(server.requests.at(-1)?.json.messages).split("A todo list was begun").length,
    2,
  );
});

onTerminal(
  "a complex task without listed steps begins with the usual steps in the user's language",
  async () => {
    await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
    const config = mockConfig(server.url, "[agent]\nauto_todo = true");
    for (
      const [lang, first] of [["en", "Understand the task and the code"], [
        "zh",
        "理解任务和相关代码",
      ]] as const
    ) {
      await using chat = await openChat(config, { env: { REASONIX_LANG: lang } });
      const { terminal } = chat;
      await terminal.shows(lang === "en" ? EMPTY : "> ");
      await chat.enter("重构整个项目的所有模块");
      await terminal.shows(first);
      await server.received(1);
      // A rewind removes the list with the turn.
      await shownSoon(terminal, (screen) => /ok/.test(screen));
      await chat.enter("/undo");
      await shownSoon(terminal, (screen) => screen.split("> 重构").length === 3);
      await terminal.press("C-c");
      await chat.enter("/todo");
      await shownSoon(terminal, (screen) => /has no list of things|没有待办/.test(screen));
    }
  },
);
