/**
 * Measures Reasonix beside the floor scripts: `deno task bench [--quick] [--peers] [--program "command line"]
 * [scenario …]`. Programs run in turns against a scripted model server; the table goes to standard output,
 * everything to dist/bench.json. With `--peers` the rows of the chat are followed by those of other agents
 * that are installed.
 */
import { chatRows } from "../tests/bench/chat/chat.ts";
import { peerRows } from "../tests/bench/chat/peers.ts";
import { editRows } from "../tests/bench/edits.ts";
import { RIPGREP, type Sample, type Scenario, SCENARIOS } from "../tests/bench/figures.ts";
import { asInstalled, bareFetch, FLOOR, NOTHING, ofKind, reasonix } from "../tests/bench/programs.ts";
import { rowsOf, type Samples, table } from "../tests/bench/report.ts";
import { hookRows } from "../tests/bench/hooks/hooks.ts";
import { mcpRows } from "../tests/bench/mcp/mcp.ts";
import { type Program, Runner, startServer } from "../tests/bench/runner.ts";
import { makeStage } from "../tests/bench/stage.ts";
import { run, say } from "./process.ts";

interface Options {
  readonly quick: boolean;
  readonly program: string | undefined;
  readonly scenarios: readonly Scenario[];
  readonly chat: boolean;
  readonly mcp: boolean;
  readonly peers: boolean;
}

/** The name of the rows of the chat, which are no runs of a task. */
const CHAT = "chat";
/** The name of the rows of MCP servers. */
const MCP = "mcp";

/** Reads the command line; `--quick` makes a third of the runs. */
export function parseOptions(args: readonly string[]): Options {
  const quick = args.includes("--quick");
  const at = args.indexOf("--program");
  const names = args.filter((arg, index) => !arg.startsWith("--") && (at < 0 || index !== at + 1));
  const known = [...SCENARIOS.map((scenario) => scenario.name), CHAT, MCP];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(
      `Cannot find the scenario ${JSON.stringify(unknown)}; known ones are: ${known.join(", ")}`,
    );
  }
  const chosen = SCENARIOS.filter((scenario) => names.length === 0 || names.includes(scenario.name));
  const scenarios = chosen.map((scenario) => ({
    ...scenario,
    runs: quick ? Math.ceil(scenario.runs / 3) : scenario.runs,
  }));
  const chat = names.length === 0 || names.includes(CHAT);
  const mcp = names.length === 0 || names.includes(MCP);
  const program = at < 0 ? undefined : args[at + 1];
  return { quick, program, scenarios, chat, mcp, peers: args.includes("--peers") };
}

/** Runs the programs in turns, after a discarded round that fills the code cache. */
async function interleave(
  runner: Runner,
  scenario: Scenario,
  programs: readonly Program[],
): Promise<Samples> {
  const samples = new Map<string, Sample[]>(programs.map((program) => [program.name, []]));
  for (let round = -1; round < scenario.runs; round++) {
    for (const program of programs) {
      const sample = await runner.run(program, scenario);
      if (round >= 0) samples.get(program.name)?.push(sample);
    }
  }
  return samples;
}

/** Wall times of ripgrep alone on the search tree; empty where it is not installed. */
async function ripgrepTimes(tree: string, runs: number): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>();
  for (const [figure, args] of Object.entries(RIPGREP)) {
    for (let round = -1; round < runs; round++) {
      const started = performance.now();
      const done = await run("rg", { args, cwd: tree }).catch(() => undefined);
      if (done?.code !== 0) return new Map();
      if (round >= 0) times.set(figure, [...times.get(figure) ?? [], performance.now() - started]);
    }
  }
  return times;
}

async function main(options: Options): Promise<void> {
  const program = await reasonix(options.program);
  const searches = options.scenarios.some((scenario) => scenario.folder === "tree");
  await using server = await startServer();
  await using stage = await makeStage(searches);
  const runner = new Runner(server, stage);
  const byScenario = new Map<string, Samples>();
  for (const scenario of options.scenarios) {
    const { kind } = scenario;
    const floor = kind ? bareFetch(kind) : scenario.plain === undefined ? FLOOR : NOTHING;
    const ours = kind ? ofKind(program, kind) : scenario.asInstalled ? asInstalled(program) : program;
    byScenario.set(
      scenario.name,
      await interleave(runner, scenario, scenario.alone ? [ours] : [ours, floor]),
    );
  }
  const rows = [
    ...rowsOf(byScenario, searches ? await ripgrepTimes(stage.tree, 5) : new Map()),
    ...(options.chat ? await chatRows(runner, program, options.quick) : []),
    ...(options.chat && options.peers ? await peerRows(runner, say) : []),
    ...(options.mcp ? await mcpRows(runner, program, options.quick) : []),
    ...(options.mcp ? await hookRows(options.quick) : []),
    ...(options.scenarios.length === SCENARIOS.length ? editRows(options.quick ? 3 : 9) : []),
  ];
  say(table(rows));
  const result = {
    time: new Date().toISOString(),
    quick: options.quick,
    deno: Deno.version.deno,
    machine: machine(),
    rows,
  };
  await Deno.mkdir("dist", { recursive: true });
  await Deno.writeTextFile("dist/bench.json", JSON.stringify(result, undefined, 2) + "\n");
}

function machine(): Record<string, unknown> {
  const { os, arch } = Deno.build;
  return { os, arch, cpus: navigator.hardwareConcurrency, load: Deno.loadavg()[0] };
}

if (import.meta.main) await main(parseOptions(Deno.args));
