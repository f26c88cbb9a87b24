/**
 * Builds stand-alone programs from the bundle: `deno task compile [target …]`, all six targets by default,
 * into dist/.
 *
 * `deno compile` downloads the runtime of each target. Without a network the step can still be checked: set
 * DENORT_BIN to any executable of the target's format (ELF, Mach-O, PE), such as a `deno` binary of that
 * platform from the npm packages `@deno/<platform>`. The program is embedded as usual, but the result does
 * not start it.
 */
import { bundle } from "./bundle.ts";
import { partFiles } from "./bundle/parts.ts";
import { START_FLAGS } from "../cli/terminal/start_flags.ts";
import { run, say } from "./process.ts";

export const TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
  "aarch64-pc-windows-msvc",
] as const;

export type Target = typeof TARGETS[number];

/** Name of the executable for a target. */
export function executableName(target: Target): string {
  return `reasonix-${target}${target.includes("windows") ? ".exe" : ""}`;
}

/**
 * Returns the arguments of deno that embed the bundle at `program`, with its parts, into a runtime of
 * `target`. The names of parts are made by the program, so that the compiler does not find them; the program
 * does find them in the executable.
 */
export function compileArgs(program: string, target: Target, directory: string): readonly string[] {
  const parts = partFiles().map((name) => program.replace(/[^/]*$/, name));
  const output = `${directory}/${executableName(target)}`;
  return [
    "compile",
    ...START_FLAGS,
    "--no-config",
    "--target",
    target,
    "--output",
    output,
    ...parts.flatMap((file) => ["--include", file]),
    program,
  ];
}

/** Makes the executable of `target` in `directory`; returns its path. */
export async function compile(program: string, target: Target, directory: string): Promise<string> {
  const args = compileArgs(program, target, directory);
  const done = await run(Deno.execPath(), { args, env: { NO_COLOR: "1" } });
  if (done.code !== 0) {
    const remedy = "check the network, or set DENORT_BIN (see scripts/compile.ts)";
    throw new Error(`Cannot compile for ${target}; ${remedy}\n${done.output.trim()}`);
  }
  return `${directory}/${executableName(target)}`;
}

function chosenTargets(words: readonly string[]): readonly Target[] {
  if (words.length === 0) return TARGETS;
  return words.map((word) => {
    const target = TARGETS.find((known) => known === word);
    if (target === undefined) {
      throw new Error(`Cannot compile for ${word}; targets are ${TARGETS.join(", ")}`);
    }
    return target;
  });
}

if (import.meta.main) {
  const targets = chosenTargets(Deno.args);
  const { path } = await bundle();
  const directory = new URL("../dist", import.meta.url).pathname;
  for (const target of targets) {
    const output = await compile(path, target, directory);
    say(`${output}  ${((await Deno.stat(output)).size / 1e6).toFixed(0)} MB`);
  }
}
