import { ReasonixError } from "../../../core/mod.ts";
import { encodeChecked } from "../../file/commit.ts";
import { resolveWrite, statRegular, statRegularOrNothing, type Target } from "../../file/target.ts";
import { decodeReversible, loadBytes, type LoadedFile, requireUnchanged } from "../../file/text_file.ts";
import { decodeText, type Encoding } from "../../text/encoding.ts";
import type { ToolContext } from "../../tool.ts";
import { applyHunks } from "./apply_hunks.ts";
import type { FilePatch, Hunk } from "./patch.ts";

/** One file of the patch: what is there now, and what shall be. */
export interface PlannedFile extends Target {
  readonly before: LoadedFile | undefined;
  /** Undefined: no file. */
  after: Uint8Array | undefined;
  /** Executable or not, when the patch says so. */
  executable: boolean | undefined;
  /** As it was read or remembered; known once the text was needed. */
  encoding: Encoding | undefined;
  /** The file this one was moved from. */
  movedFrom: PlannedFile | undefined;
}

export interface Plan {
  readonly files: readonly PlannedFile[];
  readonly notes: readonly string[];
}

/**
 * Works the whole patch out in memory, without touching a file. Later sections see the result of earlier
 * ones.
 *
 * Contract: rejects with a `ReasonixError` when any part does not fit.
 */
export async function planPatch(context: ToolContext, patches: readonly FilePatch[]): Promise<Plan> {
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
  if (problems.length === 0) return { files: planner.changed(), notes: planner.notes };
  throw new ReasonixError(`${problems.join("\n")}\nNothing was changed`);
}

class Planner {
  readonly notes: string[] = [];
  readonly #context: ToolContext;
  readonly #files = new Map<string, PlannedFile>();

  constructor(context: ToolContext) {
    this.#context = context;
  }

  changed(): PlannedFile[] {
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

  /** The bytes of a file after the hunks, in its own encoding. */
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
    throw new ReasonixError(`${file.shown} does not exist`, { remedy: "check the path in the patch" });
  }
}

/**
 * A byte order mark. Git shows it as the first character of the first line; where a file begins with one is
 * known beside its text.
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

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
