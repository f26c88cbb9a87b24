import type { EventOf } from "../../core/mod.ts";

type Change = NonNullable<EventOf<"tool.end">["changes"]>[number];

const SHOWN = 6;

/** Adds up what the file tools changed, file by file. */
export class ChangedFiles {
  readonly #files = new Map<string, { added: number; removed: number }>();

  add(changes: readonly Change[] = []): void {
    for (const { path, change, written, added, removed } of changes) {
      if (change === "unchanged" || written === false) continue;
      const before = this.#files.get(path) ?? { added: 0, removed: 0 };
      this.#files.set(path, { added: before.added + added, removed: before.removed + removed });
    }
  }

  /** "a.txt +2 −0, b.txt +1 −1" with paths as seen from a folder, or nothing. */
  describe(cwd: string): string {
    const files = [...this.#files].map(([path, { added, removed }]) => {
      const shown = path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
      return `${shown} +${added} −${removed}`;
    });
    const more = files.length - SHOWN;
    return files.slice(0, SHOWN).join(", ") + (more > 0 ? ` and ${more} more` : "");
  }
}
