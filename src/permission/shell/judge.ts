import {
  ANY,
  type Match,
  type PathContext,
  type PathForms,
  type PathMatcher,
  type Rule,
} from "../../rule/mod.ts";
import { baseName } from "../../path/lexical.ts";
import { coveringRule, type RuleBook, ruled, type ToolRules, unsure, type Verdict } from "../policy.ts";
import { protectedHolder, protectedPath } from "../../path/protected.ts";
import { type PathUse, program, type Segment } from "./line.ts";
import { allows, concerns } from "./match.ts";
import { isReader, isSink } from "./readers.ts";

/** How a segment was judged. A neutral one needs no rule of its own beside commands that are allowed. */
export type SegmentVerdict =
  | { readonly kind: "neutral"; readonly reason: string; readonly verdict?: undefined }
  | { readonly kind: "judged"; readonly reason: string; readonly verdict: Verdict };

interface Scene {
  readonly book: RuleBook;
  readonly paths: PathMatcher;
  readonly places: PathContext;
}

export function judgeSegment(segment: Segment, rules: ToolRules, scene: Scene): SegmentVerdict {
  const verdict = refusal(segment, rules, scene) ?? allowance(segment, rules, scene);
  if (verdict) return { kind: "judged", reason: verdict.reason, verdict };
  if (isReader(segment)) {
    return { kind: "neutral", reason: segment.carrier ? "judged by the commands it runs" : "it only reads" };
  }
  const reason = segment.opaque ?? segment.risk ?? segment.guarded ?? writeReason(segment) ??
    "no permission rule concerns it";
  return { kind: "judged", reason, verdict: { outcome: "ask", by: "fallback", reason } };
}

function writeReason(segment: Segment): string | undefined {
  const write = segment.uses.find((use) => use.redirect && use.access === "write" && !isSink(use.path));
  return write ? "it writes to a file by redirection" : undefined;
}

/** What denies it, may deny it, protects what it writes, or asks; in this order. */
function refusal(segment: Segment, rules: ToolRules, scene: Scene): Verdict | undefined {
  const uses = segment.uses.filter((use) => !isSink(use.path)).flatMap((use) =>
    locate(use, segment, scene.paths)
  );
  const read = scene.book.family("Read");
  const edit = scene.book.family("Edit");
  const of = (list: "deny" | "ask"): { rule: Rule; match: Match } | undefined => {
    let maybe: { rule: Rule; match: Match } | undefined;
    const note = (rule: Rule, match: Match) => {
      if (match === "maybe") maybe ??= { rule, match };
      return match === "yes";
    };
    for (const rule of rules[list]) if (note(rule, concerns(rule, segment))) return { rule, match: "yes" };
    for (const { use, forms } of uses) {
      for (const rule of (use.access === "write" ? edit : read)[list]) {
        if (note(rule, matchFile(rule, use, forms, scene.paths))) return { rule, match: "yes" };
      }
    }
    return maybe;
  };
  const denied = of("deny");
  if (denied) {
    return denied.match === "yes"
      ? ruled("deny", denied.rule)
      : unsure(denied.rule, "only the shell will know all of its words");
  }
  const deny = rules.deny[0];
  if (segment.opaque !== undefined && deny) return unsure(deny, segment.opaque);
  const harmless = /^(?:mkdir|touch)$/.test(baseName(program(segment)[0] ?? ""));
  for (const { use, forms } of uses) {
    const what = use.access === "write"
      ? protectedPath(Object.values(forms), scene.places) ??
        (harmless ? undefined : protectedHolder(Object.values(forms), scene.places))
      : undefined;
    if (what) return { outcome: "ask", by: "protected", reason: what };
  }
  const asked = of("ask");
  if (asked) return ruled("ask", asked.rule);
  const ask = rules.ask[0];
  return segment.opaque !== undefined && ask ? unsure(ask, segment.opaque) : undefined;
}

function matchFile(rule: Rule, use: PathUse, forms: PathForms, paths: PathMatcher): Match {
  // A bare Read or Edit rule is about tools; among commands it concerns what the shell itself opens.
  if (!rule.spec) return use.redirect ? "yes" : "no";
  if (rule.spec.kind === "literal") return use.path === rule.spec.text ? "yes" : "no";
  if ((use.moved || (use.deep && use.access === "write")) && paths.holds(rule.spec.raw, forms)) return "yes";
  const match = paths.match(rule.spec.raw, rule.list, forms);
  // An unknown word of an ordinary command is most likely harmless; an unknown target of a redirection is not let through.
  return match === "maybe" && !use.redirect && forms.lexical === ANY ? "no" : match;
}

function locate(use: PathUse, segment: Segment, paths: PathMatcher): { use: PathUse; forms: PathForms }[] {
  const relative = !/^[/~]/.test(use.path);
  if (relative && !segment.cwds) return [{ use, forms: { lexical: ANY, real: ANY } }];
  return (relative ? segment.cwds ?? [] : [undefined]).map((cwd) => ({
    use,
    forms: paths.forms(use.path, cwd),
  }));
}

/** The rule that covers the command, if its redirections are covered as well. */
function allowance(segment: Segment, rules: ToolRules, scene: Scene): Verdict | undefined {
  const bare = rules.allow.find((rule) => !rule.spec);
  if (bare) return ruled("allow", bare);
  const writes = segment.uses.filter((use) => use.redirect && use.access === "write" && !isSink(use.path));
  const edits = scene.book.family("Edit").allow;
  const open = writes.some((use) =>
    locate(use, segment, scene.paths).some(({ forms }) =>
      coveringRule(edits, forms, scene.paths) === undefined
    )
  );
  if (open) return undefined;
  if (segment.carrier) return undefined;
  const rule = rules.allow.find((each) => allows(each, segment));
  if (rule) return ruled("allow", rule);
  const edit = edits[0];
  return segment.views.length === 0 && writes.length > 0 && edit ? ruled("allow", edit) : undefined;
}
