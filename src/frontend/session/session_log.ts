import type { Event } from "../../core/mod.ts";
import { isAbsolute, join, normalize, relativeTo } from "../../path/lexical.ts";
import { loadChanges } from "../../reports/mod.ts";
import type { Assembly } from "../../run/mod.ts";
import { currentBranch, loadWindow } from "../../session/mod.ts";
import { attempt } from "../../util/lazy.ts";
import { atMost } from "../../util/timer.ts";
import type { LogTexts } from "./log.ts";
import { type LogRow, outline, type SessionFile, SessionRows } from "./rows.ts";

interface SessionLogOptions {
  readonly texts: () => LogTexts;
  readonly changed: () => void;
  readonly failed: (error: unknown) => void;
}

type ReadWindow = Awaited<ReturnType<typeof loadWindow>>["eventWindow"];

/** Events that are read, or made into entries, before other work is done. */
const SLICE = 500;

/** Diffs of a file that are shown, and characters of one that no call has reported. */
const [MAX_DIFFS, MAX_DIFF] = [20, 100_000];

const CHANGES = { create: "created", update: "updated", delete: "deleted" } as const;

type Diff = Pick<SessionFile, "change" | "added" | "removed"> & { readonly diff: string };

const pause = () => atMost(0, new Promise<void>(() => {}));

export function isChanged({ change }: SessionFile): boolean {
  return change !== "read";
}

/**
 * The log of a session, and its files, for panels. It is read when a panel is drawn first, from the end of
 * the session file on, and keeps one line of each entry; whole texts are read again.
 */
export class SessionLog {
  /** Another number after each change. */
  version = 0;
  readonly #options: SessionLogOptions;
  #assembly: Assembly | undefined;
  #rows: SessionRows;
  #texts: LogTexts | undefined;
  #window: ReadWindow | undefined;
  /** Events that came while the log was being read. */
  #waiting: Event[] | undefined;
  #last = 0;
  /** Files that commands have changed, with their diffs; looked for when a turn has ended. */
  #others = new Map<string, SessionFile & { readonly diff: string }>();
  #isLookDue = true;
  #files: { readonly version: number; readonly all: readonly SessionFile[] } | undefined;

  constructor(options: SessionLogOptions) {
    this.#options = options;
    this.#rows = new SessionRows(options.texts);
  }

  /** Rows of every kind, oldest first. */
  get rows(): SessionRows["all"] {
    this.#begin();
    return this.#rows.all;
  }

  /** The file of the last call first. */
  get files(): readonly SessionFile[] {
    this.#begin();
    if (this.#isLookDue && !this.loading) void this.#look().catch(this.#options.failed);
    if (this.#files?.version !== this.version) {
      const files = new Map(this.#rows.files);
      for (const [path, other] of this.#others) {
        const { change = "read", seq = 0 } = files.get(path) ?? {};
        if (change === "read") files.set(path, { ...other, seq: Math.max(seq, other.seq) });
      }
      const all = [...files.values()].sort((a, b) => b.seq - a.seq);
      this.#files = { version: this.version, all };
    }
    return this.#files.all;
  }

  /** The diffs of a file, the newest one first, each with what it did. */
  diffsOf({ path, ends }: SessionFile): readonly Diff[] {
    const found = ends.slice(-MAX_DIFFS).reverse().flatMap((seq) => {
      const event = this.recorded(seq);
      const changes = event?.type === "tool.end" ? event.changes ?? [] : [];
      return changes.filter((change) => this.shown(change.path) === path)
        .map(({ diff = "", ...change }) => ({ ...change, diff }));
    });
    const other = this.#others.get(path);
    return found.length > 0 || !other ? found : [other];
  }

  /** The log has not been read yet. */
  get loading(): boolean {
    return this.#waiting !== undefined || this.#texts === undefined;
  }

  /** Returns whether the log is another one now. */
  opened(assembly: Assembly): boolean {
    const isOther = assembly.session.id !== this.#assembly?.session.id;
    if (isOther) this.#reset();
    this.#assembly = assembly;
    return isOther;
  }

  event(event: Event): void {
    if (this.#texts === undefined || event.seq <= this.#last) return;
    if (this.#waiting) this.#waiting.push(event);
    else if (event.type === "rewind" && event.scope !== "code") this.#reset();
    else this.#add(event);
    this.#isLookDue ||= event.type === "turn.end" || event.type === "rewind";
  }

  /** An event of the session as it was recorded. */
  recorded(seq: number): Event | undefined {
    const { session } = this.#assembly ?? {};
    if (!session) return undefined;
    const read = () => this.#window?.(session.paths.path, { before: seq + 1, limit: 1 }).events.at(-1);
    const found = attempt(read);
    return found?.seq === seq ? found : session.eventsAfter(seq - 1).find((event) => event.seq === seq);
  }

  /** A path as seen from the directory of the session. */
  shown(path: string): string {
    const { cwd } = this.#assembly ?? {};
    if (cwd === undefined) return path;
    const whole = normalize(isAbsolute(path) ? path : join(cwd, path));
    return relativeTo(whole, cwd) ?? whole;
  }

  /** An entry with its texts. */
  whole(row: LogRow): LogRow {
    const rows = new SessionRows(this.#options.texts);
    for (
      const seq of new Set([Number.parseInt(row.key), ...row.kind === "call" && row.end ? [row.end.seq] : []])
    ) {
      const event = this.recorded(seq);
      if (event) rows.add(event);
    }
    const found = rows.all.find(({ kind }) => kind === row.kind);
    if (found?.kind === "note" && row.kind === "note") return { ...found, text: row.text };
    return found?.kind === "call" && row.kind === "call" ? { ...found, notes: row.notes } : row;
  }

  #reset(): void {
    [this.#texts, this.#waiting, this.#last] = [undefined, undefined, 0];
    this.#rows = new SessionRows(this.#options.texts);
    [this.#others, this.#isLookDue] = [new Map(), true];
    this.#change();
  }

  async #look(): Promise<void> {
    this.#isLookDue = false;
    const [assembly, before, seq] = [this.#assembly, this.#others, this.#last];
    if (!assembly) return;
    const { sessionChanges } = await loadChanges();
    const changes = await sessionChanges(assembly);
    if (assembly !== this.#assembly) return;
    this.#others = new Map(changes.map(({ path, action, added, removed, diff = "" }) => {
      const known = before.get(path);
      const isSame = known?.added === added && known.removed === removed;
      const file = { path, change: CHANGES[action], added, removed, seq: isSame ? known.seq : seq, ends: [] };
      return [path, { ...file, diff: diff.slice(0, MAX_DIFF) }];
    }));
    this.#change();
  }

  #change(): void {
    this.version++;
    this.#options.changed();
  }

  #add(event: Event): void {
    this.#last = event.seq;
    const kept = this.#placed(event);
    if (!kept) return;
    this.#rows.add(kept);
    this.#change();
  }

  /** The outline of an event, with paths as seen from the directory of the session. */
  #placed(event: Event): Event | undefined {
    const kept = outline(event);
    const shown = (path: string) => this.shown(path);
    if (kept?.type === "tool.start" && kept.paths) return { ...kept, paths: kept.paths.map(shown) };
    if (kept?.type !== "tool.end" || !kept.changes) return kept;
    const changes = kept.changes.map(({ from, ...change }) => ({
      ...change,
      path: shown(change.path),
      ...(from === undefined ? {} : { from: shown(from) }),
    }));
    return { ...kept, changes };
  }

  #begin(): void {
    const assembly = this.#assembly;
    // Texts are made in the language of the user.
    if (!assembly || this.#texts === this.#options.texts()) return;
    this.#texts = this.#options.texts();
    const waiting: Event[] = this.#waiting = [];
    void this.#read(assembly, () => waiting !== this.#waiting).catch(this.#options.failed);
  }

  async #read(assembly: Assembly, isOver: () => boolean): Promise<void> {
    // The frame that asks for the log is drawn first.
    await pause();
    const { session } = assembly;
    const { eventWindow } = await loadWindow();
    this.#window = eventWindow;
    const parts: Event[][] = [];
    let last = 0;
    for (let before: number | undefined, first = false; !first;) {
      const window = attempt(() => eventWindow(session.paths.path, { before, limit: SLICE }));
      last ||= window?.events.at(-1)?.seq ?? 0;
      parts.push(window?.events.flatMap((event) => this.#placed(event) ?? []) ?? []);
      first = window === undefined || window.first || window.events.length === 0;
      before = window?.events[0]?.seq;
      await pause();
      if (isOver()) return;
    }
    // What is not in the file yet.
    const unsaved = session.eventsAfter(last);
    const events = [...parts.reverse().flat(), ...unsaved.flatMap((event) => this.#placed(event) ?? [])];
    last = unsaved.at(-1)?.seq ?? last;
    const rows = new SessionRows(this.#options.texts);
    for (const [index, event] of currentBranch(events).entries()) {
      rows.add(event);
      if (index % SLICE === SLICE - 1) await pause();
      if (isOver()) return;
    }
    const waiting = this.#waiting ?? [];
    [this.#rows, this.#waiting, this.#last] = [rows, undefined, last];
    for (const event of waiting) this.event(event);
    this.#change();
  }
}
