/**
 * Measures Reasonix next to the floor scripts: `deno task bench [--quick] [--peers] [--program BUNDLE]
 * [--json FILE] [--markdown] [--page] [--from FILE]… [group or scenario …]`. Programs run in turns against
 * a scripted model server; the tables go to standard output, all samples to dist/bench.json or the file
 * named. With `--markdown` the tables are written as docs/performance.md has them, and `--page` puts them
 * there. With `--from` nothing is measured: the rows are those that earlier runs have written, the last of
 * each figure. With `--peers` other agents that are installed are measured, too. A program can also be a
 * command line that takes the same arguments.
 */
import { type Group, GROUPS } from "../tests/bench/groups.ts";
import { reasonix } from "../tests/bench/programs.ts";
import type { Row } from "../tests/bench/report.ts";
import { type Bench, Runner, startServer } from "../tests/bench/runner.ts";
import { scenarioRows } from "../tests/bench/scenario.ts";
import { makeStage } from "../tests/bench/stage.ts";
import { markdownTables, textTables, withTables } from "../tests/bench/tables.ts";
import { say } from "./process.ts";

interface Options {
  readonly quick: boolean;
  readonly peers: boolean;
  readonly markdown: boolean;
  readonly page: boolean;
  readonly program: string | undefined;
  readonly json: string;
  readonly from: readonly string[];
  /** The groups to measure, with the chosen scenarios only. */
  readonly groups: readonly Group[];
}

/** The rows of a group, as the JSON has them. */
interface Measured {
  readonly name: string;
  readonly title: string;
  readonly rows: readonly Row[];
}

/** The page that has all tables. */
const PAGE = new URL("../docs/performance.md", import.meta.url);

const FLAGS = ["--quick", "--peers", "--markdown", "--page"];
const VALUES = ["--program", "--json", "--from"];

/** Reads the command line; no name means everything. */
export function parseOptions(args: readonly string[]): Options {
  const values = new Map<string, string[]>(VALUES.map((name) => [name, []]));
  const names: string[] = [];
  const rest = [...args];
  for (let word; (word = rest.shift()) !== undefined;) {
    const list = values.get(word);
    if (list !== undefined) {
      const value = rest.shift();
      if (value === undefined) throw new Error(`${word} needs a value`);
      list.push(value);
    } else if (!word.startsWith("--")) names.push(word);
    else if (!FLAGS.includes(word)) {
      throw new Error(`Cannot read ${word}; there are ${[...FLAGS, ...VALUES].join(", ")}`);
    }
  }
  return {
    quick: args.includes("--quick"),
    peers: args.includes("--peers"),
    markdown: args.includes("--markdown"),
    page: args.includes("--page"),
    program: values.get("--program")?.[0],
    json: values.get("--json")?.[0] ?? "dist/bench.json",
    from: values.get("--from") ?? [],
    groups: chosen(names),
  };
}

function chosen(names: readonly string[]): Group[] {
  const known = GROUPS.flatMap(({ name, scenarios = [] }) => [name, ...scenarios.map((one) => one.name)]);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(
      `Cannot find the group or scenario ${JSON.stringify(unknown)}; known ones are: ${known.join(", ")}`,
    );
  }
  if (names.length === 0) return [...GROUPS];
  return GROUPS.flatMap((group) => {
    if (names.includes(group.name)) return [group];
    const scenarios = group.scenarios?.filter(({ name }) => names.includes(name)) ?? [];
    return scenarios.length === 0 ? [] : [{ ...group, scenarios }];
  });
}

/** Runs what was chosen. After each group the file of the run has the groups so far. */
async function measure({ quick, peers, program, groups, json }: Options): Promise<Measured[]> {
  await using server = await startServer();
  await using stage = await makeStage();
  const runner = new Runner(server, stage);
  const bench: Bench = { runner, program: await reasonix(program), quick, peers, log: say };
  const measured: Measured[] = [];
  for (const { name, title, scenarios = [], rows } of groups) {
    const found: Row[] = [];
    for (const scenario of scenarios) found.push(...await scenarioRows(bench, scenario));
    if (rows !== undefined) found.push(...await rows(bench));
    if (found.length > 0) measured.push({ name, title, rows: found });
    await writeRun(json, quick, measured);
  }
  return measured;
}

/** Puts the rows of earlier runs together, in the order of the groups; of a figure the last one counts. */
export function merge(runs: readonly (readonly Measured[])[]): Measured[] {
  return GROUPS.flatMap(({ name, title }) => {
    const rows = new Map<string, Row>();
    for (const group of runs.flat().filter((group) => group.name === name)) {
      for (const row of group.rows) rows.set(row.figure, row);
    }
    return rows.size === 0 ? [] : [{ name, title, rows: [...rows.values()] }];
  });
}

async function readRun(path: string): Promise<readonly Measured[]> {
  return (JSON.parse(await Deno.readTextFile(path)) as { groups: readonly Measured[] }).groups;
}

async function writeRun(path: string, quick: boolean, groups: readonly Measured[]): Promise<void> {
  const result = {
    time: new Date().toISOString(),
    quick,
    deno: Deno.version.deno,
    machine: machine(),
    groups,
  };
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/") + 1) || ".", { recursive: true });
  await Deno.writeTextFile(path, JSON.stringify(result, undefined, 2) + "\n");
}

function machine(): Record<string, unknown> {
  const { os, arch } = Deno.build;
  return { os, arch, cpus: navigator.hardwareConcurrency, load: Deno.loadavg()[0] };
}

/** Throws when a group is missing: the page would lose it. */
async function writePage(groups: readonly Measured[]): Promise<void> {
  const missing = GROUPS.filter(({ name, optional }) =>
    !optional && !groups.some((group) => group.name === name)
  );
  if (missing.length > 0) {
    throw new Error(`Cannot write the page without the groups ${missing.map(({ name }) => name).join(", ")}`);
  }
  await Deno.writeTextFile(PAGE, withTables(await Deno.readTextFile(PAGE), groups));
}

async function main(options: Options): Promise<void> {
  const { from, markdown, page } = options;
  const groups = from.length > 0 ? merge(await Promise.all(from.map(readRun))) : await measure(options);
  if (page) await writePage(groups);
  say(markdown ? markdownTables(groups) : textTables(groups));
}

if (import.meta.main) await main(parseOptions(Deno.args));
