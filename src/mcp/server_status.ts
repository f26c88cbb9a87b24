import type { Connection } from "./connection/connection.ts";
import type { McpServerSpec } from "./server_spec.ts";

/** `idle`: what it offers is known, and it has not been needed yet. */
export type ServerState = "disabled" | "idle" | "starting" | "ready" | "failed" | "needs-auth" | "stopped";

/** A server as front ends show it. Plain data. */
export interface ServerStatus {
  readonly name: string;
  readonly type: McpServerSpec["type"];
  readonly state: ServerState;
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
