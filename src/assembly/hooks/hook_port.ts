import type { CallHooks } from "../../agent/mod.ts";
import type { CompactionHooks } from "../../context/mod.ts";

/** The hooks of a run as far as its parts call them. */
export interface HookPort {
  readonly callHooks: CallHooks;
  readonly compaction: CompactionHooks;
}
