import { type EventOf, message, ReasonixError, usageError } from "../core/mod.ts";
import {
  type Checkpoints,
  type FileRestore,
  openTurn,
  type RestoreReport,
  type SessionState,
} from "../session/mod.ts";
import type { Recorder } from "./recorder.ts";

export type RewindScope = EventOf<"rewind">["scope"];

/** The goal of a rewind: the moment after event `to`. */
export interface RewindTarget {
  readonly to: number;
  readonly scope: RewindScope;
}

export interface RewindDeps {
  readonly recorder: Recorder;
  /** Needed when files are rewound. */
  readonly checkpoints: () => Promise<Checkpoints>;
}

export interface FileReport extends Pick<RestoreReport, "restored" | "failed"> {
  /** See {@linkcode Checkpoints.uncovered}. */
  readonly uncovered: readonly string[];
}

export interface RewindPreview {
  readonly files: readonly FileRestore[];
  /** See {@linkcode Checkpoints.uncovered}. */
  readonly uncovered: readonly string[];
}

/**
 * The end of a turn of the conversation as it stands; 0 is the moment before the first one. Throws
 * ReasonixError (usage).
 */
export function turnTarget(state: SessionState, turn: number, scope: RewindScope): RewindTarget {
  const { turns } = state;
  const to = turn === 0 ? turns[0] && turns[0].from - 1 : turns.find((record) => record.turn === turn)?.to;
  if (to !== undefined) return { to, scope };
  const known = turns.filter((record) => record.to !== undefined).map((record) => record.turn);
  throw usageError(
    message`Cannot rewind to turn ${turn}: the session has no such finished turn`,
    known.length > 0
      ? message`choose one of ${["0", ...known.map(String)]}; 0 is before the first turn`
      : message`the session has no finished turn yet`,
  );
}

/**
 * The moment before the latest rewind that has not been undone. Each redo takes back one rewind; a new turn
 * ends the row. Throws ReasonixError (usage) when there is nothing to redo.
 */
export function redoTarget(state: SessionState): RewindTarget {
  const rewinds: RewindTarget[] = [];
  for (const event of state.events.known) {
    if (event?.type === "turn.start") rewinds.length = 0;
    if (event?.type !== "rewind") continue;
    const last = rewinds.at(-1);
    if (last && last.to === event.to && last.scope === event.scope) rewinds.pop();
    else rewinds.push({ to: event.seq - 1, scope: event.scope });
  }
  const target = rewinds.at(-1);
  if (target) return target;
  throw usageError(
    message`Cannot redo: nothing was rewound since the latest turn`,
    message`redo takes back a rewind as long as the session has not continued`,
  );
}

/** Reports what a rewind would do to files, and changes nothing. */
export async function previewRewind(deps: RewindDeps, target: RewindTarget): Promise<RewindPreview> {
  const checkpoints = await checkpointsFor(deps, target);
  const id = checkpoints?.checkpointFor(target.to);
  if (!checkpoints || id === undefined) return { files: [], uncovered: [] };
  const files = await checkpoints.preview(id);
  return { files, uncovered: checkpoints.uncovered(id) };
}

/**
 * Brings files, conversation or both back to a moment, and records that. Files come first: a process that is
 * killed in between can simply rewind again.
 */
export async function rewind(deps: RewindDeps, target: RewindTarget): Promise<FileReport> {
  const { recorder } = deps;
  if (openTurn(recorder.state)) {
    throw new ReasonixError(message`Cannot rewind while a turn is running`, {
      remedy: message`wait for it, or interrupt it`,
    });
  }
  const checkpoints = await checkpointsFor(deps, target);
  const id = checkpoints?.checkpointFor(target.to);
  const report = checkpoints && id !== undefined
    ? { ...await checkpoints.restore(id), uncovered: checkpoints.uncovered(id) }
    : { restored: [], failed: [], uncovered: [] };
  await recorder.record({ type: "rewind", to: target.to, scope: target.scope });
  await recorder.sync();
  return report;
}

async function checkpointsFor(deps: RewindDeps, target: RewindTarget): Promise<Checkpoints | undefined> {
  return target.scope === "conversation" ? undefined : await deps.checkpoints();
}
