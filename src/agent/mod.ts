import { lazy } from "../util/lazy.ts";

export { runShellTurn } from "./shell_turn.ts";
export { runTurn } from "./loop.ts";
export { costStop, type Stop, StopReason, type TurnOutcome, type TurnReason } from "./outcome.ts";
export type {
  AgentDeps,
  AnswerForm,
  CallOpinion,
  Checkpointer,
  Conversation,
  Limits,
  Toolbox,
} from "./ports.ts";
export { SUBMIT_TOOL } from "./submit.ts";
export { RegistryToolbox, type SharedContext, type ToolboxOptions } from "./toolbox.ts";

export type { AnswerSchema } from "./answer_schema.ts";

/** Answers as a JSON Schema asks for them. */
export const loadAnswerSchema = lazy(() => import("./answer_schema.ts"));
