/** Control characters of ASCII and Latin-1, for character classes. */
export const CONTROLS = "\\x00-\\x1f\\x7f-\\x9f";
/** Characters that change the direction of text, and other line ends than the newline. */
export const REORDERING = "\\u2028-\\u202e\\u2066-\\u2069";

/** Sequences and controls that could move the cursor, recolor or retitle a terminal, or reorder text. */
const UNSAFE = new RegExp(
  `\\x1b\\[[0-?]*[ -\\/]*[@-~]|\\x1b\\][^\\x07\\x1b]*(?:\\x07|\\x1b\\\\)|[[${CONTROLS}${REORDERING}]--[\\t\\n]]`,
  "gv",
);

/** Text that is safe to show on a terminal; tabs and newlines stay. */
export function terminalSafe(text: string): string {
  return text.replace(UNSAFE, (found) => found === "\u2028" || found === "\u2029" ? " " : "");
}

const UNESCAPED_IN_JSON = new RegExp(`[\\x7f-\\x9f${REORDERING}]`, "g");

/** Escapes the controls that JSON leaves as they are; the value stays the same. */
export function printableJson(json: string): string {
  return json.replace(
    UNESCAPED_IN_JSON,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Safe text on one line of at most `max` characters. */
export function oneLine(text: string, max = 160): string {
  return cutText(terminalSafe(text.replace(/\s+/g, " ")).trim(), max);
}

/** At most `max` characters, marked where it is cut, without half a surrogate pair at the end. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
