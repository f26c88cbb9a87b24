import { errorMessage, message, ReasonixError, type Text } from "../../core/mod.ts";
import { join } from "../../path/lexical.ts";
import { exists, readSmallText, sortedEntries } from "../../path/probe.ts";
import { groupRuns } from "./server_process.ts";
import { writeFileAtomic } from "../../util/atomic_write.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { processStart } from "../../util/process.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { attempt } from "../../util/lazy.ts";
import { readPiece } from "../../util/file_bytes.ts";

/** A process: its number may be reused, its start time is not. */
export interface ProcessName {
  readonly pid: number;
  readonly start: string;
}

export interface ServerLease {
  /** The supervisor process, whose process group the server is in. */
  readonly supervisor: ProcessName;
  readonly port: number;
  readonly pipe: string;
  readonly log: string;
  /** Size of the log before this server wrote to it. */
  readonly logStart: number;
  /** RFC 3339. */
  readonly since: string;
  readonly provider: string;
  readonly model: string;
  /** For reports only: the pipe decides who uses the server. */
  readonly users: readonly ProcessName[];
}

export function serversDirectory(home: string): string {
  return join(home, "llamacpp");
}

/** The directory of one server: only the user can look into it, and it is no link. */
export class ServerFiles {
  readonly directory: string;
  readonly lock: string;
  readonly key: string;
  readonly log: string;
  readonly #lease: string;

  constructor(directory: string) {
    this.directory = directory;
    this.lock = join(directory, "lock");
    this.key = join(directory, "key");
    this.log = join(directory, "server.log");
    this.#lease = join(directory, "server.json");
  }

  /** Makes the directory. Throws a ReasonixError when the existing one belongs to another user. */
  async prepare(): Promise<void> {
    try {
      await Deno.mkdir(this.directory, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw unusable(this.directory, errorMessage(error));
    }
    const found = Deno.lstatSync(this.directory);
    if (!found.isDirectory) throw unusable(this.directory, message`it is a link, or not a directory`);
    if (found.uid !== null && found.uid !== Deno.uid()) {
      throw unusable(this.directory, message`it belongs to another user`);
    }
    if (((found.mode ?? 0) & 0o077) !== 0) Deno.chmodSync(this.directory, 0o700);
  }

  newPipe(): string {
    return join(this.directory, `pipe-${crypto.randomUUID().slice(0, 8)}`);
  }

  /** The recorded server; undefined when there is none or the file is not readable. */
  lease(): ServerLease | undefined {
    const stored = parseJson(readOwnText(this.#lease) ?? "");
    // Earlier versions wrote another name for the supervisor.
    const value = isRecord(stored) ? { supervisor: stored["keeper"], ...stored } : stored;
    return isLease(value) && value.pipe.startsWith(join(this.directory, "pipe-")) ? value : undefined;
  }

  async write(lease: ServerLease): Promise<void> {
    const text = `${JSON.stringify(lease, null, 2)}\n`;
    await replaceLinks(this.#lease);
    await writeFileAtomic(this.#lease, text, { setMode: 0o600 });
  }

  async writeKey(): Promise<string> {
    const bytes = crypto.getRandomValues(new Uint8Array(24));
    const key = `rx-${bytes.toHex()}`;
    await replaceLinks(this.key);
    await writeFileAtomic(this.key, `${key}\n`, { setMode: 0o600 });
    return key;
  }

  readKey(): string {
    return readOwnText(this.key)?.trim() ?? "";
  }

  async clear(): Promise<void> {
    for (const { name } of sortedEntries(this.directory)) {
      if (name.startsWith("pipe-")) await Deno.remove(join(this.directory, name)).catch(() => {});
    }
  }
}

/** Reports whether the server of a lease that this process holds runs; it may be loading still. */
export function isRunning({ supervisor, pipe }: ServerLease): boolean {
  return !exists(`${pipe}.exit`) && groupRuns(supervisor.pid);
}

/** The same for a lease from a file, whose process number may belong to another program now. */
export function isSameRunning(lease: ServerLease): boolean {
  return isRunning(lease) && processStart(lease.supervisor.pid) === lease.supervisor.start;
}

/** Exit code of a server that has ended on its own. */
export function exitCode({ pipe }: ServerLease): number | undefined {
  const text = readSmallText(`${pipe}.exit`, 100)?.trim();
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

export function ownName(): ProcessName {
  return { pid: Deno.pid, start: processStart(Deno.pid) ?? "" };
}

export function running(users: readonly ProcessName[]): readonly ProcessName[] {
  return users.filter(({ pid, start }) => processStart(pid) === start);
}

/** Removes a link in place of a file, which would redirect the writes. */
async function replaceLinks(path: string): Promise<void> {
  if (exists(path) && !Deno.lstatSync(path).isFile) await Deno.remove(path, { recursive: true });
}

function readOwnText(path: string): string | undefined {
  return attempt(() => Deno.lstatSync(path).isFile ? readSmallText(path, 100_000) : undefined);
}

function isLease(value: unknown): value is ServerLease {
  if (!isRecord(value)) return false;
  const { supervisor, port, pipe, log, logStart, since, provider, model, users } = value;
  return isName(supervisor) && [port, logStart].every(Number.isInteger) &&
    [pipe, log, since, provider, model].every((text) => typeof text === "string") &&
    Array.isArray(users) && users.every(isName);
}

function isName(value: unknown): value is ProcessName {
  return isRecord(value) && Number.isInteger(value.pid) && typeof value.start === "string";
}

function unusable(directory: string, why: Text): ReasonixError {
  return new ReasonixError(message`Cannot keep a server in ${directory}: ${why}`, {
    exit: "config",
    remedy: message`move it away, or set REASONIX_HOME to a directory that belongs to you`,
  });
}

/** A larger log keeps only its end. */
const LARGEST = 16 * 1024 * 1024;
const KEPT = 1024 * 1024;
const TAIL = 8 * 1024;
const LAST_LINES = 3;
const LONGEST_LINE = 200;

export function logSize(path: string): number {
  return attempt(() => Deno.statSync(path).size) ?? 0;
}

/** Truncates a large log. Its writers append, so they continue at the new end. */
export function boundLog(path: string): void {
  if (logSize(path) <= LARGEST) return;
  const end = endOf(path, KEPT);
  try {
    Deno.truncateSync(path);
    Deno.writeTextFileSync(path, end.slice(end.indexOf("\n") + 1), { append: true, create: false });
  } catch { /* it stays as it is */ }
}

/** The last lines that were written after `start`, in one; "" when there are none. */
export function lastLines(path: string, start: number): string {
  const lines = textSince(path, start).split("\n").map((line) => oneLine(line, LONGEST_LINE)).filter(Boolean);
  return lines.slice(-LAST_LINES).join(" | ");
}

export function saysPortTaken(path: string, start: number): boolean {
  return /couldn't bind|could ?n[o']t bind|failed to bind|address already in use/i.test(
    textSince(path, start),
  );
}

function textSince(path: string, start: number): string {
  const size = logSize(path);
  // A log that was cut in the meantime has only what is new.
  return endOf(path, Math.min(TAIL, size >= start ? size - start : size));
}

function endOf(path: string, bytes: number): string {
  try {
    using file = Deno.openSync(path);
    const { size } = file.statSync();
    return new TextDecoder().decode(readPiece(file, Math.max(0, size - bytes), Math.min(size, bytes)));
  } catch {
    return "";
  }
}
