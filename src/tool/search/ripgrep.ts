import { ReasonixError } from "../../core/mod.ts";
import { contains } from "../../path/lexical.ts";
import { IgnoreScope } from "../../path/ignore_files.ts";
import { readEnv } from "../../path/read_env.ts";
import { joinBytes } from "../../util/bytes.ts";
import { findProgram } from "../../util/process.ts";
import { below, type PathFilter, type PathTest } from "./path_filter.ts";
import {
  type FoundFile,
  type FoundLine,
  type SearchReport,
  type SearchRequest,
  type SearchRoot,
  sortedByPath,
} from "./request.ts";

const found = new Map<string, string | undefined>();

/** A whole disk: commands may write all of it only where nothing confines them. */
const EVERYTHING = /^(?:[A-Za-z]:)?[\\/]$/;

/** The installed ripgrep, or undefined. Not one from the working directory or from `writable` directories. */
export function findRipgrep(cwd: string, writable: readonly string[] = []): string | undefined {
  const searchPath = readEnv("PATH") ?? "";
  const key = [cwd, ...writable, searchPath].join("\0");
  if (!found.has(key)) {
    // Without confinement a command needs no program to be run for it, and a slow search has no use.
    const untrusted = writable.filter((directory) => !EVERYTHING.test(directory));
    found.set(key, findProgram("rg", searchPath, [cwd, ...untrusted]));
  }
  return found.get(key);
}

const WALK_FLAGS: readonly string[] = [
  "--no-config",
  "--hidden",
  "--no-require-git",
  "--no-messages",
  "--color=never",
  "--null",
  "-g",
  "!.git",
];

function searchArguments(
  request: SearchRequest,
  filter: PathFilter,
  target: string,
  sorted: boolean,
): string[] {
  const args = [...WALK_FLAGS, "--with-filename"];
  for (const pattern of filter.exclude) args.push("-g", `!${pattern}`);
  for (const name of typeGlobs(filter)) args.push("--type-add", `wanted:${name}`);
  if (typeGlobs(filter).length > 0) args.push("-t", "wanted");
  if (request.ignoreCase) args.push("--ignore-case");
  if (request.multiline) args.push("--multiline", "--multiline-dotall");
  if (request.mode === "files") args.push("--files-with-matches");
  else if (request.mode === "count" && !request.multiline) args.push("--count");
  else {
    args.push("--no-heading", "--line-number", "--column");
    if (request.mode === "content") args.push("-B", String(request.before), "-A", String(request.after));
  }
  if (sorted) args.push("--sort", "path");
  return [...args, "-e", request.pattern, "--", target];
}

/**
 * File types restrict a search without including ignored files, as `-g` would. Empty when a pattern has no
 * such form; the caller tests the paths anyway.
 */
function typeGlobs(filter: PathFilter): string[] {
  const names = filter.include.map((pattern) => pattern.slice(pattern.lastIndexOf("/") + 1));
  return names.every((name) => /^[\w.*? -]+$/.test(name) && !name.includes("**")) ? names : [];
}

/** Only the location of the user's ignore file. */
function ripgrepEnv(): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of ["HOME", "USERPROFILE", "XDG_CONFIG_HOME", "PATH", "SystemRoot"]) {
    const value = readEnv(name);
    if (value !== undefined) env[name] = value;
  }
  return env;
}

/** Thrown when this ripgrep does not know an option; the caller uses the fallback search. */
export class RipgrepUnusable extends Error {}

interface Outcome {
  readonly files: readonly FoundFile[];
  readonly total: number;
  readonly stopped?: "limit" | "deadline";
}

/** Searches with ripgrep. More matches than the limit: a second, ordered run finds the first ones by path. */
export async function searchWithRipgrep(
  command: string,
  request: SearchRequest,
  place: SearchRoot,
  shownLines: number,
): Promise<SearchReport> {
  const whole = await run(command, request, place, false);
  if (whole.stopped !== "limit") return report(whole, place);
  const first = await run(command, { ...request, maxLines: shownLines }, place, true);
  return { ...report(first, place), stopped: first.stopped ?? "limit" };
}

function report(outcome: Outcome, place: SearchRoot): SearchReport {
  const isHidden = hiddenTest(place);
  const shown = outcome.files
    .map((file) => ({ ...file, path: absolute(file.path, place.cwd) }))
    .filter((file) => file.count > 0 && !isHidden(file.path) && (place.included?.(file.path) ?? true));
  const files = sortedByPath(shown, ({ path }) => path);
  const total = files.reduce((sum, file) => sum + file.count, 0);
  return { files, total, ...(outcome.stopped ? { stopped: outcome.stopped } : {}) };
}

function absolute(path: string, cwd: string): string {
  const plain = path.startsWith("./") ? path.slice(2) : path;
  return plain.startsWith("/") ? plain : `${cwd}/${plain}`;
}

async function run(
  command: string,
  request: SearchRequest,
  place: SearchRoot,
  sorted: boolean,
): Promise<Outcome> {
  place.signal.throwIfAborted();
  const child = new Deno.Command(command, {
    args: searchArguments(request, place.filter, target(place), sorted),
    cwd: place.cwd,
    clearEnv: true,
    env: ripgrepEnv(),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const parser = new RipgrepParser(request);
  let stopped: Outcome["stopped"];
  const kill = () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
  };
  const timer = setTimeout(() => {
    stopped = "deadline";
    kill();
  }, Math.max(0, place.deadline - Date.now()));
  place.signal.addEventListener("abort", kill, { once: true });
  const errors = new Response(child.stderr).text();
  try {
    for await (const piece of child.stdout) {
      if (stopped) continue;
      parser.push(piece);
      if (parser.total > request.maxLines) {
        stopped = "limit";
        kill();
      }
    }
    if (!stopped) parser.finish();
    const status = await child.status;
    place.signal.throwIfAborted();
    if (!stopped && status.code > 1 && parser.total === 0) complain(await errors);
  } finally {
    clearTimeout(timer);
    place.signal.removeEventListener("abort", kill);
    await errors.catch(() => "");
  }
  return { files: parser.files(), total: parser.total, ...(stopped ? { stopped } : {}) };
}

function target(place: SearchRoot): string {
  const relative = below(place.root, place.cwd);
  return relative === "." || relative.startsWith("/") ? relative : `./${relative}`;
}

function complain(errors: string): void {
  if (/unrecognized|wasn't expected|invalid value|unknown/i.test(errors) && !/regex/i.test(errors)) {
    throw new RipgrepUnusable(errors);
  }
  const lines = errors.trim().split("\n").filter((line) => line.trim() !== "");
  const reason = lines.findLast((line) => line.startsWith("error:"))?.slice("error:".length) ??
    lines.join(" ");
  if (reason.trim() === "") return;
  throw new ReasonixError(`Cannot use the pattern: ${reason.trim().slice(0, 300)}`, {
    remedy: "fix the regular expression or set literal",
  });
}

/** Tests whether a file found by ripgrep is in a directory that our walker would skip. */
function hiddenTest(place: SearchRoot): PathTest {
  const own = new Set([".reasonixignore"]);
  const directories = new Map<string, { readonly hidden: boolean; readonly scope: IgnoreScope }>();
  const directory = (path: string): { readonly hidden: boolean; readonly scope: IgnoreScope } => {
    const known = directories.get(path);
    if (known) return known;
    const isRoot = path === place.root || !contains(place.root, path);
    const above = isRoot ? undefined : directory(path.slice(0, path.lastIndexOf("/")));
    const outer = above?.scope ?? IgnoreScope.above(path, place.cwd, own);
    const hidden = above !== undefined &&
      (above.hidden || place.hidden(path) || outer.hides(path, path.slice(path.lastIndexOf("/") + 1), true));
    const state = { hidden, scope: outer.enter(path, own) };
    directories.set(path, state);
    return state;
  };
  return (path) => {
    const slash = path.lastIndexOf("/");
    const { hidden, scope } = directory(path.slice(0, slash) || "/");
    return hidden || place.hidden(path) || scope.hides(path, path.slice(slash + 1), false);
  };
}

interface OpenFile {
  readonly path: string;
  count: number;
  readonly lines: FoundLine[];
}

const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
/** One character a byte, whatever the bytes are. */
const BYTES = new TextDecoder("latin1");
const COLON = 58;
const DASH = 45;

interface Piece {
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly exact: boolean;
}

/** Reads ripgrep's output (with `--null`) piece by piece. */
class RipgrepParser {
  total = 0;
  readonly #files = new Map<string, OpenFile>();
  readonly #request: SearchRequest;
  #rest: Uint8Array<ArrayBuffer> = new Uint8Array();
  #current: OpenFile | undefined;

  constructor(request: SearchRequest) {
    this.#request = request;
  }

  files(): FoundFile[] {
    return [...this.#files.values()];
  }

  push(bytes: Uint8Array<ArrayBuffer>): void {
    const whole = bytes.lastIndexOf(this.#request.mode === "files" ? 0 : 10) + 1;
    if (whole > 0) {
      this.#records(joinBytes([this.#rest, bytes.subarray(0, whole)]));
      this.#rest = bytes.slice(whole);
    } else this.#rest = joinBytes([this.#rest, bytes]);
  }

  finish(): void {
    if (this.#rest.length > 0) this.#records(this.#rest);
  }

  #records(bytes: Uint8Array): void {
    const utf8 = UTF8.decode(bytes);
    const exact = utf8.length === bytes.length;
    const piece: Piece = { text: exact ? utf8 : BYTES.decode(bytes), bytes, exact };
    const separator = this.#request.mode === "files" ? "\0" : "\n";
    for (let start = 0; start < bytes.length;) {
      const found = piece.text.indexOf(separator, start);
      const end = found < 0 ? bytes.length : found;
      this.#record(piece, start, end);
      start = end + 1;
    }
  }

  #record(piece: Piece, start: number, end: number): void {
    if (this.#request.mode === "files") {
      this.#open(part(piece, start, end)).count = 1;
      this.total++;
      return;
    }
    const { text } = piece;
    const nul = text.indexOf("\0", start);
    // A separator between groups, or a line about a binary file.
    if (nul < 0 || nul >= end) return;
    const [number, at] = digits(text, nul + 1);
    if (at === nul + 1) return;
    const file = this.#open(part(piece, start, nul));
    const mark = text.charCodeAt(at);
    if (at === end && this.#request.mode === "count") {
      file.count += number;
      this.total += number;
    } else if (mark === COLON) this.#matched(file, number, piece, [at + 1, end]);
    else if (mark === DASH) file.lines.push({ number, text: part(piece, at + 1, end) });
  }

  #matched(file: OpenFile, number: number, piece: Piece, [at, end]: [number, number]): void {
    file.count++;
    this.total++;
    if (this.#request.mode !== "content") return;
    const [column, colon] = digits(piece.text, at);
    const start = colon + 1;
    file.lines.push({
      number,
      text: part(piece, start, end),
      column: part(piece, start, Math.min(start + column - 1, end)).length,
    });
  }

  #open(path: string): OpenFile {
    if (this.#current?.path === path) return this.#current;
    let file = this.#files.get(path);
    if (!file) {
      file = { path, count: 0, lines: [] };
      this.#files.set(path, file);
    }
    return this.#current = file;
  }
}

function part({ text, bytes, exact }: Piece, start: number, end: number): string {
  return exact ? text.slice(start, end) : UTF8.decode(bytes.subarray(start, end));
}

function digits(text: string, from: number): [value: number, next: number] {
  let at = from;
  let value = 0;
  for (let digit = text.charCodeAt(at); digit >= 48 && digit <= 57; digit = text.charCodeAt(++at)) {
    value = value * 10 + digit - 48;
  }
  return [value, at];
}
