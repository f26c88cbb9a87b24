import { message, ReasonixError } from "../../../core/mod.ts";
import { applyHunks } from "./apply_hunks.ts";
import { type FilePatch, type Hunk, parsePatch, PatchError } from "./parse.ts";
import { EditorError } from "../../file/client_files.ts";
import {
  describeChange,
  dryRun,
  encodeChecked,
  isEditors,
  makeDirectories,
  markSeen,
  parentOf,
  requireSameOnDisk,
  requireSaved,
  sum,
  takeBack,
  type Undo,
  verifierOf,
  writeInEditor,
  writesDenied,
} from "../../file/commit.ts";
import { osReason } from "../../file/os_reason.ts";
import {
  decodeReversible,
  loadBytes,
  type LoadedFile,
  plainText,
  requireUnchanged,
  resolveWrite,
  statRegular,
  statRegularOrNothing,
  type Target,
} from "../../file/text_file.ts";
import { decodeText, type Encoding } from "../../text/encoding.ts";
import { failure, type FileChange, type ToolContext, type ToolResult } from "../../tool.ts";
import { type StagedFile, stageFile, writeFileAtomic } from "../../../util/atomic_write.ts";
import { lineFigures } from "../../../view/mod.ts";

export async function applyPatch(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const denied = writesDenied(context);
  if (denied) return denied;
  let patches: FilePatch[];
  try {
    patches = parsePatch(String(args.patch));
  } catch (error) {
    if (error instanceof PatchError) return failure(error.message);
    throw error;
  }
  const plan = await planPatch(context, patches);
  const { files } = plan;
  const planned = files.flatMap((file) => changeOf(file, files));
  if (planned.length === 0) {
    return { content: "unchanged: the patch changes nothing", summary: message`unchanged` };
  }
  if (context.settings.writes === "dry-run") {
    return dryRun(planned.map(({ change }) => change), names(planned));
  }
  const notes = await executePlan(context, files);
  // An editor may have formatted what it was given.
  const changes = notes.length === 0 ? planned : files.flatMap((file) => changeOf(file, files));
  const lines = changes.map(({ change, shown }) => `${change.change} ${shown} (${lineFigures(change)})`);
  const records = changes.map(({ change }) => change);
  const total = lineFigures({ added: sum(records, "added"), removed: sum(records, "removed") });
  return {
    content: [...lines, ...plan.notes, ...notes].join("\n"),
    summary: records.length === 1 ? total : message`${records.length} files ${total}`,
    changes: records,
  };
}

interface ShownChange {
  readonly change: FileChange;
  readonly shown: string;
}

function names(changes: readonly ShownChange[]): string {
  return changes.map((entry) => entry.shown).join(", ");
}

/** The record of one planned file; the source of a move is part of its target's record. */
function changeOf(file: PlannedFile, all: readonly PlannedFile[]): ShownChange[] {
  if (
    all.some((other) => other.movedFrom === file && other.after !== undefined) && file.after === undefined
  ) return [];
  const source = file.movedFrom ?? file;
  const before = textOf(source.before?.bytes);
  const after = textOf(file.after);
  if (file.after === undefined) {
    const { diff, removed } = describeChange(file, before, "");
    return [{
      change: {
        path: file.path,
        change: "deleted",
        added: 0,
        removed,
        ...(diff ? { diff: deletion(diff) } : {}),
      },
      shown: file.shown,
    }];
  }
  const record = describeChange(file, source.before ? before ?? "" : undefined, after ?? "");
  if (!file.movedFrom) return [{ change: record, shown: file.shown }];
  const change: FileChange = { ...record, change: "moved", from: file.movedFrom.path };
  return [{ change, shown: `${file.movedFrom.shown} → ${file.shown}` }];
}

function deletion(diff: string): string {
  return diff.replace(/^\+\+\+ [^\n]*/m, "+++ /dev/null");
}

function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && (decodeText(bytes)?.text ?? "");
}

interface PlannedFile extends Target {
  readonly before: LoadedFile | undefined;
  /** Undefined: no file. */
  after: Uint8Array | undefined;
  executable: boolean | undefined;
  encoding: Encoding | undefined;
  movedFrom: PlannedFile | undefined;
}

/**
 * Computes the whole patch in memory; later sections see the result of earlier ones. Rejects with a
 * `ReasonixError` when any part does not fit.
 */
async function planPatch(context: ToolContext, patches: readonly FilePatch[]): Promise<Planner> {
  const planner = new Planner(context);
  const problems: string[] = [];
  for (const patch of patches) {
    try {
      await planner.add(patch);
    } catch (error) {
      if (!(error instanceof ReasonixError)) throw error;
      problems.push(error.remedy ? `${error.message}; ${error.remedy}` : error.message);
    }
  }
  if (problems.length === 0) return planner;
  throw new ReasonixError(`${problems.join("\n")}\nNothing was changed`);
}

class Planner {
  readonly notes: string[] = [];
  readonly #context: ToolContext;
  readonly #files = new Map<string, PlannedFile>();

  constructor(context: ToolContext) {
    this.#context = context;
  }

  get files(): PlannedFile[] {
    return [...this.#files.values()].filter((file) => {
      if (file.after === undefined) return file.before !== undefined;
      const before = file.before?.bytes;
      return before === undefined || file.executable !== undefined || !equalBytes(before, file.after);
    });
  }

  async add(patch: FilePatch): Promise<void> {
    if (patch.from === undefined) return await this.#create(patch, patch.to ?? "");
    const source = await this.#file(patch.from);
    if (source.after === undefined) await this.#missing(source);
    if (patch.to === undefined) return this.#delete(patch, source);
    const after = this.#patched(source, patch);
    if (patch.to === patch.from) {
      source.after = after;
      source.executable = patch.executable ?? source.executable;
      return;
    }
    const target = await this.#file(patch.to);
    if (target.after !== undefined) throw new ReasonixError(`${target.shown} already exists`);
    target.after = after;
    target.encoding = source.encoding;
    target.executable = patch.executable ?? isExecutable(source);
    if (patch.copy) return;
    source.after = undefined;
    target.movedFrom = source;
  }

  async #create(patch: FilePatch, path: string): Promise<void> {
    const file = await this.#file(path);
    if (file.after !== undefined) {
      throw new ReasonixError(`${file.shown} already exists, so the patch cannot create it`, {
        remedy: "patch it as an existing file",
      });
    }
    file.after = new Uint8Array(0);
    file.after = this.#patched(file, patch);
    file.executable = patch.executable;
  }

  #delete(patch: FilePatch, file: PlannedFile): void {
    // A byte order mark alone is no content.
    if (!patch.unlisted && decodeText(this.#patched(file, patch))?.text !== "") {
      throw new ReasonixError(
        `${file.shown} has content that the patch does not list, so it is not deleted`,
        {
          remedy: "read_file it again, or use *** Delete File",
        },
      );
    }
    file.after = undefined;
  }

  #patched(file: PlannedFile, patch: FilePatch): Uint8Array {
    const bytes = file.after ?? new Uint8Array(0);
    if (patch.hunks.length === 0) return bytes;
    const remembered = file.encoding ?? this.#context.seen.get(file.path)?.encoding;
    const decoded = decodeReversible({ path: file.path, shown: file.shown, bytes }, remembered);
    file.encoding = decoded.encoding;
    const marked = patch.hunks.some((hunk) => hunk.lines.some((line) => line.text.startsWith(MARK)));
    const outcome = applyHunks(
      marked && decoded.bom ? MARK + decoded.text : decoded.text,
      marked && !decoded.bom ? patch.hunks.map(withoutQuotedMark) : patch.hunks,
    );
    if ("problem" in outcome) throw new ReasonixError(`${file.shown}: ${outcome.problem}`);
    this.notes.push(...outcome.notes.map((note) => `${file.shown}: ${note}`));
    const after = outcome.text.startsWith(MARK) ? outcome.text.slice(1) : outcome.text;
    return encodeChecked({
      ...decoded,
      bom: marked ? after !== outcome.text : decoded.bom,
      target: file,
      after,
    });
  }

  async #file(path: string): Promise<PlannedFile> {
    const target = await resolveWrite(this.#context, path);
    const known = this.#files.get(target.path);
    if (known) return known;
    const existing = await statRegularOrNothing(target);
    const before = existing && await loadBytes(this.#context, existing);
    if (before) requireUnchanged(this.#context, before);
    const file: PlannedFile = {
      ...target,
      before,
      after: before?.bytes,
      executable: undefined,
      encoding: undefined,
      movedFrom: undefined,
    };
    this.#files.set(target.path, file);
    return file;
  }

  async #missing(file: PlannedFile): Promise<never> {
    await statRegular(file, this.#context);
    throw new ReasonixError(message`${file.shown} does not exist`, { remedy: "check the path in the patch" });
  }
}

/**
 * A byte order mark. Git shows it as the first character of the first line; where a file begins with one is
 * known apart from its text.
 */
const MARK = "\ufeff";

/** A hunk for a file without a mark, whose old lines were quoted with one. */
function withoutQuotedMark(hunk: Hunk): Hunk {
  if (!hunk.lines.some((line) => line.kind !== "+" && line.text.startsWith(MARK))) return hunk;
  return {
    ...hunk,
    lines: hunk.lines.map((line) =>
      line.text.startsWith(MARK) ? { ...line, text: line.text.slice(1) } : line
    ),
  };
}

function isExecutable(file: PlannedFile): boolean | undefined {
  const mode = file.before?.info.mode;
  return mode === null || mode === undefined ? undefined : (mode & 0o100) !== 0;
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

/**
 * Executes a plan: every new content is written next to its target first, or by the editor that shows it,
 * then all are renamed into place. When a step fails, those before it are taken back. Returns notes for the
 * model.
 */
async function executePlan(context: ToolContext, files: readonly PlannedFile[]): Promise<string[]> {
  const verify = verifierOf(context);
  const undo: Undo[] = [];
  const staged: [PlannedFile, StagedFile][] = [];
  const removed: string[] = [];
  const edited = new Set(files.filter((file) => isForEditors(context, file)));
  const editor = { answers: true };
  const notes: string[] = [];
  let current = "";
  try {
    for (const file of files) {
      current = file.shown;
      if (file.before) requireSameOnDisk(file.before);
      if (edited.has(file)) continue;
      if (file.before) requireSaved(file.before);
      if (!file.after || onlyMode(file)) continue;
      if (!file.before) undo.push(...await makeDirectories(parentOf(file.path)));
      staged.push([file, await stageFile(file.path, file.after, { ...modeOptions(file), verify })]);
    }
    context.signal.throwIfAborted();
    for (const file of edited) {
      current = file.shown;
      notes.push(...await editFile(context, file, { undo, editor }));
    }
    for (const file of files) {
      current = file.shown;
      if (edited.has(file)) continue;
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
    const rest = error instanceof EditorError ? "no other file was changed" : "nothing was changed";
    throw new ReasonixError(
      lost ? `${why}; and not everything could be taken back: ${lost}` : `${why}; ${rest}`,
      error instanceof EditorError && error.remedy !== undefined ? { remedy: error.remedy } : {},
    );
  }
  await Promise.all(removed.map((path) => Deno.remove(path).catch(() => {})));
  for (const file of files) {
    if (edited.has(file)) continue;
    if (file.after) {
      markSeen(context, file.path, { bytes: file.after, encoding: file.encoding ?? "utf-8" });
    } else context.seen.delete(file.path);
  }
  return notes;
}

function isForEditors(context: ToolContext, file: PlannedFile): boolean {
  const { path, shown, before, after, encoding = "utf-8" } = file;
  return after !== undefined && file.movedFrom === undefined && file.executable === undefined &&
    isEditors(context, { path, shown, before, after, encoding });
}

interface EditorState {
  /** False: it is not asked to take anything back. */
  answers: boolean;
}

/** Has the editor write a planned file; returns notes for the model. */
async function editFile(
  context: ToolContext,
  file: PlannedFile,
  { undo, editor }: { readonly undo: Undo[]; readonly editor: EditorState },
): Promise<string[]> {
  const { path, shown, before, after = new Uint8Array(0) } = file;
  const seen = context.seen.get(path);
  if (!before) undo.push(...await makeDirectories(parentOf(path)));
  try {
    const { text, note } = await writeInEditor(context, { path, shown, before, after });
    file.after = new TextEncoder().encode(text);
    undo.push(async () => {
      if (!editor.answers) throw new Error(`${shown} stays changed`);
      if (before) await context.files?.write?.(path, plainText(before.bytes) ?? "", context.signal);
      else await Deno.remove(path);
      if (seen) context.seen.set(path, seen);
      else context.seen.delete(path);
    });
    return note === undefined ? [] : [`${shown}: ${note}`];
  } catch (error) {
    editor.answers = error instanceof EditorError && error.kind === "answered";
    throw error;
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

/** Those who may read may execute, as git sets it. */
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

async function moveAside(file: PlannedFile, undo: Undo[]): Promise<string> {
  const aside = `${parentOf(file.path)}/.reasonix-${crypto.randomUUID().slice(0, 13)}.tmp`;
  await Deno.rename(file.path, aside);
  undo.push(() => Deno.rename(aside, file.path));
  return aside;
}
