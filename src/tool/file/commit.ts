import { message, ReasonixError } from "../../core/mod.ts";
import { type AtomicWriteOptions, writeFileAtomic } from "../../util/atomic_write.ts";
import { lineFigures } from "../../view/mod.ts";
import { unifiedDiff } from "../text/diff.ts";
import { encodeText, type Encoding, encodingName } from "../text/encoding.ts";
import { eolStyle } from "../text/eol.ts";
import { failure, type FileChange, insteadOfWriting, type ToolContext, type ToolResult } from "../tool.ts";
import { osReason } from "./os_reason.ts";
import { type ExistingFile, stampOf, type Target, type TextFile } from "./text_file.ts";
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
  const now = statOrUndefined(before.path);
  if (now && now.size === before.info.size && now.mtime?.getTime() === before.info.mtime?.getTime()) return;
  throw new ReasonixError(`${before.shown} was changed by another program just now`, {
    remedy: "read_file it again",
  });
}

function statOrUndefined(path: string): Deno.FileInfo | undefined {
  return attempt(() => Deno.statSync(path));
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
