import { freeSpace } from "../../util/free_space.ts";

/** Bytes that programs can still write on the volume of a directory; undefined where nobody can tell. */
export type FreeSpace = (folder: string) => Promise<number | undefined>;

/** The limits of a command on the disks it can write to. */
export interface DiskLimits {
  /** Directories whose volumes count; they need not exist yet. */
  readonly folders: readonly string[];
  /** Megabytes (1024 × 1024 bytes) that must stay free; 0 turns the watch off. */
  readonly floorMb: number;
  /** Absent: the operating system is asked. */
  readonly free?: FreeSpace | undefined;
}

const MB = 1024 * 1024;

/** Most commands are over by then, and the first look loads a module. */
const FIRST_LOOK_MS = 1000;

/** The nearer the floor, the sooner the next look: no disk takes in more than this between two of them. */
const FASTEST_WRITER = 4 * 1024 * MB / 1000;
const SHORTEST_MS = 50;
const LONGEST_MS = 1000;

/**
 * Looks at the free space while a command runs and tells once when it falls below the floor. A volume that
 * was below it at the first look may lose half of what it had left: a nearly full disk is no reason to stop
 * everything.
 */
export class DiskWatch implements Disposable {
  readonly #limits: DiskLimits;
  readonly #onLow: (why: string) => void;
  /** Bytes by directory; undefined where nobody can tell. */
  readonly #floors = new Map<string, number | undefined>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #over = false;

  constructor(limits: DiskLimits, onLow: (why: string) => void) {
    this.#limits = limits;
    this.#onLow = onLow;
    if (limits.floorMb > 0 && limits.folders.length > 0) this.#after(FIRST_LOOK_MS);
  }

  [Symbol.dispose](): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  #after(milliseconds: number): void {
    this.#timer = setTimeout(() => void this.#look(), milliseconds);
  }

  async #look(): Promise<void> {
    let pause = LONGEST_MS;
    for (const folder of this.#limits.folders) {
      const free = await this.#freeIn(folder);
      if (this.#over) return;
      if (free === undefined) continue;
      const floor = this.#floors.get(folder) ?? this.#floorFor(free);
      this.#floors.set(folder, floor);
      if (free < floor) return this.#tell(folder, free);
      pause = Math.min(pause, (free - floor) / FASTEST_WRITER);
    }
    this.#after(Math.max(SHORTEST_MS, pause));
  }

  #freeIn(folder: string): Promise<number | undefined> {
    return (this.#limits.free ?? freeSpace)(folder).catch(() => undefined);
  }

  #floorFor(free: number): number {
    const floor = this.#limits.floorMb * MB;
    return free >= floor ? floor : free / 2;
  }

  #tell(folder: string, free: number): void {
    this[Symbol.dispose]();
    this.#onLow(
      `only ${Math.floor(free / MB)} MB were left on the disk of ${folder} ([tools] min_free_disk_mb is ` +
        `${this.#limits.floorMb}); free space before going on`,
    );
  }
}
