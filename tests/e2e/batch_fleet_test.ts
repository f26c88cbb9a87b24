/** Many runners of one tasks file, with the program as a user runs it. */
import { FileLock } from "../../src/util/lock.ts";
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { Random, SEED, soakSize } from "../support/seed.ts";
import { needs } from "../support/tools.ts";

/** Tasks run in parallel, and a killed one begins its conversation again. */
const LOOSE = { check: { prefix: false } } as const;

function idOf(request: RecordedRequest): string {
  return /task-(\w+)/.exec(JSON.stringify(request.json.messages))?.[1] ?? "none";
}

/** Writes one file, then answers; its state is only the conversation. */
function work(request: RecordedRequest): Turn {
  const messages: { role: string; content: unknown }[] = request.json.messages;
  const id = idOf(request);
  const results = messages.filter(({ role }) => role === "tool");
  // After any other result (an interrupted call) it tries again.
  if (results.some(({ content }) => String(content) === "(no output)")) return { text: `did ${id}` };
  const call = `call-${id}-${results.length}`;
  return { calls: [{ id: call, name: "bash", args: { command: `echo ${id} > out.txt` } }] };
}

async function makeRepository(world: World): Promise<void> {
  await world.write("seed.txt", "seed\n");
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  for (const args of [["init", "-q", "-b", "main"], ["add", "-A"], [...identity, "commit", "-qm", "first"]]) {
    assert((await new Deno.Command("git", { args, cwd: world.dir }).output()).success);
  }
}

async function writeTasks(world: World, count: number, more: (at: number) => object = () => ({})) {
  const line = (_: unknown, at: number) =>
    JSON.stringify({ id: `t${at}`, prompt: `do task-n${at}`, ...more(at) });
  await world.write("tasks.jsonl", Array.from({ length: count }, line).join("\n"));
}

function names(path: string): string[] {
  return [...Deno.readDirSync(path)].map(({ name }) => name).sort();
}

/** Lines without what differs from run to run: identifiers, times, and where the changes are. */
function comparable(lines: string): string {
  return lines.replace(/"session":"[^"]+"/g, '"session":"S"').replace(/"duration_ms":\d+/g, '"duration_ms":0')
    .replace(
      /"patch":("[^"]+")/g,
      (_, path) => `"patch":${JSON.stringify(Deno.readTextFileSync(JSON.parse(path)))}`,
    );
}

const RUN = ["run", "--tasks", "tasks.jsonl"];
const SHARED = [...RUN, "--results-dir", "../out"];

Deno.test("shards, the index of an engine and a run of the rest merge to what one machine writes", async () => {
  await using server = startModelServer([], { ...LOOSE, fallback: work });
  await using world = await makeWorld(mockConfig(server.url));
  await makeRepository(world);
  await writeTasks(world, 5, (at) => ({ check: at === 3 ? "echo no; false" : "test -f out.txt" }));
  const command = [...SHARED, "--worktree"];
  const shard = await world.run([...command, "--shard", "2/2"]);
  assertEquals([shard.code, shard.stdout], [1, ""], shard.stderr);
  assertMatch(shard.stderr, /1 of 2 tasks done, 1 not/);
  const env = { JOB_COMPLETION_INDEX: "4" };
  const index = await world.run(command, { env });
  assertEquals([index.code, index.stdout], [0, ""], index.stderr);
  assertMatch(index.stderr, /^· Task 4 of tasks.jsonl, as JOB_COMPLETION_INDEX says$/m);
  const early = await world.run(["batch", "merge", "../out"]);
  assertEquals([early.code, early.stdout.split("\n").length], [1, 4]);
  assertMatch(early.stderr, /^· 2 of 5 tasks done, 3 not; 2 without a result: t0, t2$/m);
  const asked = server.requests.length;
  const rest = await world.run(command);
  assertEquals(rest.code, 1, rest.stderr);
  assertMatch(rest.stderr, /3 of 5 tasks were finished before/);
  assertEquals(server.requests.length - asked, 2 * 2);
  const one = await world.run([...RUN, "--worktree", "-j", "1", "--results", "../one.jsonl"], { env });
  const merged = await world.run(["batch", "merge", "../out", "--results", "../merged.jsonl"]);
  assertEquals([one.code, merged.code, merged.stdout], [1, 1, ""]);
  const lines = [await world.read("../one.jsonl"), await world.read("../merged.jsonl")].map(comparable);
  assertEquals(lines[1], lines[0]);
  assert(lines[0]?.includes("+n4\\n"), lines[0]);
  assertMatch(merged.stderr, /^· 4 of 5 tasks done, 1 not\n· in [\d,]+ \(.* cached, .*\) · out \d+\n$/);
  const out = `${world.dir}/../out`;
  assertEquals([names(out), names(`${out}/tasks`)], [
    [".gitignore", "batch.json", "failed", "running", "tasks"],
    ["t0", "t1", "t2", "t3", "t4"],
  ]);
  assertEquals(names(`${out}/tasks/t4`), ["changes.patch", "result.json", "session.jsonl"]);
  const stored = JSON.parse(await Deno.readTextFile(`${out}/tasks/t4/result.json`));
  assertEquals([stored.v, stored.index, stored.result.patch], [1, 4, "tasks/t4/changes.patch"]);
  assertMatch(stored.base, /^[0-9a-f]{40}$/);
  if (Deno.build.os === "linux") {
    assert(
      stored.runner.peak_memory_bytes > 1e6 && stored.runner.cpu_seconds > 0,
      JSON.stringify(stored.runner),
    );
    assertEquals(stored.runner.jobs, 4);
  }
  // What is in the directory of results does not stay in the home as well.
  assertEquals(names(`${world.home}/batches`).length, 1);
  const status = await world.run(["batch", "status", "../out"]);
  assertMatch(
    status.stdout,
    /^4 of 5 tasks done, 1 not\nin .*\nfrom 20.* to 20.*Z\nMACHINE +DONE +NOT +OPEN\n.* 4 +1 +0\n$/,
  );
  const json = JSON.parse((await world.run(["batch", "status", "../out", "--json"])).stdout);
  assertEquals([json.tasks, json.done, json.not, json.open, json.missing], [5, 4, 1, 0, []]);
  const predictions = await world.run(["batch", "merge", "../out", "--format", "swe-bench"]);
  assertEquals(
    predictions.stdout.trim().split("\n").map((line) => {
      const { instance_id, model_name_or_path, model_patch, ...more } = JSON.parse(line);
      return [instance_id, model_name_or_path, /^\+n\d$/m.test(model_patch), Object.keys(more).length];
    }),
    ["t0", "t1", "t2", "t3", "t4"].map((id) => [id, "mock-1", true, 0]),
  );
});

Deno.test("of two runners of one task the first counts, and the other says so", async () => {
  const [one, both] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using server = startModelServer([], {
    ...LOOSE,
    fallback: async () => {
      if (server.requests.length === 1) await one.promise;
      else both.resolve();
      return { text: `answer ${server.requests.length}` };
    },
  });
  await using world = await makeWorld(mockConfig(server.url));
  await writeTasks(world, 2);
  const slow = finished(await world.spawn([...SHARED, "--task-index", "1"]));
  await server.received(1);
  const fast = await world.run([...SHARED, "--task-index", "1"]);
  await both.promise;
  one.resolve();
  const { code, stderr } = await slow;
  assertEquals([fast.code, code], [0, 0], fast.stderr + stderr);
  assertMatch(stderr, /^· t1: another runner was first; its result counts, and this one is dropped$/m);
  const stored = await world.read("../out/tasks/t1/result.json");
  assert(stored.includes('"answer":"answer 2"'), stored);
});

Deno.test("exit codes say whether another run makes sense, and merge shows the last attempt", async () => {
  let fails = true;
  await using server = startModelServer([], {
    ...LOOSE,
    fallback: (request) => fails && idOf(request) === "n1" ? { status: 401, body: "no" } : { text: "yes" },
  });
  await using world = await makeWorld(mockConfig(server.url));
  await writeTasks(world, 2);
  const first = await world.run(SHARED);
  assertEquals(first.code, 5, first.stderr);
  assertEquals([names(`${world.dir}/../out/tasks`), names(`${world.dir}/../out/failed`)], [["t0"], [
    "t1.json",
  ]]);
  const merged = await world.run(["batch", "merge", "../out"]);
  assertEquals(merged.code, 1);
  assertMatch(merged.stderr, /1 of 2 tasks done, 1 not; 1 open after an attempt/);
  assertEquals(merged.stdout.trim().split("\n").map((line) => JSON.parse(line).reason), ["done", "provider"]);
  fails = false;
  const second = await world.run(SHARED);
  assertEquals(second.code, 0, second.stderr);
  // All its results are there: nothing is asked, and the code stays.
  const asked = server.requests.length;
  assertEquals([(await world.run(SHARED)).code, server.requests.length], [0, asked]);
});

Deno.test("a runner that gets SIGTERM says that it may run again, and the next one continues", async () => {
  const held = Promise.withResolvers<void>();
  await using server = startModelServer([], {
    ...LOOSE,
    fallback: async () => {
      if (server.requests.length === 1) await held.promise;
      return { text: "yes" };
    },
  });
  await using world = await makeWorld(mockConfig(server.url));
  await writeTasks(world, 1);
  const child = await world.spawn(SHARED);
  const ended = finished(child);
  await server.received(1);
  child.kill("SIGTERM");
  assertEquals((await ended).code, 143);
  held.resolve();
  assertEquals((await world.run(SHARED)).code, 0);
  assert(JSON.stringify(server.requests.at(-1)?.json).includes("was interrupted"));
});

Deno.test("runners killed at random points leave whole results, and the next ones finish", async () => {
  const random = new Random(SEED);
  const count = 6;
  await using server = startModelServer([], { ...LOOSE, fallback: work });
  await using world = await makeWorld(mockConfig(server.url));
  await makeRepository(world);
  await writeTasks(world, count, () => ({ check: "test -f out.txt" }));
  const command = [...SHARED, "--worktree", "-j", "2"];
  for (let kill = 0; kill < soakSize(30, 2); kill++) {
    const asked = server.requests.length;
    const children = await Promise.all([world.spawn(command), world.spawn([...command, "--shard", "1/1"])]);
    const ends = children.map(finished);
    await Promise.race([server.received(asked + 1 + random.below(8)), Promise.all(ends)]);
    for (const child of children) {
      try {
        child.kill("SIGKILL");
      } catch { /* it had ended */ }
    }
    await Promise.all(ends);
    if (kill % 10 === 9) await Deno.remove(`${world.dir}/../out`, { recursive: true });
  }
  const last = await world.run(command);
  assertEquals(last.code, 0, last.stderr);
  const { stdout, code } = await world.run(["batch", "merge", "../out"]);
  assertEquals([code, stdout.trim().split("\n").map((line) => JSON.parse(line).id)], [
    0,
    Array.from({ length: count }, (_, at) => `t${at}`),
  ]);
  for (const line of stdout.trim().split("\n")) {
    const { id, patch } = JSON.parse(line);
    assertEquals((await Deno.readTextFile(patch)).match(/^\+[^+].*$/gm), [`+n${id.slice(1)}`]);
  }
});

Deno.test("status says what runs where, and does not count a killed runner as running for ever", async () => {
  const held = Promise.withResolvers<void>();
  await using server = startModelServer([], {
    ...LOOSE,
    fallback: async (request) => {
      if (server.requests.length <= 2 && idOf(request) !== "n2") await held.promise;
      return { text: "yes" };
    },
  });
  await using world = await makeWorld(mockConfig(server.url));
  await writeTasks(world, 3);
  const children = await Promise.all(
    ["1/3", "2/3"].map((shard) => world.spawn([...SHARED, "--shard", shard])),
  );
  const ends = children.map(finished);
  await server.received(2);
  assertEquals((await world.run([...SHARED, "--shard", "3/3"])).code, 0);
  const status = async (...more: string[]) =>
    (await world.run(["batch", "status", "../out", ...more])).stdout;
  const on = `\\(started \\d+ min ago on ${RegExp.escape(Deno.hostname())}\\)`;
  const text = await status();
  assertMatch(text, new RegExp(`^2 running: t0 ${on}, t1 ${on}$`, "m"));
  assert(!text.includes("no sign"), text);
  const { running: [first], silent } = JSON.parse(await status("--json"));
  assertEquals([first.id, first.host, silent], ["t0", Deno.hostname(), []]);
  for (const child of children) child.kill("SIGKILL");
  held.resolve();
  await Promise.all(ends);
  // Their files stay; nothing renews them.
  const signs = `${world.dir}/../out/running`;
  const past = new Date(Date.now() - 600_000);
  assertEquals(names(signs).length, 2);
  for (const name of names(signs)) await Deno.utime(`${signs}/${name}`, past, past);
  const later = await status();
  assertMatch(later, new RegExp(`^2 begun, whose runner gave no sign for minutes: t0 ${on}, t1 ${on}$`, "m"));
  assert(!later.includes("running"), later);
  assertEquals((await world.run(SHARED)).code, 0);
  const done = JSON.parse(await status("--json"));
  assertEquals([done.done, done.running, done.silent], [3, [], []]);
});

/** Every file below a directory whose content has one of the texts. */
function filesWith(directory: string, texts: readonly string[]): string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory, isFile }) => {
    const path = `${directory}/${name}`;
    if (isDirectory) return filesWith(path, texts);
    const content = isFile ? Deno.readTextFileSync(path) : "";
    return texts.some((text) => content.includes(text)) ? [path] : [];
  });
}

Deno.test("secrets in the variables of tasks are in no result, session, log or manifest", async () => {
  const token = crypto.randomUUID();
  const password = crypto.randomUUID().slice(0, 18);
  const look = `q7w8e9r0t1y2${crypto.randomUUID().slice(0, 8)}u3i4o5p6`;
  const env = { DEPLOY_TOKEN: token, DATABASE: `postgres://me:${password}@db.example/x`, PLAIN: look };
  const secrets = [token, password, look].flatMap((text) => [text, btoa(text).slice(0, 20)]);
  const all = Object.keys(env).map((name) => `echo "${"$"}${name}"`).join("; ") +
    '; echo "$DATABASE" | sed "s/.*me://; s/@.*//"';
  let asked = "";
  await using server = startModelServer([], {
    ...LOOSE,
    fallback: (request) => {
      asked += JSON.stringify(request.json);
      const { messages } = request.json;
      if (messages.at(-1).role === "tool") return { text: `The token is ${token}, the other one ${look}` };
      return {
        calls: [{
          id: `call-${asked.length}`,
          name: "bash",
          args: { command: `${all}; printf %s "$PLAIN" | base64` },
        }],
      };
    },
  });
  await using world = await makeWorld(mockConfig(server.url, '[log]\nlevel = "debug"\n'));
  const tasks = [
    {
      id: "a",
      prompt: `use ${token}`,
      env,
      setup: all,
      check: [`${all}; : ${token}`, `yes "$DEPLOY_TOKEN" | head -c 9001`],
    },
    { id: "b", prompt: "never", env, setup: `${all}; exit 3` },
  ];
  // A checkpoint keeps what is in the workspace.
  const file = "../tasks.jsonl";
  await world.write(file, tasks.map((task) => JSON.stringify(task)).join("\n"));
  await Deno.mkdir(`${world.dir}/../out`);
  const { code, stdout, stderr } = await world.run(["run", "--tasks", file, "--results-dir", "../out"]);
  assertEquals(code, 1, stderr);
  const outputs = [
    ...[stdout, stderr, asked],
    ...await Promise.all(
      [["batch", "merge", "../out"], ["batch", "status", "../out"], ["run", "--tasks", file]].map(
        async (words) => {
          const done = await world.run(words);
          return done.stdout + done.stderr;
        },
      ),
    ),
  ];
  for (const engine of ["kubernetes", "slurm", "github", "parallel"]) {
    const words = ["--tasks", file, "--results-dir", "/out", "--container", "x:1"];
    const emitted = await world.run(["batch", "emit", engine, ...words]);
    if (emitted.code !== 0) assertMatch(emitted.stderr, /it is this machine itself/);
    else {assertMatch(
        emitted.stderr,
        /^· "env" in ..\/tasks.jsonl has secrets, .*: DEPLOY_TOKEN \(a\), DATABASE \(a\), PLAIN \(a\)/m,
      );}
    outputs.push(emitted.stdout + emitted.stderr);
  }
  for (const [at, output] of outputs.entries()) {
    for (const secret of secrets) assert(!output.includes(secret), `output ${at} has ${secret}: ${output}`);
  }
  assert(outputs[3]?.includes('"output":"[redacted]'), "the control: the checks printed them");
  assertEquals(filesWith(world.home, secrets), []);
  assertEquals(filesWith(`${world.dir}/../out`, secrets), []);
  assertEquals(filesWith(world.dir, secrets), []);
});

const SMALL_DISK = ["bwrap", "--dev-bind", "/", "/", "--size", "65536", "--tmpfs"];
const hasDisk = await works([...SMALL_DISK, "/tmp", "true"]);

async function smallDisk(): Promise<void> {
  await using server = startModelServer([], { ...LOOSE, fallback: { text: "x".repeat(200_000) } });
  await using world = await makeWorld(mockConfig(server.url));
  await writeTasks(world, 1);
  const out = `${world.dir}/../out`;
  await Deno.mkdir(out);
  const within = [...SMALL_DISK, await Deno.realPath(out)];
  const full = await world.run(SHARED, { within });
  assertEquals(full.code, 1, full.stderr);
  assertMatch(
    full.stderr,
    /Cannot store the result of t0 in .*: no space left on device; free space there.* nothing is repeated\)/i,
  );
  const next = await world.run(SHARED);
  assertEquals([next.code, server.requests.length], [0, 1], next.stderr);
  assertEquals(names(`${out}/tasks/t0`), ["result.json", "session.jsonl"]);
}

Deno.test({
  ...needs(
    "bwrap",
    hasDisk,
    "a full disk gives one line, and the next run stores the result without another request",
  ),
  fn: smallDisk,
});

async function works(command: readonly string[]): Promise<boolean> {
  try {
    return (await new Deno.Command(command[0] ?? "", { args: command.slice(1) }).output()).success;
  } catch {
    return false;
  }
}

Deno.test("each wrong use of results gets one line with a remedy, and starts nothing", async () => {
  await using server = startModelServer([], { ...LOOSE, fallback: { text: "yes" } });
  await using world = await makeWorld(mockConfig(server.url));
  await writeTasks(world, 4, (at) => at === 1 ? { image: "node:24" } : {});
  await world.write("file", "");
  await Deno.mkdir(`${world.dir}/read`, { mode: 0o500 });
  assertEquals((await world.run([...RUN, "--results-dir", "used", "--shard", "2/4"])).code, 0);
  await world.write("used/tasks/t0/result.json", '{"v":1,"ind');
  await world.write("other.jsonl", '{"id": "a", "prompt": "x"}');
  const asked = server.requests.length;
  const used = ["--results-dir", "used"];
  const rows: [args: string[], text: string | RegExp, code?: number][] = [
    [[...SHARED, "--shard", "5/4"], 'Cannot use "5/4" for --shard: give I/N, a part from 1/N to N/N'],
    [[...SHARED, "--shard", "0/4"], 'Cannot use "0/4" for --shard'],
    [[...SHARED, "--shard", "2"], 'Cannot use "2" for --shard'],
    [
      [...SHARED, "--task-index", "4"],
      "Cannot run task 4 (--task-index) of tasks.jsonl: its tasks have the indexes 0 to 3",
    ],
    [[...SHARED, "--task-index", "-1"], 'Cannot use "-1" for --task-index'],
    [[...SHARED, "--task-index", "1", "--shard", "1/2"], "Cannot use --task-index together with --shard"],
    [[...SHARED, "--image", "none"], "with the image none: there are none"],
    [[...SHARED, "--image", "node:24", "--task-index", "1"], "its tasks have the indexes 0 to 0"],
    [[...SHARED, "--results", "x"], "batch merge DIR --results FILE makes the file"],
    [[...SHARED, "--fresh"], "a result is stored once; give another directory"],
    [["run", "--task-index", "1", "do it"], "Cannot use --task-index for one task"],
    [["run", "--results-dir", "x", "do it"], "Cannot use --results-dir for one task"],
    [[...RUN, "--results-dir", "file"], "Cannot use file for results: not a directory"],
    [
      [...RUN, ...used, "--model", "mock"],
      /used for results: it has the results of another batch \(tasks.jsonl, 4/,
    ],
    [["run", "--tasks", "other.jsonl", ...used], "give --results-dir another directory"],
    [[...RUN, ...used, "--task-index", "0"], /t0: cannot run \(.*result.json is half a result; remove it/],
    [["batch", "merge", "nowhere"], "Cannot use nowhere for results: it does not exist"],
    [["batch", "merge", "file"], "it is not a directory"],
    [["batch", "status", "read"], "it has no batch.json"],
    [["batch", "merge", "used", "--results", "nowhere/x"], "Cannot write results to nowhere/x"],
    [
      ["batch", "merge", "used", "--format", "swe-bench"],
      "Cannot write a prediction of t1: its result has no patch",
    ],
    [["batch", "merge", "used"], /result.json is half a result; it counts as missing/, 1],
  ];
  // Root may write everywhere.
  if (Deno.uid() !== 0) rows.push([[...RUN, "--results-dir", "read"], "Cannot use read for results"]);
  for (const [args, text, code = 2] of rows) {
    const done = await world.run(args);
    const found = typeof text === "string" ? done.stderr.includes(text) : text.test(done.stderr);
    assert(done.code === code && found, `${args.join(" ")}: ${done.code} ${done.stderr}`);
  }
  using _lock = held(`${world.dir}/merged.jsonl.lock`);
  const second = await world.run(["batch", "merge", "used", "--results", "merged.jsonl"]);
  assertEquals(second.code, 2);
  assertMatch(
    second.stderr,
    new RegExp(`merged.jsonl: process ${Deno.pid} merges into it\\n.*wait for it to end`),
  );
  const variable = await world.run([...RUN, "--results-dir", "read"], { env: { SLURM_ARRAY_TASK_ID: "7" } });
  assertMatch(variable.stderr, /Cannot run task 7 \(SLURM_ARRAY_TASK_ID\)/);
  assertEquals(server.requests.length, asked);
});

function held(path: string): FileLock {
  const taken = FileLock.tryAcquire(path);
  assert(taken.held);
  return taken.lock;
}

Deno.test("the example of the page about many machines matches the program", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/batch.md", import.meta.url));
  const [, tasks = ""] = /```jsonl\n([^]*?)```/.exec(page) ?? [];
  const shown = /```console\n([^`]*--shard[^]*?)```/.exec(page)?.[1] ?? "";
  await using server = startModelServer([], { ...LOOSE, fallback: work });
  await using world = await makeWorld(mockConfig(server.url));
  await makeRepository(world);
  await world.write("tasks.jsonl", tasks);
  let printed = "";
  for (const [, line = ""] of shown.matchAll(/^\$ reasonix (.*)$/gm)) {
    const { stdout, stderr } = await world.run(line.split(" "));
    printed += `$ reasonix ${line}\n${stdout}${stderr.replace(/ · [\d.]+ s$/gm, "")}`;
  }
  assertEquals(printed, shown);
});
