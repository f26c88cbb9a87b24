import type { FileVersion, ToolContext, ToolResult } from "../tool.ts";

/** Role of the process that runs tools. */
export const TOOL_ROLE = "tools";

/** Changes to the files seen in a session. */
export interface SeenChanges {
  readonly set: readonly FileVersion[];
  readonly delete: readonly string[];
}

/** The part of a call's context that is plain data. */
export type PlainContext = Pick<ToolContext, "callId" | "cwd" | "settings" | "outputDir">;

export type HostMessage =
  /** First of all: what the process needs to decide about paths. */
  | { readonly type: "start"; readonly data: unknown }
  | {
    readonly type: "call";
    readonly id: number;
    readonly tool: string;
    readonly args: Record<string, unknown>;
    readonly context: PlainContext;
    readonly seen: SeenChanges;
  }
  | { readonly type: "abort"; readonly id: number };

export type ToolMessage =
  | { readonly type: "ready" }
  | { readonly type: "progress"; readonly id: number; readonly text: string }
  | { readonly type: "done"; readonly id: number; readonly result: ToolResult; readonly seen: SeenChanges }
  | { readonly type: "aborted"; readonly id: number };
