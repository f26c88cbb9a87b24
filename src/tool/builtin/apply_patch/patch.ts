/** A parsed patch, the same for both written forms. */

export interface PatchLine {
  readonly kind: " " | "-" | "+";
  /** Without the LF; a CR before it belongs to the text. */
  readonly text: string;
  /** False where the patch says that the file ends without a newline here. */
  readonly newline: boolean;
}

export interface Hunk {
  readonly lines: readonly PatchLine[];
  /**
   * Number of the first old line, from 1 (for a pure insertion: of the line before); undefined when not
   * given.
   */
  readonly line: number | undefined;
  /** Lines that stand somewhere above, from `@@ text`. */
  readonly anchors: readonly string[];
  /** The old lines are the last ones of the file. */
  readonly atEnd: boolean;
}

/** The lines that a hunk expects in the file: context and removed ones. */
export function oldLines(hunk: Hunk): PatchLine[] {
  return hunk.lines.filter((line) => line.kind !== "+");
}

/** Number of context lines before the first change. */
export function leadingContext({ lines }: Hunk): number {
  const first = lines.findIndex((line) => line.kind !== " ");
  return first < 0 ? lines.length : first;
}

/** Number of context lines behind the last change. */
export function trailingContext({ lines }: Hunk): number {
  return lines.length - 1 - lines.findLastIndex((line) => line.kind !== " ");
}

/** The change of one file. `from` is absent for a new file, `to` for a deleted one. */
export interface FilePatch {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly hunks: readonly Hunk[];
  /** The source stays (git's copy). */
  readonly copy: boolean;
  readonly executable: boolean | undefined;
  /** The content to remove is not listed; the file is deleted as it is. */
  readonly unlisted: boolean;
}

/** The reason why a patch cannot be understood; the text is for the model. */
export class PatchError extends Error {
  override readonly name = "PatchError";
}
