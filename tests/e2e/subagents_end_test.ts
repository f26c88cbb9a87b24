import { agentOf, startAgentServer } from "../support/agents_stage.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { gone, processesWith } from "../support/processes.ts";
import { finished, makeWorld, mockConfig } from "../support/program.ts";

/** Resolves when a file is there. */
async function appears(path: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (await Deno.stat(path).then(() => true, () => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${path} did not appear`);
}

/** Two agents, each of which runs a command without end. */
function endless(first: string, second: string) {
  const reply = (
    mark: string,
  ) => [{ calls: [{ name: "bash", args: { command: `touch begun-${mark}; sleep ${mark}` } }] }];
  return {
    main: [
      {
        calls: [
          { name: "task", args: { prompt: "job-one" } },
          { name: "task", args: { prompt: "job-two", background: true } },
        ],
      },
      { text: "never said" },
    ],
    "job-one": reply(first),
    "job-two": reply(second),
  };
}

// A number of seconds that no other process sleeps for.
const mark = () => String(300_000 + Math.floor(Math.random() * 600_000));

for (const signal of ["SIGINT", "SIGKILL"] as const) {
  Deno.test(`${signal} ends all agents and everything that they started`, async () => {
    const [first, second] = [mark(), mark()];
    await using server = startAgentServer(endless(first, second));
    await using world = await makeWorld(mockConfig(server.url));
    const child = await world.spawn(["run", "--output-format", "jsonl", "two endless ones"]);
    await Promise.all([appears(`${world.dir}/begun-${first}`), appears(`${world.dir}/begun-${second}`)]);
    const signalled = Date.now();
    child.kill(signal);
    const { code, stdout } = await finished(child);
    assertEquals(await gone(() => processesWith(world.dir)), []);
    if (signal === "SIGKILL") return;
    assertEquals(code, 130);
    const events = stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
    const took = Date.parse(events.find(({ type }) => type === "turn.end").time) - signalled;
    // The limit is 200 ms; the rest is for a busy machine.
    assert(took <= 1_000, `${took} ms from the signal to the end of the turn`);
    const ends = events.filter(({ type }) => type === "subagent.end");
    assertEquals(ends.map(({ outcome }) => outcome), ["aborted", "aborted"]);
  });
}

Deno.test("an agent's conversation continues by its id after kill -9", async () => {
  const first = mark();
  await using server = startAgentServer({
    main: [
      { calls: [{ name: "task", args: { prompt: "job-one", description: "endless" } }] },
      (request) => {
        const last = String(request.json.messages.at(-1).content);
        return { text: `noted: ${last}` };
      },
      (request) => {
        const text = JSON.stringify(request.json.messages);
        const id = /agents\/([\w-]+)\.jsonl|id ([\w-]+)/.exec(text)?.[1] ?? String(ids.at(-1));
        return { calls: [{ name: "task", args: { prompt: "job-one: go on", resume: id } }] };
      },
      { text: "finished" },
    ],
    "job-one": [
      { calls: [{ name: "bash", args: { command: `touch begun-${first}; sleep ${first}` } }] },
      { text: "continued and is done" },
    ],
  });
  const ids: string[] = [];
  await using world = await makeWorld(mockConfig(server.url));
  const child = await world.spawn(["run", "begin it"]);
  await appears(`${world.dir}/begun-${first}`);
  child.kill("SIGKILL");
  await finished(child);
  const [project] = [...Deno.readDirSync(`${world.home}/projects`)];
  const sessions = `${world.home}/projects/${project?.name}/sessions`;
  const directory = [...Deno.readDirSync(sessions)].find(({ isDirectory }) => isDirectory)?.name;
  for (const { name } of Deno.readDirSync(`${sessions}/${directory}/agents`)) {
    if (name.endsWith(".jsonl")) ids.push(name.replace(".jsonl", ""));
  }
  assertEquals(ids.length, 1);
  const noted = await world.run(["run", "-c", "what happened?"]);
  assert(noted.stdout.includes("noted: "), noted.stdout + noted.stderr);
  const again = await world.run(["run", "-c", "--output-format", "jsonl", "continue it"]);
  assertEquals(again.code, 0, again.stderr);
  const events = again.stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  const result = events.find(({ type }) => type === "tool.end");
  assert(result.content.startsWith("continued and is done\n[general"), result.content);
  assertEquals(events.find(({ type }) => type === "subagent.start").resumed, true);
  // The agent sees all of its conversation, repaired.
  const last = server.requests.findLast((request) => agentOf(request) === "general");
  const roles = last?.json.messages.map(({ role }: { role: string }) => role);
  assertEquals(roles.slice(-4), ["user", "assistant", "tool", "user"]);
});
