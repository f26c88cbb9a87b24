/** Goals: what is known of one, what follows from a turn, texts for the model and the user. */
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
export { goalTexts } from "./update.ts";
export { demandsResearch, looksLikeResearch } from "./research_signal.ts";
