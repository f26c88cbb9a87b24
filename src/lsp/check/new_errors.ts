import type { Diagnostic } from "vscode-languageserver-protocol";

/** What a server found in a text of a file. */
export interface Findings {
  readonly text: string;
  readonly errors: readonly Diagnostic[];
}

const ERROR = 1;

/** The errors among the findings of a server, without those that no edit can mend. */
export function errorsOf(found: readonly Diagnostic[], ignored: readonly string[]): readonly Diagnostic[] {
  return found.filter(({ severity = ERROR, code }) =>
    severity === ERROR && !ignored.includes(typeof code === "object" ? "" : String(code))
  );
}

/**
 * The errors that were not there before. Where an earlier error stood is followed through the edit, so that
 * one that only moved is none; one that the edit touched counts as the same when it says the same.
 */
export function newErrors(before: Findings, after: Findings): readonly Diagnostic[] {
  const shift = lineShift(before.text, after.text);
  const known = new Map<string, number>();
  for (const error of before.errors) {
    const line = shift(error.range.start.line);
    if (line !== undefined) count(known, keyAt(error, line), 1);
    count(known, keyOf(error), 1);
  }
  const take = (key: string) => (known.get(key) ?? 0) > 0 && count(known, key, -1);
  // Those that kept their place first: what is left of the same words then has another one.
  const rest = after.errors.filter((error) => {
    const kept = take(keyAt(error, error.range.start.line));
    if (kept) count(known, keyOf(error), -1);
    return !kept;
  });
  return rest.filter((error) => !take(keyOf(error)));
}

/** The errors on lines that differ, for when it is not known what was there before. */
export function errorsInChange(before: string, after: Findings): readonly Diagnostic[] {
  const back = lineShift(after.text, before);
  return after.errors.filter(({ range }) => back(range.start.line) === undefined);
}

function count(known: Map<string, number>, key: string, by: number): true {
  known.set(key, (known.get(key) ?? 0) + by);
  return true;
}

function keyOf({ message, code, source }: Diagnostic): string {
  return JSON.stringify([message, code, source]);
}

function keyAt(error: Diagnostic, line: number): string {
  return `${line} ${keyOf(error)}`;
}

/** Says where a line of one text stands in the other; undefined between the ends that both share. */
function lineShift(from: string, to: string): (line: number) => number | undefined {
  const [a, b] = [from.split("\n"), to.split("\n")];
  const limit = Math.min(a.length, b.length);
  let head = 0;
  while (head < limit && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < limit - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return (line) => line < head ? line : line >= a.length - tail ? line + b.length - a.length : undefined;
}
