import {
  isProblem,
  type Match,
  matchPattern,
  parseRule,
  type PathForms,
  type PathMatcher,
  type PolicySource,
  type Rule,
  type RuleList,
  type RuleProblem,
  type RuleText,
  toPattern,
} from "../rule/mod.ts";
import { familyOf, type Subjects } from "./tools.ts";

/** Rules that can concern one tool, in the order they were written. */
export interface ToolRules {
  readonly deny: readonly Rule[];
  readonly ask: readonly Rule[];
  readonly allow: readonly Rule[];
  /** The tool gives files other names. */
  readonly moves?: true;
}

/**
 * What the policy says, before anybody is asked.
 *
 * `unsure` means that a denied command could hide in what cannot be judged; `fallback` that no rule matched.
 */
export interface Verdict {
  readonly outcome: "allow" | "ask" | "deny";
  readonly by: "rule" | "fallback" | "unsure" | "protected" | "fresh";
  readonly rule?: Rule;
  readonly reason: string;
}

/** The rules of a session: parsed once, looked up by tool name. */
export class RuleBook {
  readonly problems: RuleProblem[] = [];
  readonly #rules: Rule[] = [];
  readonly #byTool = new Map<string, ToolRules>();
  #lent: readonly Rule[] = [];

  constructor(source: PolicySource) {
    for (const list of ["deny", "ask", "allow"] as const) {
      for (const text of source[list]) this.#add(parseRule(text, list));
    }
  }

  /** Allow rules that hold until others are lent; what is no rule, and a rule for every tool, has no effect. */
  lend(texts: readonly RuleText[]): void {
    const parsed = texts.map((text) => parseRule(text, "allow"));
    this.#lent = parsed.flatMap((rule) => isProblem(rule) || rule.tool === "*" ? [] : [rule]);
    this.#byTool.clear();
  }

  #add(parsed: Rule | RuleProblem): void {
    if (isProblem(parsed)) this.problems.push(parsed);
    else this.#rules.push(parsed);
  }

  /** Adds a rule that was granted while running. */
  grant(text: string, origin: string): void {
    this.#add(parseRule({ text, origin }, "allow"));
    this.#byTool.clear();
  }

  for(tool: string): ToolRules {
    let found = this.#byTool.get(tool);
    if (!found) {
      const concerned = [...this.#rules, ...this.#lent].filter((rule) => concerns(rule, tool));
      const of = (list: RuleList) => concerned.filter((rule) => rule.list === list);
      this.#byTool.set(
        tool,
        found = {
          deny: of("deny"),
          ask: of("ask"),
          allow: of("allow"),
          ...(RENAMERS.has(tool) ? { moves: true } : {}),
        },
      );
    }
    return found;
  }
}

/** Tools that can give a file another name, under which a refusal to read it would no longer hold. */
const RENAMERS: ReadonlySet<string> = new Set(["move_file", "apply_patch"]);

function concerns(rule: Rule, tool: string): boolean {
  if (rule.family === "Read" && rule.list === "deny" && rule.spec && RENAMERS.has(tool)) return true;
  if (rule.family !== undefined) return familyOf(tool) === rule.family;
  const name = rule.tool ?? "";
  if (name === tool || name === "*") return true;
  if (!name.startsWith("mcp__")) return false;
  return tool.startsWith(`${name}__`) || matchPattern(toPattern(name), tool) === "yes";
}

/** Judges a call that is not a command line. Undefined when no rule matches. */
export function judgeCall(rules: ToolRules, subjects: Subjects, paths: PathMatcher): Verdict | undefined {
  if (rules.deny.length + rules.ask.length + rules.allow.length === 0) return undefined;
  const files = subjects.paths.map((path) => paths.forms(path));
  const match = (rule: Rule) => matchSubjects(rule, subjects, files, paths);
  for (const rule of rules.deny) {
    // A folder takes along what a rule names in it, so that it could be read under the new name.
    const raw = rules.moves && rule.family === "Read" && rule.spec?.kind === "glob"
      ? rule.spec.raw
      : undefined;
    const found = raw !== undefined && files.some((file) => paths.holds(raw, file)) ? "yes" : match(rule);
    if (found === "yes") return ruled("deny", rule);
    if (found === "maybe") return unsure(rule);
  }
  const ask = rules.ask.find((rule) => match(rule) !== "no");
  if (ask) return ruled("ask", ask);
  return allowance(rules.allow, subjects, files, paths);
}

export function ruled(outcome: Verdict["outcome"], rule: Rule): Verdict {
  return { outcome, by: "rule", rule, reason: `Matched permission rule: ${outcome} ${rule.text}` };
}

export function unsure(rule: Rule, what = "what this call acts on cannot be known beforehand"): Verdict {
  return {
    outcome: "ask",
    by: "unsure",
    rule,
    reason: `${what}, and ${rule.list} ${rule.text} could concern it`,
  };
}

function matchSubjects(
  rule: Rule,
  subjects: Subjects,
  files: readonly PathForms[],
  paths: PathMatcher,
): Match {
  const spec = rule.spec;
  if (!spec) return "yes";
  if (spec.kind === "literal") return subjects.literals.includes(spec.text) ? "yes" : "no";
  if (files.some((file) => paths.match(spec.raw, rule.list, file) === "yes")) return "yes";
  // A rule for one tool by name also sees arguments that are no paths, such as a search pattern.
  const direct = rule.family === undefined &&
    subjects.literals.some((text) => matchPattern(toPattern(spec.raw), text) === "yes");
  if (direct) return "yes";
  return subjects.unknownPaths ? "maybe" : "no";
}

/** Every file of the call must be covered, by one rule or another. */
function allowance(
  rules: readonly Rule[],
  subjects: Subjects,
  files: readonly PathForms[],
  paths: PathMatcher,
): Verdict | undefined {
  const whole = rules.find((rule) =>
    !rule.spec ||
    (rule.spec.kind === "literal" && subjects.literals.length === 1 &&
      subjects.literals[0] === rule.spec.text) ||
    (files.length === 0 && matchSubjects(rule, subjects, files, paths) === "yes")
  );
  if (whole) return ruled("allow", whole);
  if (files.length === 0) return undefined;
  const covering = files.map((file) => coveringRule(rules, file, paths));
  const last = covering.at(-1);
  return last && covering.every((rule) => rule !== undefined) ? ruled("allow", last) : undefined;
}

/** The allow rule that covers one file, if any. */
export function coveringRule(rules: readonly Rule[], file: PathForms, paths: PathMatcher): Rule | undefined {
  return rules.find((rule) =>
    !rule.spec || (rule.spec.kind !== "literal" && paths.match(rule.spec.raw, "allow", file) === "yes")
  );
}
