/** Reports whether a path, written with `/` from some directory, matches one of the patterns. */
export type GlobTest = (path: string) => boolean;

/**
 * Compiles glob patterns: `**`, braces, classes, extended globs; dot files count. A directory such as
 * `(group)`, `[id]` or `[...slug]` is found under its own name as well.
 */
export async function compileGlobs(
  patterns: readonly string[],
  options: { readonly ignoreCase?: boolean } = {},
): Promise<GlobTest> {
  const { default: picomatch } = await import("picomatch");
  // The expressions alone take a third of the time of picomatch's own test function, and a walk asks for
  // every file.
  const expressions = patterns.flatMap((pattern) => [...new Set([pattern, literalNames(pattern)])]).map(
    (pattern): RegExp => picomatch.makeRe(pattern, { dot: true, nocase: options.ignoreCase === true }),
  );
  const [only] = expressions;
  if (expressions.length === 1 && only) return (path) => only.test(path);
  return (path) => expressions.some((expression) => expression.test(path));
}

/** The pattern with groups that offer no choice, and with classes, as plain characters. */
function literalNames(pattern: string): string {
  return pattern.replace(/(?<![\\@?!*+])\(([^()|]*)\)/g, "\\($1\\)").replace(
    /(?<!\\)\[([^\]]*)\]/g,
    "\\[$1\\]",
  );
}
