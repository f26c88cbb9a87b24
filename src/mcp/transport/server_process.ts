import { ReasonixError } from "../../core/mod.ts";
import { isFile } from "../../path/probe.ts";
import { loadSpawnSession, type ProcessGuard } from "../../tool/mod.ts";
import type { McpServerSpec } from "../server_spec.ts";

/** A server that runs, in a session and process group of its own. */
export interface ServerProcess {
  readonly child: Deno.ChildProcess;
  readonly guard: ProcessGuard | undefined;
  /** It has ended, and nothing of its group is left. */
  gone: boolean;
}

export interface SpawnContext {
  /** The environment that every server begins with. */
  readonly environment: () => Promise<Readonly<Record<string, string>>>;
  readonly guard: ProcessGuard | undefined;
}

/** Time that a server may take to end once its input is closed, and again after TERM. */
const GRACE_MS = 500;
const POLL_MS = 10;
const WINDOWS = Deno.build.os === "windows";

/** Returns what starts a server. Starting throws a ReasonixError where there is no such program. */
export async function serverSpawner(
  spec: McpServerSpec,
  context: SpawnContext,
): Promise<() => ServerProcess> {
  const { spawnSession } = await loadSpawnSession();
  const base = await context.environment();
  return () => {
    const env = { ...base, ...spec.env };
    const plan = { command: programOf(spec, env.PATH ?? ""), args: spec.args, env };
    const { guard } = context;
    guard?.start();
    let child: Deno.ChildProcess;
    try {
      child = spawnSession(plan, { cwd: spec.cwd, guard, stdin: "piped" });
    } catch (error) {
      throw new ReasonixError(
        `Cannot start ${spec.command}: ${error instanceof Error ? error.message : error}`,
        {
          remedy: "look at command, args and cwd of the server",
        },
      );
    }
    guard?.add(child.pid);
    return { child, guard, gone: false };
  };
}

/** The program of a server, looked for here: a starter in between would report it as its own failure. */
function programOf({ command, cwd }: McpServerSpec, searchPath: string): string {
  if (command.includes("/") || WINDOWS) {
    const path = command.startsWith("/") || WINDOWS ? command : `${cwd}/${command}`;
    if (WINDOWS || isFile(path)) return path;
    throw new ReasonixError(`There is no program ${path}`, { remedy: "correct the command of the server" });
  }
  const found = searchPath.split(":").filter((folder) => folder.startsWith("/"))
    .map((folder) => `${folder}/${command}`).find(isFile);
  if (found !== undefined) return found;
  throw new ReasonixError(`There is no program "${command}" on PATH`, {
    remedy: `install ${command}, or give its full path as the command of the server`,
  });
}

/**
 * Waits for the process to end by itself, then asks its group to end, then ends it. Resolves when nothing of
 * the group is left.
 */
export async function endProcess(server: ServerProcess, graceMs = GRACE_MS): Promise<void> {
  const { child, guard } = server;
  if (server.gone) return;
  const group = child.pid;
  await until(() => !alive(group), graceMs);
  if (alive(group)) {
    signalGroup(group, "SIGTERM");
    await until(() => !alive(group), GRACE_MS);
  }
  if (alive(group)) signalGroup(group, "SIGKILL");
  await child.status;
  server.gone = true;
  guard?.remove(group);
}

async function until(done: () => boolean, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (!done() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

/** SIGCONT does nothing to processes that run, and fails when there are none. */
function alive(group: number): boolean {
  return signalGroup(group, "SIGCONT");
}

function signalGroup(group: number, signal: Deno.Signal): boolean {
  try {
    Deno.kill(WINDOWS ? group : -group, signal);
    return true;
  } catch {
    return false;
  }
}
