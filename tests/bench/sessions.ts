/** The rows of sessions on disk: resuming a long one, searching many, and starting with very many. */
import { mustRun } from "../../scripts/process.ts";
import { longLog } from "../support/long_session.ts";
import { firstRequest, median, type Sample, steps } from "./figures.ts";
import { type Row, row } from "./report.ts";
import type { Bench, Program, RunPlan } from "./runner.ts";

const [SEARCHED, STORED] = [1_000, 5_000];
/** Lines of a log that a stored session has behind its first turn: some twenty messages. */
const LINES = 36;
const RUNS = 7;

/** A session written by the program, and its path below the home. */
export interface Written {
  readonly id: string;
  readonly text: string;
  readonly path: string;
}

/** Homes for runs, by their content. */
interface Homes {
  readonly one: string;
  readonly long: string;
  readonly searched: string;
  readonly stored: string;
}

export async function sessionRows(bench: Bench): Promise<Row[]> {
  const { program } = bench;
  const homes = await makeHomes(bench);
  const runs = bench.quick ? 3 : RUNS;
  const inHome = (home: string, words: readonly string[] = ["run", "Do the task."]): Program => ({
    ...program,
    task: () => ({ args: program.plain?.(words) ?? [], env: {} }),
    prepare: async (to, url) => {
      await mustRun("cp", { args: ["-a", `${home}/.reasonix`, to] });
      await program.prepare(to, url);
    },
  });
  const resume = ["run", "--continue", "Do the task."];
  const [long = []] = await inTurns(bench, runs, { model: { script: "reads" } }, [
    inHome(homes.long, resume),
  ]);
  const { many, one } = await searchTimes(bench, homes, runs);
  const start: RunPlan = { model: { script: "hello" } };
  const [withMany = [], alone = []] = await inTurns(bench, 2 * runs + 1, start, [
    inHome(homes.stored),
    inHome(homes.one),
  ]);
  const read = (samples: readonly Sample[], of: (sample: Sample) => number | undefined) =>
    samples.map(of).filter((value) => value !== undefined);
  const ms = (figure: string, reasonix: readonly number[], target: Target, floor?: readonly number[]) =>
    row({ figure, unit: "ms", reasonix, target, floor });
  return [
    ms("resume of 10,000 messages: first request", read(long, firstRequest), 400),
    ms(
      "in that session: steps 91 to 100 (floor: 1 to 10)",
      read(long, (sample) => median(steps(sample).slice(-10))),
      (first) => 1.2 * first,
      read(long, (sample) => median(steps(sample).slice(0, 10))),
    ),
    ms("search in 1,000 sessions (floor: in one)", many, 50, one),
    ms(
      "first request with 5,000 sessions on disk (floor: with one)",
      read(withMany, firstRequest),
      (few) => few + 5,
      read(alone, firstRequest),
    ),
  ];
}

type Target = number | ((floor: number) => number);

/** All samples of each program. An uncounted round before them fills the code cache. */
async function inTurns(
  { runner }: Bench,
  runs: number,
  plan: RunPlan,
  programs: readonly Program[],
): Promise<readonly Sample[][]> {
  const samples = programs.map((): Sample[] => []);
  for (let round = -1; round < runs; round++) {
    for (const [index, program] of programs.entries()) {
      const sample = await runner.run(program, plan);
      if (round >= 0) samples[index]?.push(sample);
    }
  }
  return samples;
}

/** Wall times of a search in the original homes, since the index depends on the paths of sessions. */
async function searchTimes(bench: Bench, homes: Homes, runs: number) {
  const times = { many: [] as number[], one: [] as number[] };
  for (let round = -1; round < runs; round++) {
    for (const [name, home] of [["many", homes.searched], ["one", homes.one]] as const) {
      const started = performance.now();
      await run(bench, home, ["session", "search", "answer"]);
      if (round >= 0) times[name].push(performance.now() - started);
    }
  }
  return times;
}

async function makeHomes(bench: Bench): Promise<Homes> {
  const at = (name: string) => `${bench.runner.stage.root}/sessions_${name}`;
  const homes = { one: at("one"), long: at("long"), searched: at("searched"), stored: at("stored") };
  const written = await firstSession(bench, homes.one);
  for (const home of [homes.long, homes.searched, homes.stored]) {
    await mustRun("cp", { args: ["-a", homes.one, home] });
  }
  await Deno.writeTextFile(`${homes.long}/${written.path}`, longLog(written.text));
  await fill(homes.searched, written, SEARCHED);
  await fill(homes.stored, written, STORED);
  return homes;
}

/** Runs one task in a home that is kept. */
export async function firstSession(bench: Bench, home: string): Promise<Written> {
  await Deno.mkdir(`${home}/.reasonix`, { recursive: true });
  await bench.program.prepare(home, `${bench.runner.server.url}/hello/sessions/v1`);
  await run(bench, home, ["run", "Do the task."]);
  const [{ id, path }] = JSON.parse(await run(bench, home, ["session", "list", "--json"]));
  return { id, path: path.slice(home.length + 1), text: await Deno.readTextFile(path) };
}

async function run({ runner, program }: Bench, home: string, words: readonly string[]): Promise<string> {
  const options = { cwd: runner.stage.workspace, env: runner.environment(home), clearEnv: true };
  const args = [...program.plain?.(words) ?? []];
  const { success, stdout, stderr } = await new Deno.Command(program.command, { ...options, args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Adds sessions of some twenty messages, each under a separate id. */
async function fill(home: string, { id, path, text }: Written, count: number): Promise<void> {
  const log = longLog(text).split("\n").slice(0, text.split("\n").length + LINES).join("\n") + "\n";
  for (let number = 1; number < count; number++) {
    const time = new Date(1_767_225_600_000 + 1000 * number).toISOString().slice(11, 19).replaceAll(":", "");
    const own = `20260101-${time}-${number.toString(36).padStart(4, "0")}`;
    await Deno.writeTextFile(`${home}/${path.replace(id, own)}`, log.replaceAll(id, own));
  }
}
