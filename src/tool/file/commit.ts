import { message, ReasonixError } from "../../core/mod.ts";
import { type AtomicWriteOptions, writeFileAtomic } from "../../util/atomic_write.ts";
import { lineFigures } from "../../view/mod.ts";
import { unifiedDiff } from "../text/diff.ts";
import { encodeText, type Encoding, encodingName } from "../text/encoding.ts";
import { eolStyle } from "../text/eol.ts";
import { failure, type FileChange, insteadOfWriting, type ToolContext, type ToolResult } from "../tool.ts";
import { EditorError } from "./client_files.ts";
import { osReason } from "./os_reason.ts";
import {
  asFileText,
  type ExistingFile,
  isForEditor,
  isSameText,
  type LoadedFile,
  plainText,
  readBytes,
  stampOf,
  statRegularOrNothing,
  type Target,
  type TextFile,
} from "./text_file.ts";
import { exists } from "../../path/probe.ts";
import { attempt } from "../../util/lazy.ts";

const IS_WINDOWS = Deno.build.os === "windows";

const MAX_DIFF_BYTES = 24_000;

/** New text for a file; `before` is absent when the file does not exist yet. */
export interface TextChange {
  readonly target: Target;
  readonly before: TextFile | undefined;
  readonly after: string;
  readonly encoding: Encoding;
  readonly bom: boolean;
  readonly note?: string | undefined;
}

/** Refusal under `[tools] writes = "deny"`; the model is to answer with a diff instead. */
export function writesDenied(context: ToolContext): ToolResult | undefined {
  if (context.settings.writes !== "deny") return undefined;
  return failure(
    "Files are not to be written in this run",
    insteadOfWriting("deny"),
  );
}

/** Writes one file as the write policy says, and reports created, updated or unchanged with its diff. */
export async function commitText(context: ToolContext, change: TextChange): Promise<ToolResult> {
  const denied = writesDenied(context);
  if (denied) return denied;
  const { before, target } = change;
  const after = context.settings.ensureTrailingNewline ? withFinalNewline(change.after) : change.after;
  const bytes = encodeChecked({ ...change, after });
  const sameEncoding = before && before.encoding === change.encoding && before.bom === change.bom;
  if (before && before.text === after && sameEncoding) return unchanged(target, change.note);
  const record = describeChange(target, before?.text, after);
  if (context.settings.writes === "dry-run") return dryRun([record], target.shown);
  context.signal.throwIfAborted();
  if (before) requireSameOnDisk(before);
  if (isEditors(context, { ...target, before, after: bytes, encoding: change.encoding })) {
    const { text, note } = await writeInEditor(context, { ...target, before, after: bytes });
    const notes = [change.note, note].filter((each) => each !== undefined).join("; ");
    const saved = text === after ? record : describeChange(target, before?.text, text);
    return changed(saved, target.shown, notes === "" ? undefined : notes);
  }
  if (before) requireSaved(before);
  try {
    if (!before) Deno.mkdirSync(parentOf(target.path), { recursive: true });
    await writeFileAtomic(target.path, bytes, { verify: verifierOf(context) });
  } catch (error) {
    if (error instanceof ReasonixError) throw error;
    throw new ReasonixError(`Cannot write ${target.shown}: ${osReason(error)}`);
  }
  markSeen(context, target.path, { bytes, encoding: change.encoding });
  return changed(record, target.shown, change.note);
}

/** A file and its new content. */
interface Replacement extends Target {
  readonly before: LoadedFile | undefined;
  readonly after: Uint8Array;
}

/**
 * Reports whether an editor is to write a file, so that the user can keep or reject the change there: plain
 * UTF-8 in a directory that it shows, and no other name of the file leads out of it.
 */
export function isEditors(
  context: ToolContext,
  { path, before, after, encoding }: Replacement & { readonly encoding: Encoding },
): boolean {
  return context.files?.write !== undefined && encoding === "utf-8" && (before?.info.nlink ?? 1) < 2 &&
    isForEditor(context, path, after) && (!before || isForEditor(context, path, before.bytes));
}

/** Refuses to change a file on the disk while the editor that shows it has unsaved changes. */
export function requireSaved({ shown, unsaved }: LoadedFile): void {
  if (!unsaved) return;
  throw new ReasonixError(message`${shown} has unsaved changes in the editor, which cannot write it`, {
    remedy: "have the user save the file first",
  });
}

/** The text that an editor has written, and may have formatted; the note is for the model. */
interface EditorWrite {
  readonly text: string;
  readonly note?: string;
}

/**
 * Has an editor write a file, once, and reads back what came of it. Rejects when nothing was written, and
 * when that is not known; nothing is written to the disk in its place.
 */
export async function writeInEditor(context: ToolContext, file: Replacement): Promise<EditorWrite> {
  const { files, signal } = context;
  const { path, shown, before } = file;
  const text = plainText(file.after) ?? "";
  if (before) await verifyReplaced(context, file);
  else await requireNoBuffer(context, file);
  const made = before ? [] : await makeDirectories(parentOf(path));
  try {
    await files?.write?.(path, text, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof EditorError)) throw error;
    const { kind } = error;
    const reason = error.texts.message;
    if (!isUnchanged(file)) {
      const problem = message`Cannot write ${shown}: ${reason}; but the file has changed on the disk`;
      throw new EditorError(problem, kind, LOOK);
    }
    if (kind === "late") {
      throw new EditorError(message`Cannot write ${shown}: ${reason}; it may still write it`, kind, LOOK);
    }
    await takeBack(made);
    throw new EditorError(message`Cannot write ${shown}: ${reason}; nothing was written`, kind);
  }
  return await readBack(context, file, text);
}

const LOOK = "read_file shows the text it has now";

/** The editor opens the file by its path: the checks of an open file come before that. */
async function verifyReplaced({ paths }: ToolContext, { path, shown }: Target): Promise<void> {
  try {
    const file = Deno.openSync(path, { read: true });
    try {
      await paths.verifyOpened?.(file, path, "write");
    } finally {
      file.close();
    }
  } catch (error) {
    if (error instanceof ReasonixError) throw error;
    throw new ReasonixError(`Cannot write ${shown}: ${osReason(error)}`);
  }
}

/** Refuses to create a file that the user has begun in the editor. */
async function requireNoBuffer({ files, signal }: ToolContext, { path, shown }: Target): Promise<void> {
  const text = await files?.read?.(path, signal).catch((error) => {
    if (!(error instanceof EditorError)) throw error;
    // Some editors refuse a file that does not exist.
    if (error.kind === "answered") return undefined;
    throw new EditorError(
      message`Cannot write ${shown}: ${error.texts.message}; nothing was written`,
      error.kind,
    );
  });
  if (!text) return;
  throw new ReasonixError(message`${shown} has text in the editor and is not saved`, {
    remedy: "have the user save the file first",
  });
}

function isUnchanged({ path, before }: Replacement): boolean {
  return before ? isSameOnDisk(before) : !exists(path);
}

const MAX_DIFFERENCE_BYTES = 4000;

/** Compares what an editor was given with the text it has then, and with the file. */
async function readBack(context: ToolContext, file: Replacement, wanted: string): Promise<EditorWrite> {
  const { path, shown, before } = file;
  const existing = await statRegularOrNothing(file);
  const bytes = existing && await readBytes(existing, context);
  const remember = (text: string) => {
    if (!existing) return;
    const content = { bytes: new TextEncoder().encode(text), encoding: "utf-8" } as const;
    context.seen.set(path, stampOf(path, existing.info, content));
  };
  const disk = bytes && plainText(bytes);
  if (disk === wanted) {
    remember(disk);
    return { text: wanted };
  }
  const buffer = await context.files?.read?.(path, context.signal).catch((error) => {
    if (error instanceof EditorError) return undefined;
    throw error;
  });
  const isSaved = buffer === undefined || (disk !== undefined && isSameText(buffer, disk));
  const text = isSaved ? disk : await asFileText(buffer, disk ?? wanted);
  if (text === undefined || (before ? text === plainText(before.bytes) : text === "")) {
    throw new EditorError(
      message`Cannot write ${shown}: the editor reported success, but the text is unchanged`,
      "answered",
    );
  }
  remember(text);
  const notes = isSaved ? [] : ["the editor has not saved it: commands and searches see the file as it was"];
  if (!isSameText(text, wanted)) {
    const difference = unifiedDiff(wanted, text, { from: shown, to: shown, maxBytes: MAX_DIFFERENCE_BYTES });
    notes.push(`the editor changed the text that it was given, as a formatter does:\n${difference.diff}`);
  }
  return { text, ...(notes.length > 0 ? { note: notes.join("; ") } : {}) };
}

/** The second check of the path policy, on files that are open for writing. */
export function verifierOf({ paths }: Pick<ToolContext, "paths">): AtomicWriteOptions["verify"] {
  return paths.verifyOpened && (async (file, path) => await paths.verifyOpened?.(file, path, "write"));
}

export function markSeen(
  context: ToolContext,
  path: string,
  content: { readonly bytes: Uint8Array; readonly encoding: Encoding },
): void {
  context.seen.set(path, stampOf(path, Deno.statSync(path), content));
}

/** Bytes of the new text; refuses a character that the file's encoding does not have. */
export function encodeChecked(
  change: Pick<TextChange, "target" | "after" | "encoding" | "bom">,
): Uint8Array<ArrayBuffer> {
  const bytes = encodeText(change.after, change.encoding, change.bom);
  if (typeof bytes !== "string") return bytes;
  const name = encodingName(change.encoding, change.bom);
  throw new ReasonixError(
    `${change.target.shown} is encoded as ${name}, which has no character ${JSON.stringify(bytes)}`,
    {
      remedy: "avoid it, or convert the file to UTF-8 first (bash: iconv)",
    },
  );
}

/** Refuses when another process wrote the file after it was read. */
export function requireSameOnDisk(before: ExistingFile): void {
  if (isSameOnDisk(before)) return;
  throw new ReasonixError(`${before.shown} was changed by another program just now`, {
    remedy: "read_file it again",
  });
}

function isSameOnDisk({ path, info }: ExistingFile): boolean {
  const now = attempt(() => Deno.statSync(path));
  return now?.size === info.size && now.mtime?.getTime() === info.mtime?.getTime();
}

export function describeChange(target: Target, before: string | undefined, after: string): FileChange {
  const from = before === undefined ? undefined : target.shown;
  const { diff, added, removed } = unifiedDiff(before ?? "", after, {
    from,
    to: target.shown,
    maxBytes: MAX_DIFF_BYTES,
  });
  return {
    path: target.path,
    change: before === undefined ? "created" : "updated",
    added,
    removed,
    ...(diff ? { diff } : {}),
  };
}

function changed(record: FileChange, shown: string, note: string | undefined): ToolResult {
  const line = `${record.change} ${shown} (${lineFigures(record)})`;
  return { content: note ? `${line}; ${note}` : line, summary: lineFigures(record), changes: [record] };
}

function unchanged(target: Target, note: string | undefined): ToolResult {
  const line = `unchanged ${target.shown}: the file already has this content`;
  return {
    content: note ? `${line}; ${note}` : line,
    summary: message`unchanged`,
    changes: [{ path: target.path, change: "unchanged", added: 0, removed: 0 }],
  };
}

export function dryRun(changes: readonly FileChange[], shown: string): ToolResult {
  const total = { added: sum(changes, "added"), removed: sum(changes, "removed") };
  const diffs = changes.map((change) => change.diff ?? "").join("");
  return {
    content: `dry run, nothing was written; would change ${shown} (${lineFigures(total)})\n${diffs}`,
    summary: message`dry run ${lineFigures(total)}`,
    changes: changes.map((change) => ({ ...change, written: false })),
  };
}

export function sum(changes: readonly FileChange[], field: "added" | "removed"): number {
  return changes.reduce((total, change) => total + change[field], 0);
}

function withFinalNewline(text: string): string {
  const style = eolStyle(text);
  return text === "" || text.endsWith(style.dominant === "\r" ? "\r" : "\n") ? text : text + style.dominant;
}

export function parentOf(path: string): string {
  const slash = Math.max(path.lastIndexOf("/"), IS_WINDOWS ? path.lastIndexOf("\\") : -1);
  return path.slice(0, slash) || "/";
}

export type Undo = () => Promise<void>;

/** Makes a directory with its parents; returns what removes those that it made. */
export async function makeDirectories(directory: string): Promise<Undo[]> {
  const missing: string[] = [];
  for (let at = directory; at !== "/" && !exists(at); at = parentOf(at)) missing.unshift(at);
  if (missing.length > 0) await Deno.mkdir(directory, { recursive: true });
  return missing.map((path) => () => Deno.remove(path));
}

/** Undoes steps, the last one first; returns what could not be undone. */
export async function takeBack(undo: readonly Undo[]): Promise<string> {
  const lost: string[] = [];
  for (const step of undo.toReversed()) await step().catch((error) => lost.push(osReason(error)));
  return lost.join(", ");
}
