import type { ConfiguredHook, LoadedConfig } from "../../config/mod.ts";
import { type HookLauncher, type HookRun, loadHookProcess } from "../../hook/mod.ts";
import { contains } from "../../path/contains.ts";
import { isFile } from "../../path/probe.ts";
import { existingRealPath } from "../../path/real_path.ts";
import { type Jail, serverEnvironment, type Workspace } from "../../sandbox/mod.ts";
import type { ProcessGuard, SpawnPlan } from "../../tool/mod.ts";
import { filesOf } from "../../trust/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { shellCommand } from "../../util/process.ts";
import { type RunPaths, secretsOf } from "../../run/mod.ts";

/** What hooks are started with. */
export interface HookEnvironment {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly workspace: Pick<Workspace, "roots">;
  readonly session: string;
  readonly guard: ProcessGuard | undefined;
  readonly openJail: () => Promise<Jail>;
  /** Directory of the project; the run may work in a copy of it. */
  readonly project: string;
  readonly contents: TrustedContents | undefined;
}

/** Digests of the project's files that its hooks name, as they were when the run began. */
export type TrustedContents = ReadonlyMap<ConfiguredHook, Promise<ReadonlyMap<string, string>>>;

export function trustedContents(hooks: readonly ConfiguredHook[], paths: RunPaths): TrustedContents {
  return new Map(
    hooks.flatMap((hook) => hook.item ? [[hook, digests(filesOf(hook.item, paths.cwd))] as const] : []),
  );
}

/**
 * Starts the programs of hooks. The user's own run as the user does; those that a project brings, and those
 * whose line names a file that tools may write, run in the jail of commands.
 */
export class HookPrograms {
  readonly #sources: HookEnvironment;
  readonly #environment = lazy(() => this.#makeEnvironment());

  constructor(sources: HookEnvironment) {
    this.#sources = sources;
  }

  readonly launch: HookLauncher<ConfiguredHook> = async (hook, input, signal) => {
    const { paths: { cwd }, guard } = this.#sources;
    let plan: SpawnPlan;
    try {
      const changed = await this.#changed(hook);
      if (changed !== undefined) return unstarted(`${changed} has changed since this run began`);
      plan = await this.#plan(hook);
    } catch (error) {
      return unstarted(error instanceof Error ? error.message : String(error));
    }
    const { runHook } = await loadHookProcess();
    return await runHook(plan, { cwd, guard, input, signal, seconds: hook.timeout_seconds });
  };

  async #plan(hook: ConfiguredHook): Promise<SpawnPlan> {
    const { paths: { cwd }, project, openJail, session, workspace } = this.#sources;
    const argv = shellCommand(hook.command);
    const marks = {
      CLAUDE_PROJECT_DIR: project,
      REASONIX_PROJECT_DIR: project,
      REASONIX_SESSION_ID: session,
    };
    if (isConfined(hook, workspace.roots)) {
      const plan = (await openJail()).wrap(argv, { cwd });
      return { ...plan, env: { ...plan.env, ...marks } };
    }
    const [command, ...args] = argv;
    return { command, args, env: { ...await this.#environment(), ...marks } };
  }

  async #makeEnvironment(): Promise<Record<string, string>> {
    const { keyNames, heldBack, values } = secretsOf(this.#sources.loaded);
    return await serverEnvironment({ secretNames: [...keyNames, ...heldBack], secretValues: values });
  }

  /** A file that somebody changed since the user's decision was looked up. */
  async #changed(hook: ConfiguredHook): Promise<string | undefined> {
    const known = await this.#sources.contents?.get(hook);
    if (!known) return undefined;
    const now = await digests([...known.keys()]);
    return [...known].find(([path, digest]) => now.get(path) !== digest)?.[0];
  }
}

/** Whether a hook runs in the jail of commands: somebody else than the user may have written what it runs. */
export function isConfined({ source, paths }: ConfiguredHook, roots: readonly string[]): boolean {
  return source === "project" || paths.some((path) => {
    if (!isFile(path)) return false;
    const real = existingRealPath(path) ?? path;
    return roots.some((root) => contains(root, path) || contains(existingRealPath(root) ?? root, real));
  });
}

function unstarted(why: string): HookRun {
  return { kind: "unstarted", why };
}

async function digests(files: readonly string[]): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all(files.map(async (path) => [path, await digest(path)] as const)));
}

async function digest(path: string): Promise<string> {
  try {
    return new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex();
  } catch {
    return "";
  }
}
