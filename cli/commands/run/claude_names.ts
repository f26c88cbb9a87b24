import type { RunOptions } from "../../../src/assembly/mod.ts";
import type { PermissionMode } from "../../../src/permission/mod.ts";
import { BUILTINS, toolsNamed } from "../../../src/tool/mod.ts";

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

/** The built-in tools that a list of `--tools` leaves out; "default" leaves out none. */
export function toolsLeftOut(list: string): readonly string[] {
  const named = list.split(/[\s,]+/).filter((name) => name !== "");
  if (named.includes("default")) return [];
  const wanted = named.flatMap(toolsNamed);
  return BUILTINS.map(({ name }) => name).filter((name) => !wanted.includes(name));
}
