import { ReasonixError } from "../../core/mod.ts";
import { contains } from "../../path/lexical.ts";
import { IgnoreScope } from "../../path/ignore_files.ts";
import { isFile } from "../../path/probe.ts";
import { environmentOf, readEnv } from "../../path/read_env.ts";
import { linesOf } from "../../util/lines.ts";
import { findProgram } from "../../util/process.ts";
import { below, type PathFilter, type PathTest } from "./path_filter.ts";
import {
  type FoundLine,
  reportOf,
  type SearchReport,
  type SearchRequest,
  type SearchRoot,
} from "./request.ts";
import { attempt } from "../../util/lazy.ts";

/** A whole disk: commands may write all of it only where nothing confines them. */
const EVERYTHING = /^(?:[A-Za-z]:)?[\\/]$/;

/** The installed ripgrep, or undefined. Not one from the working directory or from `writable` directories. */
export function findRipgrep(cwd: string, writable: readonly string[] = []): string | undefined {
  // Without confinement a command needs no program to be run for it, and a slow search has no use.
  const untrusted = writable.filter((directory) => !EVERYTHING.test(directory));
  return findProgram("rg", readEnv("PATH") ?? "", [cwd, ...untrusted]);
}

const WALK_FLAGS: readonly string[] = [
  "--no-config",
  "--hidden",
  "--no-require-git",
  "--no-messages",
  "--json",
  "-g",
  "!.git",
];

function searchArguments(
  request: SearchRequest,
  filter: PathFilter,
  target: string,
  sorted: boolean,
): string[] {
  const args = [...WALK_FLAGS];
  for (const pattern of filter.exclude) args.push("-g", `!${pattern}`);
  for (const name of typeGlobs(filter)) args.push("--type-add", `wanted:${name}`);
  if (typeGlobs(filter).length > 0) args.push("-t", "wanted");
  if (request.ignoreCase) args.push("--ignore-case");
  if (request.multiline) args.push("--multiline", "--multiline-dotall");
  if (request.mode === "files") args.push("--max-count", "1");
  if (request.mode === "content") args.push("-B", String(request.before), "-A", String(request.after));
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
const VARIABLES = ["HOME", "USERPROFILE", "XDG_CONFIG_HOME", "PATH", "SystemRoot"];

/** Thrown when this ripgrep does not know an option; the caller uses the fallback search. */
export class RipgrepUnusable extends Error {}

type Outcome = Omit<SearchReport, "total">;

/** Searches with ripgrep. More matches than the limit: a second, ordered run finds the first ones by path. */
export async function searchWithRipgrep(
  command: string,
  request: SearchRequest,
  root: SearchRoot,
  shownLines: number,
): Promise<SearchReport> {
  const whole = await run(command, request, root, false);
  if (whole.stopped !== "limit") return report(whole, root);
  const first = await run(command, { ...request, maxLines: shownLines }, root, true);
  return { ...report(first, root), stopped: first.stopped ?? "limit" };
}

function report({ files, ...end }: Outcome, root: SearchRoot): SearchReport {
  const isHidden = hiddenTest(root);
  const shown = files
    .map((file) => ({ ...file, path: absolute(file.path, root.cwd) }))
    .filter((file) => file.count > 0 && !isHidden(file.path) && (root.included?.(file.path) ?? true));
  return reportOf({ files: shown, ...end });
}

function absolute(path: string, cwd: string): string {
  const plain = path.startsWith("./") ? path.slice(2) : path;
  return plain.startsWith("/") ? plain : `${cwd}/${plain}`;
}

async function run(
  command: string,
  request: SearchRequest,
  root: SearchRoot,
  sorted: boolean,
): Promise<Outcome> {
  root.signal.throwIfAborted();
  const child = new Deno.Command(command, {
    args: searchArguments(request, root.filter, target(root), sorted),
    cwd: root.cwd,
    clearEnv: true,
    env: environmentOf(VARIABLES),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const files = new Map<string, FileMatches>();
  let total = 0;
  let stopped: Outcome["stopped"];
  const kill = () => {
    // It may have ended already.
    attempt(() => child.kill("SIGKILL"));
  };
  const timer = setTimeout(() => {
    stopped = "deadline";
    kill();
  }, Math.max(0, root.deadline - Date.now()));
  root.signal.addEventListener("abort", kill, { once: true });
  const errors = new Response(child.stderr).text();
  try {
    for await (const line of linesOf(child.stdout)) {
      if (stopped) continue;
      const message = JSON.parse(line) as JsonMessage;
      if (message.type === "match" || message.type === "context") {
        total += addMatches(files, message, request.mode);
      }
      // Of a binary file that was named, ripgrep gives the text parts; it gives none of one that it found.
      const isBinary = message.type === "end" && (message.data.binary_offset ?? Infinity) < BINARY_CHECK;
      if (isBinary && isFile(root.root)) return { files: [] };
      if (total > request.maxLines) {
        stopped = "limit";
        kill();
      }
    }
    const status = await child.status;
    root.signal.throwIfAborted();
    if (!stopped && status.code > 1 && total === 0) complain(await errors);
  } finally {
    clearTimeout(timer);
    root.signal.removeEventListener("abort", kill);
    await errors.catch(() => "");
  }
  return { files: [...files.values()], ...(stopped ? { stopped } : {}) };
}

function target(root: SearchRoot): string {
  const relative = below(root.root, root.cwd);
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
function hiddenTest(root: SearchRoot): PathTest {
  const own = new Set([".reasonixignore"]);
  const directories = new Map<string, { readonly hidden: boolean; readonly scope: IgnoreScope }>();
  const directory = (path: string): { readonly hidden: boolean; readonly scope: IgnoreScope } => {
    const known = directories.get(path);
    if (known) return known;
    const isRoot = path === root.root || !contains(root.root, path);
    const above = isRoot ? undefined : directory(path.slice(0, path.lastIndexOf("/")));
    const outer = above?.scope ?? IgnoreScope.above(path, root.cwd, own);
    const hidden = above !== undefined &&
      (above.hidden || root.hidden(path) || outer.hides(path, path.slice(path.lastIndexOf("/") + 1), true));
    const state = { hidden, scope: outer.enter(path, own) };
    directories.set(path, state);
    return state;
  };
  return (path) => {
    const slash = path.lastIndexOf("/");
    const { hidden, scope } = directory(path.slice(0, slash) || "/");
    return hidden || root.hidden(path) || scope.hides(path, path.slice(slash + 1), false);
  };
}

interface FileMatches {
  readonly path: string;
  count: number;
  readonly lines: FoundLine[];
}

/** A text in ripgrep's JSON; `bytes` is base64 of what is not UTF-8. */
type JsonText = { readonly text: string } | { readonly bytes: string };

interface JsonLines {
  readonly type: "match" | "context";
  readonly data: {
    readonly path: JsonText;
    readonly lines: JsonText;
    readonly line_number: number;
    readonly submatches: readonly { readonly start: number }[];
  };
}

/** The messages of `rg --json`. */
type JsonMessage =
  | JsonLines
  | { readonly type: "begin" | "summary" }
  | { readonly type: "end"; readonly data: { readonly binary_offset: number | null } };

/** Bytes at the beginning of a file in which a NUL byte marks it as binary. */
const BINARY_CHECK = 65_536;
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Adds the lines of a message to their file and returns how many of them match. */
function addMatches(
  files: Map<string, FileMatches>,
  { type, data }: JsonLines,
  mode: SearchRequest["mode"],
): number {
  const { path: name, lines, line_number: number, submatches: [match] } = data;
  const path = textOf(name);
  const file = files.get(path) ?? { path, count: 0, lines: [] };
  files.set(path, file);
  const texts = textOf(lines).replace(/\n$/, "").split("\n");
  const count = type === "context" ? 0 : mode === "files" ? 1 : texts.length;
  file.count += count;
  if (mode !== "content") return count;
  const column = match && UTF8.decode(bytesOf(lines).subarray(0, match.start)).length;
  for (const [at, text] of texts.entries()) {
    file.lines.push({ number: number + at, text, ...(match ? { column: at === 0 ? column : 0 } : {}) });
  }
  return count;
}

function bytesOf(text: JsonText): Uint8Array {
  return "text" in text ? new TextEncoder().encode(text.text) : Uint8Array.fromBase64(text.bytes);
}

function textOf(text: JsonText): string {
  return "text" in text ? text.text : UTF8.decode(bytesOf(text));
}
