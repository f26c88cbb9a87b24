import { finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { soakSize } from "../support/seed.ts";

const TASKS = 20;
const KILLS = soakSize(10, 5);

interface Line {
  readonly id: string;
  readonly ok: boolean;
  readonly reason: string;
  readonly answer: string;
  readonly session: string | null;
  readonly checks: readonly { readonly command: string; readonly ok: boolean }[];
  readonly patch?: string | null;
}

function linesOf(stdout: string): Line[] {
  return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Tasks run in parallel, and a killed one begins its conversation again. */
const LOOSE = { check: { prefix: false } } as const;

/** Writes one file, then answers; its state is only the conversation. */
function work(request: RecordedRequest): Turn {
  const messages: { role: string; content: unknown }[] = request.json.messages;
  const text = JSON.stringify(messages);
  const id = /task-(\w+)/.exec(text)?.[1] ?? "none";
  // An append is looked at before it is done again.
  const command = `grep -qx ${id} out.txt 2>/dev/null || echo ${id} >> out.txt`;
  const results = messages.filter(({ role }) => role === "tool");
  // After any other result (an interrupted call, a jail that failed to start) it tries again.
  if (results.some(({ content }) => String(content) === "(no output)")) return { text: `did ${id}` };
  if (results.length > 8) return { text: `gave up: ${results.at(-1)?.content}` };
  return { calls: [{ id: `call-${id}-${results.length}`, name: "bash", args: { command } }] };
}

async function makeRepository(world: World): Promise<void> {
  await world.write("seed.txt", "seed\n");
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  for (const args of [["init", "-q", "-b", "main"], ["add", "-A"], [...identity, "commit", "-qm", "first"]]) {
    assert((await new Deno.Command("git", { args, cwd: world.dir }).output()).success);
  }
}

function taskLines(count: number, more: Readonly<Record<string, unknown>> = {}): string {
  return Array.from(
    { length: count },
    (_, at) => JSON.stringify({ id: `t${at}`, prompt: `do task-n${at}`, ...more }),
  ).join("\n");
}

let random = 20261122;
function below(n: number): number {
  random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
  return Math.floor(random / 2 ** 32 * n);
}

Deno.test(`a batch killed at ${KILLS} random points executes each task exactly once in a separate work tree`, async () => {
  await using server = startModelServer([], { ...LOOSE, fallback: work });
  await using world = await makeWorld(mockConfig(server.url));
  await makeRepository(world);
  await world.write("tasks.jsonl", taskLines(TASKS, { check: "test -f out.txt" }));
  const command = ["run", "--tasks", "tasks.jsonl", "-j", "4", "--worktree"];
  const seen = new Map<string, string>();
  for (let kill = 0; kill < KILLS; kill++) {
    const child = await world.spawn(command);
    const ended = finished(child);
    setTimeout(() => {
      try {
        child.kill("SIGKILL");
      } catch { /* it had ended */ }
    }, 200 + below(900));
    const { stdout } = await ended;
    for (const line of stdout.split("\n").slice(0, -1)) {
      const { id } = JSON.parse(line);
      assertEquals(seen.get(id) ?? line, line, "a result that was shown once stays the same");
      seen.set(id, line);
    }
  }
  const { code, stdout, stderr } = await world.run(command);
  const results = linesOf(stdout);
  assertEquals(results.filter(({ ok }) => !ok), []);
  assertEquals([code, results.length, results.filter(({ ok }) => ok).length], [0, TASKS, TASKS], stderr);
  for (const [id, line] of seen) assert(stdout.includes(line), `the result of ${id} is shown again`);
  for (const { id, patch } of results) {
    const text = await Deno.readTextFile(patch ?? "");
    assertEquals(text.match(/^\+[^+].*$/gm), [`+n${id.slice(1)}`], text);
  }
  assertEquals([...Deno.readDirSync(world.dir)].map(({ name }) => name).sort(), [
    ".git",
    "seed.txt",
    "tasks.jsonl",
  ]);
  const trees = [...Deno.readDirSync(`${world.home}/worktrees`)].filter(({ isDirectory }) => isDirectory);
  assertEquals(trees, []);
  // A repeated batch has all results and sends no request.
  const before = server.requests.length;
  assertEquals(linesOf((await world.run(command)).stdout).length, TASKS);
  assertEquals(server.requests.length, before);
});

Deno.test("a failing check fails its task and the batch, and only an edited or a fresh task runs again", async () => {
  await using server = startModelServer([], { ...LOOSE, fallback: work });
  await using world = await makeWorld(mockConfig(server.url));
  await Deno.mkdir(`${world.dir}/项目 b`);
  await world.write(
    "tasks.jsonl",
    [
      JSON.stringify({
        id: "good",
        prompt: "do task-good",
        check: ["test -s out.txt", "grep -x good out.txt"],
      }),
      "",
      JSON.stringify({ id: 7, prompt: "do task-seven", dir: "项目 b", check: "echo why; false" }),
    ].join("\r\n"),
  );
  const first = await world.run(["run", "--tasks", "tasks.jsonl", "-j", "1"]);
  assertEquals(first.code, 1);
  assertEquals(linesOf(first.stdout).map(({ id, ok, reason }) => [id, ok, reason]), [
    ["good", true, "done"],
    ["7", false, "check"],
  ]);
  assert(first.stdout.includes('"output":"why"'));
  assertMatch(first.stderr, /1 of 2 tasks done, 1 not/);
  assertEquals(await world.read("项目 b/out.txt"), "seven\n");
  const asked = server.requests.length;
  assertEquals((await world.run(["run", "--tasks", "tasks.jsonl"])).stdout, first.stdout);
  assertEquals(server.requests.length, asked);
  const fresh = await world.run(["run", "--tasks", "tasks.jsonl", "--fresh", "--results", "out.jsonl", "-q"]);
  assertEquals([fresh.code, fresh.stdout, fresh.stderr], [1, "", ""]);
  assertEquals(linesOf(await world.read("out.jsonl")).length, 2);
  assert(server.requests.length > asked);
});

Deno.test("a file with invalid lines starts nothing, and each is reported with its position", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:1/v1"));
  await world.write(
    "bad.jsonl",
    [
      '{"id": "a", "prompt": "x"}',
      '{"id": "b", "prompt": }',
      '{"id": "a", "prompt": "again"}',
      '{"id": "c", "promt": "x"}',
      '{"id": "d", "prompt": "x", "dir": "nowhere", "check": 3}',
      '["no object"]',
    ].join("\n"),
  );
  const { code, stdout, stderr } = await world.run(["run", "--tasks", "bad.jsonl"]);
  assertEquals([code, stdout], [2, ""]);
  for (
    const text of [
      "bad.jsonl:2:24: it is not JSON",
      'bad.jsonl:3:2: the id "a" is that of line 1 already',
      'bad.jsonl:4:13: a task has no field "promt"; "prompt" is one',
      "bad.jsonl:4:1: the prompt is missing",
      'bad.jsonl:5:28: there is no directory "nowhere"',
      "bad.jsonl:5:46: the check is neither a command line nor a list of them",
      "bad.jsonl:6:1: it is not a JSON object",
      "nothing was started",
    ]
  ) assert(stderr.includes(text), `${text}\n${stderr}`);
  for (
    const [args, text] of [
      [["--tasks", "none.jsonl"], "Cannot read the tasks of none.jsonl"],
      [["--tasks", "empty.jsonl"], "there are none in it"],
      [["--tasks", "good.jsonl", "more"], "Cannot use a separate task together with --tasks"],
      [["--tasks", "good.jsonl", "-c"], "Cannot use --continue together with --tasks"],
      [["--tasks", "good.jsonl", "-j", "0"], "from 1 to 64"],
      [["--tasks", "good.jsonl", "--worktree"], "it is in no git repository"],
      [["--worktree", "one"], "Cannot use --worktree for one task"],
      [["--tasks", "good.jsonl", "--results", "good.jsonl"], "it holds the tasks"],
    ] as const
  ) {
    await world.write("empty.jsonl", "\n");
    await world.write("good.jsonl", '{"id": "a", "prompt": "x"}\n');
    const done = await world.run(["run", ...args]);
    assert(done.code !== 0 && done.stderr.includes(text), `${args.join(" ")}: ${done.code} ${done.stderr}`);
  }
});

Deno.test("Ctrl-C ends all tasks at once with a hint, and the next run continues their sessions", async () => {
  const held = Promise.withResolvers<void>();
  await using server = startModelServer([], {
    ...LOOSE,
    fallback: async (request) => {
      if (server.requests.length <= 4) await held.promise;
      return work(request);
    },
  });
  await using world = await makeWorld(mockConfig(server.url));
  await makeRepository(world);
  await world.write("tasks.jsonl", taskLines(6));
  const command = ["run", "--tasks", "tasks.jsonl", "-j", "4", "--worktree"];
  const child = await world.spawn(command);
  const ended = finished(child);
  await server.received(4);
  const started = performance.now();
  child.kill("SIGINT");
  const { code, stderr } = await ended;
  const took = performance.now() - started;
  held.resolve();
  assertEquals(code, 130, stderr);
  assertMatch(stderr, /6 not finished; to continue, run the same command again/);
  // 200 ms on a machine that has nothing else to do.
  assert(took < 3000, `${took} ms`);
  const next = await world.run(command);
  assertEquals([next.code, linesOf(next.stdout).length], [0, 6], next.stderr);
  const resumed = server.requests.filter((request) =>
    JSON.stringify(request.json).includes("was interrupted")
  );
  assert(resumed.length > 0, "sessions were continued");
});

Deno.test("the cost limit applies to the whole batch, and a higher limit continues it", async () => {
  await using server = startModelServer([], { ...LOOSE, fallback: work });
  const price = "price = { input = 1000.0, output = 1000.0 }\n";
  await using world = await makeWorld(mockConfig(server.url, "", price));
  await Promise.all(["a", "b", "c"].map((name) => Deno.mkdir(`${world.dir}/${name}`)));
  const lines = ["a", "b", "c"].map((dir) => JSON.stringify({ id: dir, dir, prompt: `do task-${dir}` }));
  await world.write("tasks.jsonl", lines.join("\n"));
  const stopped = await world.run(["run", "--tasks", "tasks.jsonl", "-j", "1", "--max-cost", "0.04"]);
  assertEquals(stopped.code, 4, stopped.stderr);
  assertMatch(stopped.stderr, /the cost limit of 0.04 for all tasks is reached/);
  assert(linesOf(stopped.stdout).length < 3);
  const all = await world.run(["run", "--tasks", "tasks.jsonl", "-j", "1", "--max-cost", "9"]);
  assertEquals([all.code, linesOf(all.stdout).length], [0, 3], all.stderr);
});

Deno.test("the example of the page about many tasks matches the program", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/batch.md", import.meta.url));
  const [, tasks = ""] = /```jsonl\n([^]*?)```/.exec(page) ?? [];
  const [, line = "", shown = ""] = /```console\n\$ reasonix (.*)\n([^]*?)```/.exec(page) ?? [];
  await using server = startModelServer([], { ...LOOSE, fallback: work });
  await using world = await makeWorld(mockConfig(server.url));
  await makeRepository(world);
  await world.write("tasks.jsonl", tasks);
  const { code, stdout, stderr } = await world.run(line.split(" "));
  assertEquals([code, stdout, stderr.replace(/ · [\d.]+ s$/gm, "")], [1, "", shown]);
  const patch = await world.read("a.patch");
  assert(patch.includes("+a\n"), patch);
  // It applies to its source.
  const applied = await new Deno.Command("git", { args: ["apply", "a.patch"], cwd: world.dir }).output();
  assert(applied.success);
  assertEquals(await world.read("out.txt"), "a\n");
});
