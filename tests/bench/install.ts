/** Rows of the npm package: its command next to the runtime started directly on the same files. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { mustRun } from "../../scripts/process.ts";
import { packPackage, writePackage } from "../../scripts/release/npm.ts";
import { startRegistry } from "../support/npm_registry.ts";
import { firstRequest, type Sample, wall } from "./figures.ts";
import type { Program } from "./programs.ts";
import { type Row, row } from "./report.ts";
import type { Bench, RunPlan } from "./runner.ts";

const RUNS = 21;
/** The most that the installed command may add, in ms. */
const MOST = 3;

const VERSION: RunPlan = { model: { script: "hello" }, plain: ["--version"] };
const HELLO: RunPlan = { model: { script: "hello" } };

export async function installRows(bench: Bench): Promise<Row[]> {
  const file = bench.program.plain?.([]).at(-1) ?? "";
  if (!file.endsWith("/reasonix.js")) {
    bench.log("The npm package is left out: it is made from a bundle");
    return [];
  }
  const { installed, launcher, direct } = await install(file.replace(/\/[^/]*$/, ""), bench);
  const version = await inTurns(bench, VERSION, [installed, direct, launcher], wall);
  const first = await inTurns(bench, HELLO, [installed, direct], firstRequest);
  const target = (floor: number) => floor + MOST;
  return [
    row({
      figure: "npm package, --version (floor: the runtime directly)",
      unit: "ms",
      target,
      reasonix: version[0],
      floor: version[1],
    }),
    row({
      figure: "the launcher of the npm package, --version (floor: the runtime directly)",
      unit: "ms",
      reasonix: version[2],
      floor: version[1],
    }),
    row({
      figure: "npm package, process start → first request (floor: the bundle directly)",
      unit: "ms",
      target,
      reasonix: first[0],
      floor: first[1],
    }),
  ];
}

/** Installs the package of a bundle twice, with its scripts and without, from a registry on loopback. */
async function install(from: string, { program, runner: { stage } }: Bench) {
  const root = `${stage.root}/npm`;
  const { name } = await writePackage({ from, to: `${root}/package`, name: "reasonix-bench" });
  const manifest = JSON.parse(await Deno.readTextFile(`${root}/package/package.json`));
  await using registry = await startRegistry();
  await registry.publish(await packPackage(`${root}/package`, root), manifest);
  const prefix = async (directory: string, ...flags: readonly string[]) => {
    const env = {
      HOME: root,
      npm_config_prefix: `${root}/${directory}`,
      npm_config_registry: registry.url,
      npm_config_cache: `${root}/cache`,
      // `deno task` says here that it is the one that installs.
      npm_config_user_agent: "npm/{npm-version} node/{node-version} {platform} {arch}",
    };
    await mustRun("npm", { args: ["install", "-g", ...flags, name], env });
    return `${root}/${directory}`;
  };
  const [shell, node] = [await prefix("with_scripts"), await prefix("without", "--ignore-scripts")];
  const files = `${shell}/lib/node_modules/${name}`;
  const [runtime = ""] = /(?<=^exec '?)[^' ]+/m.exec(await Deno.readTextFile(`${shell}/bin/reasonix`)) ?? [];
  return {
    installed: starting(program, `${shell}/bin/reasonix`),
    launcher: starting(program, `${node}/bin/reasonix`),
    direct: starting(program, runtime, "run", ...START_FLAGS, "--no-config", `${files}/lib/reasonix.js`),
  };
}

/** The program, started by another command. */
function starting(program: Program, command: string, ...before: readonly string[]): Program {
  return {
    ...program,
    command,
    task: () => ({ args: [...before, "run", "Do the task."], env: {} }),
    plain: (args) => [...before, ...args],
  };
}

/** A figure of each program, which run in turns after an uncounted round. */
async function inTurns(
  { runner, quick }: Bench,
  plan: RunPlan,
  programs: readonly Program[],
  of: (sample: Sample) => number | undefined,
): Promise<readonly (readonly number[])[]> {
  const found = programs.map((): number[] => []);
  for (let round = -1; round < (quick ? RUNS / 3 : RUNS); round++) {
    for (const [index, program] of programs.entries()) {
      const value = of(await runner.run(program, plan));
      if (round >= 0 && value !== undefined) found[index]?.push(value);
    }
  }
  return found;
}
