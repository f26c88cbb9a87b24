import { buildWorkspace, type RunPaths, withJail } from "../../../../../src/assembly/mod.ts";
import type { LoadedConfig } from "../../../../../src/config/mod.ts";
import {
  loadShellProcess,
  loadSpawnSession,
  type ProcessGuard,
  type SpawnPlan,
} from "../../../../../src/tool/mod.ts";
import { shellCommand } from "../../../../../src/util/process/helper_output.ts";
import { after } from "../../../../../src/util/timer.ts";
import type { CheckResult } from "../result.ts";

export interface CheckOptions {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  /** Commands run without a jail, as the user asked for the whole batch. */
  readonly unconfined: boolean;
  readonly guard: ProcessGuard;
  readonly signal: AbortSignal;
}

/** Checks that take longer have failed. */
const LIMIT_MS = 10 * 60 * 1000;
const TAIL = 4000;

/** Runs command lines in the jail, one after the other, each in the directory of the task. */
export async function runChecks(commands: readonly string[], options: CheckOptions): Promise<CheckResult[]> {
  const { paths, loaded, unconfined } = options;
  if (commands.length === 0) return [];
  const workspace = buildWorkspace(paths, loaded.config);
  return await withJail({ paths, loaded, workspace, unconfined }, async (jail) => {
    const results: CheckResult[] = [];
    for (const command of commands) {
      if (options.signal.aborted) break;
      const plan = jail.wrap(shellCommand(command), { cwd: paths.cwd });
      results.push({ command, ...await runCheck(plan, options) });
    }
    return results;
  });
}

async function runCheck(
  plan: SpawnPlan,
  { paths: { cwd }, guard, signal }: CheckOptions,
): Promise<Omit<CheckResult, "command">> {
  const { spawnSession } = await loadSpawnSession();
  const { ShellProcess } = await loadShellProcess();
  const decoder = new TextDecoder();
  let output = "";
  const take = (chunk: Uint8Array) =>
    output = (output + decoder.decode(chunk, { stream: true })).slice(-TAIL);
  const process = new ShellProcess(spawnSession(plan, { cwd, guard }), { guard, onOutput: take });
  let late = false;
  const stop = () => void process.kill();
  const notLate = after(LIMIT_MS, () => {
    late = true;
    stop();
  });
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const { code } = await process.ended;
  notLate();
  signal.removeEventListener("abort", stop);
  if (late) output += `\n[ended after ${LIMIT_MS / 60_000} minutes]`;
  return { ok: code === 0 && !late, exit_code: late ? null : code, output: output.trim() };
}
