/**
 * The program as a user runs it: the bundle in a child process, with a separate home and workspace.
 */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { readSdkLines } from "./sdk_messages.ts";
import { makeTempDir } from "./tool_context.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const OUTPUT = `${ROOT}dist/test/reasonix.js`;

function newestSource(directory: string): number {
  let newest = 0;
  for (const entry of Deno.readDirSync(directory)) {
    const path = `${directory}/${entry.name}`;
    const time = entry.isDirectory ? newestSource(path) : Deno.statSync(path).mtime?.getTime() ?? 0;
    if (time > newest) newest = time;
  }
  return newest;
}

let built: Promise<string> | undefined;

/** Path of an up-to-date bundle. */
export function programFile(): Promise<string> {
  return built ??= (async () => {
    const given = Deno.env.get("REASONIX_TEST_BUNDLE");
    if (given !== undefined) return given;
    const sources = Math.max(
      ...["cli", "src", "page", "plugins", "scripts"].map((directory) => newestSource(ROOT + directory)),
    );
    const age = await Deno.stat(OUTPUT).then((stat) => stat.mtime?.getTime() ?? 0, () => 0);
    if (age < sources) {
      // It loads a compiler, which most test processes do not need.
      const { bundle } = await import("../../scripts/bundle.ts");
      await bundle(OUTPUT);
    }
    return OUTPUT;
  })();
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: string | "null" | "open";
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A program that starts the program, with its arguments. */
  readonly within?: readonly string[];
  /** A module that is evaluated before the program. */
  readonly preload?: string;
}

export interface World {
  /** Empty workspace directory, the working directory of runs. */
  readonly dir: string;
  readonly home: string;
  run(args: readonly string[], options?: RunOptions): Promise<Finished>;
  spawn(args: readonly string[], options?: RunOptions): Promise<Deno.ChildProcess>;
  write(name: string, text: string): Promise<void>;
  read(name: string): Promise<string>;
  /** Makes a command of that name start the program, and returns its path. */
  shim(name: string): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A configuration with one provider that speaks to `url`. */
export function mockConfig(url: string, extra = "", provider = ""): string {
  return `default_model = "mock"\n${extra}\n[[providers]]\nname = "mock"\nkind = "openai"\nbase_url = "${url}"\n` +
    `model = "mock-1"\nmax_attempts = 2\nmax_wait_seconds = 3\n${provider}\n`;
}

/** A fresh home and workspace; `config` becomes the user's config.toml. */
export async function makeWorld(config = ""): Promise<World> {
  const temp = await makeTempDir();
  const [dir, home] = [`${temp.path}/work`, `${temp.path}/home`];
  await Deno.mkdir(dir);
  await Deno.mkdir(home);
  if (config !== "") await Deno.writeTextFile(`${home}/config.toml`, config);
  const file = await programFile();

  const spawn = (args: readonly string[], options: RunOptions = {}) => {
    const argv = [
      ...options.within ?? [],
      Deno.execPath(),
      "run",
      ...START_FLAGS,
      "--no-config",
      ...options.preload === undefined ? [] : [`--preload=${options.preload}`],
      file,
      ...args,
    ];
    return new Deno.Command(argv[0] ?? "", {
      args: argv.slice(1),
      cwd: options.cwd ?? dir,
      clearEnv: true,
      env: { ...ownEnvironment(), REASONIX_HOME: home, HOME: temp.path, ...denoDir(), ...options.env },
      stdin: options.stdin === "null" || options.stdin === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  };

  return {
    dir,
    home,
    spawn: (args, options) => Promise.resolve(spawn(args, options)),
    async run(args, options = {}) {
      const child = spawn(args, options);
      if (options.stdin !== undefined && options.stdin !== "null" && options.stdin !== "open") {
        const writer = child.stdin.getWriter();
        await writer.write(new TextEncoder().encode(options.stdin)).catch(() => {});
        await writer.close().catch(() => {});
      }
      const result = await finished(child);
      if (options.stdin === "open") await child.stdin.close().catch(() => {});
      return result;
    },
    write: async (name, text) => {
      await Deno.mkdir(`${dir}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${dir}/${name}`, text);
    },
    read: (name) => Deno.readTextFile(`${dir}/${name}`),
    shim: async (name) => {
      const path = `${temp.path}/bin/${name}`;
      await Deno.mkdir(`${temp.path}/bin`, { recursive: true });
      const words = [Deno.execPath(), "run", ...START_FLAGS, "--no-config", file];
      const line = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
      const text = `#!/bin/sh\nexport REASONIX_HOME='${home}'\nexec ${line} "$@"\n`;
      await Deno.writeTextFile(path, text, { mode: 0o755 });
      return path;
    },
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

/** The environment of the tests in English, without its secrets, which the program would report. */
function ownEnvironment(): Record<string, string> {
  const entries = Object.entries(Deno.env.toObject());
  const kept = entries.filter(([name]) => !/TOKEN|KEY|SECRET|PASS|CREDENTIAL/i.test(name));
  // The runtime looks for a newer version once a day.
  return { ...Object.fromEntries(kept), NO_COLOR: "1", REASONIX_LANG: "en", DENO_NO_UPDATE_CHECK: "1" };
}

/** The compile cache stays the real one although HOME is a temporary directory. */
export function denoDir(): Record<string, string> {
  const home = Deno.env.get("HOME") ?? "";
  return { DENO_DIR: Deno.env.get("DENO_DIR") ?? `${home}/.cache/deno` };
}

/** Exit code and whole output of a child. Throws when a line of `stream-json` is no message of the SDKs. */
export async function finished(child: Deno.ChildProcess): Promise<Finished> {
  const [stdout, stderr, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.status,
  ]);
  // No other format has this field, and every result of this one does.
  if (stdout.includes('"modelUsage":')) readSdkLines(stdout);
  return { code: status.code, stdout, stderr };
}

/** Calls without the time that ends the line of one that took over a second. */
export function withoutTimes(text: string): string {
  return text.replace(/ · (?:\d+ min )?\d+(?:\.\d)? s$/gm, "");
}
