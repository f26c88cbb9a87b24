import type { Connection } from "./connection/connection.ts";
import type { McpServerSpec } from "./server_spec.ts";

/** `idle`: what it offers is known, and it has not been needed yet. */
export type ServerState = "disabled" | "idle" | "starting" | "ready" | "failed" | "needs-auth" | "stopped";

/** `provider`: the model's provider speaks to it, so that nothing of it is known here. */
export type ShownState = ServerState | "provider";

/** A server as front ends show it. Plain data. */
export interface ServerStatus {
  readonly name: string;
  readonly type: McpServerSpec["type"];
  readonly state: ShownState;
  /** Why it failed. */
  readonly detail?: string;
  readonly protocol?: string;
  readonly about?: Connection["about"];
  readonly capabilities?: readonly string[];
  /** How long the last start took until the server had greeted, and then until its lists were there. */
  readonly greetedMs?: number;
  readonly listedMs?: number;
  /** It is known what it offers, or that it did not work. */
  readonly isKnown: boolean;
  /** Why its last start failed, in this run or an earlier one. */
  readonly lastFailure?: string;
  readonly tools: number;
  readonly prompts: number;
  readonly resources: number;
  readonly problems: readonly string[];
  readonly restarts: number;
  readonly log: string;
}

/** The status of a server that the model's provider speaks to. */
export function statusElsewhere({ name, type, enabled }: McpServerSpec): ServerStatus {
  const state = enabled ? "provider" : "disabled";
  const none = { tools: 0, prompts: 0, resources: 0, problems: [], restarts: 0 };
  return { name, type, state, isKnown: true, log: "", ...none };
}

/** Something happened to a server. */
export interface ServerChange {
  readonly server: string;
  readonly state: ServerState;
  readonly detail?: string;
  readonly tools?: number;
  readonly durationMs?: number;
  /** It offers something else than before. */
  readonly listed?: boolean;
}
