import { baseName } from "../../../path/lexical.ts";
import { PROTECTED_KINDS, protectedHolder, protectedPath } from "../../../path/protected.ts";
import { isDirectory } from "../../../path/probe.ts";
import {
  ANY,
  coveringRule,
  type Finding,
  isKnown,
  type Match,
  type PathContext,
  type PathForms,
  type PathMatcher,
  type Rule,
  ruled,
  type RuleSet,
  type Ruling,
  type ToolRules,
  unsure,
} from "../../../rule/mod.ts";
import { allows, concerns } from "./match_rule.ts";
import { type Effects, type FileUse, isDiscardDevice, program } from "../types.ts";

interface Scene {
  readonly ruleSet: RuleSet;
  readonly paths: PathMatcher;
  readonly places: PathContext;
}

/**
 * Judges one command of a line. Undefined when it is neutral: it needs no rule of its own beside commands
 * that are allowed.
 */
export function evaluateCommand(effects: Effects, rules: ToolRules, scene: Scene): Ruling | undefined {
  const ruling = refusal(effects, rules, scene) ?? allowance(effects, rules, scene);
  if (ruling || effects.readOnly) return ruling;
  const unclear = effects.dynamic ?? effects.risk ?? effects.guarded;
  if (unclear !== undefined) return unjudged({ code: "unclear", detail: unclear });
  const writes = redirectedWrites(effects).length > 0;
  return unjudged(writes ? { code: "redirects", detail: "it writes to a file by redirection" } : undefined);
}

/** No rule applies; what of the call makes that so, if anything does. */
export function unjudged(finding?: Finding): Ruling {
  const reason = finding?.detail ?? "no rule applies (default)";
  return { outcome: "ask", by: "fallback", reason, ...(finding ? { finding } : {}) };
}

function redirectedWrites({ writes }: Effects): FileUse[] {
  return writes.filter((use) => use.redirect && !isDiscardDevice(use.path));
}

/** Says what denies it, may deny it, protects what it writes, or asks; in this order. */
function refusal(effects: Effects, rules: ToolRules, scene: Scene): Ruling | undefined {
  const { dynamic } = effects;
  const { paths, places } = scene;
  const writes = located(effects.writes.filter(({ path }) => !isDiscardDevice(path)), effects, paths);
  const reads = located(effects.reads.filter(({ path }) => !isDiscardDevice(path)), effects, paths);
  // What is moved or copied as a whole may be an ordinary file.
  const whole = [...reads, ...writes].filter((use) => use.deep);
  const holder = () => whole.some(({ forms }) => !isKnown(forms.real) || isDirectory(forms.real));
  const read = scene.ruleSet.family("Read");
  const edit = scene.ruleSet.family("Edit");
  const find = (list: "deny" | "ask"): { rule: Rule; match: Match } | undefined => {
    let maybe: { rule: Rule; match: Match } | undefined;
    const note = (rule: Rule, match: Match) => {
      if (match === "maybe") maybe ??= { rule, match };
      return match === "yes";
    };
    for (const rule of rules[list]) if (note(rule, concerns(rule, effects))) return { rule, match: "yes" };
    for (const use of reads) {
      for (const rule of read[list]) {
        if (note(rule, matchFile(rule, use, paths, use.moved ? holder : undefined))) {
          return { rule, match: "yes" };
        }
      }
    }
    for (const use of writes) {
      for (const rule of edit[list]) {
        if (note(rule, matchFile(rule, use, paths, use.deep ? holder : undefined))) {
          return { rule, match: "yes" };
        }
      }
    }
    return maybe;
  };
  const denied = find("deny");
  if (denied) {
    return denied.match === "yes"
      ? ruled("deny", denied.rule)
      : unsure(denied.rule, "only the shell will know all of its words");
  }
  const deny = rules.deny[0];
  if (dynamic !== undefined && deny) return unsure(deny, dynamic);
  const makesEmpty = /^(?:mkdir|touch)$/.test(baseName(program(effects)[0] ?? ""));
  for (const { forms } of writes) {
    const names = Object.values(forms);
    const what = protectedPath(names, places) ?? (makesEmpty ? undefined : protectedHolder(names, places));
    if (what) return { outcome: "ask", by: "protected", reason: PROTECTED_KINDS[what], kind: what };
  }
  const asked = find("ask");
  if (asked) return ruled("ask", asked.rule);
  const ask = rules.ask[0];
  return dynamic !== undefined && ask ? unsure(ask, dynamic) : undefined;
}

type LocatedUse = FileUse & { readonly forms: PathForms };

/** `holder`: what lies below the path is concerned as well, if it is, or becomes, a directory. */
function matchFile(rule: Rule, use: LocatedUse, paths: PathMatcher, holder?: () => boolean): Match {
  // A bare Read or Edit rule is about tools; among commands it concerns what the shell itself opens.
  if (!rule.spec) return use.redirect ? "yes" : "no";
  if (rule.spec.kind === "literal") return use.path === rule.spec.text ? "yes" : "no";
  if (holder && paths.holds(rule.spec.raw, use.forms, holder)) return "yes";
  const match = paths.match(rule.spec.raw, rule.list, use.forms);
  // An unknown word of an ordinary command is most likely harmless; an unknown target of a redirection is
  // not let through.
  return match === "maybe" && !use.redirect && use.forms.lexical === ANY ? "no" : match;
}

function located(uses: readonly FileUse[], { cwds }: Effects, paths: PathMatcher): LocatedUse[] {
  return uses.flatMap((use) => {
    const relative = !/^[/~]/.test(use.path);
    if (relative && !cwds) return [{ ...use, forms: { lexical: ANY, real: ANY } }];
    return (relative ? cwds ?? [] : [undefined]).map((cwd) => ({
      ...use,
      forms: paths.forms(use.path, cwd),
    }));
  });
}

/** Returns the rule that covers the command, if its redirections are covered as well. */
function allowance(effects: Effects, rules: ToolRules, scene: Scene): Ruling | undefined {
  const bare = rules.allow.find((rule) => !rule.spec);
  if (bare) return ruled("allow", bare);
  const writes = redirectedWrites(effects);
  const edits = scene.ruleSet.family("Edit").allow;
  const open = located(writes, effects, scene.paths).some(({ forms }) =>
    coveringRule(edits, forms, scene.paths) === undefined
  );
  if (open || effects.wrapper) return undefined;
  const rule = rules.allow.find((each) => allows(each, effects));
  if (rule) return ruled("allow", rule);
  const edit = edits[0];
  return effects.runs.length === 0 && writes.length > 0 && edit ? ruled("allow", edit) : undefined;
}
