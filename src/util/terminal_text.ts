/**
 * Sequences and control characters that could move the cursor, recolour or retitle a terminal, and those that
 * show text in another order or on other lines than it is in; tab and newline stay.
 */
const CONTROLS =
  // deno-lint-ignore no-control-regex
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

/** Text that is safe to show on a terminal. */
export function terminalSafe(text: string): string {
  return text.replace(CONTROLS, (found) => found === "\u2028" || found === "\u2029" ? " " : "");
}

/** Returns JSON without the controls that JSON does not escape by itself; its value stays the same. */
export function printableJson(json: string): string {
  return json.replace(
    /[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The same as one line of at most `max` characters. */
export function oneLine(text: string, max = 160): string {
  const line = terminalSafe(text.replace(/\s+/g, " ")).trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
