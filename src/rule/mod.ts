/** Permission rules: how they are written, what they mean, and what they match. */
export { lintRule } from "./lint.ts";
export { isFault, isProblem, MAX_WEIGHT, parseRule, readRule, ruleWeight, webHost } from "./rule.ts";
export type { PolicySource, Rule, RuleProblem, RuleText } from "./rule.ts";
export { ANY, firstMark, isKnown, type Match, matchPattern, ONE, SEP, STAR, toPattern } from "./pattern.ts";
export { absoluteGlobs, createPathMatcher, literalPath, namedBy } from "./path_rules.ts";
export type { PathContext, PathForms, PathGlob, PathMatcher, RuleList } from "./path_rules.ts";
export {
  coveringRule,
  deniedSubjects,
  judgeCall,
  NO_RULE,
  ruled,
  type RuledCall,
  RuleSet,
  type Ruling,
  type ToolRules,
  unsure,
} from "./rule_set.ts";
