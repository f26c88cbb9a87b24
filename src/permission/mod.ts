/** Decides, call by call, what runs: rules, postures, modes, approvals and the destructive-command check; see docs/permissions.md. */
export { createGate } from "./create_gate.ts";
export type { Decision, DecisionSource, Gate } from "./gate.ts";
export type {
  ApprovalRequest,
  Approver,
  Confirmation,
  DecisionEvent,
  DestructiveFinding,
  DestructiveTarget,
  Explanation,
  GateOptions,
  PermissionGate,
  PermissionMode,
  Posture,
  SegmentExplanation,
} from "./ports.ts";
