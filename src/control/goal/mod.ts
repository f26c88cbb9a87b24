/** Goals: what is known of one, what follows from a turn, what the model and the user are told. */
export { continueText, goalBlock, type GoalContext, type ResearchStatus, RESUME_TEXT } from "./context.ts";
export { EffectTracker } from "./effects.ts";
export {
  afterTurn,
  type CheckResult,
  type GoalLimits,
  type GoalRecord,
  type GoalState,
  takenUp,
  type TurnFacts,
} from "./goal.ts";
export { type GoalSaying, type GoalUpdate, goalUpdate } from "./update.ts";
export { demandsResearch, looksLikeResearch } from "./research_signal.ts";
