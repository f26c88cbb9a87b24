import { ANY, SEP, toPattern } from "./pattern.ts";
import type { RuleList, RuleProblem, RuleText } from "./ports.ts";
import { type Family, ruleNames, ruleTarget } from "./tools.ts";

/** What stands in a rule's parentheses. */
export type RuleSpec =
  /** The subject exactly as it is (`tool=literal`). */
  | { readonly kind: "literal"; readonly text: string }
  /** `raw` is what was written; `patterns` match a whole command whose words are joined by SEP. */
  | {
    readonly kind: "command";
    readonly raw: string;
    readonly patterns: readonly string[];
    readonly words: readonly string[];
  }
  /** A glob on paths or on any other subject. */
  | { readonly kind: "glob"; readonly raw: string };

/** A rule that was understood. */
export interface Rule {
  readonly text: string;
  readonly list: RuleList;
  /** Its `origin` is only looked at when it is shown, since finding it may cost something. */
  readonly source: RuleText;
  readonly family?: Family;
  /** Tool name, with `*` as wildcard; absent for a family rule. */
  readonly tool?: string;
  /** Absent: every call of the tool. */
  readonly spec?: RuleSpec;
}

/** Reads one rule: `Tool`, `Tool(spec)` or `tool=literal` (seed 000 §3.7). */
export function parseRule(source: RuleText, list: RuleList): Rule | RuleProblem {
  const text = source.text.trim();
  const base = { list, source };
  const problem = (message: string): RuleProblem => ({
    rule: source.text,
    list,
    ...(source.origin === undefined ? {} : { origin: source.origin }),
    message,
  });
  if (text === "") {
    return problem("Cannot read an empty permission rule; write Tool or Tool(what), such as Bash(go test:*)");
  }

  const split = /^([^\s(=]+)(?:\(([\s\S]*)\)|=([\s\S]*))?$/.exec(text);
  if (!split) {
    return problem(
      `Cannot read permission rule ${quote(text)}; write Tool or Tool(what) with both parentheses`,
    );
  }
  const [, name = "", inner, literal] = split;
  const target = ruleTarget(name);
  if (!target) return problem(unknownTool(name));

  const rule = { text, ...base, ...target };
  // A literal is compared as it is, with the blanks at its end.
  if (literal !== undefined) {
    const blanks = /\s*$/.exec(source.text)?.[0] ?? "";
    return { ...rule, text: text + blanks, spec: { kind: "literal", text: literal + blanks } };
  }
  const spec = inner?.trim();
  if (spec === undefined || spec === "*") return rule;
  if (spec === "") {
    return problem(
      `Cannot read permission rule ${
        quote(text)
      }: nothing stands in its parentheses; write ${name} alone for every call`,
    );
  }
  if ("family" in target && target.family === "Mcp") return { text, ...base, tool: `mcp__${spec}` };
  if ("family" in target && target.family === "Bash") return { ...rule, spec: commandSpec(spec) };
  return { ...rule, spec: { kind: "glob", raw: spec } };
}

export function isProblem(parsed: Rule | RuleProblem): parsed is RuleProblem {
  return "message" in parsed;
}

function unknownTool(name: string): string {
  const near = nearest(name, ruleNames());
  const hint = near ? `did you mean ${near}?` : "use Bash, Read, Edit, Mcp or a tool's own name";
  return `Cannot read permission rule for ${quote(name)}: no tool or family has this name; ${hint}`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}…` : text);
}

/** `npm run test:*` and the older `go test *` match at a word boundary; other wildcards match anywhere. */
function commandSpec(raw: string): RuleSpec {
  const prefix = /^(.*?)(?:\s*:\*|\s+\*)$/s.exec(raw);
  const body = prefix?.[1] ?? raw;
  const words = splitWords(body);
  const pattern = words.map(toPattern).join(SEP);
  const patterns = prefix ? [pattern, `${pattern}${SEP}${ANY}`] : [pattern];
  return { kind: "command", raw, patterns, words };
}

/** Splits a rule's text like a shell would, so that `git commit -m "a b"` names three words and one of two. */
function splitWords(text: string): string[] {
  const words: string[] = [];
  let word = "";
  let open = false;
  for (
    const [, single, double, escaped, space, other] of text.matchAll(
      /'([^']*)'|"([^"]*)"|\\(.)|(\s+)|([\s\S])/g,
    )
  ) {
    if (space !== undefined) {
      if (open) words.push(word);
      word = "";
      open = false;
    } else {
      word += single ?? double ?? escaped ?? other ?? "";
      open = true;
    }
  }
  if (open) words.push(word);
  return words;
}

/** The candidate within two edits of the word (ignoring case), if any. */
function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let limit = 3;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < limit) {
      best = candidate;
      limit = distance;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
