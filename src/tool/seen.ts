import type { FileStamp, SeenFiles } from "./tool.ts";

/** Files seen in a session, in memory. */
export class MapSeenFiles implements SeenFiles {
  readonly #stamps = new Map<string, FileStamp>();

  get(path: string): FileStamp | undefined {
    return this.#stamps.get(path);
  }

  set(stamp: FileStamp): void {
    this.#stamps.set(stamp.path, stamp);
  }

  all(): Iterable<FileStamp> {
    return this.#stamps.values();
  }

  delete(path: string): void {
    this.#stamps.delete(path);
  }
}
