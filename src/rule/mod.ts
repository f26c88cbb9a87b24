/** Permission rules: how they are written, what they mean, and what they match. */
export { lintRule } from "./lint.ts";
export { isFault, MAX_WEIGHT, readRule, ruleWeight } from "./syntax.ts";
export { isProblem, parseRule } from "./rule.ts";
export type { PolicySource, Rule, RuleList, RuleProblem, RuleText } from "./rule.ts";
export { ANY, firstMark, isKnown, type Match, matchPattern, ONE, SEP, STAR, toPattern } from "./pattern.ts";
export { createPathMatcher, type PathContext, type PathForms, type PathMatcher } from "./path_matcher.ts";
export { absoluteGlobs, literalPath, namedBy, type PathGlob } from "./path_glob.ts";
export {
  coveringRule,
  deniedSubjects,
  type Finding,
  judgeCall,
  ruled,
  type RuledCall,
  RuleSet,
  type Ruling,
  type ToolRules,
  unsure,
} from "./rule_set.ts";
