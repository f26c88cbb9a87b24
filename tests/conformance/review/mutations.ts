/** Defects as changes of one line: the kinds that reviewers look for. */

export interface Mutation {
  readonly name: string;
  /** Number of the changed line. */
  readonly line: number;
  /** Its new text; undefined: the line is removed. */
  readonly text: string | undefined;
  /** Number, after the change, of the line that shows the defect. */
  readonly shown: number;
}

/** The new text of a line, undefined where the defect does not fit; "removed" without the line. */
type Operator = (line: string) => string | "removed" | undefined;

const swap = (pattern: RegExp, other: (found: string) => string): Operator => (line) =>
  pattern.test(line) ? line.replace(pattern, (found) => other(found)) : undefined;
const removed = (pattern: RegExp): Operator => (line) => pattern.test(line) ? "removed" : undefined;
const pairs = (...list: readonly (readonly [string, string])[]): (found: string) => string => {
  const map = new Map(list.flatMap(([a, b]) => [[a, b], [b, a]]));
  return (found) => found.replace(found.trim(), map.get(found.trim()) ?? found.trim());
};

const OPERATORS: Readonly<Record<string, Operator>> = {
  "comparison flipped": swap(/ (?:===|!==|==|!=) /, pairs(["===", "!=="], ["==", "!="])),
  "bound moved": swap(/ (?:<=|>=|<|>) (?=[\w(])/, pairs(["<", "<="], [">", ">="])),
  "off by one": swap(/(?<=[\w)\]]) [+-] 1\b/, () => ""),
  "index moved": swap(/\[0\]/, () => "[1]"),
  "await dropped": swap(/\bawait (?=[\w(])/, () => ""),
  "condition weakened": swap(
    / (?:&&|\|\|) |(?<=^\s*(?:if|elif|while|assert|return) [^"']*) (?:and|or) (?=[\w(])/,
    pairs(["&&", "||"], ["and", "or"]),
  ),
  "negation dropped": swap(/(?<=\bif \(|&& |\|\| )!(?=[\w(])|(?<=\bif )(?:not |!(?=\w))/, () => ""),
  "null check dropped": swap(/\?\.(?=\w)| \?\? [\w"'[\]{}]+/, (found) => found === "?." ? "." : ""),
  "early return dropped": removed(/^\s*if\b.*\b(?:return|continue|break)\b[^{}]*;?$/),
  "error swallowed": swap(
    /^(?<!\w)\s*(?:throw new \w+\(.*\);|raise \w+\(.*\)|return (?:nil, )?err)$/,
    (found) =>
      found.replace(
        /\S.*/,
        /^\s*raise/.test(found) ? "pass" : /^\s*return/.test(found) ? "return nil" : "return;",
      ),
  ),
  "resource leaked": removed(
    /^\s*(?:defer |await |try )?[\w.?]+\.(?:close|Close|release|unlock|Unlock|dispose|free|abort)\(\);?$/,
  ),
  "assertion dropped": removed(
    /^\s*(?:await )?(?:assert\w*[!.(]|expect\(|self\.assert\w+\(|assert ).*[;)\w]$/,
  ),
  "arguments swapped": swap(
    /(?<=\w\()(\w+), (\w+)(?=\))/,
    (found) => found.split(", ").reverse().join(", "),
  ),
  "constant changed": swap(/(?<![\w.#"'])\d{2,}(?![\w.%"'])/, (found) => `${found}0`),
  "boolean flipped": swap(/\b(?:true|false|True|False)\b/, pairs(["true", "false"], ["True", "False"])),
  "default inverted": swap(/(?<=\breturn )(?:true|false|nil|null|undefined|None)(?=;?$)/, () => "0"),
};

const COMMENT = /^\s*(?:\/\/|\/?\*|#(?!\w+\()|--|<!--|"""|'{3})/;

/** All defects of the added lines; `lines` is the whole file, line numbers begin with 1. */
export function mutationsOf(lines: readonly string[], added: ReadonlySet<number>): Mutation[] {
  const found: Mutation[] = [];
  for (const line of added) {
    const before = lines[line - 1] ?? "";
    if (before.trim().length < 4 || before.length > 300 || COMMENT.test(before)) continue;
    for (const [name, operator] of Object.entries(OPERATORS)) {
      const text = operator(before);
      if (text === undefined || text === before) continue;
      if (text !== "removed") found.push({ name, line, text, shown: line });
      // A removed line is shown by the line before it, which has to be one of the change, too.
      else if (added.has(line - 1) && /\w{3}/.test(lines[line - 2] ?? "")) {
        found.push({ name, line, text: undefined, shown: line - 1 });
      }
    }
  }
  return found;
}
