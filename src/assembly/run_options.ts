import type { GateOptions, PermissionMode } from "../permission/mod.ts";

/** What a run is asked for beside its configuration. */
export interface RunOptions {
  /** Goes on with the latest session of the directory. */
  readonly continue?: boolean;
  /** Goes on with this session: its id, or the beginning of one. */
  readonly resume?: string;
  /** Goes on in a copy of that session. */
  readonly copy?: boolean;
  readonly permissionMode?: PermissionMode;
  /** Answer to questions when there is nobody to ask. */
  readonly onAsk?: GateOptions["onAsk"];
  /** Reasoning effort of the model. */
  readonly effort?: string;
  /** File to record the replies of the model in. */
  readonly record?: string;
  /** Uses what the project brings as it is. */
  readonly trustProject?: boolean;
  /** Leaves out what the project brings and nobody trusted. */
  readonly ignoreUntrusted?: boolean;
}
