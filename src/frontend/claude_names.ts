import type { RunOptions } from "../run/mod.ts";
import type { ShownState } from "../mcp/mod.ts";
import type { PermissionMode } from "../permission/mod.ts";

/** Permission modes of Claude Code: what they mean here. All keep the jail. */
export const CLAUDE_MODES = {
  default: {},
  auto: {},
  acceptEdits: {},
  bypassPermissions: { onAsk: "allow" },
  dontAsk: { onAsk: "deny" },
} as const satisfies Readonly<Record<string, Pick<RunOptions, "onAsk">>>;

export type ClaudeMode = keyof typeof CLAUDE_MODES;

/** Modes of this program by Claude Code's names. */
const CLAUDE_NAMES: Readonly<Record<PermissionMode, string>> = {
  "read-only": "default",
  "workspace-write": "acceptEdits",
  "danger-full-access": "bypassPermissions",
  plan: "plan",
};

export function isClaudeMode(mode: string): mode is ClaudeMode {
  return Object.hasOwn(CLAUDE_MODES, mode);
}

/** The name that readers of `stream-json` know a mode by. */
export function claudeMode(mode: PermissionMode | ClaudeMode = "workspace-write"): string {
  return isClaudeMode(mode) ? mode : CLAUDE_NAMES[mode];
}

/** States of MCP servers by the names that SDKs of Claude Code know. */
export const SDK_SERVER_STATES: Readonly<Record<ShownState, string>> = {
  "disabled": "disabled",
  "idle": "pending",
  "starting": "pending",
  "ready": "connected",
  "failed": "failed",
  "needs-auth": "needs-auth",
  "stopped": "failed",
  "provider": "connected",
};
