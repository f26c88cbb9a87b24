import { openForRewind } from "../../../src/assembly/mod.ts";
import {
  type FileReport,
  previewRewind,
  redoTarget,
  rewind,
  type RewindPreview,
  type RewindScope,
  type RewindTarget,
  turnTarget,
} from "../../../src/control/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { type Checkpoints, SessionLog, type SessionState } from "../../../src/session/mod.ts";
import { userText } from "../../../src/util/user_text.ts";
import { oneLine } from "../../../src/util/terminal_text.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";
import { chosenSession, withSessionLock } from "./choose.ts";

export interface RewindFlags {
  /** Absent: the turn before the last one. */
  readonly to?: number;
  readonly code?: boolean;
  readonly conversation?: boolean;
  readonly preview?: boolean;
}

export async function rewindTo(this: CliContext, flags: RewindFlags, ref?: string): Promise<void> {
  if (flags.code && flags.conversation) {
    throw new ReasonixError("Cannot use --code and --conversation together", {
      exit: "usage",
      remedy: "leave both out to rewind code and conversation",
    });
  }
  const scope: RewindScope = flags.code ? "code" : flags.conversation ? "conversation" : "both";
  let turn = flags.to ?? 0;
  await change(this, ref, {
    target: (state) => {
      turn = flags.to ?? state.turns.at(-2)?.turn ?? 0;
      return turnTarget(state, turn, scope);
    },
    preview: flags.preview ?? false,
    done: (id) =>
      `Session ${id} is back ${turn === 0 ? "before the first turn" : `at the end of turn ${turn}`} ` +
      `(${SCOPES[scope]})\nTake it back with: reasonix session redo ${id}\n`,
  });
}

export async function redo(
  this: CliContext,
  flags: { readonly preview?: boolean },
  ref?: string,
): Promise<void> {
  await change(this, ref, {
    target: redoTarget,
    preview: flags.preview ?? false,
    done: (id) => `Restored session ${id} to before the rewind\n`,
  });
}

const SCOPES: Readonly<Record<RewindScope, string>> = {
  both: "code and conversation",
  code: "code only",
  conversation: "conversation only",
};

interface Change {
  readonly target: (state: SessionState) => RewindTarget;
  readonly preview: boolean;
  readonly done: (id: string) => string;
}

async function change(context: CliContext, ref: string | undefined, asked: Change): Promise<void> {
  const paths = runPaths(context);
  const session = chosenSession(paths, ref);
  using log = await withSessionLock(() => SessionLog.open(session.path));
  const parts = await openForRewind({ paths, log, preview: asked.preview });
  const target = asked.target(log.state);
  if (asked.preview) {
    const preview = await previewRewind(parts, target);
    context.process.stdout.write(talkPreview(log.state, target));
    if (target.scope !== "conversation") await showFiles(context, preview, await parts.checkpoints());
    return;
  }
  if (target.scope !== "conversation" && Deno.stdin.isTerminal()) {
    const { files } = await previewRewind(parts, target);
    const foreign = files.filter((file) => file.alsoByUser).map(({ path }) => path);
    if (foreign.length > 0 && !agreesToLose(foreign)) {
      context.process.stdout.write("Nothing was changed\n");
      return;
    }
  }
  const report = await rewind(parts, target);
  context.process.stdout.write(asked.done(log.id));
  if (target.scope !== "conversation") showReport(context, report);
}

/** Changes of somebody else can be brought back, but nobody expects them to go. */
function agreesToLose(paths: readonly string[]): boolean {
  const names = paths.slice(0, SHOWN_PATHS).map((path) => oneLine(path, 200)).join(", ");
  const more = paths.length > SHOWN_PATHS ? ` and ${paths.length - SHOWN_PATHS} more` : "";
  return prompt(`Changed by someone else since: ${names}${more}. Overwrite that too? Type yes:`) === "yes";
}

function talkPreview(state: SessionState, target: RewindTarget): string {
  if (target.scope === "code") return "Conversation: stays as it is\n";
  const left = state.turns.filter(({ from }) => from > target.to);
  if (left.length === 0) return "Conversation: no turn would be left behind\n";
  const lines = left.map(({ turn, prompt }) => `  #${turn} ${oneLine(userText(prompt), 70)}\n`);
  return `Conversation: would leave behind\n${lines.join("")}`;
}

async function showFiles(
  context: CliContext,
  { files, uncovered }: RewindPreview,
  checkpoints: Checkpoints,
): Promise<void> {
  const { stdout } = context.process;
  stdout.write(files.length === 0 ? "Files: nothing to bring back\n" : "Files:\n");
  for (const file of files) {
    const also = file.alsoByUser ? "  (also changed by someone else, whose change would be lost)" : "";
    const not = file.unavailable === undefined ? "" : `  (cannot be brought back: ${file.unavailable})`;
    stdout.write(`  ${file.action.padEnd(6)}  ${oneLine(file.path, 400)}${also}${not}\n`);
  }
  stdout.write(uncoveredText(uncovered));
  for (const file of files) {
    const diff = file.unavailable === undefined ? await checkpoints.diff(file) : undefined;
    if (diff !== undefined) stdout.write(`\n${diff}`);
  }
}

const SHOWN_PATHS = 10;

/** One line about ignored files that were too many to keep; empty when all were kept. */
function uncoveredText(paths: readonly string[]): string {
  if (paths.length === 0) return "";
  if (paths[0] === ".") {
    return "Not covered: what commands changed, since the workspace has too many files; what tools wrote is\n";
  }
  const more = paths.length > SHOWN_PATHS ? ` and ${paths.length - SHOWN_PATHS} more` : "";
  const names = paths.slice(0, SHOWN_PATHS).map((path) => oneLine(path, 200)).join(", ");
  return `Not covered, ignored and too many files to keep: ${names}${more}\n`;
}

function showReport(context: CliContext, { restored, failed, uncovered }: FileReport): void {
  const { stdout, stderr } = context.process;
  if (restored.length + failed.length === 0) stdout.write("No file had to be brought back\n");
  for (const { action, path, alsoByUser } of restored) {
    const done = { create: "created", update: "updated", delete: "deleted" }[action];
    const also = alsoByUser
      ? "  (had been changed by someone else since; session redo brings that back)"
      : "";
    stdout.write(`  ${done}  ${oneLine(path, 400)}${also}\n`);
  }
  stdout.write(uncoveredText(uncovered));
  for (const { path, reason } of failed) {
    stderr.write(`! Cannot bring back ${oneLine(path, 400)}: ${reason}\n`);
  }
  if (failed.length > 0) context.process.exitCode = 1;
}
