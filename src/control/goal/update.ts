import type { Saying, Sayings } from "../../core/mod.ts";

/** What people are told of a goal, in English and as codes for other languages. */
export interface GoalUpdate {
  readonly text: string;
  readonly said: Sayings;
}

export type GoalSaying = Exclude<
  Extract<Saying, readonly [`goal${string}`, ...string[]]>,
  readonly ["goalCleared"]
>;

/** Says some things in a row. */
export function goalUpdate(...said: readonly GoalSaying[]): GoalUpdate {
  return { text: said.map(english).join("; "), said };
}

function english(saying: GoalSaying): string {
  switch (saying[0]) {
    case "goalComplete":
      return `Goal reached after ${saying[1]} ${saying[1] === "1" ? "turn" : "turns"}`;
    case "goalBlocked":
      return `Goal blocked, needs you: ${saying[1]}`;
    case "goalTurns":
      return `Goal not reached: limit of ${saying[1]} turns`;
    case "goalCost":
      return `Goal not reached: cost limit of ${saying[1]}`;
    case "goalTime":
      return `Goal not reached: time limit of ${saying[1]} s`;
    case "goalIdle":
      return `Goal not reached: ${saying[1]} turns in a row had no effect`;
    case "goalTurnLimit":
      return `Goal not reached: ${saying[1]}`;
    case "goalPaused":
      return "Goal paused";
    case "goalFailed":
      return `Goal paused: ${saying[1]}`;
    case "goalGoesOn":
      return "continue with /goal resume or reasonix run -c";
    case "goalNext":
      return `Goal not reached yet: turn ${saying[1]} begins`;
    case "goalWaits":
      return `No progress; turn ${saying[1]} begins in ${saying[2]} s`;
    case "goalCheck":
      return `Check failed: ${saying[1]}`;
    case "goalResearch":
      return `Research record: ${saying[1]}`;
    case "goalUpgraded":
      return `Worked on as long research (--simple switches that off); research record: ${saying[1]}`;
    case "goalReport":
      return `Research report: ${saying[1]}`;
  }
}
