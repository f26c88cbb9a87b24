import { ReasonixError } from "../../../core/mod.ts";
import { type StagedFile, stageFile, writeFileAtomic } from "../../../util/atomic_write.ts";
import { markSeen, parentOf, requireSameOnDisk, verifierOf } from "../../file/commit.ts";
import { osReason } from "../../file/os_reason.ts";
import type { ToolContext } from "../../tool.ts";
import { equalBytes, type PlannedFile } from "./plan.ts";

/** A step that was done, and how to take it back. */
type Undo = () => Promise<void>;

/**
 * Carries a plan out: every new content is written beside its target first, then all are renamed into place.
 * When a step fails, those before it are taken back.
 */
export async function executePlan(context: ToolContext, files: readonly PlannedFile[]): Promise<void> {
  const verify = verifierOf(context);
  const undo: Undo[] = [];
  const staged: [PlannedFile, StagedFile][] = [];
  const removed: string[] = [];
  let current = "";
  try {
    for (const file of files) {
      current = file.shown;
      if (file.before) requireSameOnDisk(file.before);
      if (!file.after || onlyMode(file)) continue;
      if (!file.before) undo.push(...await makeFolders(parentOf(file.path)));
      staged.push([file, await stageFile(file.path, file.after, { ...modeOptions(file), verify })]);
    }
    context.signal.throwIfAborted();
    for (const file of files) {
      current = file.shown;
      if (file.after === undefined) removed.push(await moveAside(file, undo));
      else if (onlyMode(file)) await changeMode(file, undo);
    }
    for (const [file, stage] of staged) {
      current = file.shown;
      await stage.commit();
      undo.push(() => {
        return file.before
          ? writeFileAtomic(file.path, file.before.bytes, { verify })
          : Deno.remove(file.path);
      });
    }
  } catch (error) {
    for (const [, stage] of staged) await stage.discard();
    const lost = await takeBack(undo);
    if (context.signal.aborted) throw error;
    const why = error instanceof ReasonixError
      ? error.message
      : `Cannot write ${current}: ${osReason(error)}`;
    throw new ReasonixError(
      lost ? `${why}; and not everything could be taken back: ${lost}` : `${why}; nothing was changed`,
    );
  }
  await Promise.all(removed.map((path) => Deno.remove(path).catch(() => {})));
  for (const file of files) {
    if (file.after) {
      markSeen(context, file.path, { bytes: file.after, encoding: file.encoding ?? "utf-8" });
    } else context.seen.delete(file.path);
  }
}

function onlyMode(file: PlannedFile): boolean {
  return file.before !== undefined && file.after !== undefined && equalBytes(file.before.bytes, file.after);
}

function modeOptions(file: PlannedFile): { mode?: number; setMode?: number } {
  const moved = file.movedFrom?.before?.info.mode;
  if (moved !== undefined && moved !== null) return { setMode: withExecutable(moved, file.executable) };
  if (!file.before) return { mode: file.executable ? 0o777 : 0o666 };
  const mode = file.before.info.mode;
  return file.executable === undefined || mode === null
    ? {}
    : { setMode: withExecutable(mode, file.executable) };
}

/** Whoever may read may execute, as git sets it. */
function withExecutable(mode: number, executable: boolean | undefined): number {
  if (executable === undefined) return mode & 0o7777;
  return executable ? (mode | ((mode & 0o444) >> 2)) & 0o7777 : mode & 0o7666;
}

async function changeMode(file: PlannedFile, undo: Undo[]): Promise<void> {
  const mode = file.before?.info.mode;
  if (mode === undefined || mode === null || Deno.build.os === "windows") return;
  await Deno.chmod(file.path, withExecutable(mode, file.executable));
  undo.push(() => Deno.chmod(file.path, mode & 0o7777));
}

/** A file to be deleted is renamed first, so that it can come back. */
async function moveAside(file: PlannedFile, undo: Undo[]): Promise<string> {
  const aside = `${parentOf(file.path)}/.reasonix-${crypto.randomUUID().slice(0, 13)}.tmp`;
  await Deno.rename(file.path, aside);
  undo.push(() => Deno.rename(aside, file.path));
  return aside;
}

/** Makes missing directories; the steps back remove exactly those. */
async function makeFolders(folder: string): Promise<Undo[]> {
  const missing: string[] = [];
  for (let at = folder; at !== "/" && !await exists(at); at = parentOf(at)) missing.unshift(at);
  if (missing.length > 0) await Deno.mkdir(folder, { recursive: true });
  return missing.map((path) => () => Deno.remove(path));
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

async function takeBack(undo: readonly Undo[]): Promise<string> {
  const lost: string[] = [];
  for (const step of undo.toReversed()) await step().catch((error) => lost.push(osReason(error)));
  return lost.join(", ");
}
