/**
 * A thousand lines of an ordinary working day, each with what should become of it under default rules inside
 * the jail.
 *
 * `read` lines change nothing and are allowed automatically, in every mode. `work` lines build, test, install
 * or edit inside the workspace, so no person is needed in the approval mode `auto` or headless. `person`
 * lines reach outside what the jail can bring back.
 */
export type EverydayClass = "read" | "work" | "person";

export interface EverydayLine {
  readonly line: string;
  readonly class: EverydayClass;
  readonly reason: string;
}

/**
 * Rows of one class: a reason, then its lines; one that represents several lines of text is an array entry of
 * its own.
 */
export function everyday(
  kind: EverydayClass,
  groups: Readonly<Record<string, string | readonly string[]>>,
): EverydayLine[] {
  return Object.entries(groups).flatMap(([reason, lines]) =>
    (typeof lines === "string" ? lines.split("\n").map((line) => line.trim()).filter(Boolean) : lines)
      .map((line) => ({ line, class: kind, reason }))
  );
}
