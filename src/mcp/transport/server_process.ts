import { ReasonixError } from "../../core/mod.ts";
import { isFile } from "../../path/probe.ts";
import { MissingProgramError } from "../connection/refusals.ts";
import { loadServerProcess, type ProcessGuard, type ServerProcess } from "../../tool/mod.ts";
import type { McpServerSpec } from "../server_spec.ts";

export interface SpawnContext {
  /** The environment that every server begins with. */
  readonly environment: () => Promise<Readonly<Record<string, string>>>;
  readonly guard: ProcessGuard | undefined;
}

const WINDOWS = Deno.build.os === "windows";

/** Returns what starts a server. Starting throws a ReasonixError where there is no such program. */
export async function serverSpawner(
  spec: McpServerSpec,
  context: SpawnContext,
): Promise<() => ServerProcess> {
  const { startServer } = await loadServerProcess();
  const base = await context.environment();
  return () => {
    const env = { ...base, ...spec.env };
    const plan = { command: programOf(spec, env.PATH ?? ""), args: spec.args, env };
    try {
      return startServer(plan, { cwd: spec.cwd, guard: context.guard });
    } catch (error) {
      throw new ReasonixError(
        `Cannot start ${spec.command}: ${error instanceof Error ? error.message : error}`,
        {
          remedy: "look at command, args and cwd of the server",
        },
      );
    }
  };
}

/** The program of a server, looked for here: a starter in between would report it as its own failure. */
function programOf({ command, cwd }: McpServerSpec, searchPath: string): string {
  if (command.includes("/") || WINDOWS) {
    const path = command.startsWith("/") || WINDOWS ? command : `${cwd}/${command}`;
    if (WINDOWS || isFile(path)) return path;
    throw new MissingProgramError(`There is no program ${path}`, {
      remedy: "correct the command of the server",
    });
  }
  const found = searchPath.split(":").filter((folder) => folder.startsWith("/"))
    .map((folder) => `${folder}/${command}`).find(isFile);
  if (found !== undefined) return found;
  throw new MissingProgramError(`There is no program "${command}" on PATH`, {
    remedy: `install ${command}, or give its full path as the command of the server`,
  });
}
