/** The programs the benchmark compares, and the configurations they have. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { bundle } from "../../scripts/bundle.ts";
import { BENCH_KINDS } from "./model/kinds.ts";

/** A program under test: how to start it on a task, or plainly with arguments. */
export interface Program {
  readonly name: string;
  readonly command: string;
  task(url: string): { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> };
  /** Absent when the program has no command separate line. */
  plain?(args: readonly string[]): readonly string[];
  /** Prepares a fresh home before each run. */
  prepare(home: string, url: string): Promise<void>;
}

const TASK = "Do the task.";
const DENO_RUN = ["run", ...START_FLAGS, "--no-config"];

/**
 * Reasonix as `deno install` starts it, with what users get who name a model and configure nothing else:
 * permissions that count, commands in the jail. Instead of the bundle that is built for it, another one can
 * be named, or a command line that takes the same arguments.
 */
export async function reasonix(named: string | undefined): Promise<Program> {
  const words = named?.split(/\s+/) ?? [await built()];
  const isBundle = words.length === 1 && words[0]?.endsWith(".js");
  return asInstalled(isBundle ? [Deno.execPath(), ...DENO_RUN, ...words] : words);
}

/** The same from its sources, as `deno task reasonix` starts it, with the packages that are there already. */
export function fromSources(): Program {
  const root = new URL("../../", import.meta.url).pathname;
  const main = `${root}cli/main.ts`;
  const program = asInstalled([Deno.execPath(), "run", ...START_FLAGS, `--config=${root}deno.json`, main]);
  return { ...program, task: (url) => ({ ...program.task(url), env: { DENO_DIR: packageDirectory() } }) };
}

/** The package cache of this runtime. */
function packageDirectory(): string {
  const { stdout } = new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).outputSync();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

function asInstalled([command = "", ...before]: readonly string[]): Program {
  return {
    name: "reasonix",
    command,
    task: () => ({ args: [...before, "run", TASK], env: {} }),
    plain: (args) => [...before, ...args],
    prepare: (home, url) => writeConfig(home, providerConfig(url)),
  };
}

/** The program without jail and permissions, as the floor is. */
export function withoutJail(program: Program): Program {
  return {
    ...program,
    task: () => ({
      args: program.plain?.(["run", "--permission-mode", "danger-full-access", TASK]) ?? [],
      env: {},
    }),
    prepare: (home, url) => writeConfig(home, `${providerConfig(url)}\n[sandbox]\nbash = "off"\n`),
  };
}

/** The program with eight agents at once. */
export function parallelAgents(program: Program): Program {
  const prepare = (home: string, url: string) =>
    writeConfig(home, `${providerConfig(url)}\n[agents]\nmax_parallel = 8\n`);
  return { ...program, prepare };
}

/** The program with a provider of another kind. */
export function ofKind(kind: string): (program: Program) => Program {
  const prepare = (home: string, url: string) => writeConfig(home, providerConfig(url, kind));
  return (program) => ({ ...program, prepare });
}

/** The program with telemetry that goes to a receiver. */
export function exportingTo(receiver: string): (program: Program) => Program {
  const prepare = (home: string, url: string) =>
    writeConfig(home, `${providerConfig(url)}\n[telemetry]\notlp = "${receiver}"\n`);
  return (program) => ({ ...program, prepare });
}

/** A bare fetch of the wire of a kind. */
export function bareFetch(kind: string): Program {
  const { path, body } = BENCH_KINDS[kind] ?? { path: "", body: {} };
  const program = script("./floors/bare_fetch.ts");
  return {
    ...program,
    task: (url) => ({
      ...program.task(url),
      env: { FLOOR_URL: `${url}${path}`, FLOOR_BODY: JSON.stringify(body) },
    }),
  };
}

/** A program on a runtime that is a separate file, so that no other process shares its pages. */
export function onRuntime(program: Program, runtime: string): Program {
  return program.command === Deno.execPath() ? { ...program, command: runtime } : program;
}

async function writeConfig(home: string, text: string): Promise<void> {
  const directory = `${home}/.reasonix`;
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(`${directory}/config.toml`, text);
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

/** A script of this directory, started as Reasonix is. */
function script(file: string): Program {
  const path = new URL(file, import.meta.url).pathname;
  const args = [...DENO_RUN, "--no-check", path];
  return {
    name: "floor",
    command: Deno.execPath(),
    task: (url) => ({ args: [...args, TASK], env: { FLOOR_URL: url } }),
    plain: () => args,
    prepare: () => Promise.resolve(),
  };
}

export const FLOOR = script("./floors/floor.ts");
export const CHAT_FLOOR = script("./floors/chat.ts");
export const NOTHING = script("./floors/nothing.ts");
