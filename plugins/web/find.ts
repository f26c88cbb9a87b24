/** The search within a page, which runs in a worker: a pattern may backtrack for ever. */
export interface FindInput {
  /** The text in UTF-8. */
  readonly bytes: Uint8Array;
  readonly pattern: string;
  readonly maxResults: number;
  readonly contextLines: number;
}

export interface FoundRange {
  /** 1-indexed, inclusive, with the context. */
  readonly from: number;
  readonly to: number;
}

export interface FindResult {
  readonly ranges: readonly FoundRange[];
  /** Numbers of the first matching lines, and how many match in all. */
  readonly lines: readonly number[];
  readonly total: number;
  /** The pattern does not compile, and was searched as text. */
  readonly isText: boolean;
}

/** Resolves to the ranges of the first matching lines; ranges that touch are one. */
export function convert({ bytes, pattern, maxResults, contextLines }: FindInput): Promise<FindResult> {
  const { matches, isText } = matcherOf(pattern);
  const texts = new TextDecoder().decode(bytes).split("\n");
  const lines: number[] = [];
  let total = 0;
  for (const [index, text] of texts.entries()) {
    if (!matches(text)) continue;
    if (total++ < maxResults) lines.push(index + 1);
  }
  const ranges: { from: number; to: number }[] = [];
  for (const line of lines) {
    const from = Math.max(1, line - contextLines);
    const to = Math.min(texts.length, line + contextLines);
    const last = ranges.at(-1);
    if (last && from <= last.to + 1) last.to = to;
    else ranges.push({ from, to });
  }
  return Promise.resolve({ ranges, lines, total, isText });
}

/** The case counts when the pattern has a capital letter. */
function matcherOf(pattern: string): { matches(line: string): boolean; isText: boolean } {
  const ignoresCase = !/\p{Lu}/u.test(pattern.replace(/\\[A-Za-z]/g, ""));
  try {
    const expression = new RegExp(pattern, ignoresCase ? "i" : "");
    return { matches: (line) => expression.test(line), isText: false };
  } catch {
    const normal = (text: string) => ignoresCase ? text.toLowerCase() : text;
    const wanted = normal(pattern);
    return { matches: (line) => normal(line).includes(wanted), isText: true };
  }
}
