import type { FileReadTracker, FileVersion } from "../tool.ts";
import type { SeenChanges } from "./protocol.ts";

/** What the tool process knows of the files seen in the session. A new process knows nothing. */
export class SeenMirror {
  readonly #known = new Map<string, FileVersion>();

  /** What has to be told for the process to know what the session knows. */
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

  /** What came from the process is known there. */
  learned(changes: SeenChanges): void {
    for (const stamp of changes.set) this.#known.set(stamp.path, stamp);
    for (const path of changes.delete) this.#known.delete(path);
  }
}
