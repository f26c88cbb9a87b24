/** Says whether one of these names is meant. */
export type Matcher = (names: readonly string[]) => boolean;

/**
 * Reads a matcher: empty or `*` means everything, plain names count as they are, alternatives stand between
 * `|` (or commas), and anything else is a regular expression that has to match a whole name. Returns what is
 * wrong with one that cannot be read.
 */
export function readMatcher(text: string): Matcher | { readonly fault: string } {
  const matcher = text.trim();
  if (matcher === "" || matcher === "*") return () => true;
  if (/^[\w\s|,-]+$/.test(matcher)) {
    const wanted = new Set(matcher.split(/[|,]/).map((name) => name.trim()).filter((name) => name !== ""));
    return (names) => names.some((name) => wanted.has(name));
  }
  try {
    // An alternative of its own must not escape the anchors.
    const pattern = new RegExp(`^(?:${matcher})$`, "s");
    const slow = slowPart(matcher);
    if (slow !== undefined) return { fault: `it may take for ever, because of ${slow}` };
    return (names) => names.some((name) => pattern.test(name));
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** The most repetitions without an end: each multiplies the time by the length of a name. */
const MAX_REPETITIONS = 4;

/** What in a regular expression can take more time than a call may wait; it runs where nothing can end it. */
function slowPart(source: string): string | undefined {
  const elements = source.matchAll(
    /\\([1-9]|k<)|\\[^]|\[(?:\\[^]|[^\]\\])*\]|(\()(?:\?[:=!]|\?<[=!]|\?<\w+>)?|(\))|(\|)|([*+]|\{\d+(?:,\d*)?\})|(\?)|[^]/g,
  );
  let repetitions = 0;
  /** Of each open group: whether it can match a text in several ways. */
  const varied = [false];
  let last = false;
  for (const [, reference, open, close, bar, repetition, optional] of elements) {
    if (reference) return "a back-reference";
    if (repetition && last) return "a repetition within a repetition";
    if (repetition && ++repetitions > MAX_REPETITIONS) return "too many repetitions";
    const inner = close ? varied.pop() ?? false : false;
    if (open) varied.push(false);
    else if (inner || bar || repetition || optional) varied[varied.length - 1] = true;
    last = inner;
  }
  return undefined;
}
