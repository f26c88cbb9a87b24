import { makeWorld, mockConfig, type World } from "../support/program.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { assert, assertEquals, assertMatch } from "../support/assert.ts";

const LOOSE = { check: { prefix: false } } as const;

/** Writes one file, then answers; its state is only the conversation. */
function work(request: RecordedRequest): Turn {
  const messages: { role: string; content: unknown }[] = request.json.messages;
  const id = /task-(\w+)/.exec(JSON.stringify(messages))?.[1] ?? "none";
  if (messages.some(({ role }) => role === "tool")) return { text: `did ${id}` };
  return { calls: [{ id: `call-${id}`, name: "bash", args: { command: `echo ${id} > out.txt` } }] };
}

async function makeRepository(world: World): Promise<void> {
  await world.write("seed.txt", "seed\n");
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  for (const args of [["init", "-q", "-b", "main"], ["add", "-A"], [...identity, "commit", "-qm", "first"]]) {
    assert((await new Deno.Command("git", { args, cwd: world.dir }).output()).success);
  }
}

async function writeTasks(world: World, count: number): Promise<void> {
  const lines = Array.from(
    { length: count },
    (_, at) => JSON.stringify({ id: `t${at}`, prompt: `do task-n${at}`, check: "test -f out.txt" }),
  );
  await world.write("tasks.jsonl", lines.join("\n"));
}

Deno.test("shards, an index of an engine and a whole run put each result in place once", async () => {
  await using server = startModelServer([], { ...LOOSE, fallback: work });
  await using world = await makeWorld(mockConfig(server.url));
  await makeRepository(world);
  await writeTasks(world, 5);
  const command = ["run", "--tasks", "tasks.jsonl", "--worktree", "--results-dir", "../out"];
  const shard = await world.run([...command, "--shard", "2/2"]);
  assertEquals([shard.code, shard.stdout], [0, ""], shard.stderr);
  assertMatch(shard.stderr, /2 of 2 tasks done/);
  const index = await world.run(command, { env: { JOB_COMPLETION_INDEX: "4" } });
  assertEquals([index.code, index.stdout], [0, ""], index.stderr);
  assertMatch(index.stderr, /^· Task 4 of tasks.jsonl, as JOB_COMPLETION_INDEX says$/m);
  const asked = server.requests.length;
  const rest = await world.run(command);
  assertEquals(rest.code, 0, rest.stderr);
  assertMatch(rest.stderr, /3 of 5 tasks were finished before/);
  assertEquals(server.requests.length - asked, 2 * 2);
  const directory = `${world.dir}/../out`;
  for (const at of [0, 1, 2, 3, 4]) {
    const files = [...Deno.readDirSync(`${directory}/tasks/t${at}`)].map(({ name }) => name).sort();
    assertEquals(files, ["changes.patch", "result.json", "session.jsonl"]);
    const stored = JSON.parse(await Deno.readTextFile(`${directory}/tasks/t${at}/result.json`));
    assertEquals([stored.v, stored.index, stored.result.ok, stored.result.patch], [
      1,
      at,
      true,
      `tasks/t${at}/changes.patch`,
    ]);
    assertMatch(stored.base, /^[0-9a-f]{40}$/);
    assert((await Deno.readTextFile(`${directory}/${stored.result.patch}`)).includes(`+n${at}\n`));
  }
  assertEquals([...Deno.readDirSync(directory)].map(({ name }) => name).sort(), [
    "batch.json",
    "failed",
    "tasks",
  ]);
  assertEquals([...Deno.readDirSync(`${world.home}/batches`)], []);
});
