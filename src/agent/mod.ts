export { runTurn } from "./loop.ts";
export { StopReason, type TurnOutcome, type TurnReason } from "./outcome.ts";
export type { AgentParts, Checkpointer, Conversation, Limits, Toolbox } from "./ports.ts";
export { SUBMIT_TOOL } from "./submit.ts";
export { RegistryToolbox, type SharedContext, type ToolboxOptions } from "./toolbox.ts";
