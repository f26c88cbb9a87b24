import type { ToolFamily } from "../core/mod.ts";
import { isFault, readRule, type RuleTarget } from "./syntax.ts";
import { ANY, SEP, toPattern } from "./pattern.ts";

/**
 * A rule as it stands in a configuration file. `origin` is printed as it is, such as `reasonix.toml:12:5`.
 */
export interface RuleText {
  readonly text: string;
  readonly origin?: string;
}

export type RuleList = "allow" | "ask" | "deny";

/** A rule that was not understood. */
export interface RuleProblem {
  readonly rule: string;
  readonly list: RuleList;
  readonly origin?: string;
  readonly message: string;
  /** The form to write instead. */
  readonly remedy: string;
}

/** `[permissions]` after merging. `mode` is what happens to a writer that no rule matches. */
export interface PolicySource {
  readonly mode: "ask" | "allow" | "deny";
  readonly allow: readonly RuleText[];
  readonly ask: readonly RuleText[];
  readonly deny: readonly RuleText[];
}

/** The content of a rule's parentheses. */
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
  readonly family?: ToolFamily;
  /** Tool name, with `*` as wildcard; absent for a family rule. */
  readonly tool?: string;
  /** Absent: every call of the tool. */
  readonly spec?: RuleSpec;
}

/** Reads one rule: `Tool`, `Tool(spec)` or `tool=literal`; see docs/permissions.md. */
export function parseRule(source: RuleText, list: RuleList): Rule | RuleProblem {
  const text = source.text.trim();
  const read = readRule(source.text);
  if (isFault(read)) {
    const origin = source.origin === undefined ? {} : { origin: source.origin };
    return { rule: source.text, list, ...origin, message: read.message, remedy: read.remedy };
  }
  const { target, inner, literal } = read;
  const rule = { text, list, source, ...target, ...offeredName(target) };
  if (literal !== undefined) {
    return { ...rule, text: source.text.trimStart(), spec: { kind: "literal", text: literal } };
  }
  if (inner === undefined) return rule;
  const family = "family" in target ? target.family : undefined;
  if (family === "Mcp") return { text, list, source, ...offeredName({ tool: `mcp__${inner}` }) };
  if (family === "Bash") return { ...rule, spec: commandSpec(inner) };
  return { ...rule, spec: { kind: "glob", raw: inner } };
}

export function isProblem(parsed: Rule | RuleProblem): parsed is RuleProblem {
  return "message" in parsed;
}

/** A server may have any name; the model calls its tools without the characters that not every wire takes. */
function offeredName(target: RuleTarget): { readonly tool?: string } {
  if (!("tool" in target) || !target.tool.startsWith("mcp__")) return {};
  return { tool: target.tool.replace(/[^A-Za-z0-9_*?-]/gu, "_") };
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

/**
 * Splits a rule's text like a shell would, so that `git commit -m "a b"` names three words and one of two.
 */
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
