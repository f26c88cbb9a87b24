import type { FileReadTracker, FileVersion, ToolContext, ToolResult } from "../tool.ts";

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

/** The knowledge of the tool process about the files seen in the session. A new process knows nothing. */
export class SeenMirror {
  readonly #known = new Map<string, FileVersion>();

  /** Returns what has to be told for the process to know what the session knows. */
  changesSince(seen: FileReadTracker): SeenChanges {
    if (!seen.all) return { set: [], delete: [] };
    const set: FileVersion[] = [];
    let count = 0;
    for (const stamp of seen.all()) {
      count++;
      if (this.#known.get(stamp.path) === stamp) continue;
      set.push(stamp);
      this.#known.set(stamp.path, stamp);
    }
    const gone = count === this.#known.size ? [] : [...this.#known.keys()].filter((path) => !seen.get(path));
    for (const path of gone) this.#known.delete(path);
    return { set, delete: gone };
  }

  /** Returns what came from the process is known there. */
  learned(changes: SeenChanges): void {
    for (const stamp of changes.set) this.#known.set(stamp.path, stamp);
    for (const path of changes.delete) this.#known.delete(path);
  }
}
