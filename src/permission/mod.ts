/**
 * Decides, call by call, what runs: rules, modes, approvals and the destructive-command check; see
 * docs/permissions.md.
 */
export { createGate } from "./gate.ts";
export { keepsFiles } from "./resolve.ts";
export type { Decision, DecisionSource, Gate, HookWord } from "./types.ts";
export type {
  ApprovalMode,
  ApprovalRequest,
  Approver,
  CallDetails,
  CommandSurroundings,
  Confirmation,
  DecisionEvent,
  DestructiveFinding,
  DestructiveTarget,
  Explanation,
  GateOptions,
  PermissionGate,
  PermissionMode,
  RuleRefusal,
  SegmentExplanation,
} from "./types.ts";
