/** The programs the benchmark compares. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { bundle } from "../../scripts/bundle.ts";
import { BENCH_KINDS } from "./kinds.ts";
import type { Program } from "./runner.ts";

const TASK = "Do the task.";
const DENO_RUN = ["run", ...START_FLAGS, "--no-config"];

/** Reasonix as `deno install` starts it, or any other command line that takes the same arguments. */
export async function reasonix(commandLine: string | undefined): Promise<Program> {
  const words = commandLine?.split(/\s+/) ??
    [Deno.execPath(), ...DENO_RUN, await built()];
  const [command = "", ...before] = words;
  return {
    name: "reasonix",
    command,
    task: () => ({
      args: [...before, "run", "--permission-mode", "danger-full-access", TASK],
      env: {},
    }),
    plain: (args) => [...before, ...args],
    prepare: (home, url) =>
      writeConfig(home, `${providerConfig(url)}\n[sandbox]\nbash = "off"\n[agents]\nmax_parallel = 8\n`),
  };
}

/** The same with what users get who configure nothing: commands in the jail, and permissions that count. */
export function asInstalled(program: Program): Program {
  return {
    ...program,
    task: () => ({ args: program.plain?.(["run", TASK]) ?? [], env: {} }),
    prepare: (home, url) => writeConfig(home, providerConfig(url)),
  };
}

/** The same with a provider of another kind. */
export function ofKind(program: Program, kind: string): Program {
  const prepare = (home: string, url: string) =>
    writeConfig(home, `${providerConfig(url, kind)}\n[sandbox]\nbash = "off"\n`);
  return { ...program, prepare };
}

/** A bare fetch of the wire of a kind. */
export function bareFetch(kind: string): Program {
  const { path, body } = BENCH_KINDS[kind] ?? { path: "", body: {} };
  const program = script("floor", "./bare_fetch.ts");
  return {
    ...program,
    task: (url) => ({
      ...program.task(url),
      env: { FLOOR_URL: `${url}${path}`, FLOOR_BODY: JSON.stringify(body) },
    }),
  };
}

async function writeConfig(home: string, text: string): Promise<void> {
  const folder = `${home}/.reasonix`;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/config.toml`, text);
}

async function built(): Promise<string> {
  const path = new URL("../../dist/reasonix.js", import.meta.url).pathname;
  await bundle(path);
  return path;
}

function providerConfig(url: string, kind = "openai"): string {
  return [
    'default_model = "mock"',
    "",
    "[[providers]]",
    'name = "mock"',
    `kind = "${kind}"`,
    `base_url = "${url}"`,
    'model = "mock"',
    "",
  ].join("\n");
}

/** A script of this folder, started as Reasonix is. */
export function script(name: string, file: string): Program {
  const path = new URL(file, import.meta.url).pathname;
  const args = [...DENO_RUN, "--no-check", path];
  return {
    name,
    command: Deno.execPath(),
    task: (url) => ({ args: [...args, TASK], env: { FLOOR_URL: url } }),
    plain: () => args,
    prepare: () => Promise.resolve(),
  };
}

export const FLOOR = script("floor", "./floor.ts");
export const NOTHING = script("floor", "./nothing.ts");
