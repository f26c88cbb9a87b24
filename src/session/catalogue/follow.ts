import { type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import type { Event } from "../../core/mod.ts";
import { scanJsonl } from "../../util/json.ts";
import { attempt } from "../../util/lazy.ts";
import { sessionPaths, sessionsDir } from "../paths.ts";
import { isUsable } from "../state/state.ts";
import { projectDirs } from "./catalogue.ts";

/** Bytes at the end of a file in which the last turn is looked for, first and at most. */
const [FIRST_TAIL, LAST_TAIL] = [1 << 18, 1 << 22];

/** The file of a session that another process may write: its last turn, and what is appended. */
export class SessionFollower {
  readonly #path: string;
  readonly #appended: (events: readonly Event[]) => void;
  readonly #watcher: FSWatcher | undefined;
  /** The end of the last complete line that was read. */
  #end = 0;

  /** `appended` gets the events of the last turn, or the end of a long one, and later each new one. */
  constructor(path: string, appended: (events: readonly Event[]) => void) {
    [this.#path, this.#appended] = [path, appended];
    const size = attempt(() => statSync(path).size) ?? 0;
    for (let tail = FIRST_TAIL;; tail *= 4) {
      const events = this.#read(Math.max(0, size - tail));
      const begin = events.findLastIndex(({ type }) => type === "turn.start");
      if (begin < 0 && tail < size && (tail < LAST_TAIL || events.length === 0)) continue;
      appended(events.slice(Math.max(0, begin)));
      break;
    }
    // A file system without watches is polled by `check`.
    this.#watcher = attempt(() => watch(path, () => this.check()));
    this.#watcher?.on("error", () => {});
  }

  /** Reads what was appended since. */
  check(): void {
    const size = attempt(() => statSync(this.#path).size) ?? 0;
    if (size === this.#end) return;
    const events = this.#read(Math.min(size, this.#end));
    if (events.length > 0) this.#appended(events);
  }

  close(): void {
    attempt(() => this.#watcher?.close());
  }

  #read(from: number): Event[] {
    const events: Event[] = [];
    const take = (value: unknown) => {
      if (isUsable(value)) events.push(value);
    };
    const report = attempt(() => scanJsonl(this.#path, take, { from }));
    if (report) this.#end = report.end;
    return events;
  }
}

/** Time in ms in which a directory may have changed again without another time of change. */
const COARSE_MS = 2000;

interface Directory {
  readonly changed: number;
  readonly read: number;
  /** The sessions by id; true: a process has it open, or left it open. */
  readonly sessions: ReadonlyMap<string, boolean>;
}

/** Finds which sessions have changed since the last call; the first one finds none. */
export class SessionChanges {
  readonly #home: string;
  #directories: ReadonlyMap<string, Directory> | undefined;
  readonly #sizes = new Map<string, number>();

  constructor(home: string) {
    this.#home = home;
  }

  /** The ids of sessions that are new, gone, opened, closed or written. */
  take(): ReadonlySet<string> {
    const changed = new Set<string>();
    const directories = new Map<string, Directory>();
    for (const project of projectDirs(this.#home)) {
      const known = this.#directories?.get(project);
      const directory = directoryOf(project, known);
      if (!directory) continue;
      directories.set(project, directory);
      for (const [id, isOpen] of directory.sessions) {
        if (known?.sessions.get(id) !== isOpen || (isOpen && this.#grew(project, id))) changed.add(id);
      }
      for (const id of known?.sessions.keys() ?? []) if (!directory.sessions.has(id)) changed.add(id);
    }
    const isFirst = !this.#directories;
    this.#directories = directories;
    return isFirst ? new Set() : changed;
  }

  #grew(project: string, id: string): boolean {
    const size = attempt(() => statSync(sessionPaths(project, id).path).size) ?? 0;
    const before = this.#sizes.get(id);
    this.#sizes.set(id, size);
    return before !== size;
  }
}

/** The sessions of a project; the directory is read only where it may have changed. */
function directoryOf(project: string, known: Directory | undefined): Directory | undefined {
  const path = sessionsDir(project);
  const changed = attempt(() => statSync(path).mtime?.getTime());
  if (changed === undefined) return undefined;
  if (known?.changed === changed && known.read - changed > COARSE_MS) return known;
  const read = Date.now();
  const names = new Set(attempt(() => readdirSync(path)));
  const ids = [...names].filter((name) => name.endsWith(".jsonl")).map((name) => name.slice(0, -6));
  return { changed, read, sessions: new Map(ids.map((id) => [id, names.has(`${id}.lock`)])) };
}
