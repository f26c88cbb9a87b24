import type { LoadedConfig } from "../../config/mod.ts";
import {
  errorMessage,
  type Event,
  type EventOf,
  type EventType,
  message,
  type NewEvent,
  newNotice,
  ReasonixError,
  type Text,
} from "../../core/mod.ts";
import { parentOf } from "../../path/lexical.ts";
import { redactorOf, type RunContext, type RunPaths, type TurnExtension } from "../../run/mod.ts";
import { writeFully } from "../../util/atomic_write.ts";
import { mapTexts } from "../../util/json.ts";
import { attempt } from "../../util/lazy.ts";
import { after } from "../../util/timer.ts";
import { VERSION } from "../../util/version.ts";

const LEVELS = ["error", "warn", "info", "debug"] as const;
type Level = typeof LEVELS[number];

/** The recorded part of an event: fields as they are, of texts and lists only their length. */
interface Form<E> {
  /** Default: info. */
  readonly level?: Level | ((event: E) => Level);
  readonly fields?: readonly (keyof E)[];
  /** Fields, such as command lines and paths, that only the level debug has. */
  readonly debug?: readonly (keyof E)[];
  /** Texts and lists whose length is recorded in place of them. */
  readonly lengths?: readonly (keyof E)[];
  readonly more?: (event: E) => Readonly<Record<string, unknown>>;
}

const SPENT = ["usage", "cost", "durationMs"] as const;

/** The recorded kinds; the text of a message is never among their fields. */
const FORMS: { readonly [K in EventType]?: Form<EventOf<K>> } = {
  "context.prefix": {
    fields: ["reason", "detail", "model", "provider", "toolMode"],
    lengths: ["system", "tools"],
  },
  "turn.start": { fields: ["turn"] },
  "turn.end": {
    level: ({ reason }) =>
      reason === "done" ? "info" : reason === "failed" || reason === "provider" ? "error" : "warn",
    fields: ["turn", "reason", "limit", "detail", "steps", ...SPENT],
    lengths: ["answer"],
  },
  "message.user": { fields: ["origin"], lengths: ["content", "images"] },
  "message.start": { level: "debug", fields: ["step", "model"] },
  "message.retry": {
    level: "warn",
    fields: ["attempt", "maxAttempts", "waitMs", "reason", "discarded"],
  },
  "message.end": {
    fields: ["step", "model", "finish", "interrupted", ...SPENT],
    lengths: ["content", "reasoning", "calls"],
  },
  "image.described": { fields: ["provider", "model", ...SPENT], lengths: ["text"] },
  "tool.start": {
    level: "debug",
    fields: ["readOnly", "tool", "paths"],
    more: ({ call: { id, name, arguments: { length } }, summary }) => ({
      callId: id,
      name,
      argumentsLength: length,
      // It was cut before secrets were removed: half of one may be its end.
      summary: summary.replace(/\S*…$/, "…"),
    }),
  },
  "tool.end": {
    fields: ["callId", "name", "outcome", "exitCode", "signal", "refused", "denied", "durationMs"],
    lengths: ["content", "images"],
    more: ({ changes }) => changes ? changeTotals(changes) : {},
  },
  "approval.request": { level: "debug", fields: ["callId", "tool", "subject", "reason", "rule"] },
  "approval.decision": {
    level: ({ decision }) => decision === "deny" ? "warn" : "info",
    fields: ["callId", "decision", "source", "rule"],
    debug: ["reason"],
  },
  "question": { level: "debug", fields: ["state", "callId"] },
  "todo.update": { level: "debug", lengths: ["items"] },
  "mode.change": { fields: ["posture", "mode", "collaboration"] },
  "plan.change": { fields: ["state", "window", "acceptEdits", "by"] },
  "goal.change": { fields: ["goal", "state", "limit", "turns", "leg", "idle"] },
  "subagent.start": {
    fields: ["id", "agent", "session", "model", "callId", "background", "resumed"],
    lengths: ["prompt"],
  },
  "subagent.end": { fields: ["id", "agent", "outcome", "model", "calls", "steps", ...SPENT] },
  "verification": { fields: ["round", "outcome", "exitCode", "durationMs"], debug: ["command"] },
  "hook": {
    level: ({ outcome }) => outcome === "failed" || outcome === "timeout" ? "warn" : "info",
    fields: ["outcome", "decision", "durationMs", "callId"],
    debug: ["command"],
    more: ({ event }) => ({ hook: event }),
  },
  "job.change": { fields: ["job", "status"], debug: ["command"] },
  "mcp.server": {
    level: ({ state }) => state === "failed" ? "error" : state === "needs-auth" ? "warn" : "info",
    fields: ["server", "state", "detail", "tools", "durationMs"],
  },
  "lsp.server": {
    level: ({ state, detail }) => state === "failed" ? "error" : detail === undefined ? "info" : "warn",
    fields: ["server", "state", "detail"],
  },
  "checkpoint": { level: "debug", fields: ["turn", "files"] },
  "compaction": {
    fields: ["reason", "action", "tokensBefore", "tokensAfter"],
    lengths: ["digest"],
  },
  "rewind": { fields: ["to", "scope"] },
  "notice": {
    level: ({ level }) => level === "warning" ? "warn" : "info",
    fields: ["code", "text"],
  },
  "error": { level: "error", fields: ["code", "text"] },
};

function changeTotals(changes: NonNullable<EventOf<"tool.end">["changes"]>) {
  const total = (key: "added" | "removed") => changes.reduce((sum, change) => sum + change[key], 0);
  return { files: changes.length, added: total("added"), removed: total("removed") };
}

/** Characters of a text in a record, and items of a list. */
const MAX_TEXT = 1000;
const MAX_ITEMS = 20;

interface LogSource {
  readonly loaded: LoadedConfig;
  readonly paths: Pick<RunPaths, "home">;
}

/** The file of the log, or undefined where it is off. */
export function logFileOf({ loaded: { config: { log } }, paths: { home } }: LogSource): string | undefined {
  return log.level === "off" ? undefined : log.file || `${home}/log/reasonix.jsonl`;
}

/** The records of one run, or of a failure outside of runs. */
class ProgramLog {
  readonly file: LogFile;
  readonly #rank: number;
  readonly #redact: (text: string) => string;
  readonly #common: Readonly<Record<string, unknown>>;

  constructor(source: LogSource, common: Readonly<Record<string, unknown>> = {}) {
    this.file = new LogFile(logFileOf(source) ?? "");
    this.#rank = LEVELS.findIndex((level) => level === source.loaded.config.log.level);
    this.#redact = redactorOf(source.loaded);
    this.#common = { ...common, pid: Deno.pid };
  }

  event(event: Event): void {
    // Every form takes the events of its kind.
    const form = FORMS[event.type] as Form<Record<string, unknown>> | undefined;
    if (!form) return;
    const body: Record<string, unknown> = { ...event };
    const { level = "info", fields = [], debug = [], lengths = [], more } = form;
    const taken = this.#takes("debug") ? [...fields, ...debug] : fields;
    this.record(typeof level === "function" ? level(body) : level, event.type, {
      ...Object.fromEntries(taken.map((key) => [key, body[key]])),
      ...Object.fromEntries(lengths.map((key) => [`${key}Length`, lengthOf(body[key])])),
      ...more?.(body),
    }, event.time);
  }

  failure(event: string, error: unknown): void {
    this.record("error", event, {
      text: errorMessage(error),
      ...(error instanceof ReasonixError ? { exit: error.exit } : { internal: true }),
      ...(this.#takes("debug") && error instanceof Error ? { stack: error.stack } : {}),
    });
  }

  record(level: Level, event: string, fields: object, time = new Date().toISOString()): void {
    if (!this.#takes(level)) return;
    const { dropped } = this.file;
    const record = { time, level, event, ...this.#common, ...fields, ...(dropped > 0 ? { dropped } : {}) };
    // Half a secret is no secret that the redactor knows.
    this.file.write(JSON.stringify(cut(mapTexts(record, this.#redact))));
  }

  #takes(level: Level): boolean {
    return LEVELS.indexOf(level) <= this.#rank;
  }
}

function lengthOf(value: unknown): number | undefined {
  return typeof value === "string" || Array.isArray(value) ? value.length : undefined;
}

function cut(value: object): object {
  const entries = Object.entries(value)
    .map(([name, item]) => [name, Array.isArray(item) ? item.slice(0, MAX_ITEMS) : item]);
  return mapTexts(
    Object.fromEntries(entries),
    (text) => text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…`.toWellFormed() : text,
  );
}

/** Records what happens in a run. */
export function attach({ options, paths, session, provider, recorder, extensions }: RunContext): void {
  const { loaded, parent, program } = options;
  const agent = parent?.link.agent;
  const log = new ProgramLog({ loaded, paths }, { session: session.id, ...(agent ? { agent } : {}) });
  let reported = parent !== undefined;
  let isOpen = false;
  const open = ({ turns }: typeof recorder.state) => {
    isOpen = true;
    const { model: { provider: name, id } } = provider;
    const facts = { version: VERSION, program, cwd: paths.cwd, provider: name, model: id };
    log.record("info", "session.open", { ...facts, turns: turns.length, parent: parent?.link.session });
  };
  const extension: TurnExtension = {
    onEvent(event): NewEvent | undefined {
      if (!isOpen) open(recorder.state);
      log.event(event);
      if (reported || log.file.problem === undefined) return undefined;
      reported = true;
      const text = message`The log ${log.file.path} cannot be written: ${log.file.problem}`;
      return newNotice("warning", "log", text);
    },
    failed: (error) => Promise.resolve(log.failure("turn.failed", error)),
    commandFailed: (error) => log.failure("command.failed", error),
    async close() {
      const { turns, usage, costs } = recorder.state;
      if (isOpen) log.record("info", "session.close", { turns: turns.length, usage, costs });
      await log.file.close();
    },
  };
  extensions.add(extension);
}

/** Records a failure that belongs to no session. */
export async function logFailure(event: string, error: unknown, source: LogSource): Promise<void> {
  const log = new ProgramLog(source);
  log.failure(event, error);
  await log.file.close();
}

/** Bytes of the file, and the number of earlier ones that are kept: `FILE.1` is the youngest. */
const MAX_BYTES = 5_000_000;
const KEPT = 3;

/** Time to wait for another process that holds the file, in ms: it may be stopped. */
const MAX_WAIT_MS = 1000;
const RETRY_MS = 10;

/** Bytes at the end in which the beginning of a torn line is looked for. */
const TAIL = 1 << 16;

/**
 * A file of lines that several processes write at once. Each holds a lock while it writes; the one that finds
 * the file full renames it.
 *
 * Contract: never throws and, but for `close`, never waits. What the disk refuses is dropped and counted.
 */
export class LogFile {
  readonly path: string;
  /** Lines that were dropped since the last one that was written. */
  dropped = 0;
  /** Why the last lines could not be written. */
  problem: Text | undefined;
  readonly #maxBytes: number;
  readonly #kept: number;
  readonly #maxWaitMs: number;
  #waiting = "";
  #lines = 0;
  #since = 0;
  #isOurs = false;

  constructor(path: string, { maxBytes = MAX_BYTES, kept = KEPT, maxWaitMs = MAX_WAIT_MS } = {}) {
    this.path = path;
    [this.#maxBytes, this.#kept, this.#maxWaitMs] = [maxBytes, kept, maxWaitMs];
  }

  write(line: string): void {
    if (this.#lines === 0) this.#since = performance.now();
    this.#waiting += `${line}\n`;
    this.#lines += 1;
    if (this.#lines > 1) {
      if (performance.now() - this.#since > this.#maxWaitMs) this.#flush();
    } else if (!this.#flush()) this.#retry();
  }

  /** Waits until every line was written or dropped. */
  async close(): Promise<void> {
    while (!this.#flush()) {
      await new Promise<void>((resolve) => void after(RETRY_MS, resolve));
    }
  }

  #retry(): void {
    after(RETRY_MS, () => {
      if (!this.#flush()) this.#retry();
    });
  }

  /** Returns false where another process has the file. */
  #flush(): boolean {
    if (this.#lines === 0) return true;
    try {
      if (!this.#append(new TextEncoder().encode(this.#waiting))) return false;
      [this.dropped, this.problem] = [0, undefined];
    } catch (error) {
      this.dropped += this.#lines;
      this.problem = error instanceof ReasonixError ? error.texts.message : errorMessage(error);
    }
    [this.#waiting, this.#lines] = ["", 0];
    return true;
  }

  #append(bytes: Uint8Array): boolean {
    const file = this.#open();
    try {
      // A file system without locks has none to wait for.
      const isLocked = attempt(() => file.tryLockSync(true)) ?? true;
      // Another process has renamed it where the path leads to another file.
      const isCurrent = attempt(() => Deno.statSync(this.path).ino) === file.statSync().ino;
      const waits = performance.now() - this.#since < this.#maxWaitMs;
      if (!(isLocked && isCurrent) && waits) return false;
      const size = isLocked ? wholeLines(file) : file.statSync().size;
      if (isLocked && isCurrent && size > 0 && size + bytes.length > this.#maxBytes) {
        this.#rotate();
        return this.#append(bytes);
      }
      try {
        writeFully(file, bytes);
      } catch (error) {
        // Half a line must not stay in front of the next one.
        if (isLocked) attempt(() => file.truncateSync(size));
        throw error;
      }
      return true;
    } finally {
      file.close();
    }
  }

  #open(): Deno.FsFile {
    const found = attempt(() => Deno.statSync(this.path));
    // Opening a pipe waits for its reader.
    if (found && !found.isFile) throw new ReasonixError(message`it is not a file`);
    if (!found) Deno.mkdirSync(parentOf(this.path), { recursive: true, mode: 0o700 });
    const file = Deno.openSync(this.path, { read: true, append: true, create: true, mode: 0o600 });
    if (this.#isOurs) return file;
    const first = new Uint8Array(1);
    if (file.readSync(first) !== null && first[0] !== 0x7b) {
      file.close();
      throw new ReasonixError(message`it holds something else than a log`);
    }
    this.#isOurs = true;
    return file;
  }

  #rotate(): void {
    for (let count = this.#kept - 1; count > 0; count -= 1) {
      attempt(() => Deno.renameSync(`${this.path}.${count}`, `${this.path}.${count + 1}`));
    }
    // Last: only then can another process begin a new file.
    Deno.renameSync(this.path, `${this.path}.1`);
  }
}

/** Removes what a killed process left behind the last complete line; returns the size of the file. */
function wholeLines(file: Deno.FsFile): number {
  const { size } = file.statSync();
  const tail = new Uint8Array(Math.min(size, TAIL));
  const read = (bytes: Uint8Array): number => {
    file.seekSync(size - bytes.length, Deno.SeekMode.Start);
    return file.readSync(bytes) ?? 0;
  };
  const last = tail.subarray(0, 1);
  if (size === 0 || read(last) < 1 || last[0] === 0x0a) return size;
  const end = tail.subarray(0, read(tail)).lastIndexOf(0x0a) + 1;
  const whole = size - tail.length + end;
  // A line without an end in the whole tail is longer than any record.
  if (end === 0 && size > TAIL) return size;
  file.truncateSync(whole);
  return whole;
}
