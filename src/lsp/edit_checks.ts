import type { Diagnostic } from "vscode-languageserver-protocol";
import { oneLine } from "../util/terminal_text.ts";
import { atMost, unlessAborted } from "../util/timer.ts";
import type { LanguageServer, LanguageServers, RunningServer } from "./language_servers.ts";
import { LineMap } from "./positions.ts";

interface EditedFile {
  readonly path: string;
  readonly change: "created" | "changed" | "deleted";
}

interface EditCheckOptions {
  readonly servers: Pick<LanguageServers, "serverFor" | "match">;
  /** Time that the result of an edit waits for its errors. */
  readonly budgetMs: number;
  /** Longest check of one file; a server that takes longer is ended. */
  readonly limitMs?: number;
  /** A path as the model knows it. */
  readonly shown: (path: string) => string;
}

interface Watched {
  /** Counts edits, so that a check of an earlier one is not reported any more. */
  edit: number;
  waiting: number;
  /** The text before the edits that have no report yet; undefined: there was no file. */
  before: string | undefined;
  findings: Findings | undefined;
}

const LIMIT_MS = 60_000;
/** Without findings from before the edit: time for the server to report those. */
const BASELINE_MS = 30_000;
const MAX_LINES = 10;
const MAX_MESSAGE_CHARS = 300;
/** Larger files are not source written by hand. */
const MAX_BYTES = 1024 * 1024;
const MAX_FILES = 20;

/**
 * Reports the errors that edits caused, as language servers find them. Findings within the budget become part
 * of the result of the edit; later ones of the next result, unless the file changes again.
 */
export class EditChecks {
  readonly #options: EditCheckOptions;
  readonly #files = new Map<string, Watched>();
  /** The checks of a server that are not done, one after the other. */
  readonly #queues = new Map<LanguageServer, { tail: Promise<unknown>; waiting: number }>();
  readonly #late = new Map<string, readonly string[]>();
  readonly #stopped = new AbortController();

  constructor(options: EditCheckOptions) {
    this.#options = options;
  }

  /** Reads these files before an edit, to compare the errors of its result with theirs. */
  before(paths: readonly string[]): void {
    for (const path of paths.slice(0, MAX_FILES)) {
      if (!this.#options.servers.match(path)) continue;
      const text = readSource(path);
      const known = this.#files.get(path);
      // The errors of an edit that is still being checked are not reported yet.
      if (known && (known.waiting > 0 || known.before === text)) continue;
      // New here, or changed by another program: earlier findings do not count any more.
      this.#files.set(path, { edit: known?.edit ?? 0, waiting: 0, before: text, findings: undefined });
    }
  }

  /**
   * Returns the new errors after an edit, as far as they are known in time; undefined: none. Rejects only
   * when the signal is aborted.
   */
  async after(files: readonly EditedFile[], signal: AbortSignal): Promise<string | undefined> {
    const checked = files.slice(0, MAX_FILES);
    const checks = checked.flatMap((file) => this.#begin(file, checked) ?? []);
    if (checks.length === 0) return undefined;
    // A server that is behind already would only be waited for in vain.
    const waited = Promise.all(checks.filter(({ behind }) => !behind).map(({ done }) => done));
    await atMost(this.#options.budgetMs, unlessAborted(waited, signal));
    return report("New errors after this edit", this.#take(checked.map(({ path }) => path)));
  }

  /**
   * Reports what was found since the last result about files that are still as they were checked; `except`
   * are those that were just edited.
   */
  late(except: readonly string[] = []): string | undefined {
    const paths = [...this.#late.keys()].filter((path) =>
      !except.includes(path) && readSource(path) === this.#files.get(path)?.before
    );
    const lines = this.#take(paths);
    this.#late.clear();
    return report("New errors after an earlier edit", lines);
  }

  /**
   * Reports as `late` once the checks that are under way are done or `limitMs` have passed: for an answer
   * that ends the turn.
   */
  async rest(limitMs: number, signal: AbortSignal): Promise<string | undefined> {
    const tails = [...this.#queues.values()].filter(({ waiting }) => waiting > 0).map(({ tail }) => tail);
    if (tails.length > 0) await atMost(limitMs, unlessAborted(Promise.all(tails), signal));
    return this.late();
  }

  close(): void {
    this.#stopped.abort();
  }

  #take(paths: readonly string[]): string[] {
    const lines = paths.flatMap((path) => this.#late.get(path) ?? []);
    for (const path of paths) this.#late.delete(path);
    return lines;
  }

  #begin(
    { path, change }: EditedFile,
    together: readonly EditedFile[],
  ): { readonly behind: boolean; readonly done: Promise<void> } | undefined {
    this.#late.delete(path);
    const server = this.#options.servers.serverFor(path);
    if (!server) return undefined;
    const file = this.#files.get(path) ?? { edit: 0, waiting: 0, before: undefined, findings: undefined };
    const edit = ++file.edit;
    this.#files.set(path, file);
    const text = change === "deleted" ? undefined : readSource(path);
    const queue = this.#queues.get(server) ?? { tail: Promise.resolve(), waiting: 0 };
    this.#queues.set(server, queue);
    const behind = queue.waiting > 0;
    queue.waiting += 1;
    file.waiting += 1;
    const done = queue.tail.then(async () => {
      const running = await server.running();
      sendAll(running, together);
      if (text === undefined) {
        running.close(path);
        this.#files.delete(path);
      } else if (file.edit === edit) {
        await this.#check(running, server.spec.ignored, { path, file, edit, text });
      }
    }).catch(() => {
      // The user hears from the server itself when it is given up.
    }).finally(() => {
      queue.waiting -= 1;
      file.waiting -= 1;
    });
    queue.tail = done;
    return { behind, done };
  }

  async #check(
    running: RunningServer,
    ignored: readonly string[],
    job: { readonly path: string; readonly file: Watched; readonly edit: number; readonly text: string },
  ): Promise<void> {
    const { path, file, text } = job;
    const { limitMs = LIMIT_MS } = this.#options;
    const { signal } = this.#stopped;
    if (!file.findings && file.before !== undefined) {
      const found = await running.diagnose(path, file.before, {
        timeoutMs: Math.min(BASELINE_MS, limitMs),
        signal,
      });
      if (found) file.findings = { text: file.before, errors: errorsOf(found, ignored) };
    }
    const begun = performance.now();
    const found = await running.diagnose(path, text, { timeoutMs: limitMs, signal }).catch(async (error) => {
      const hangs = !signal.aborted && !running.connection.isGone && performance.now() - begun >= limitMs;
      // Its end counts as a loss.
      if (hangs) await running.connection.end(`it took more than ${limitMs / 1000} s for one file`);
      throw error;
    });
    if (!found) return;
    const now = { text, errors: errorsOf(found, ignored) };
    const { before, findings = before === undefined ? { text: "", errors: [] } : undefined } = file;
    const fresh = findings ? newErrors(findings, now) : errorsInChange(before ?? "", now);
    // A later edit compares with the state before this one, which was not reported yet.
    if (file.edit !== job.edit) return;
    Object.assign(file, { before: text, findings: now });
    const lines = new LineMap(text, running.encoding);
    const shown = this.#options.shown(path);
    if (fresh.length > 0) this.#late.set(path, fresh.map((error) => lineOf(error, shown, lines)));
  }
}

function lineOf({ range, message, source }: Diagnostic, shown: string, lines: LineMap): string {
  const at = `${shown}:${range.start.line + 1}:${lines.columnOf(range.start)}`;
  const text = typeof message === "string" ? message : message.value;
  return `${at}: error ${oneLine(text, MAX_MESSAGE_CHARS)}${source ? ` (${oneLine(source, 40)})` : ""}`;
}

function report(title: string, lines: readonly string[]): string | undefined {
  if (lines.length === 0) return undefined;
  const more = lines.length - MAX_LINES;
  return [`${title}:`, ...lines.slice(0, MAX_LINES), ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

/** Sends all files of an edit to a server, so that none is checked against an older state of another. */
function sendAll(running: RunningServer, files: readonly EditedFile[]): void {
  running.changed(files);
  const { opened } = running;
  for (const { path } of files.filter((file) => opened.includes(file.path))) {
    const text = readSource(path);
    if (text === undefined) running.close(path);
    else running.sync(path, text);
  }
}

/** Returns the text of a source file; undefined where there is none, or one of unusual size. */
function readSource(path: string): string | undefined {
  try {
    const { isFile, size } = Deno.statSync(path);
    if (!isFile || size > MAX_BYTES) return undefined;
    return new TextDecoder("utf-8", { fatal: true }).decode(Deno.readFileSync(path));
  } catch {
    return undefined;
  }
}

interface Findings {
  readonly text: string;
  readonly errors: readonly Diagnostic[];
}

const ERROR = 1;

/** The errors among the findings of a server, without those that no edit can fix. */
function errorsOf(found: readonly Diagnostic[], ignored: readonly string[]): readonly Diagnostic[] {
  return found.filter(({ severity = ERROR, code }) =>
    severity === ERROR && !ignored.includes(typeof code === "object" ? "" : String(code))
  );
}

/**
 * Returns the errors that were not there before. Lines of earlier errors are followed through the edit, so
 * that one that only moved is not new; one that the edit touched is the same when its message is.
 */
function newErrors(before: Findings, after: Findings): readonly Diagnostic[] {
  const shift = lineShift(before.text, after.text);
  const known = new Map<string, number>();
  for (const error of before.errors) {
    const line = shift(error.range.start.line);
    if (line !== undefined) count(known, keyAt(error, line), 1);
    count(known, keyOf(error), 1);
  }
  const take = (key: string) => (known.get(key) ?? 0) > 0 && count(known, key, -1);
  // Those that kept their place first: what is left of the same words then has another one.
  const rest = after.errors.filter((error) => {
    const kept = take(keyAt(error, error.range.start.line));
    if (kept) count(known, keyOf(error), -1);
    return !kept;
  });
  return rest.filter((error) => !take(keyOf(error)));
}

/** The errors on lines that differ, for when the findings from before are not known. */
function errorsInChange(before: string, after: Findings): readonly Diagnostic[] {
  const back = lineShift(after.text, before);
  return after.errors.filter(({ range }) => back(range.start.line) === undefined);
}

function count(known: Map<string, number>, key: string, by: number): true {
  known.set(key, (known.get(key) ?? 0) + by);
  return true;
}

function keyOf({ message, code, source }: Diagnostic): string {
  return JSON.stringify([message, code, source]);
}

function keyAt(error: Diagnostic, line: number): string {
  return `${line} ${keyOf(error)}`;
}

/** Maps a line of one text to the other; undefined between the ends that both share. */
function lineShift(from: string, to: string): (line: number) => number | undefined {
  const [a, b] = [from.split("\n"), to.split("\n")];
  const limit = Math.min(a.length, b.length);
  let head = 0;
  while (head < limit && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < limit - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return (line) => line < head ? line : line >= a.length - tail ? line + b.length - a.length : undefined;
}
