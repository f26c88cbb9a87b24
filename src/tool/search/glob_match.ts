/** Whether a path, written with `/` from some folder, matches one of the patterns. */
export type GlobTest = (path: string) => boolean;

/** Compiles glob patterns: `**`, braces, classes, extended globs; dot files count. */
export async function compileGlobs(patterns: readonly string[]): Promise<GlobTest> {
  const { default: picomatch } = await import("picomatch");
  // The expressions alone take a third of the time of picomatch's own test function, and a walk asks for every file.
  const expressions = patterns.map((pattern): RegExp => picomatch.makeRe(pattern, { dot: true }));
  const [only] = expressions;
  if (expressions.length === 1 && only) return (path) => only.test(path);
  return (path) => expressions.some((expression) => expression.test(path));
}
