import { ReasonixError } from "../../../src/core/mod.ts";
import {
  type ExportFormat,
  loadExport,
  loadManage,
  SessionBusyError,
  type SessionInfo,
} from "../../../src/session/mod.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { chosenSession, confirmed, sessionsOf, withSessionLock } from "./choose.ts";
import { VERSION } from "../../../src/util/version.ts";
import { sessionTable } from "./session.ts";

export interface ExportFlags {
  readonly format?: ExportFormat;
  readonly output?: string;
  readonly force?: boolean;
}

export async function exportTo(this: CliContext, flags: ExportFlags, ref?: string): Promise<void> {
  const { output } = flags;
  const session = chosenSession(runPaths(this), ref);
  const { exportSession, exportToFile } = await loadExport();
  if (output === undefined || output === "-") {
    const text = exportSession(session.path, flags.format ?? "markdown");
    if (Deno.stdout.isTerminal()) this.process.stdout.write(text);
    else this.process.stdout.exact(text);
    return;
  }
  const { format, force = false } = flags;
  exportToFile(session.path, output, { format, force, taken: "choose another name, or add --force" });
  this.process.stdout.write(`Exported session ${session.id} to ${output}\n`);
}

export async function fork(this: CliContext, flags: { readonly turn?: number }, ref?: string): Promise<void> {
  const session = chosenSession(runPaths(this), ref);
  const { copySession, forkSession } = await loadManage();
  const made = flags.turn === undefined
    ? copySession(session.path, { version: VERSION })
    : forkSession(session.path, flags.turn, { version: VERSION });
  const what = flags.turn === undefined ? session.id : `${session.id} up to turn ${flags.turn}`;
  this.process.stdout.write(
    `${made.id} is a copy of ${what}\nContinue with: reasonix run --resume ${made.id} "…"\n`,
  );
}

export async function remove(
  this: CliContext,
  flags: { readonly yes?: boolean },
  ref: string,
): Promise<void> {
  const session = chosenSession(runPaths(this), ref);
  if (!flags.yes && !confirmed(`Delete session ${session.id} for good?`, `session ${session.id}`)) {
    this.process.stdout.write("Nothing was deleted\n");
    return;
  }
  const { deleteSession } = await loadManage();
  await withSessionLock(() => deleteSession(session));
  this.process.stdout.write(`Deleted session ${session.id}\n`);
}

export interface PruneFlags {
  readonly olderThan?: number;
  readonly keep?: number;
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export async function prune(this: CliContext, flags: PruneFlags): Promise<void> {
  const { olderThan, keep, all = false } = flags;
  if (olderThan === undefined && keep === undefined) {
    throw new ReasonixError("Cannot prune without a rule", {
      exit: "usage",
      remedy: "give --older-than 30d, --keep N, or both",
    });
  }
  const { pruneCandidates } = await loadManage();
  const doomed = pruneCandidates(sessionsOf(runPaths(this), all), {
    now: new Date(),
    ...(olderThan === undefined ? {} : { olderThanDays: olderThan }),
    ...(keep === undefined ? {} : { keep }),
  });
  if (doomed.length === 0) {
    this.process.stdout.write("Nothing to delete\n");
    return;
  }
  this.process.stdout.write(sessionTable(doomed, all));
  const what = doomed.length === 1 ? "this session" : `these ${doomed.length} sessions`;
  if (flags.dryRun) this.process.stdout.write(`Would delete ${what}\n`);
  else if (flags.yes || confirmed(`Delete ${what} for good?`, what)) await deleteAll(this, doomed);
  else this.process.stdout.write("Nothing was deleted\n");
}

/** Deletes what nobody is writing at the moment. */
async function deleteAll(context: CliContext, sessions: readonly SessionInfo[]): Promise<void> {
  const { deleteSession } = await loadManage();
  let count = 0;
  for (const { path } of sessions) {
    try {
      deleteSession(chosenSession(runPaths(context), path));
      count += 1;
    } catch (error) {
      if (!(error instanceof SessionBusyError)) throw error;
      context.process.stderr.write(`! ${error.message}; it stays\n`);
    }
  }
  context.process.stdout.write(`Deleted ${count} ${count === 1 ? "session" : "sessions"}\n`);
}
