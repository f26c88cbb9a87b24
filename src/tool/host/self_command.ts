import { readEnv } from "../../path/read_env.ts";

/** First argument of a worker process. */
export const WORKER_FLAG = "--worker=";

/** The process that runs tools that change files. */
export const TOOL_ROLE = "tools";
/** The process that searches where there is no ripgrep. */
export const SEARCH_ROLE = "search";
/** The process that checks an answer against a JSON Schema. */
export const SCHEMA_ROLE = "schema";

export interface SelfCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface SelfOptions {
  /** The task of the new process; the entry module dispatches on it. */
  readonly role: string;
  /** `import.meta.url` of the asking module: the sources, or the one file they were bundled into. */
  readonly module: string;
  /** Module to start when the program runs from its sources. */
  readonly sourceEntry: URL;
  /** Processor time after which the kernel ends the process if it is orphaned. */
  readonly cpuSeconds?: number;
  /** Permission and other flags of `deno run`. A compiled program has its own. */
  readonly flags: readonly string[];
}

/** Variables the runtime itself needs to find its caches. */
const RUNTIME_ENV = [
  "PATH",
  "HOME",
  "DENO_DIR",
  "XDG_CACHE_HOME",
  "TMPDIR",
  "USERPROFILE",
  "LOCALAPPDATA",
  "SystemRoot",
];

/** Returns the command line that starts this program as a worker, from sources, bundle or executable. */
export function selfCommand(options: SelfOptions): SelfCommand {
  const role = `${WORKER_FLAG}${options.role}`;
  const env: Record<string, string> = { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
  for (const name of RUNTIME_ENV) {
    const value = readEnv(name);
    if (value !== undefined) env[name] = value;
  }
  const command = Deno.execPath();
  if (Deno.build.standalone) return limited({ command, args: [role], env }, options.cpuSeconds);
  const bundled = !options.module.endsWith(".ts");
  const entry = bundled ? workerFile(options.module) ?? options.module : options.sourceEntry.href;
  // The bundle needs no import map, and must not take one from where it happens to lie. It also holds all
  // packages it needs.
  const own = bundled ? ["--no-config", "--no-npm"] : [];
  const still = ["--quiet", "--no-prompt", "--no-lock", ...importFlags(entry)];
  const args = ["run", ...still, ...own, ...options.flags, entry, role];
  return limited({ command, args, env }, options.cpuSeconds);
}

/** The first lines of a bundle name its build. */
const HEAD_BYTES = 512;

/**
 * The file beside a program that holds only what its workers need, and starts in half the time. Undefined
 * where it is missing or of another build, and for a program that came from an address.
 */
function workerFile(program: string): string | undefined {
  const file = new URL("./reasonix.worker.js", program);
  if (file.protocol !== "file:") return undefined;
  const build = buildOf(file);
  return build !== undefined && build === buildOf(new URL(program)) ? file.href : undefined;
}

function buildOf(bundle: URL): string | undefined {
  try {
    const file = Deno.openSync(bundle, { read: true });
    try {
      const head = new Uint8Array(HEAD_BYTES);
      const text = new TextDecoder().decode(head.subarray(0, file.readSync(head) ?? 0));
      return text.split("\n").find((line) => line.startsWith("// Reasonix "));
    } finally {
      file.close();
    }
  } catch {
    return undefined;
  }
}

/**
 * Refuses remote code, some well-known hosts included, that would be fetched whatever else is permitted. A
 * program that was itself started from an address needs that one file: the runtime has it in its cache, and
 * nothing else comes from there or from elsewhere.
 */
function importFlags(entry: string): string[] {
  const { protocol, host } = new URL(entry);
  return protocol === "http:" || protocol === "https:"
    ? ["--cached-only", `--allow-import=${host}`]
    : ["--no-remote", "--deny-import"];
}

function limited(command: SelfCommand, cpuSeconds: number | undefined): SelfCommand {
  if (cpuSeconds === undefined || Deno.build.os === "windows") return command;
  const script = `ulimit -t ${cpuSeconds}; exec "$0" "$@"`;
  return { ...command, command: "/bin/sh", args: ["-c", script, command.command, ...command.args] };
}
