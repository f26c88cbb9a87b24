import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { assertEquals } from "../support/assert.ts";

/** Runs git in a workspace. */
async function git(cwd: string, ...args: string[]): Promise<void> {
  await new Deno.Command("git", {
    args: ["-c", "user.name=t", "-c", "user.email=t@example.invalid", ...args],
    cwd,
    stdout: "null",
    stderr: "null",
  }).output();
}

Deno.test("each of 200 requests is a byte-prefix extension of the one before", async () => {
  const steps = Array.from({ length: 200 }, (_, i) => ({
    calls: [
      i % 3 === 0
        ? { name: "write_file", args: { path: `f${i}.txt`, content: `line ${i}\n` } }
        : i % 3 === 1
        ? { name: "todo_write", args: { todos: [{ content: `step ${i}`, status: "pending" }] } }
        : { name: "read_file", args: { path: `f${i - 2}.txt` } },
    ],
  }));
  await using server = startModelServer([...steps, { text: "done" }]);
  await using world = await makeWorld(mockConfig(server.url));
  assertEquals((await world.run(["run", "--permission-mode", "danger-full-access", "go"])).stdout, "done\n");
  assertEquals(server.requests.length, 201);
});

Deno.test("clock, git state and environment change no byte of a continued conversation", async () => {
  await using server = startModelServer(Array.from({ length: 6 }, (_, i) => ({ text: `answer ${i}` })));
  await using world = await makeWorld(mockConfig(server.url));
  await git(world.dir, "init", "-q", "-b", "one");
  await world.write("a.txt", "a\n");
  await world.run(["run", "begin"]);
  await git(world.dir, "add", ".");
  await git(world.dir, "commit", "-qm", "x");
  await world.run(["run", "-c", "after a commit"]);
  await git(world.dir, "checkout", "-qb", "two");
  await world.run(["run", "-c", "on another branch"], {
    env: { ZZZ: "1", AAA: "2", LANG: "de_DE.UTF-8", TZ: "Asia/Tokyo" },
  });
  await world.write("AGENTS.md", "New instructions\n");
  await world.run(["run", "-c", "with new instructions"]);
  const heads = server.requests.map((request) =>
    JSON.stringify(request.json.tools) + request.json.messages[0].content
  );
  assertEquals(new Set(heads).size, 1);
});

Deno.test("two runs send the same first bytes whatever the order of the environment", async () => {
  await using server = startModelServer([{ text: "a" }, { text: "b" }], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "same task"], { env: { A1: "x", B1: "y" } });
  await world.run(["run", "same task"], { env: { B1: "y", A1: "x", C1: "z" } });
  assertEquals(server.requests[0]?.body, server.requests[1]?.body);
});

Deno.test("another model is a declared reset with its reason in the log", async () => {
  await using server = startModelServer([{ text: "a" }, { text: "b" }]);
  await using world = await makeWorld(
    mockConfig(server.url).replace('model = "mock-1"', 'models = ["mock-1", "mock-2"]'),
  );
  await world.run(["run", "begin"]);
  await world.run(["run", "-c", "--model", "mock-2", "go on"]);
  const [session] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  const reasons = (await Deno.readTextFile(session.path)).trimEnd().split("\n").map((line) =>
    JSON.parse(line)
  )
    .filter((event) => event.type === "context.prefix").map((event) => event.reason);
  assertEquals(reasons, ["start", "model"]);
});
