/** The rows of batches: the same tasks by one machine and by shards, and the merge of many results. */
import { manifestOf, ResultsDir } from "../../src/batch/mod.ts";
import { startModelServer } from "../support/model_server.ts";
import { removeTree } from "../support/remove_tree.ts";
import { someResult, STARTED } from "../support/result_writer.ts";
import { watchTree } from "./memory.ts";
import { onRuntime, type Program } from "./programs.ts";
import { type Row, row } from "./report.ts";
import { type Bench, wait } from "./runner.ts";

const TASKS = 64;
const SHARDS = 4;
/** Time of the model for an answer. */
const ANSWER_MS = 500;
const RESULTS = 10_000;
const RUNS = 5;

export async function batchRows(bench: Bench): Promise<Row[]> {
  const scratch = await Deno.makeTempDir({ prefix: "reasonix-bench-batch-" });
  try {
    return [...await shardRows(bench, scratch), ...await mergeRows(bench, scratch)];
  } finally {
    await removeTree(scratch);
  }
}

interface Ended {
  readonly wall: number;
  readonly memory: number;
}

/** Runs the program in a home until it ends with 0. */
async function run(
  { runner }: Bench,
  program: Program,
  { home, words, memory = false }: {
    readonly home: string;
    readonly words: readonly string[];
    readonly memory?: boolean;
  },
): Promise<Ended> {
  const started = performance.now();
  const child = new Deno.Command(program.command, {
    args: [...program.plain?.(words) ?? []],
    cwd: runner.stage.workspace,
    env: runner.environment(home),
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const watch = memory ? watchTree(child.pid) : undefined;
  const { success, stderr } = await child.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return { wall: performance.now() - started, memory: watch?.stop()?.tree ?? 0 };
}

async function shardRows(bench: Bench, scratch: string): Promise<Row[]> {
  const { program, quick } = bench;
  await using server = startModelServer([], {
    check: { prefix: false },
    fallback: async () => {
      await wait(ANSWER_MS);
      return { text: "done" };
    },
  });
  const tasks = `${scratch}/tasks.jsonl`;
  await Deno.writeTextFile(tasks, `${JSON.stringify({ prompt: "Do the task." })}\n`.repeat(TASKS));
  const found = { shards: [] as number[], one: [] as number[] };
  for (let round = -1; round < (quick ? 1 : RUNS); round++) {
    for (const name of ["one", "shards"] as const) {
      const out = `${scratch}/${name}_${round}`;
      const count = name === "one" ? 1 : SHARDS;
      const homes = await Promise.all(Array.from({ length: count }, async (_, at) => {
        const home = `${out}_home_${at}`;
        await program.prepare(home, server.url);
        return home;
      }));
      const words = ["run", "--tasks", tasks, "--results-dir", out];
      const started = performance.now();
      await Promise.all(homes.map((home, at) => {
        const part = name === "one" ? ["-j", `${SHARDS}`] : ["-j", "1", "--shard", `${at + 1}/${SHARDS}`];
        return run(bench, program, { home, words: [...words, ...part] });
      }));
      if (round >= 0) found[name].push(performance.now() - started);
      if ([...ResultsDir.read(out).entries()].some(({ isFinal }) => !isFinal)) {
        throw new Error(`A task of ${out} has no result`);
      }
    }
  }
  return [row({
    figure: `${TASKS} sleeping tasks on ${SHARDS} shards (floor: one machine, -j ${SHARDS})`,
    unit: "ms",
    target: (floor) => 1.15 * floor,
    reasonix: found.shards,
    floor: found.one,
  })];
}

async function mergeRows(bench: Bench, scratch: string): Promise<Row[]> {
  const { program, quick, runner } = bench;
  const out = `${scratch}/results`;
  writeResults(out);
  const home = `${scratch}/home`;
  await program.prepare(home, "http://127.0.0.1:1");
  const merge = { home, words: ["batch", "merge", out, "--results", `${scratch}/merged.jsonl`] };
  const measured = onRuntime(program, await runner.stage.runtime());
  const [times, memory]: [Ended[], Ended[]] = [[], []];
  for (let round = -1; round < (quick ? 1 : RUNS); round++) {
    const timed = await run(bench, program, merge);
    const watched = await run(bench, measured, { ...merge, memory: true });
    if (round < 0) continue;
    times.push(timed);
    memory.push(watched);
  }
  const figure = `merge of ${RESULTS.toLocaleString("en")} results`;
  return [
    row({ figure, unit: "ms", target: 2_000, reasonix: times.map(({ wall }) => wall) }),
    row({ figure, unit: "MB", target: 100, reasonix: memory.map((ended) => ended.memory) }),
  ];
}

/** Results as runners put them in place, without waiting for the disk. */
function writeResults(path: string): void {
  const tasks = Array.from(
    { length: RESULTS },
    (_, at) => ({ id: `task-${at}`, prompt: "p", dir: "", checks: [] }),
  );
  const { manifest } = ResultsDir.open(path, manifestOf({ tasks, text: "", file: "tasks.jsonl" }));
  const answer = "Changed what the task names, and ran the tests. ".repeat(20);
  for (const [index, { id }] of tasks.entries()) {
    const directory = `${path}/tasks/${id}`;
    const result = someResult(id, { answer, patch: `tasks/${id}/changes.patch` });
    const stored = {
      v: 1,
      index,
      digest: manifest.digest,
      host: `node-${index % 50}`,
      started: STARTED,
      result,
    };
    Deno.mkdirSync(directory);
    Deno.writeTextFileSync(`${directory}/result.json`, `${JSON.stringify(stored)}\n`);
    Deno.writeTextFileSync(`${directory}/changes.patch`, "a patch\n".repeat(200));
  }
}
