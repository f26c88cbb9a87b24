import { agentOf, startAgentServer, userTexts } from "../support/agents_stage.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

/** Lines of `--output-format jsonl`. */
// deno-lint-ignore no-explicit-any
function eventsOf(stdout: string): any[] {
  return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

Deno.test("an agent works on a task in a session of its own and its answer comes back", async () => {
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
  // The user's list of sessions has one of theirs.
  const list = await world.run(["session", "list", "--json"]);
  assertEquals(JSON.parse(list.stdout).length, 1, list.stdout);
});

const tasks = (count: number, more: Record<string, unknown> = {}) =>
  Array.from({ length: count }, (_, index) => ({
    name: "task",
    args: { agent: "explore", prompt: `job-${index}.`, ...more },
  }));

const after = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

Deno.test("eight agents work side by side", async () => {
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

Deno.test("at most max_parallel agents work at the same time", async () => {
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
