/** An agent in a separate git work tree: its changes return as a patch, and no files remain. */
import { agentOf, type AgentScripts, startAgentServer } from "../support/agents_stage.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { finished, makeWorld, mockConfig, type World } from "../support/program.ts";

// deno-lint-ignore no-explicit-any
function resultOf(stdout: string): any {
  const events = stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return events.find(({ type }) => type === "tool.end");
}

async function git(world: World, ...args: string[]): Promise<string> {
  const { stdout, code } = await new Deno.Command("git", {
    args: ["-c", "user.name=t", "-c", "user.email=t@example.invalid", ...args],
    cwd: world.dir,
  }).output();
  assertEquals(code, 0, args.join(" "));
  return new TextDecoder().decode(stdout);
}

async function repository(world: World): Promise<void> {
  await world.write("a.txt", "one\ntwo\nthree\n");
  await git(world, "init", "-q");
  await git(world, "add", ".");
  await git(world, "commit", "-qm", "first");
}

/** Returns the directories of remaining work trees. */
async function left(world: World): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(`${world.home}/worktrees`)) {
    if (isDirectory) found.push(name);
  }
  return [...found, ...(await git(world, "worktree", "list")).trim().split("\n").slice(1)];
}

const task = { name: "task", args: { prompt: "job-0.", isolation: "worktree" } };
const read = { calls: [{ name: "read_file", args: { path: "a.txt" } }] };
const edit = (text: string) => ({
  calls: [
    { name: "edit_file", args: { path: "a.txt", old_string: "two", new_string: text } },
    { name: "write_file", args: { path: "new.txt", content: "new\n" } },
  ],
});

function scripts(more: Partial<AgentScripts> = {}): AgentScripts {
  return {
    main: [{ calls: [task] }, { text: "ok" }],
    "job-0.": [read, edit("TWO"), { text: "edited" }],
    ...more,
  };
}

Deno.test("the changes of an agent in a separate work tree are applied, and the work tree is removed", async () => {
  await using server = startAgentServer(scripts());
  await using world = await makeWorld(mockConfig(server.url));
  await repository(world);
  await world.write("untracked.txt", "mine\n");
  const { stdout, stderr, code } = await world.run(["run", "--output-format", "jsonl", "go"]);
  assertEquals(code, 0, stderr);
  const { content } = resultOf(stdout);
  assert(
    /^edited\nIts changes, made in a separate work tree, are applied: a\.txt, new\.txt\n/.test(content),
    content,
  );
  assertEquals(await world.read("a.txt"), "one\nTWO\nthree\n");
  assertEquals(await world.read("new.txt"), "new\n");
  const system = server.requests.find((request) => agentOf(request))?.json.messages[0].content;
  assert(system.includes("You work in a copy of the repository"), system);
  assertEquals(await left(world), []);
  // A rewind of its turn works.
  assertEquals((await world.run(["session", "rewind"])).code, 0);
  assertEquals(await world.read("a.txt"), "one\ntwo\nthree\n");
});

Deno.test("a patch that no longer fits, or that a rule refuses, is offered as a file", async () => {
  await using world = await makeWorld();
  await using server = startAgentServer(scripts({
    "job-0.": [read, edit("TWO"), async () => {
      await world.write("a.txt", "one\nzwei\nthree\n");
      return { text: "edited" };
    }],
  }));
  await Deno.writeTextFile(`${world.home}/config.toml`, mockConfig(server.url));
  await repository(world);
  const { stdout } = await world.run(["run", "--output-format", "jsonl", "go"]);
  const { content } = resultOf(stdout);
  const path =
    /are not applied: they do not fit the files as they are now .*The patch is (\S+)/.exec(content)?.[1] ??
      "";
  assert((await Deno.readTextFile(path)).includes("+TWO"), content);
  assertEquals(await world.read("a.txt"), "one\nzwei\nthree\n");
  assertEquals(await left(world), []);
  await using other = startAgentServer(scripts());
  await Deno.writeTextFile(
    `${world.home}/config.toml`,
    mockConfig(other.url, `permissions.deny = ["Edit(/${world.dir}/new.txt)"]`),
  );
  await git(world, "checkout", "-q", "a.txt");
  const denied = resultOf((await world.run(["run", "--output-format", "jsonl", "go"])).stdout);
  assert(/are not applied: permission rule deny Edit\(.*new\.txt\)/.test(denied.content), denied.content);
  assertEquals(await Deno.stat(`${world.dir}/new.txt`).then(() => true, () => false), false);
});

Deno.test("without a repository the task reports why it has no work tree", async () => {
  await using server = startAgentServer(scripts());
  await using world = await makeWorld(mockConfig(server.url));
  const { stdout } = await world.run(["run", "--output-format", "jsonl", "go"]);
  const { content } = resultOf(stdout);
  assert(/error: Cannot begin: .*it is in no git repository/.test(content), content);
});

Deno.test("a work tree of a run that was killed is removed by the next", async () => {
  await using server = startAgentServer(scripts({
    main: [{ calls: [task] }, { calls: [task] }, { text: "ok" }],
    "job-0.": [{ before: new Promise(() => {}), text: "never" }, { text: "nothing to do" }],
  }));
  await using world = await makeWorld(mockConfig(server.url));
  await repository(world);
  const child = await world.spawn(["run", "go"]);
  await server.received(2);
  child.kill("SIGKILL");
  await finished(child);
  assertEquals((await left(world)).length, 2);
  // Another session of the user's, and another one of the agent.
  server.expectReset();
  server.expectReset();
  const { stdout, code } = await world.run(["run", "--output-format", "jsonl", "go again"]);
  assertEquals(code, 0);
  assert(resultOf(stdout).content.includes("changed nothing"), stdout);
  assertEquals(await left(world), []);
});
