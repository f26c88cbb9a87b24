import { findDestructive } from "./destructive/inspect.ts";
import type { PathContext, PathMatcher } from "../rule/mod.ts";
import { type RuleBook, ruled, type ToolRules, unsure, type Verdict } from "./policy.ts";
import type { DestructiveFinding, GateOptions, SegmentExplanation } from "./types.ts";
import { judgeSegment, type SegmentVerdict } from "./shell/judge.ts";
import type { Line } from "./shell/line.ts";
import { matchText } from "./shell/match.ts";
import { commandPrefix } from "./shell/prefix.ts";
import { isListedReader } from "./shell/listed_readers.ts";
import { isReader } from "./shell/readers.ts";
import { Unparsable } from "./shell/syntax.ts";
import { readLine } from "./shell/walk.ts";

/** What a command line is judged against. */
export interface CommandScene {
  readonly book: RuleBook;
  /** Rules about the tool that runs the line. */
  readonly rules: ToolRules;
  readonly paths: PathMatcher;
  readonly places: PathContext;
  /** Folder the line runs in. */
  readonly folder: string;
}

/** A command line taken apart and judged. */
export interface CommandReport {
  readonly verdict: Verdict;
  readonly segments: readonly SegmentExplanation[];
  /** Every command is a known reader and nothing is written. */
  readonly readOnly: boolean;
  /** Every command is on the list of what runs unconfined where files have to stay as they are. */
  readonly listedReaders: boolean;
  readonly unparsable?: string;
  readonly destructive: readonly DestructiveFinding[];
  /** First words that stand for similar commands, when the line is one plain command. */
  readonly prefix?: readonly string[];
}

export interface CommandJudge {
  judge(command: string, scene: CommandScene): CommandReport;
}

type JudgeOptions = Pick<GateOptions, "env" | "confirm" | "shell">;

/** The part of the gate that needs the shell parser; loaded when the first command comes. */
export function createCommandJudge(options: JudgeOptions): CommandJudge {
  return { judge: (command, scene) => judgeLine(command, scene, options) };
}

function judgeLine(command: string, scene: CommandScene, options: JudgeOptions): CommandReport {
  const { rules } = scene;
  try {
    if (options.shell === "other") throw new Unparsable("it is not written for a POSIX shell");
    const line = readLine(command, { cwd: scene.folder, home: scene.places.home, env: options.env });
    return report(command, line, scene, options.confirm === "strict");
  } catch (error) {
    // Whatever goes wrong here, such as a stack that is too small for the line, must not let the line through.
    return unreadable(
      command,
      error instanceof Unparsable ? error.message : "it is too complex to be judged",
      rules,
    );
  }
}

function report(command: string, line: Line, scene: CommandScene, strict: boolean): CommandReport {
  const { rules } = scene;
  const verdicts = line.segments.map((segment) => judgeSegment(segment, rules, scene));
  const prefix = commandPrefix(line.segments.filter((_, i) => verdicts[i]?.kind !== "neutral"));
  const verdict = combine(line, verdicts, rules, wholeRule(command, rules));
  return {
    verdict,
    segments: line.segments.map((segment, i) => explainSegment(segment.text, segment.via, verdicts[i])),
    readOnly: line.opaque === undefined && line.segments.length > 0 && line.segments.every(isReader),
    listedReaders: line.opaque === undefined && line.segments.length > 0 &&
      line.segments.every(isListedReader),
    // What is denied anyway need not be resolved and counted.
    destructive: verdict.outcome === "deny"
      ? []
      : findDestructive(line, command, { places: scene.places, strict }),
    ...(prefix === undefined || line.opaque !== undefined ? {} : { prefix }),
  };
}

/** The allow rule that names the line as a whole, word for word. */
function wholeRule(command: string, rules: ToolRules): ToolRules["allow"][number] | undefined {
  return rules.allow.find(({ spec }) =>
    spec?.kind === "literal" ? spec.text === command : spec?.kind === "command" && spec.raw === command.trim()
  );
}

function explainSegment(
  text: string,
  via: readonly string[],
  verdict: SegmentVerdict | undefined,
): SegmentExplanation {
  const found = verdict?.verdict;
  const rule = found?.rule;
  return {
    text,
    via,
    outcome: verdict?.kind === "neutral"
      ? "allow"
      : found?.by === "fallback" || !found
      ? "fallback"
      : found.outcome,
    reason: verdict?.reason ?? "",
    ...(rule === undefined ? {} : { rule: `${rule.list} ${rule.text}` }),
    ...(rule?.source.origin === undefined ? {} : { origin: rule.source.origin }),
  };
}

/** Strictest first: denied, possibly denied, protected, asked, then allowed if every command is, else the fallback. */
function combine(
  line: Line,
  verdicts: readonly SegmentVerdict[],
  rules: ToolRules,
  whole: ToolRules["allow"][number] | undefined,
): Verdict {
  const found = verdicts.flatMap((each) => each.verdict ? [each.verdict] : []);
  const pick = (test: (verdict: Verdict) => boolean) => found.find(test);
  const strict = pick((each) => each.outcome === "deny") ??
    pick((each) => each.by === "unsure" && each.rule?.list === "deny") ??
    (line.opaque === undefined ? undefined : hidden(line.opaque, rules)) ??
    pick((each) => each.by === "protected") ??
    pick((each) => each.outcome === "ask" && each.by !== "fallback");
  if (strict) return strict;
  if (whole) return ruled("allow", whole);
  const bare = rules.allow.find((rule) => !rule.spec);
  if (bare) return ruled("allow", bare);
  const granted = pick((each) => each.outcome === "allow");
  if (
    granted && line.opaque === undefined &&
    verdicts.every((each) => each.kind === "neutral" || each.verdict?.outcome === "allow")
  ) {
    return granted;
  }
  const open = verdicts.find((each) => each.verdict?.by === "fallback");
  return {
    outcome: "ask",
    by: "fallback",
    reason: line.opaque ?? open?.reason ?? "no permission rule concerns it",
  };
}

/** What could be any command takes the strictest of what any command could get. */
function hidden(reason: string, rules: ToolRules): Verdict | undefined {
  const rule = rules.deny[0] ?? rules.ask[0];
  return rule ? unsure(rule, reason) : undefined;
}

function unreadable(command: string, why: string, rules: ToolRules): CommandReport {
  const reason = `this line cannot be taken apart: ${why}`;
  const pieces = [command, ...command.split(/[;&|\n(){}`]+/)].map((piece) =>
    piece.replace(/\s+/g, " ").trim()
  );
  const named = [...rules.deny, ...rules.ask].find((rule) =>
    !rule.spec ||
    (rule.spec.kind === "command" &&
      pieces.some((piece) => rule.spec?.kind === "command" && matchText(rule.spec, piece) === "yes"))
  );
  const covered = rules.allow.find((rule) => !rule.spec) ?? wholeRule(command, rules);
  const verdict: Verdict = named?.list === "deny" ? ruled("deny", named) : hidden(reason, rules) ??
    (covered ? ruled("allow", covered) : { outcome: "ask", by: "fallback", reason });
  const risky = /\b(?:rm|mkfs\S*|dd|shutdown|reboot|shred|wipefs)\b/.exec(command)?.[0];
  const destructive = risky === undefined
    ? []
    : [{ command, reason: `the line cannot be taken apart, but it mentions ${risky}`, targets: [] }];
  return { verdict, segments: [], readOnly: false, listedReaders: false, unparsable: why, destructive };
}
