import { Cluster, type Disturbance } from "../support/job_controller.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { denoDir, makeWorld, mockConfig, programFile, type World } from "../support/program.ts";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { Random, SEED, soakSize } from "../support/seed.ts";

const LOOSE = { check: { prefix: false } } as const;
/** Of a network that leads nowhere, so that the policy of the manifest may name it. */
const ADDRESS = "http://192.0.2.7:8000/v1";

/** Tasks without an image alternate with those of one; each has its Job. */
const JOBS = ["tasks", "tasks-2"];

function taskOf(request: RecordedRequest): number {
  return Number(/do task-n(\d+)/.exec(request.body)?.[1] ?? NaN);
}

/** Writes one file, then answers; the file of every fourth task is not what its check wants. */
function work(request: RecordedRequest): Turn {
  const task = taskOf(request);
  const isDone = request.json.messages.some(({ role }: { role: string }) => role === "tool");
  if (isDone) return { text: `did n${task}` };
  const command = `echo ${task % 4 === 3 ? "wrong" : task} > n${task}.txt`;
  return { calls: [{ id: `call-${task}`, name: "bash", args: { command } }] };
}

/** The program in the image: as `reasonix` on PATH. */
async function image(world: World): Promise<Record<string, string>> {
  const bin = `${world.dir}/../bin`;
  await Deno.mkdir(bin, { recursive: true });
  const words = [Deno.execPath(), "run", ...START_FLAGS, "--no-config", await programFile()];
  await Deno.writeTextFile(`${bin}/reasonix`, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
  return {
    PATH: `${bin}:${Deno.env.get("PATH")}`,
    DENO_NO_UPDATE_CHECK: "1",
    REASONIX_LANG: "en",
    ...denoDir(),
  };
}

/** Results without what differs between two runs of the same task. */
function comparable(text: string): string {
  return text.replaceAll(/"(session|duration_ms)":("[^"]*"|\d+)/g, '"$1":0');
}

/** Disturbances that end a pod, and with them at most three failures of an index. */
const DISTURBANCES: readonly Disturbance[] = ["kill", "evict", "double"];

Deno.test("the Job of a manifest gives each task one result, whatever happens to its pods", async () => {
  const random = new Random(SEED);
  const count = soakSize(24, 4);
  const wanted = soakSize(200, 4);
  let disturbed = 0;
  for (let round = 0; disturbed < wanted; round++) {
    const clusters: Cluster[] = [];
    const refused = new Set<number>();
    await using server = startModelServer([], {
      ...LOOSE,
      fallback: async (request) => {
        const task = taskOf(request);
        await clusters[0]?.requested(Math.floor(task / JOBS.length));
        return refused.delete(task) ? { status: 401, body: "no" } : work(request);
      },
    });
    await using world = await makeWorld(mockConfig("${MODEL_URL}"));
    const token = crypto.randomUUID();
    const lines = Array.from({ length: count }, (_, at) => {
      const image = at % JOBS.length === 0 ? {} : { image: "python:3.12" };
      return JSON.stringify({
        id: `t${at}`,
        prompt: `do task-n${at}`,
        check: [`grep -qx ${at} n${at}.txt`, 'test -n "$API_TOKEN"'],
        env: { API_TOKEN: token },
        ...image,
      });
    });
    await world.write("tasks.jsonl", lines.join("\n"));
    const emit = ["batch", "emit", "kubernetes", "--tasks", "tasks.jsonl", "--results-dir", "/results"];
    const more = ["-j", "2", "--container", "example/agent:1", "--", "--time-limit", "100"];
    const emitted = await world.run([...emit, ...more], { env: { MODEL_URL: ADDRESS } });
    assertEquals(emitted.code, 0, emitted.stderr);
    for (const secret of [server.url, token]) assert(!emitted.stdout.includes(secret));
    const failures = new Map<string, number>();
    const cluster = new Cluster(emitted.stdout, {
      dir: `${world.dir}/../cluster`,
      cwd: world.dir,
      env: await image(world),
      secrets: { "reasonix-keys/MODEL_URL": server.url, "tasks-tasks/tasks.jsonl": lines.join("\n") },
      random,
      disturb(job, index) {
        const before = failures.get(`${job} ${index}`) ?? 0;
        if (before === 0 ? disturbed >= wanted : before === 3 || random.chance(0.5)) return "none";
        disturbed += 1;
        failures.set(`${job} ${index}`, before + 1);
        if (random.chance(0.75)) return random.pick(DISTURBANCES);
        refused.add(index * JOBS.length + JOBS.indexOf(job));
        return "none";
      },
    });
    clusters.push(cluster);
    await cluster.run();
    for (let at = 0; at < count; at++) {
      const [job, index] = [JOBS[at % JOBS.length], Math.floor(at / JOBS.length)];
      const pods = cluster.pods.filter((pod) => pod.job === job && pod.index === index);
      const last = at % 4 === 3 ? 1 : 0;
      const attempt = pods.at(-1)?.disturbance === "double" ? 2 : 1;
      const text = JSON.stringify(pods, null, 2);
      assertEquals(pods.slice(-attempt).map(({ code }) => code), Array(attempt).fill(last), text);
      assert(pods.slice(0, -attempt).every(({ code }) => [5, 137, 143].includes(code)), text);
      assertEquals(cluster.failed.some(([name, failed]) => name === job && failed === index), last === 1);
    }
    const results = cluster.volume("tasks-results");
    const stored = [...Deno.readDirSync(`${results}/tasks`)].map(({ name }) => name).sort();
    assertEquals(stored, lines.map((_, at) => `t${at}`).sort());
    const own = { env: { MODEL_URL: server.url } };
    const alone = await world.run(
      ["run", "--tasks", "tasks.jsonl", "-j", "1", "--results", "one.jsonl"],
      own,
    );
    const merged = await world.run(["batch", "merge", results]);
    assertEquals([merged.code, comparable(merged.stdout)], [
      alone.code,
      comparable(await world.read("one.jsonl")),
    ]);
  }
});

Deno.test("batch emit refuses what no cluster could run, with the remedy, and writes nothing", async () => {
  await using world = await makeWorld(mockConfig(ADDRESS));
  await world.write("tasks.jsonl", '{"prompt":"p"}\n');
  await world.write("empty.jsonl", "\n");
  const usual = ["--tasks", "tasks.jsonl", "--results-dir", "/r", "--container", "i"];
  const rows: readonly (readonly [line: readonly string[], error: RegExp, config?: string])[] = [
    [["kubernets", ...usual], /Unknown engine "kubernets"\n.*did you mean "kubernetes"\?/],
    [usual, /No engine is named\n.*use one of kubernetes/],
    [["kubernetes", "--results-dir", "/r"], /No tasks file is named\n.*add --tasks FILE/],
    [["kubernetes", "--tasks", "tasks.jsonl"], /No directory of results is named\n.*add --results-dir DIR/],
    [["kubernetes", "--tasks", "empty.jsonl", "--results-dir", "/r"], /empty\.jsonl: there are none in it\n/],
    [["kubernetes", ...usual.slice(0, 4)], /1 of its tasks name no image\n.*add --container IMAGE/],
    [["kubernetes", ...usual, "--shards", "2"], /Cannot make 2 shards of the 1 tasks of tasks\.jsonl\n/],
    [["kubernetes", ...usual, "-j", "0"], /"0" for --jobs: give a whole number from 1 on/],
    [["kubernetes", ...usual, "--measured", "none"], /Cannot use none for results: it does not exist\n/],
    [["kubernetes", ...usual, "--", "--no-such"], /Cannot use the flags after --: .*--no-such\n.*run --help/],
    [["kubernetes", ...usual, "--", "--model", "nix"], /Unknown model "nix"/],
    [["kubernetes", ...usual, "--", "word"], /Cannot use the flags after --: "word" is no flag/],
    [
      ["kubernetes", ...usual, "--", "--task-index", "1"],
      /Cannot use --task-index after --: it differs by index/,
    ],
    [["kubernetes", ...usual, "--", "--goal", "x"], /Cannot use --goal together with --tasks\n/],
    [
      ["kubernetes", ...usual],
      /Cannot allow pods to reach localhost: .*\n.*SERVICE\.NAMESPACE\.svc/,
      "localhost",
    ],
  ];
  for (const [line, error, host] of rows) {
    if (host) await Deno.writeTextFile(`${world.home}/config.toml`, mockConfig(`http://${host}:11434`));
    const { code, stdout, stderr } = await world.run(["batch", "emit", ...line]);
    assertEquals([code, stdout], [line.includes("nix") ? 6 : 2, ""], stderr);
    assertMatch(stderr, error);
  }
});
