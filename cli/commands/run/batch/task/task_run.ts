import { totalCost } from "../../../../../src/core/mod.ts";
import { newSessionId, projectDir, sessionPaths } from "../../../../../src/session/mod.ts";
import { isFile } from "../../../../../src/path/probe.ts";
import { loadUnattendedConfig } from "../../config.ts";
import { runChecks } from "./checks.ts";
import { type OnSpending, runChild, type TaskRunParts } from "./attempt.ts";
import type { TaskResult } from "../result.ts";
import { amountOf, released, stateOf } from "./session_facts.ts";
import type { BatchTask } from "../task_file.ts";
import { openTree, savePatch } from "./task_tree.ts";
import type { KeyedTask } from "../keyed_task.ts";

/** Runs one task, from its beginning or from where it was interrupted, and its checks. */
export async function runTask(
  keyed: KeyedTask,
  parts: TaskRunParts,
  { maxCost, onSpending }: { readonly maxCost: number | undefined; readonly onSpending: OnSpending },
): Promise<TaskResult> {
  const { task, key } = keyed;
  const { journal, paths, signal } = parts;
  const tree = parts.worktree ? await openTree(keyed, { home: paths.home, signal }) : undefined;
  const cwd = tree?.worktree.cwd ?? task.dir;
  const { begin } = journal.of(key);
  const known = begin?.cwd === cwd && tree?.isNew !== true ? begin.session : undefined;
  const filesOf = (id: string) => sessionPaths(projectDir(paths.home, cwd), id);
  if (known !== undefined) await released(filesOf(known), signal);
  // One that was killed before its first event was written is begun anew.
  const goesOn = known !== undefined && (stateOf(filesOf(known)).exists || !isFile(filesOf(known).path));
  const session = goesOn ? known : newSessionId(new Date());
  if (!goesOn) journal.begin(key, task.id, { session, cwd });
  const files = filesOf(session);
  const before = stateOf(files);
  onSpending({ spent: amountOf(before.spending) });
  const ran = before.done ?? await runChild({ keyed, parts, cwd, session, before, maxCost, onSpending });
  const after = stateOf(files);
  const patch = tree && await savePatch(tree.worktree, `${parts.patches}/${keyed.patchName}`, signal);
  const started = performance.now();
  const checks = ran.reason === "done" ? await checksOf(task, cwd, parts) : [];
  const failed = checks.filter(({ ok }) => !ok).length;
  const { usage, costs } = after.spending;
  return {
    id: task.id,
    ok: ran.reason === "done" && failed === 0 && checks.length === task.checks.length,
    reason: failed > 0 ? "check" : ran.reason,
    ...(ran.error === undefined ? {} : { error: ran.error }),
    answer: ran.answer,
    session: after.exists ? session : null,
    model: after.model ?? null,
    usage,
    cost: totalCost(after.spending, Object.keys(costs)[0]) ?? null,
    duration_ms: Math.round(after.durationMs + performance.now() - started),
    checks,
    ...(tree ? { patch: patch ?? null } : {}),
  };
}

async function checksOf(task: BatchTask, cwd: string, { flags, paths, guard, signal }: TaskRunParts) {
  if (task.checks.length === 0) return [];
  const here = { ...paths, cwd };
  const loaded = await loadUnattendedConfig(here, flags);
  const unconfined = flags.permissionMode === "danger-full-access";
  return await runChecks(task.checks, { paths: here, loaded, unconfined, guard, signal });
}
