import type { FileReadTracker, FileVersion } from "../tool.ts";

/** Files seen in a session, in memory. */
export class MemoryFileReadTracker implements FileReadTracker {
  readonly #stamps = new Map<string, FileVersion>();

  get(path: string): FileVersion | undefined {
    return this.#stamps.get(path);
  }

  set(stamp: FileVersion): void {
    this.#stamps.set(stamp.path, stamp);
  }

  all(): Iterable<FileVersion> {
    return this.#stamps.values();
  }

  delete(path: string): void {
    this.#stamps.delete(path);
  }
}
