/**
 * Decides, call by call, what runs: rules, modes, approvals and the destructive-command check; see
 * docs/permissions.md.
 */
export { createGate } from "./gate.ts";
/** Returns the hosts of all package registries that the table of programs knows. */
export async function packageRegistries(): Promise<string[]> {
  return (await import("./command/programs.ts")).packageRegistries();
}
export { keepsFiles } from "./resolve.ts";
export type { Decision, DecisionSource, Gate, HookWord } from "./types.ts";
export type {
  ApprovalMode,
  ApprovalRequest,
  Approver,
  CallPreview,
  CommandEnvironment,
  Confirmation,
  DecisionEvent,
  DestructiveFinding,
  DestructiveTarget,
  Escape,
  Explanation,
  GateOptions,
  NetworkNeed,
  PermissionGate,
  PermissionMode,
  RuleRefusal,
  SandboxAccess,
  SegmentExplanation,
} from "./types.ts";
