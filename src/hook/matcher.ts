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
    return (names) => names.some((name) => pattern.test(name));
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}
