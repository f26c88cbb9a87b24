import type { PreparedCall } from "../../core/mod.ts";
import type { CommandReport } from "../command/evaluate/evaluate.ts";
import { escapeGlob } from "../../path/glob.ts";
import { absolutePath } from "../../path/lexical.ts";
import { isFault, isProblem, parseRule, type PathContext, readRule, type Rule } from "../../rule/mod.ts";
import type { RuleRefusal } from "../types.ts";

/** What a rule is proposed for. */
interface ProposedCall {
  readonly call: PreparedCall;
  readonly subject: string;
  readonly report?: CommandReport;
}

/** Rules that an approval could save. */
export interface SuggestedRules {
  /** Exactly this call, wherever it is made. */
  readonly rule?: string;
  readonly prefixRule?: string;
  /** Exactly this call in this project. */
  readonly projectRule?: string;
}

/**
 * The rules an approval could save: exactly this call, everywhere and in this project, and for a plain
 * command a wider prefix. `proves` says whether the call would be allowed with the rule added; what is not
 * proven is not proposed.
 */
export function suggestRules(
  call: ProposedCall,
  places: PathContext,
  proves: (rule: string) => boolean,
): SuggestedRules {
  const exact = exactRule(call, places);
  if (exact === undefined || !proves(exact)) return {};
  const relative = relativeRule(call, places);
  const projectRule = relative !== undefined && proves(relative) ? relative : exact;
  const words = call.report?.prefix;
  const prefix = words === undefined ? undefined : `Bash(${words.join(" ")}:*)`;
  return {
    rule: exact,
    projectRule,
    ...(prefix !== undefined && proves(prefix) ? { prefixRule: prefix } : {}),
  };
}

/** A longer rule is nothing that a person reads before it is saved. */
const MAX_RULE = 2000;

function exactRule({ call, subject }: ProposedCall, places: PathContext): string | undefined {
  const { tool, family, server } = call;
  if (subject.length > MAX_RULE) return undefined;
  if (server !== undefined) return /[()*?\\]/.test(subject) ? undefined : `${tool}(${subject})`;
  if (family === "Bash") {
    // Quotes and wildcards mean something in a rule; a literal rule takes the line as it is.
    return /^[\w./:=@%+,-]+(?: [\w./:=@%+,-]+)*$/.test(subject) && !subject.endsWith(":*")
      ? `Bash(${subject})`
      : `bash=${subject}`;
  }
  if (family !== "Edit" && family !== "Read") return tool;
  // The rule is saved for all projects: a relative path would mean a file of each of them.
  const real = realFile(call, places);
  return real === undefined ? undefined : `${family}(${escapeGlob(real)})`;
}

/** A rule for a file of the project by its path there; undefined for anything else. */
function relativeRule({ call }: ProposedCall, places: PathContext): string | undefined {
  const { family } = call;
  if (family !== "Edit" && family !== "Read") return undefined;
  const real = realFile(call, places);
  const root = places.realPath(places.cwd);
  // Relative rules count from the workspace as well, where that is another directory.
  if (real === undefined || places.realPath(places.roots[0] ?? places.cwd) !== root) return undefined;
  const inside = real.startsWith(`${root.replace(/\/$/, "")}/`)
    ? real.slice(root.length).replace(/^\//, "")
    : "";
  // At its beginning these mean something else than a name.
  return inside === "" || /^[!~"'`]|^[a-z]+:/i.test(inside) ? undefined : `${family}(${escapeGlob(inside)})`;
}

/** The only file of a call; undefined where there are several, or a rule could not name it. */
function realFile({ family, reads, writes = [] }: PreparedCall, places: PathContext): string | undefined {
  const paths = family === "Edit" ? writes : reads;
  const [path] = paths;
  if (path === undefined || paths.length !== 1) return undefined;
  const real = places.realPath(absolutePath(path, { cwd: places.cwd, home: places.home }));
  return /[()]/.test(real) ? undefined : real;
}

/** The rules that were proposed, and what proves that one allows the call. */
interface Proposed extends SuggestedRules {
  readonly rule: string;
  readonly proves: (rule: string) => boolean;
}

/**
 * Says why a rule that the user wrote is not saved for a call. It may allow less than the widest proposed one
 * and more than exactly the call, within the same program, tool or directory tree of the project.
 */
export function refuseRule(
  written: string,
  call: PreparedCall,
  { rule, prefixRule, projectRule, proves }: Proposed,
): RuleRefusal | undefined {
  if (written === rule || written === prefixRule || written === projectRule) return undefined;
  const read = readRule(written);
  if (isFault(read)) return { code: "unreadable", ...read };
  const parsed = parseRule({ text: written }, "allow");
  if (isProblem(parsed)) return { code: "unreadable", message: parsed.message, remedy: parsed.remedy };
  if (!proves(written)) return { code: "noMatch" };
  return isWithin(parsed, call, { rule, prefixRule })
    ? undefined
    : { code: "wider", widest: prefixRule ?? rule };
}

/** A rule that names no tool of its own, every call of a family, or every program, allows more. */
function isWithin(
  parsed: Rule,
  { tool, family }: PreparedCall,
  { rule, prefixRule }: { readonly rule: string; readonly prefixRule: string | undefined },
): boolean {
  const { spec } = parsed;
  if (spec?.kind === "literal") return true;
  if (family === "Bash") {
    if (spec?.kind !== "command") return false;
    const widest = prefixRule === undefined ? undefined : parseRule({ text: prefixRule }, "allow");
    const isExact = spec.patterns.length === 1 && !spec.raw.includes("*");
    if (isExact || !widest || isProblem(widest)) return isExact;
    if (widest.spec?.kind !== "command") return false;
    // The words that have to be there begin with those of the widest rule, each as it is.
    const { words } = widest.spec;
    return words.every((word, index) => spec.words[index] === word);
  }
  if (family === "Edit" || family === "Read") {
    if (spec?.kind !== "glob") return false;
    return spec.raw === rule.slice(rule.indexOf("(") + 1, -1) || !/^(?:[/~*!]|\.\.)|\/\.\.\//.test(spec.raw);
  }
  return parsed.tool === tool;
}
