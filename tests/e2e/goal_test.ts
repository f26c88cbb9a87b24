import { assert, assertEquals } from "../support/assert.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { removeTree } from "../support/remove_tree.ts";

const OFF = '\n[sandbox]\nbash = "off"\n';
const QUICK = "\n[goal]\nno_progress_turns = 1\n";

let ids = 0;
const calling = (name: string, args: Record<string, unknown>): Turn => ({
  calls: [{ id: `g${++ids}`, name, args }],
});
const report = (status: string, note: string) => calling("update_goal", { status, note });

Deno.test("the example of docs/plan-and-goal.md reaches its goal, and its check is run", async () => {
  const page = await Deno.readTextFile("docs/plan-and-goal.md");
  const [, objective = "", check = ""] = /run --goal "([^"]+)" --check "([^"]+)"/.exec(page) ?? [];
  await using server = startModelServer([
    report("complete", "greeted"),
    { text: "done" },
    calling("write_file", { path: "hello.txt", content: "Hello!\n" }),
    report("complete", "greeted now"),
    { text: "The reader is greeted." },
  ]);
  await using world = await makeWorld(mockConfig(server.url) + OFF);
  const run = await world.run(["run", "--goal", objective, "--check", check, "--output-format", "json"]);
  const result = JSON.parse(run.stdout);
  assertEquals([run.code, result.goal.state, result.goal.turns], [0, "complete", 2]);
  assertEquals(result.goal.checks, [{ command: check, passed: true }]);
  assertEquals(server.requests.length, 5);
});

Deno.test("goals of a lying, an agreeing and a blocked model end with the exit codes of the table", async () => {
  const rows: readonly [code: number, state: string, requests: number, turns: Turn[]][] = [
    [4, "limit", 4, [report("complete", "x"), { text: "x" }, report("complete", "x"), { text: "x" }]],
    [4, "limit", 2, [{ text: "ok" }, { text: "ok" }]],
  ];
  for (const [code, state, requests, turns] of rows) {
    await using server = startModelServer(turns);
    await using world = await makeWorld(mockConfig(server.url) + OFF + QUICK);
    const run = await world.run(["run", "--goal", "g", "--check", "false", "--output-format", "json"]);
    const { goal, error } = JSON.parse(run.stdout);
    assertEquals([run.code, goal.state, server.requests.length], [code, state, requests]);
    assert(error.includes("Goal not reached"), error);
    await using again = startModelServer(turns);
    await using other = await makeWorld(mockConfig(again.url) + OFF + QUICK);
    const { stderr } = await other.run(["run", "--goal", "g", "--check", "false"]);
    assertEquals(
      [stderr.split("Goal not reached:").length, stderr.split("ontinue with").length],
      [2, 2],
      stderr,
    );
  }
});

Deno.test("a killed run continues its goal without a task and repeats no call", async () => {
  const held = Promise.withResolvers<void>();
  await using server = startModelServer([
    calling("bash", { command: "echo once >> log.txt" }),
    { text: "never sent", before: held.promise },
  ]);
  await using world = await makeWorld(mockConfig(server.url) + OFF);
  const child = await world.spawn(["run", "--goal", "Log once", "--check", "test -f log.txt", "--quiet"]);
  await server.received(2);
  child.kill("SIGKILL");
  await Promise.all([child.status, child.stdout.cancel(), child.stderr.cancel()]);
  held.resolve();
  server.push(report("complete", "it is logged"), { text: "logged" });
  const run = await world.run(["run", "-c", "--output-format", "json"]);
  const { goal } = JSON.parse(run.stdout);
  assertEquals([run.code, goal.state, goal.objective], [0, "complete", "Log once"]);
  assertEquals(await world.read("log.txt"), "once\n");
});

Deno.test("a research goal keeps the model's notes, ends with a report and follows no link", async () => {
  await using server = startModelServer([
    calling("update_goal", { status: "progress", note: "缓存太小", entry: "hypothesis" }),
    calling("update_goal", { status: "complete", note: "64 MB is enough", entry: "result" }),
    { text: "done" },
  ]);
  await using world = await makeWorld(mockConfig(server.url) + OFF);
  const run = await world.run(["run", "--research", "研究 缓存/大小!", "--output-format", "json"]);
  const { goal } = JSON.parse(run.stdout);
  assertEquals([run.code, goal.state], [0, "complete"]);
  assert(/^\.reasonix\/autoresearch\/\d{8}-\d{6}-研究-缓存-大小$/.test(goal.research), goal.research);
  assert((await world.read(goal.report)).includes("64 MB is enough"));
  assertEquals(JSON.parse(await world.read(`${goal.research}/hypotheses.jsonl`)).text, "缓存太小");
  await removeTree(`${world.dir}/.reasonix`);
  await Deno.symlink(world.home, `${world.dir}/.reasonix`);
  const linked = await world.run(["run", "--research", "again", "--output-format", "json"]);
  assert(linked.code !== 0 && linked.stdout.includes("not a real directory"), linked.stdout);
});
