import { agentOf, startAgentServer, userTexts } from "../support/agents_stage.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

/** Lines of `--output-format jsonl`. */
// deno-lint-ignore no-explicit-any
function eventsOf(stdout: string): any[] {
  return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

Deno.test("an agent works on a task in a separate session and returns its answer", async () => {
  await using server = startAgentServer({
    main: [
      {
        calls: [{
          name: "task",
          args: { agent: "explore", prompt: "find the alpha", description: "find alpha" },
        }],
      },
      { text: "It is in a.txt" },
    ],
    alpha: [
      { calls: [{ name: "grep", args: { pattern: "needle" } }] },
      { text: "a.txt:1 has the needle" },
    ],
  });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.txt", "needle\n");
  const { code, stdout, stderr } = await world.run(["run", "--output-format", "jsonl", "where is it?"]);
  assertEquals(code, 0, stderr);
  const events = eventsOf(stdout);
  const start = events.find(({ type }) => type === "subagent.start");
  assertEquals([start.agent, start.description, start.prompt], ["explore", "find alpha", "find the alpha"]);
  const end = events.find(({ type }) => type === "subagent.end");
  assertEquals([end.outcome, end.steps, end.usage.inputTokens], ["ok", 1, 20]);
  const result = events.find(({ type }) => type === "tool.end");
  assert(result.content.startsWith("a.txt:1 has the needle\n[explore · 1 step · "), result.content);
  // The turn has paid for both conversations.
  assertEquals(events.findLast(({ type }) => type === "turn.end").usage.inputTokens, 40);
  const child = server.requests.find((request) => agentOf(request) === "explore");
  assertEquals(child && userTexts(child).at(-1), "find the alpha");
  const names = child?.json.tools.map((tool: { function: { name: string } }) => tool.function.name);
  assert(names.includes("grep") && !names.includes("edit_file") && !names.includes("task"), names.join());
  // The user's list of sessions has one of them.
  const list = await world.run(["session", "list", "--json"]);
  assertEquals(JSON.parse(list.stdout).length, 1, list.stdout);
});

const tasks = (count: number, more: Record<string, unknown> = {}) =>
  Array.from({ length: count }, (_, index) => ({
    name: "task",
    args: { agent: "explore", prompt: `job-${index}.`, ...more },
  }));

const after = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

Deno.test("eight agents run in parallel", async () => {
  let at = 0;
  await using server = startAgentServer({
    main: [{ calls: tasks(8) }, { text: "all done" }],
    ...Object.fromEntries(
      tasks(8).map((_, index) => [`job-${index}.`, [async () => {
        const mine = at++;
        await after(600);
        return { text: `answer ${mine}` };
      }]]),
    ),
  });
  await using world = await makeWorld(mockConfig(server.url, "[agents]\nmax_parallel = 8"));
  const { code, stdout, stderr } = await world.run(["run", "--output-format", "jsonl", "do eight"]);
  assertEquals(code, 0, stderr);
  const events = eventsOf(stdout);
  const starts = events.filter(({ type }) => type === "subagent.start").map(({ time }) => Date.parse(time));
  const ends = events.filter(({ type }) => type === "subagent.end");
  assertEquals(ends.map(({ outcome }) => outcome), Array(8).fill("ok"));
  const first = Math.min(...ends.map(({ time }) => Date.parse(time)));
  assert(Math.max(...starts) < first, "each began before the first had ended");
  const results = events.filter(({ type }) => type === "tool.end");
  assertEquals(results.map(({ callId }) => callId).length, 8);
});

Deno.test("at most max_parallel agents run at the same time", async () => {
  let [now, most] = [0, 0];
  const reply = async () => {
    most = Math.max(most, ++now);
    await after(150);
    now -= 1;
    return { text: "x" };
  };
  await using server = startAgentServer({
    main: [{ calls: tasks(6) }, { text: "ok" }],
    ...Object.fromEntries(tasks(6).map((_, index) => [`job-${index}.`, [reply]])),
  });
  await using world = await makeWorld(mockConfig(server.url, "[agents]\nmax_parallel = 2"));
  const { code, stderr } = await world.run(["run", "do six"]);
  assertEquals([code, most], [0, 2], stderr);
  assert(stderr.includes("  · agent explore begins: job-0."), stderr);
  assert(/ {2}· agent explore is done · 0 steps · 0 calls · /.test(stderr), stderr);
});

Deno.test("a run waits for a background agent and sends its answer to the model", async () => {
  let id = "";
  await using server = startAgentServer({
    main: [
      { calls: tasks(1, { background: true }) },
      { text: "meanwhile" },
      (request) => {
        id = /<task id="([\w-]+)">/.exec(String(request.json.messages.at(-1).content))?.[1] ?? "";
        return { calls: [{ name: "task_output", args: { id } }] };
      },
      (request) => ({ text: `it said: ${String(request.json.messages.at(-1).content).split("\n")[0]}` }),
    ],
    "job-0.": [async () => {
      await after(500);
      return { text: "the late answer" };
    }],
  });
  await using world = await makeWorld(mockConfig(server.url));
  const { code, stdout, stderr } = await world.run(["run", "do it in the background"]);
  assertEquals([code, stdout], [0, "it said: the late answer\n"], stderr);
  assert(id !== "");
  assert(stderr.includes("agent explore begins in the background: job-0."), stderr);
});

Deno.test("a background task can be stopped, and an unknown task is an error", async () => {
  let id = "";
  await using server = startAgentServer({
    main: [
      { calls: tasks(1, { background: true }) },
      (request) => {
        id = /id ([\w-]+)/.exec(String(request.json.messages.at(-1).content))?.[1] ?? "";
        return {
          calls: [{ name: "task_stop", args: { id } }, { name: "task_output", args: { id: "nothing" } }],
        };
      },
      { text: "stopped" },
    ],
    "job-0.": [{ before: new Promise(() => {}), text: "never" }],
  });
  await using world = await makeWorld(mockConfig(server.url));
  const { code, stdout, stderr } = await world.run(["run", "--output-format", "jsonl", "begin and stop"]);
  assertEquals(code, 0, stderr);
  const results = eventsOf(stdout).filter(({ type }) => type === "tool.end").map(({ content }) => content);
  assert(results[0].includes("explore is still working"), results[0]);
  assert(results[1].startsWith("error: the agent explore did not finish: Stopped by task_stop"), results[1]);
  assert(results[2].includes('There is no task "nothing" in this run; there are '), results[2]);
});

Deno.test("no tool starts a denied agent, and others start", async () => {
  await using server = startAgentServer({
    main: [
      {
        calls: [
          { name: "task", args: { agent: "review", prompt: "job-0." } },
          { name: "read_only_task", args: { agent: "review", prompt: "job-0." } },
          { name: "task", args: { agent: "explore", prompt: "job-0." } },
          { name: "task", args: { agent: "reviwe", prompt: "job-0." } },
        ],
      },
      { text: "ok" },
    ],
    "job-0.": [{ text: "found" }],
  });
  await using world = await makeWorld(mockConfig(server.url, '[permissions]\ndeny = ["Agent(review)"]'));
  const { stdout, stderr, code } = await world.run(["run", "--output-format", "jsonl", "try"]);
  assertEquals(code, 0, stderr);
  const results = eventsOf(stdout).filter(({ type }) => type === "tool.end");
  assertEquals(results.map(({ outcome }) => outcome), ["blocked", "blocked", "ok", "error"]);
  assert(results[0].content.includes("deny Agent(review)"), results[0].content);
  assert(results[3].content.includes("did you mean review?"), results[3].content);
});

Deno.test("the cost limit of the turn holds for its agents together, and their cost is the turn's", async () => {
  const price = 'price = { input = 1, output = 1, currency = "USD" }';
  const dear = { usage: { input: 1_000_000, output: 0 }, text: "dear" };
  await using server = startAgentServer({
    main: [{ calls: tasks(3), usage: { input: 0, output: 0 } }, { text: "never" }],
    "job-0.": [dear],
    "job-1.": [dear],
    "job-2.": [dear],
  });
  await using world = await makeWorld(mockConfig(server.url, "agent.max_cost = 2.5", price));
  const { code, stdout, stderr } = await world.run(["run", "--output-format", "jsonl", "spend"]);
  assertEquals(code, 4, stderr);
  const events = eventsOf(stdout);
  const end = events.findLast(({ type }) => type === "turn.end");
  assertEquals([end.reason, end.limit, end.cost], ["limit", "cost", { amount: 3, currency: "USD" }]);
});

Deno.test("30 steps with agents leave the prefix of the run as it was, byte for byte", async () => {
  const steps = 30;
  await using server = startAgentServer({
    main: [
      ...Array.from({ length: steps }, (_, index) => ({
        calls: [{
          name: index % 2 ? "task" : "read_only_task",
          args: { agent: "explore", prompt: `job-${index}.` },
        }],
      })),
      { text: "ok" },
    ],
    ...Object.fromEntries(
      Array.from({ length: steps }, (_, index) => [`job-${index}.`, [{ text: `a${index}` }]]),
    ),
  });
  await using world = await makeWorld(mockConfig(server.url));
  const { code, stderr } = await world.run(["run", "thirty"]);
  assertEquals(code, 0, stderr);
  // The server itself holds that each request extends the one before.
  const main = server.requests.filter((request) => agentOf(request) === undefined);
  const heads = main.map(({ json }) => JSON.stringify([json.messages[0], json.tools]));
  assertEquals([main.length, new Set(heads).size], [steps + 1, 1]);
});

Deno.test("a rewind of a turn reverts the changes of its agents", async () => {
  await using server = startAgentServer({
    main: [{ calls: [{ name: "task", args: { prompt: "job-0." } }] }, { text: "ok" }],
    "job-0.": [
      { calls: [{ name: "read_file", args: { path: "old.txt" } }] },
      {
        calls: [
          { name: "write_file", args: { path: "new.txt", content: "new\n" } },
          { name: "edit_file", args: { path: "old.txt", old_string: "before", new_string: "after" } },
        ],
      },
      { calls: [{ name: "bash", args: { command: "echo made > made.txt" } }] },
      { text: "changed" },
    ],
  });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("old.txt", "before\n");
  const { code, stderr } = await world.run(["run", "change things"]);
  assertEquals(
    [code, await world.read("old.txt"), await world.read("made.txt")],
    [0, "after\n", "made\n"],
    stderr,
  );
  const back = await world.run(["session", "rewind"]);
  assertEquals([back.code, await world.read("old.txt")], [0, "before\n"], back.stderr);
  for (const name of ["new.txt", "made.txt"]) {
    assertEquals(await Deno.stat(`${world.dir}/${name}`).then(() => true, () => false), false, name);
  }
});

Deno.test("stream-json reports agents as tasks", async () => {
  await using server = startAgentServer({
    main: [{ calls: tasks(1) }, { text: "ok" }],
    "job-0.": [{ calls: [{ name: "glob", args: { pattern: "*" } }] }, { text: "found" }],
  });
  await using world = await makeWorld(mockConfig(server.url));
  const { stdout } = await world.run(["run", "--output-format", "stream-json", "go"]);
  const taskEvents = eventsOf(stdout).filter(({ subtype }) => String(subtype).startsWith("task_"));
  assertEquals(taskEvents.map(({ subtype, status }) => [subtype, status]), [
    ["task_started", undefined],
    ["task_progress", undefined],
    ["task_notification", "completed"],
  ]);
  assertEquals(new Set(taskEvents.map(({ task_id, tool_use_id }) => `${task_id} ${tool_use_id}`)).size, 1);
});

Deno.test("with max_depth = 2 an agent starts another one and waits for it in the background", async () => {
  await using server = startAgentServer({
    main: [{ calls: [{ name: "task", args: { prompt: "outer-job" } }] }, { text: "ok" }],
    "outer-job": [
      { calls: [{ name: "task", args: { agent: "explore", prompt: "inner-job", background: true } }] },
      { text: "meanwhile" },
      { text: "the outer answer" },
    ],
    "inner-job": [async () => {
      await after(200);
      return { calls: [{ name: "task", args: { prompt: "deeper" } }] };
    }, { text: "the inner answer" }],
  });
  await using world = await makeWorld(mockConfig(server.url, "agents.max_depth = 2"));
  const { stdout, stderr, code } = await world.run(["run", "--output-format", "jsonl", "go"]);
  assertEquals(code, 0, stderr);
  const events = eventsOf(stdout);
  assert(events.find(({ type }) => type === "tool.end").content.startsWith("the outer answer"), stdout);
  assert(
    events.some(({ type, text }) => type === "subagent.progress" && text.startsWith("explore: ")),
    "what the inner one does is shown",
  );
  const outer = server.requests.filter((request) => agentOf(request) === "general").at(-1);
  assert(userTexts(outer as NonNullable<typeof outer>).at(-1)?.includes("The agent explore is done"));
  const inner = server.requests.find((request) => agentOf(request) === "explore");
  assert(!JSON.stringify(inner?.json.tools).includes('"task"'), "the inner one has no agents");
});
