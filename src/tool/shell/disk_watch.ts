/** Bytes that programs can still write on the volume of a directory; undefined where unknown. */
export type FreeSpace = (directory: string) => Promise<number | undefined>;

export interface DiskLimits {
  readonly directories: readonly string[];
  /** Megabytes (1024 × 1024 bytes) that must stay free; 0 turns the watch off. */
  readonly floorMb: number;
  /** Absent: the operating system is asked. */
  readonly free?: FreeSpace | undefined;
}

const MB = 1024 * 1024;

/** Most commands are over by then, and the first look loads a module. */
const FIRST_LOOK_MS = 1000;

/** The less is left, the sooner the next look: no disk accepts more than this in between. */
const FASTEST_WRITER = 4 * 1024 * MB / 1000;
const SHORTEST_MS = 50;
const LONGEST_MS = 1000;

/**
 * Looks at the free space while a command runs and reports once when it falls below the limit. A volume that
 * was below it at the first look may lose half of what it had left: a nearly full disk is no reason to stop
 * everything.
 */
export class DiskWatch implements Disposable {
  readonly #limits: DiskLimits;
  readonly #onLow: (why: string) => void;
  readonly #floors = new Map<string, number | undefined>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #over = false;

  constructor(limits: DiskLimits, onLow: (why: string) => void) {
    this.#limits = limits;
    this.#onLow = onLow;
    if (limits.floorMb > 0 && limits.directories.length > 0) this.#after(FIRST_LOOK_MS);
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
    for (const directory of this.#limits.directories) {
      const free = await this.#freeIn(directory);
      if (this.#over) return;
      if (free === undefined) continue;
      const floor = this.#floors.get(directory) ?? this.#floorFor(free);
      this.#floors.set(directory, floor);
      if (free < floor) return this.#report(directory, free);
      pause = Math.min(pause, (free - floor) / FASTEST_WRITER);
    }
    this.#after(Math.max(SHORTEST_MS, pause));
  }

  #freeIn(directory: string): Promise<number | undefined> {
    return (this.#limits.free ?? freeSpace)(directory).catch(() => undefined);
  }

  #floorFor(free: number): number {
    const floor = this.#limits.floorMb * MB;
    return free >= floor ? floor : free / 2;
  }

  #report(directory: string, free: number): void {
    this[Symbol.dispose]();
    this.#onLow(
      `only ${Math.floor(free / MB)} MB were left on the disk of ${directory} ([tools] min_free_disk_mb is ` +
        `${this.#limits.floorMb}); free space before you continue`,
    );
  }
}

/**
 * Bytes that are left for ordinary programs on the volume of a directory, or of the nearest directory above
 * it that exists; undefined where the system does not say.
 */
export async function freeSpace(directory: string): Promise<number | undefined> {
  const { statfs } = await import("node:fs/promises");
  for (let path = directory;;) {
    try {
      const { bavail, bsize } = await statfs(path === "" ? "/" : path);
      return bavail * bsize;
    } catch {
      const above = path.replace(/[\\/]+[^\\/]*$/, "");
      if (above === path) return undefined;
      path = above;
    }
  }
}
