/**
 * Builds stand-alone programs from the bundle: `deno task compile [target … | --local]`, all six targets by
 * default and that of this machine with `--local`, into dist/.
 *
 * `deno compile` downloads the runtime of each target. Without a network the step can still be checked: set
 * DENORT_BIN to any executable of the target's format (ELF, Mach-O, PE), such as a `deno` binary of that
 * platform from the npm packages `@deno/<platform>`. The program is embedded as usual, but the result does
 * not start it.
 */
import { bundle } from "./bundle.ts";
import { embeddedFiles } from "./bundle/parts.ts";
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

const LOCAL = "--local";

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
  const parts = embeddedFiles().map((name) => program.replace(/[^/]*$/, name));
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
  if (done.code !== 0) throw new Error(await compileProblem(target, done.output));
  return `${directory}/${executableName(target)}`;
}

/** Returns why a runtime cannot be had, from the output of `deno compile`, and each remedy. */
export async function compileProblem(
  target: Target,
  output: string,
  given: string | undefined = Deno.env.get("DENORT_BIN"),
): Promise<string> {
  const [errors = ""] = output.split("\nStack backtrace:");
  const causes = [...errors.matchAll(/^ +(?:\d+: )?(.+)$/gm)].map(([, cause = ""]) => cause);
  const reason = causes.at(-1) ?? output.trim().split("\n").at(-1) ?? "";
  const version = Deno.version.deno;
  if (given !== undefined) {
    return `Cannot compile for ${target} with the runtime DENORT_BIN=${given}: ${reason}\n` +
      `       Set it to the file denort of Deno ${version} for ${target}, or unset it`;
  }
  const archive = `release/v${version}/denort-${target}.zip`;
  if (!output.includes("dl.deno.land")) return `Cannot compile for ${target}\n${output.trim()}`;
  const { denoDir } = JSON.parse(
    (await run(Deno.execPath(), { args: ["info", "--json"], env: { NO_COLOR: "1" } })).output,
  );
  return `Cannot compile for ${target}: the runtime of executables is not on this machine, and its download ` +
    `failed: ${reason}
       An executable contains this runtime, denort, which is not the program deno. One of these helps:
       - let this machine reach https://dl.deno.land, directly or through HTTPS_PROXY
       - download https://dl.deno.land/${archive} elsewhere, and copy it to ${denoDir}/dl/${archive}
       - set DENORT_BIN to the file denort from that archive
       - without an executable: dist/reasonix-all.js is the program in one file, for machines that have Deno`;
}

/** Throws for a word that is no target; `--local` is the target of this machine. */
export function chosenTargets(words: readonly string[]): readonly Target[] {
  if (words.length === 0) return TARGETS;
  if (words.length === 1 && words[0] === LOCAL) return chosenTargets([Deno.build.target]);
  return words.map((word) => {
    const target = TARGETS.find((known) => known === word);
    if (target === undefined) {
      throw new Error(`Cannot compile for ${word}; targets are ${TARGETS.join(", ")}, and ${LOCAL} alone`);
    }
    return target;
  });
}

if (import.meta.main) {
  const targets = chosenTargets(Deno.args);
  const { path } = await bundle();
  const directory = new URL("../dist", import.meta.url).pathname;
  for (const target of targets) {
    let output;
    try {
      output = await compile(path, target, directory);
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
      Deno.exitCode = 1;
      break;
    }
    say(`${output}  ${((await Deno.stat(output)).size / 1e6).toFixed(0)} MB`);
  }
}
