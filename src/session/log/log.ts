import {
  errorMessage,
  type Event,
  EVENT_VERSION,
  LIVE_ONLY,
  message,
  type NewEvent,
  type NewEventOf,
  newNotice,
  ReasonixError,
} from "../../core/mod.ts";
import { projectDir } from "../../path/project_dir.ts";
import { jsonLine, mapTexts, parseJson, scanJsonl } from "../../util/json.ts";
import { FileLock, type LockOwner, type LockResult } from "../../util/lock.ts";
import {
  newSessionId,
  parentDir,
  pathsOfFile,
  rememberLast,
  type SessionPaths,
  sessionPaths,
} from "../paths.ts";
import {
  apply,
  emptyState,
  type EventReader,
  isUsable,
  type LogOffset,
  repair,
  type SessionState,
} from "../state/state.ts";
import { readFully, readPiece } from "../../util/file_bytes.ts";

export class SessionBusyError extends ReasonixError {
  override readonly name = "SessionBusyError";
  readonly session: string;
  /** Process that has it, when it is known. */
  readonly pid: number | undefined;
  /** It is this process. */
  readonly here: boolean;

  constructor(session: string, owner: LockOwner) {
    const who = owner.pid === undefined ? message`another process` : message`process ${owner.pid}`;
    super(
      owner.since === undefined
        ? message`Cannot write session ${session}: ${who} has it open`
        : message`Cannot write session ${session}: ${who} has it open since ${String(owner.since)}`,
      { remedy: message`end that process, or continue in a copy with --copy` },
    );
    this.session = session;
    this.pid = owner.pid;
    this.here = owner.pid === Deno.pid;
  }
}

/** Bytes handed over at once; only long lines have more. */
const BUFFER_SIZE = 1 << 16;

/**
 * The append-only file under a session log: holds the lock, hands whole lines to the kernel, and keeps lines
 * in memory while the disk refuses them.
 *
 * Contract: `write` never throws; what it could not store is `backlog`, and is tried again by `flush`.
 */
class LogFile {
  readonly paths: SessionPaths;
  #file: Deno.FsFile | undefined;
  #lock: FileLock | undefined;
  #size: number;
  readonly #program: string | undefined;
  #backlog: Iterable<string>[] = [];
  #problem: string | undefined;
  readonly #encoder = new TextEncoder();
  readonly #buffer = new Uint8Array(BUFFER_SIZE);

  private constructor(paths: SessionPaths, size: number, program: string | undefined) {
    this.paths = paths;
    this.#size = size;
    this.#program = program;
  }

  /** A file that is made when the first line is written. */
  static created(paths: SessionPaths, program?: string): LogFile {
    return new LogFile(paths, 0, program);
  }

  /**
   * Locks an existing file for appending. Throws SessionBusyError, or what the system says when there is no
   * such file.
   */
  static existing(paths: SessionPaths, program?: string): LogFile {
    const log = new LogFile(paths, Deno.statSync(paths.path).size, program);
    log.#takeLock();
    return log;
  }

  /** The reason lines are only in memory, or undefined when all is on disk. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get backlog(): number {
    return this.#backlog.length;
  }

  get size(): number {
    return this.#size;
  }

  /** Lines that are only in memory. */
  get unsaved(): readonly string[] {
    return this.#backlog.map((line) => [...line].join(""));
  }

  /**
   * Drops what follows the last complete line; where that is refused, a line feed keeps it apart from what
   * comes.
   */
  cut(end: number): void {
    try {
      Deno.truncateSync(this.paths.path, end);
      this.#size = end;
    } catch {
      this.write(["\n"]);
    }
  }

  /** Takes a line in pieces, which it may iterate again later. */
  write(line: Iterable<string>): void {
    if (this.#backlog.length > 0) {
      this.#backlog.push(line);
      return;
    }
    try {
      this.#writeLine(line);
    } catch (error) {
      this.#problem = errorMessage(error);
      this.#backlog.push(line);
    }
  }

  /** Tries to store what is only in memory. */
  flush(): void {
    if (this.#backlog.length === 0) return;
    let stored = 0;
    try {
      for (const line of this.#backlog) {
        this.#writeLine(line);
        stored += 1;
      }
      this.#problem = undefined;
    } catch (error) {
      this.#problem = errorMessage(error);
    }
    this.#backlog.splice(0, stored);
  }

  /** Waits until the disk has what was written, so that it survives a power loss. */
  async sync(): Promise<void> {
    try {
      await this.#file?.syncData();
    } catch (error) {
      this.#problem = errorMessage(error);
    }
  }

  close(): void {
    this.flush();
    this.#file?.close();
    this.#file = undefined;
    this.#lock?.release();
    this.#lock = undefined;
  }

  #writeLine(line: Iterable<string>): void {
    const file = this.#file ??= this.#open();
    const buffer = this.#buffer;
    let filled = 0;
    let written = 0;
    const empty = () => {
      for (let at = 0; at < filled;) {
        const count = file.writeSync(buffer.subarray(at, filled));
        at += count;
        written += count;
      }
      filled = 0;
    };
    try {
      for (const text of line) {
        for (let at = 0; at < text.length;) {
          const done = this.#encoder.encodeInto(text.slice(at), buffer.subarray(filled));
          at += done.read;
          filled += done.written;
          if (at < text.length) empty();
        }
      }
      empty();
    } catch (error) {
      // Half a line must not stay in front of the next one.
      if (written > 0) Deno.truncateSync(this.paths.path, this.#size);
      throw error;
    }
    this.#size += written;
  }

  #open(): Deno.FsFile {
    const { path } = this.paths;
    if (!this.#lock) {
      Deno.mkdirSync(parentDir(path), { recursive: true, mode: 0o700 });
      this.#takeLock();
    }
    return Deno.openSync(path, { read: true, append: true, create: true, mode: 0o600 });
  }

  #takeLock(): void {
    let result: LockResult;
    try {
      result = FileLock.tryAcquire(this.paths.lock, this.#program);
    } catch {
      // Read-only directory or a file system without locks: writing itself will show whether the session can
      // be kept.
      return;
    }
    if (!result.held) throw new SessionBusyError(this.paths.id, result.owner);
    this.#lock = result.lock;
  }
}

/** Bytes that are read at once; locations that are wanted together are mostly next to each other. */
const WINDOW = 1 << 17;

/** Reads events again that a scan of the file has seen. What was written there is never changed. */
function eventReader(path: string): EventReader {
  return (locations) => {
    let file: Deno.FsFile | undefined;
    try {
      file = Deno.openSync(path, { read: true });
      const window = new Window(file);
      return locations.map((place) => {
        const event = parseJson(window.text(place));
        if (!isUsable(event) || event.seq !== place.seq) {
          throw new Error(`Event ${place.seq} is not where it was`);
        }
        return event;
      });
    } catch (error) {
      throw lostFile(path, error);
    } finally {
      file?.close();
    }
  };
}

function lostFile(path: string, cause: unknown): ReasonixError {
  return new ReasonixError(message`Cannot read session ${path} again: ${errorMessage(cause)}`, {
    remedy: message`bring the file back as it was; its messages are read when they are needed`,
    cause,
  });
}

/** A piece of a file, moved to where something is wanted. */
class Window {
  readonly #file: Deno.FsFile;
  readonly #decoder = new TextDecoder();
  #buffer = new Uint8Array(0);
  #start = 0;
  #filled = 0;

  constructor(file: Deno.FsFile) {
    this.#file = file;
  }

  text({ offset, length }: LogOffset): string {
    if (offset < this.#start || offset + length > this.#start + this.#filled) this.#move(offset, length);
    const at = offset - this.#start;
    return this.#decoder.decode(this.#buffer.subarray(at, Math.min(at + length, this.#filled)));
  }

  #move(offset: number, length: number): void {
    const size = this.#buffer.length === 0 ? length : Math.max(WINDOW, length);
    if (this.#buffer.length < size) this.#buffer = new Uint8Array(size);
    this.#file.seekSync(offset, Deno.SeekMode.Start);
    [this.#start, this.#filled] = [offset, readFully(this.#file, this.#buffer).length];
  }
}

/** Bytes in which the line of an event is looked for. */
const PROBE = 1 << 16;

/** Returns an offset in front of which there is no event after `seq`, near the first of them. */
function offsetBefore(path: string, seq: number): number {
  if (seq <= 0) return 0;
  const file = Deno.openSync(path, { read: true });
  try {
    const { size } = file.statSync();
    const isBefore = (offset: number) => {
      const text = new TextDecoder().decode(readPiece(file, offset, PROBE));
      return Number(/\n\{"v":\d+,"seq":(\d+),/.exec(text)?.[1] ?? Infinity) <= seq;
    };
    // Mostly the last events are wanted.
    let [low, high] = [Math.max(0, size - PROBE), size];
    while (low > 0 && !isBefore(low)) [low, high] = [Math.max(0, low - 2 * (size - low)), low];
    while (high - low > PROBE) {
      const middle = Math.floor((low + high) / 2);
      if (isBefore(middle)) low = middle;
      else high = middle;
    }
    return low;
  } finally {
    file.close();
  }
}

/** The events after one in a session file, up to another one; only that part of the file is read. */
export function storedEvents(path: string, seq: number, last = Infinity): Event[] {
  const events: Event[] = [];
  const take = (value: unknown) => {
    if (!isUsable(value)) return true;
    if (value.seq > seq && value.seq <= last) events.push(value);
    return value.seq < last;
  };
  try {
    scanJsonl(path, take, { from: offsetBefore(path, seq) });
  } catch (error) {
    throw lostFile(path, error);
  }
  return events;
}

export interface LogOptions {
  /** Applied to each text of an event before it is stored or shown. */
  readonly redact?: (text: string) => string;
  readonly now?: () => Date;
  /** Messages of a session that is opened are read when they are needed. */
  readonly messagesLater?: boolean;
  /** The beginning of an opened session without events: a kill can leave an empty file. */
  readonly start?: Pick<CreateOptions, "cwd" | "version">;
  /** The command that has the session open, for lists of sessions. */
  readonly program?: string | undefined;
  /** It is not the latest session of its directory for the next program. */
  readonly aside?: boolean;
}

export interface CreateOptions extends LogOptions {
  readonly home: string;
  readonly cwd: string;
  readonly version: string;
  readonly id?: string;
  readonly parent?: NewEventOf<"session.start">["parent"];
  /** Directory of the file in place of that of the user sessions. */
  readonly directory?: string;
}

/**
 * A title further than this many bytes from the end is written again at close, so that a list finds it
 * without the whole file.
 */
const TITLE_REACH = 16_384;

/**
 * The event log of one session: the truth everything else about it is computed from.
 *
 * Contract: when `append` returns, the kernel has the line, so a killed process loses nothing that was shown.
 * A disk that refuses never stops the turn: lines wait in memory, a notice says so, and `sync` and `close`
 * try again. Nothing that was written is ever changed. Only one process has a session open.
 */
export class SessionLog {
  readonly id: string;
  readonly paths: SessionPaths;
  /** The state after every event appended so far. */
  readonly state: SessionState;
  /** The event that an empty session begins with; appended automatically when the first event is another. */
  readonly head: NewEventOf<"session.start"> | undefined;
  readonly #file: LogFile;
  readonly #redact: ((text: string) => string) | undefined;
  readonly #now: () => Date;
  readonly #aside: boolean;
  readonly #notices: NewEventOf<"notice">[] = [];
  #seq: number;
  #titleAt = 0;
  #warned = false;

  private constructor(
    file: LogFile,
    state: SessionState,
    head: NewEventOf<"session.start"> | undefined,
    options: LogOptions,
  ) {
    this.id = file.paths.id;
    this.paths = file.paths;
    this.state = state;
    this.head = head;
    this.#file = file;
    this.#seq = state.lastSeq;
    this.#redact = options.redact;
    this.#now = options.now ?? (() => new Date());
    this.#aside = options.aside ?? false;
    this.#titleAt = file.size;
  }

  /** A new session. Nothing is on disk before the first event. */
  static create(options: CreateOptions): SessionLog {
    const now = options.now ?? (() => new Date());
    const id = options.id ?? newSessionId(now());
    const paths = options.directory === undefined
      ? sessionPaths(projectDir(options.home, options.cwd), id)
      : pathsOfFile(`${options.directory}/${id}.jsonl`);
    const head: NewEventOf<"session.start"> = {
      type: "session.start",
      session: paths.id,
      version: options.version,
      cwd: options.cwd,
      ...(options.parent ? { parent: options.parent } : {}),
    };
    return new SessionLog(LogFile.created(paths, options.program), emptyState(), head, options);
  }

  /**
   * An existing session, ready to continue. Torn and damaged lines are reported through `takeNotices`.
   * Throws SessionBusyError when another process has it, ReasonixError when it cannot be read.
   */
  static open(path: string, options: LogOptions = {}): SessionLog {
    const paths = pathsOfFile(path);
    const file = lockExisting(paths, options.program);
    try {
      const loaded = loadEvents(path, undefined, options.messagesLater ? "messages" : "events");
      const { start } = options;
      const isEmpty = start !== undefined && loaded.state.lastSeq === 0;
      const head = isEmpty ? { type: "session.start", session: paths.id, ...start } as const : undefined;
      const log = new SessionLog(file, loaded.state, head, options);
      log.#notices.push(...loaded.notices);
      if (loaded.tail === "whole") file.write(["\n"]);
      else if (loaded.tail === "torn") log.#cutTail(loaded.end);
      rememberLast(paths);
      return log;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  append(event: NewEvent): Event {
    if (LIVE_ONLY.has(event.type)) return this.#live(event);
    if (this.#seq === 0 && event.type !== "session.start" && this.head) this.append(this.head);
    const seq = ++this.#seq;
    const stamped = this.#stamp(event, seq);
    const stored = this.#redact ? mapTexts(stamped, this.#redact) : stamped;
    this.#file.write(jsonLine(stored));
    apply(this.state, stored);
    if (event.type === "session.rename") this.#titleAt = this.#file.size;
    if (seq === 1) this.#firstWrite();
    if (this.#file.problem !== undefined && !this.#warned) this.#warn(this.#file.problem);
    return stored;
  }

  /**
   * The events after one, up to another one, in order: of the file only that part is read, and those that are
   * only in memory follow. Throws ReasonixError when the file is not there any more.
   */
  eventsAfter(seq: number, last = Infinity): Event[] {
    const events = this.#file.size > 0 ? storedEvents(this.paths.path, seq, last) : [];
    const unsaved = this.#file.unsaved.map(parseJson).filter(isUsable);
    return [...events, ...unsaved.filter((event) => event.seq > seq && event.seq <= last)];
  }

  /** An event that is only shown. The output of a command may have secrets, which the model must not get. */
  #live(event: NewEvent): Event {
    const stamped = this.#stamp(event, 0);
    return this.#redact && event.type === "tool.delta" ? mapTexts(stamped, this.#redact) : stamped;
  }

  /** Closes what a crash left open (see `repair`) and returns the events this took. */
  repair(): Event[] {
    return repair(this.state).map((event) => this.append(event));
  }

  /** Notices for the user that arose since the last call; the owner of the session appends them. */
  takeNotices(): NewEventOf<"notice">[] {
    return this.#notices.splice(0);
  }

  /**
   * The reason events are not on disk, or undefined when they all are. To be reported when the session ends.
   */
  get problem(): string | undefined {
    return this.#file.backlog > 0 ? this.#file.problem : undefined;
  }

  /** Once per turn: makes what was appended safe against power loss. */
  async sync(): Promise<void> {
    this.#file.flush();
    if (this.#warned && this.#file.problem === undefined) this.#recovered();
    await this.#file.sync();
  }

  close(): void {
    const { title } = this.state;
    if (title !== undefined && this.#file.size - this.#titleAt > TITLE_REACH) {
      this.append({ type: "session.rename", title });
    }
    this.#file.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #stamp(event: NewEvent, seq: number): Event {
    return { v: EVENT_VERSION, seq, time: this.#now().toISOString(), ...event };
  }

  #firstWrite(): void {
    if (this.#file.problem === undefined && !this.#aside) rememberLast(this.paths);
  }

  #cutTail(end: number): void {
    const lost = this.#file.size - end;
    this.#file.cut(end);
    this.#notices.push(
      newNotice(
        "warning",
        "session.torn",
        message`The last line of session ${this.id} was cut off (${lost} bytes): the program ended while writing it`,
      ),
    );
  }

  #recovered(): void {
    this.#warned = false;
    const text = message`Session ${this.id} is on disk again; nothing is missing`;
    this.#notices.push(newNotice("info", "session.saved", text));
  }

  #warn(problem: string): void {
    this.#warned = true;
    this.#notices.push(
      newNotice(
        "warning",
        "session.unsaved",
        message`Cannot write ${this.paths.path}: ${problem}. The session continues in memory and is saved at the end of a turn once writing works again`,
      ),
    );
  }
}

function lockExisting(paths: SessionPaths, program: string | undefined): LogFile {
  try {
    return LogFile.existing(paths, program);
  } catch (error) {
    if (error instanceof ReasonixError) throw error;
    throw new ReasonixError(message`Cannot open session ${paths.path}: ${errorMessage(error)}`, {
      remedy: message`see the sessions there are with \`reasonix session list\``,
      cause: error,
    });
  }
}

export interface LoadedEvents {
  readonly state: SessionState;
  readonly notices: readonly NewEventOf<"notice">[];
  /** Bytes up to the end of the last complete line. */
  readonly end: number;
  /** The rest behind it: nothing, an event that only lacks its line feed, or part of a line. */
  readonly tail: "none" | "whole" | "torn";
}

/**
 * Reads a session without locking or changing it. `visit` sees each event before it is reduced. What `leave`
 * names stays in the file and is read again when it is needed: the events of rewinds, or messages, too.
 * Throws ReasonixError when there is no session in the file.
 */
export function loadEvents(
  path: string,
  visit?: (event: Event) => void,
  leave?: "events" | "messages",
): LoadedEvents {
  const state = emptyState(leave ? eventReader(path) : undefined);
  const later = leave === "messages";
  const take = (value: unknown, offset: number, length: number): boolean => {
    if (!isUsable(value)) return false;
    visit?.(value);
    apply(state, value, { place: { seq: value.seq, offset, length }, later });
    return true;
  };
  const strange: number[] = [];
  const report = scanJsonl(path, (value, { line, offset, length }) => {
    if (!take(value, offset, length)) strange.push(line);
  });
  const tail = report.tail.length === 0
    ? "none"
    : take(parseJson(new TextDecoder().decode(report.tail)), report.end, report.tail.length)
    ? "whole"
    : "torn";
  const bad = [...report.damaged, ...strange].sort((a, b) => a - b);
  const seen = report.lines - bad.length + (tail === "whole" ? 1 : 0);
  if (seen === 0 && bad.length > 0) {
    throw new ReasonixError(message`Cannot read session ${path}: it holds no event`, {
      remedy: message`check that the file is a Reasonix session`,
    });
  }
  const shown = bad.slice(0, 10).join(", ");
  const notices: NewEventOf<"notice">[] = bad.length === 0 ? [] : [
    newNotice(
      "warning",
      "session.damaged",
      message`${bad.length} damaged line(s) of ${path} were passed over: ${shown}`,
    ),
  ];
  return { state, notices, end: report.end, tail };
}
