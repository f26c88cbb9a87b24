import { message, type PreparedCall, type Text, type ToolFamily } from "../core/mod.ts";
import { isDirectory } from "../path/probe.ts";
import type { PathForms, PathMatcher, RuleList } from "./path_rules.ts";
import { type Match, matchPattern, toPattern } from "./pattern.ts";
import {
  isProblem,
  matchAddress,
  parseRule,
  type PolicySource,
  type Rule,
  type RuleProblem,
  type RuleText,
} from "./rule.ts";

/** Rules that can concern one tool, in the order they were written. */
export interface ToolRules {
  readonly deny: readonly Rule[];
  readonly ask: readonly Rule[];
  readonly allow: readonly Rule[];
}

/** The facts of a call that decide which rules can concern it. */
export type RuledCall = Pick<PreparedCall, "tool" | "family" | "server" | "declared"> & {
  /** The name under which the model called it, where that is an alias. */
  readonly alias?: string;
};

/**
 * The decision of the policy, before a prompt.
 *
 * `unsure` means that a denied command could hide in what cannot be judged; `fallback` that no rule matched.
 */
export interface Ruling {
  readonly outcome: "allow" | "ask" | "deny";
  readonly by: "rule" | "fallback" | "unsure" | "protected" | "alwaysAsk";
  readonly rule?: Rule;
  readonly reason: Text;
}

/** The reason of a call that no rule concerns. */
export const NO_RULE = message`no rule applies (default)`;

const NO_RULES: readonly RuleText[] = [];

/** The rules of a session: parsed once, looked up by tool name. */
export class RuleSet {
  readonly problems: RuleProblem[] = [];
  readonly #rules: Rule[] = [];
  readonly #byTool = new Map<string, ToolRules>();
  readonly #temporary: () => readonly RuleText[];
  #texts: readonly RuleText[] = NO_RULES;
  #parsed: readonly Rule[] = [];

  constructor(source: PolicySource, temporary: () => readonly RuleText[] = () => NO_RULES) {
    this.#temporary = temporary;
    for (const list of ["deny", "ask", "allow"] as const) {
      for (const text of source[list]) this.#add(parseRule(text, list));
    }
  }

  /**
   * Takes the temporary allow rules over when they changed; what is no rule, and a rule for every tool, has
   * no effect.
   */
  #refresh(): void {
    const texts = this.#temporary();
    if (texts === this.#texts) return;
    this.#texts = texts;
    const parsed = texts.map((text) => parseRule(text, "allow"));
    this.#parsed = parsed.flatMap((rule) => isProblem(rule) || rule.tool === "*" ? [] : [rule]);
    this.#byTool.clear();
  }

  #add(parsed: Rule | RuleProblem): void {
    if (isProblem(parsed)) this.problems.push(parsed);
    else this.#rules.push(parsed);
  }

  grant(text: string, origin: string): void {
    this.#add(parseRule({ text, origin }, "allow"));
    this.#byTool.clear();
  }

  revoke(text: string, origin: string): void {
    const at = this.#rules.findIndex((rule) => rule.text === text && rule.source.origin === origin);
    if (at < 0) return;
    this.#rules.splice(at, 1);
    this.#byTool.clear();
  }

  /** Rules that can concern the calls of a tool. */
  for(call: RuledCall): ToolRules {
    return this.#find(
      [call.tool, call.alias, call.server, call.declared?.isVouched, ...call.declared?.families ?? []].join(
        " ",
      ),
      (rule) => concerns(rule, call),
    );
  }

  /** Rules about what the tools of a family do, which hold for commands that do the same. */
  family(family: ToolFamily): ToolRules {
    return this.#find(
      family,
      (rule) => rule.family === family || (rule.list === "allow" && rule.tool === "*"),
    );
  }

  #find(key: string, filter: (rule: Rule) => boolean): ToolRules {
    this.#refresh();
    let found = this.#byTool.get(key);
    if (!found) {
      const concerned = [...this.#rules, ...this.#parsed].filter(filter);
      const of = (list: RuleList) => concerned.filter((rule) => rule.list === list);
      this.#byTool.set(key, found = { deny: of("deny"), ask: of("ask"), allow: of("allow") });
    }
    return found;
  }
}

/** No tool has such a name: a rule that covers it is about a whole server. */
const ANY_TOOL = " any tool";

/** Tools of other programs whose calls the rules of a family concern by their name. */
const TOOLS_OF_FAMILY: Readonly<Record<string, string>> = { WebFetch: "web_fetch", WebSearch: "web_search" };

function concerns(rule: Rule, call: RuledCall): boolean {
  const { tool, family, alias, server, declared } = call;
  // An edit shows the file, and a move gives it a name under which a refusal to read it would no longer hold.
  if (rule.family === "Read" && rule.list === "deny" && rule.spec && family === "Edit") return true;
  if (rule.family !== undefined) {
    if (family === rule.family || (rule.family === "Mcp" && server !== undefined)) return true;
    if (declared?.families.includes(rule.family) && (declared.isVouched || rule.list !== "allow")) {
      return true;
    }
  }
  const name = rule.tool ?? TOOLS_OF_FAMILY[rule.family ?? ""];
  if (name === undefined) return false;
  if (name === tool || name === "*") return true;
  // A short name of an MCP tool may be a project's: only its full name is allowed.
  if (name === alias) return family !== "Mcp" || rule.list !== "allow";
  if (!name.startsWith("mcp__")) return false;
  const called = server === undefined ? tool : `${server}${ANY_TOOL}`;
  return called.startsWith(`${name}__`) || matchPattern(toPattern(name), called) === "yes";
}

/** Judges a call that is not a command line. Undefined when no rule matches. */
export function judgeCall(rules: ToolRules, call: PreparedCall, paths: PathMatcher): Ruling | undefined {
  if (rules.deny.length + rules.ask.length + rules.allow.length === 0) return undefined;
  const files = filesOf(call, paths);
  for (const rule of rules.deny) {
    const match = matchCall(rule, files, paths);
    if (match === "yes") return ruled("deny", rule);
    if (match === "maybe") return unsure(rule);
  }
  const ask = rules.ask.find((rule) => matchCall(rule, files, paths) !== "no");
  if (ask) return ruled("ask", ask);
  const named = call.declared
    ? rules.allow.filter(({ family }) => family === undefined || !call.declared?.families.includes(family))
    : rules.allow;
  return allowance(named, files, paths) ?? (call.declared && declaredAllowance(rules.allow, files, paths));
}

/** The files and subjects of a call, with its paths resolved. */
interface CallFiles {
  readonly reads: readonly PathForms[];
  readonly writes: readonly PathForms[];
  readonly urls: readonly string[];
  readonly queries: readonly string[];
  /**
   * The files that an allow rule must cover: those that are written, or else those that are read. Only rules
   * of a family cover what a server declares.
   */
  readonly decisive: readonly PathForms[];
  /** As the model wrote them. */
  readonly texts: readonly string[];
  /** Reports whether a directory is among what is written, and so moved. */
  readonly moved: () => boolean;
}

function filesOf(call: PreparedCall, paths: PathMatcher): CallFiles {
  const { reads, writes = [], subjects, family, declared } = call;
  const forms = new Map([...reads, ...writes].map((path) => [path, paths.forms(path)]));
  const of = (list: readonly string[]) => list.flatMap((path) => forms.get(path) ?? []);
  return {
    reads: of(reads),
    writes: of(writes),
    urls: declared?.urls ?? subjects,
    queries: declared?.queries ?? subjects,
    decisive: of(family === "Edit" ? writes : declared ? [] : reads),
    texts: [...new Set([...forms.keys(), ...subjects])],
    moved: () => writes.some((path) => isDirectory(forms.get(path)?.real ?? path)),
  };
}

export function ruled(outcome: Ruling["outcome"], rule: Rule): Ruling {
  return {
    outcome,
    by: "rule",
    rule,
    reason: message`Matched permission rule: ${`${outcome} ${rule.text}`}`,
  };
}

export function unsure(
  rule: Rule,
  what: Text = message`what this call acts on cannot be known beforehand`,
): Ruling {
  return {
    outcome: "ask",
    by: "unsure",
    rule,
    reason: message`${what}, and ${`${rule.list} ${rule.text}`} could concern it`,
  };
}

function matchCall(rule: Rule, files: CallFiles, paths: PathMatcher): Match {
  const spec = rule.spec;
  if (!spec) return "yes";
  if (spec.kind === "literal") return files.texts.includes(spec.text) ? "yes" : "no";
  if (rule.family === "WebFetch") {
    return anyOf(files.urls.map((url) => matchAddress(spec.raw, rule.list, url)));
  }
  if (rule.family === "WebSearch") {
    return files.queries.some((text) => namesText(spec.raw, text)) ? "yes" : "no";
  }
  // A directory takes along what a rule names in it, which could be read and written under the new name.
  if (rule.list !== "allow" && files.writes.some((file) => paths.holds(spec.raw, file, files.moved))) {
    return "yes";
  }
  // What a call only reads, such as the source of a copy, is nothing to a rule about edits, nor the other way
  // round.
  const { reads, writes } = files;
  const concerned = rule.family === "Edit" ? writes : rule.family === "Read" ? reads : [...reads, ...writes];
  const matches = concerned.map((file) => paths.match(spec.raw, rule.list, file));
  // A rule for one tool by name also sees what is no path, such as a search pattern; one about agents, names.
  const named = rule.family === undefined || rule.family === "Task";
  if (named && files.texts.some((text) => namesText(spec.raw, text))) return "yes";
  return anyOf(matches);
}

function anyOf(matches: readonly Match[]): Match {
  return matches.includes("yes") ? "yes" : matches.includes("maybe") ? "maybe" : "no";
}

function namesText(glob: string, text: string): boolean {
  return matchPattern(toPattern(glob), text) === "yes";
}

/** Tests whether deny rules refuse a call of a tool by its subject alone, such as the name of a skill. */
export function deniedSubjects(texts: readonly string[], tool: string): (subject: string) => boolean {
  const source: PolicySource = { mode: "ask", allow: [], ask: [], deny: texts.map((text) => ({ text })) };
  const { deny } = new RuleSet(source).for({ tool });
  return (subject) =>
    deny.some(({ spec }) =>
      !spec || (spec.kind === "literal" ? spec.text === subject : namesText(spec.raw, subject))
    );
}

/** Every file of the call must be covered, by one rule or another. */
function allowance(rules: readonly Rule[], files: CallFiles, paths: PathMatcher): Ruling | undefined {
  const { texts, decisive } = files;
  const whole = rules.find((rule) =>
    !rule.spec ||
    (rule.spec.kind === "literal" && texts.length === 1 && texts[0] === rule.spec.text) ||
    (decisive.length === 0 && texts.length > 0 && rule.spec.kind !== "literal" &&
      texts.every((text) => rule.spec?.kind === "glob" && allowsText(rule, rule.spec.raw, text)))
  );
  if (whole) return ruled("allow", whole);
  if (decisive.length === 0) return undefined;
  const covering = decisive.map((file) => coveringRule(rules, file, paths));
  const last = covering.at(-1);
  return last && covering.every((rule) => rule !== undefined) ? ruled("allow", last) : undefined;
}

function allowsText({ family }: Rule, glob: string, text: string): boolean {
  return family === "WebFetch" ? matchAddress(glob, "allow", text) === "yes" : namesText(glob, text);
}

/** Each file, address and query of a call must be covered by a rule of its family. */
function declaredAllowance(rules: readonly Rule[], files: CallFiles, paths: PathMatcher): Ruling | undefined {
  const { reads, urls, queries } = files;
  const of = (wanted: string) => rules.filter(({ family }) => family === wanted);
  const covers = (rule: Rule, more: Partial<CallFiles>) =>
    matchCall(rule, { ...files, texts: [], ...more }, paths) === "yes";
  const covering = [
    ...reads.map((file) => coveringRule(of("Read"), file, paths)),
    ...urls.map((url) => of("WebFetch").find((rule) => covers(rule, { urls: [url], texts: [url] }))),
    ...queries.map((text) =>
      of("WebSearch").find((rule) => covers(rule, { queries: [text], texts: [text] }))
    ),
  ];
  const last = covering.at(-1);
  return last && covering.every((rule) => rule !== undefined) ? ruled("allow", last) : undefined;
}

/** The allow rule that covers one file, if any. */
export function coveringRule(rules: readonly Rule[], file: PathForms, paths: PathMatcher): Rule | undefined {
  return rules.find((rule) =>
    !rule.spec || (rule.spec.kind !== "literal" && paths.match(rule.spec.raw, "allow", file) === "yes")
  );
}
