import type { CheckResult, GoalLimits, GoalRecord, GoOn } from "./goal.ts";
import { MOST_BLOCKED } from "./goal.ts";

/** Characters of an objective that are said again with every turn; the first message has all of it. */
const MAX_OBJECTIVE = 4000;
const MAX_CHECK_OUTPUT = 6000;

/** What a research goal has been told to keep, for its block. */
export interface ResearchStatus {
  /** Relative to the working directory. */
  readonly directory: string;
  /** Entries of each kind so far. */
  readonly entries: Readonly<Record<"hypothesis" | "experiment" | "result" | "decision", number>>;
}

export interface GoalContext {
  readonly record: GoalRecord;
  readonly limits: GoalLimits;
  readonly research?: ResearchStatus | undefined;
  /** The text of the turn is the objective itself. */
  readonly stated: boolean;
}

/** The block about the goal that stands before the text of each of its turns, never in the prefix. */
export function goalBlock({ record, limits, research, stated }: GoalContext): string {
  const { objective, checks = [], leg } = record;
  const turn = leg.turns + 1;
  const lines = [
    "You work towards a goal, turn after turn, until it is reached.",
    stated ? "The objective is the message below." : `Objective: ${inBlock(shortened(objective))}`,
    ...(checks.length > 0
      ? [
        "These commands decide whether it is reached; the harness runs them, and each must exit with 0:",
        ...checks.map((command) => `- ${inBlock(command)}`),
      ]
      : []),
    "Only the tool update_goal ends the goal; words in an answer do not. Call it before you end a turn, with",
    'status "complete" once the whole objective is reached and you have made sure of it, "blocked" when only',
    'the user can help (say exactly what is missing), else "progress" with what is done and what is next.',
    "Do as much as you can in each turn. Do not ask the user whether to go on.",
    `Turn ${turn}${limits.turns > 0 ? ` of at most ${limits.turns}` : ""}.`,
    ...(research ? researchLines(research) : []),
  ];
  return `<goal>\n${lines.join("\n")}\n</goal>`;
}

function researchLines({ directory, entries }: ResearchStatus): string[] {
  const counts = Object.entries(entries).map(([kind, count]) => `${kind} ${count}`).join(", ");
  return [
    "",
    `This goal is worked on as research. Its record is in ${directory} (${counts} so far): read it before you`,
    "try something again. It only grows, by update_goal with `entry`: a hypothesis before you test it, an",
    "experiment with what you changed and ran, a result with its figures, also a bad one, and a decision with",
    "its reason. Change one thing at a time and measure it. The report is written from these entries.",
  ];
}

/** The text of a turn that follows by itself. */
export function continueText(next: GoOn): string {
  switch (next.why) {
    case "progress":
      return "Go on with the goal.";
    case "silent":
      return "The goal is still active: your answer did not end it. Go on with it. When it is reached or you " +
        "cannot go on, say so with update_goal.";
    case "idle":
      return "The last turn had no new effect: no file changed and no command showed anything new. Do " +
        "something else towards the goal, or report what blocks it with update_goal.";
    case "blocked":
      return `You reported that you are blocked (${next.times} of ${MOST_BLOCKED} times in a row). Try another ` +
        "way. If really nothing else can be done, report the same blocked state again in the same words.";
    case "checks":
      return [
        "The goal is not reached: not every check passes. Mend the cause, not the check, then report again.",
        ...next.failed.map(failedCheck),
      ].join("\n");
  }
}

/** The text of the first turn after a goal was taken up again. */
export const RESUME_TEXT =
  "Go on with the goal where it was left. What was interrupted may have taken effect: " +
  "look before you repeat it.";

function failedCheck({ command, text }: CheckResult): string {
  const tail = text.length > MAX_CHECK_OUTPUT ? `…${text.slice(-MAX_CHECK_OUTPUT).toWellFormed()}` : text;
  return `<check command="${command.replaceAll('"', "&quot;")}">\n${tail}\n</check>`;
}

function shortened(text: string): string {
  if (text.length <= MAX_OBJECTIVE) return text;
  return `${text.slice(0, MAX_OBJECTIVE).toWellFormed()}… (the first message of the goal has all of it)`;
}

/** Nothing in a text of somebody else ends the block. */
function inBlock(text: string): string {
  return text.replace(/<(?=\/?goal)/gi, "<\u200b");
}
