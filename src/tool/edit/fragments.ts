import { lineNumber } from "../text/eol.ts";
import { foldLine, indentOf, UNICODE_TWINS } from "./fold.ts";
import type { TextEdit } from "./text_edit.ts";

/** One replacement, as the edit tools take it. */
export interface Edit {
  readonly oldString: string;
  readonly newString: string;
  readonly replaceAll: boolean;
}

/** Places of a match, and what to put there. */
export interface Found {
  readonly edits: readonly TextEdit[];
  /** Continues "matched after"; absent for an exact match. */
  readonly note?: string | undefined;
  /** What is written differs from what the model gave, so the result shows it. */
  readonly reshaped?: boolean;
}

export interface Refusal {
  readonly problem: string;
}

/** A stretch of the text, indexes in UTF-16 units. */
interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * The edits of places that may begin within a line; `replace` makes the text for one of them. Undefined
 * without a place.
 */
export function eachPlace<P extends Place>(
  text: string,
  edit: Edit,
  places: readonly P[],
  replace: (place: P, newString: string) => string,
): Found | Refusal | undefined {
  if (places.length === 0) return undefined;
  const edits: TextEdit[] = [];
  let reshaped = false;
  for (const place of places) {
    const fragment = behindIndent(text, place.start, edit);
    if ("problem" in fragment) return fragment;
    reshaped ||= fragment.newString !== edit.newString;
    edits.push({ start: fragment.start, end: place.end, text: replace(place, fragment.newString) });
  }
  return reshaped ? { edits, reshaped, note: "taking the indentation once" } : { edits };
}

/**
 * Returns what to put at a match that begins behind the indentation of its line, and from where: an
 * indentation that new_string brings itself is not put there twice, and where the line goes away (new_string
 * is empty, or begins with a later line of old_string) so does the indentation. Refused where the lines that
 * follow may be meant with or without it.
 */
function behindIndent(
  text: string,
  start: number,
  { oldString, newString }: Edit,
): { readonly start: number; readonly newString: string } | Refusal {
  const lineStart = start === 0
    ? 0
    : Math.max(text.lastIndexOf("\n", start - 1), text.lastIndexOf("\r", start - 1)) + 1;
  const before = text.slice(lineStart, start);
  if (before === "" || indentOf(before) !== before || oldString.trim() === "") return { start, newString };
  if (newString === "" && oldString.endsWith("\n")) return { start: lineStart, newString };
  const [head = "", ...later] = oldString.split(/\r?\n/);
  const [first = ""] = newString.split(/\r?\n/, 1);
  if (first.trim() !== "" && first !== head && later.includes(first)) return { start: lineStart, newString };
  const [, ...rest] = newString.split(/\r?\n/).filter((line) => line.trim() !== "");
  const oneLine = !oldString.trimEnd().includes("\n");
  if (oneLine && rest.some((line) => !line.startsWith(before))) {
    const line = lineNumber(text, start);
    return {
      problem:
        `old_string begins behind the indentation of line ${line}, and new_string has lines with less ` +
        "indentation; give both with the indentation that the lines have in the file",
    };
  }
  const alike = (blanks: string) => foldLine(blanks, UNICODE_TWINS);
  const repeated = newString.trim() !== "" &&
    alike(indentOf(newString)) === alike(before + indentOf(oldString));
  return { start, newString: repeated ? newString.slice(before.length) : newString };
}
