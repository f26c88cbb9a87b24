import { lazy } from "../util/lazy.ts";

export { runShellTurn } from "./dispatch.ts";
export { runTurn, SUBMIT_TOOL } from "./loop.ts";
export {
  type AgentDeps,
  type AnswerForm,
  type CallOpinion,
  type Checkpointer,
  type Conversation,
  costStop,
  type Limits,
  type Stop,
  StopReason,
  type Toolbox,
  type TurnOutcome,
  type TurnReason,
} from "./ports.ts";

export type { AnswerSchema } from "./answer_schema.ts";

/** Answers as a JSON Schema asks for them. */
export const loadAnswerSchema = lazy(() => import("./answer_schema.ts"));
