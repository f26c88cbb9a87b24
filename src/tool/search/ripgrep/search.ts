import { contains } from "../../../path/contains.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { IgnoreScope } from "../../../path/ignore_scope.ts";
import { below, type PathFilter, type PathTest } from "../path_filter.ts";
import { type FoundFile, type SearchReport, type SearchRequest, sortedByPath } from "../request.ts";
import { ripgrepEnv, searchArguments } from "./ripgrep.ts";
import { RipgrepParser } from "./parse.ts";

/** The scope of a search. All paths are absolute and real. */
export interface SearchRoot {
  readonly root: string;
  readonly cwd: string;
  readonly hidden: (path: string) => boolean;
  readonly filter: PathFilter;
  readonly included: PathTest | undefined;
  readonly signal: AbortSignal;
  /** Time (ms since the epoch) at which the search ends with what it has. */
  readonly deadline: number;
}

/** Thrown when this ripgrep does not know an option: the caller searches itself. */
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
      // It has ended by itself.
    }
  };
  const timer = setTimeout(() => {
    stopped = "deadline";
    kill();
  }, Math.max(0, place.deadline - Date.now()));
  place.signal.addEventListener("abort", kill, { once: true });
  const remarks = readAll(child.stderr);
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
    if (!stopped && status.code > 1 && parser.total === 0) complain(await remarks);
  } finally {
    clearTimeout(timer);
    place.signal.removeEventListener("abort", kill);
    await remarks.catch(() => "");
  }
  return { files: parser.files(), total: parser.total, ...(stopped ? { stopped } : {}) };
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of stream) text += decoder.decode(piece, { stream: true });
  return text;
}

/** The root as ripgrep is told it; relative, so that its output is short. */
function target(place: SearchRoot): string {
  const relative = below(place.root, place.cwd);
  return relative === "." || relative.startsWith("/") ? relative : `./${relative}`;
}

function complain(remarks: string): void {
  if (/unrecognized|wasn't expected|invalid value|unknown/i.test(remarks) && !/regex/i.test(remarks)) {
    throw new RipgrepUnusable(remarks);
  }
  const lines = remarks.trim().split("\n").filter((line) => line.trim() !== "");
  const reason = lines.findLast((line) => line.startsWith("error:"))?.slice("error:".length) ??
    lines.join(" ");
  if (reason.trim() === "") return;
  throw new ReasonixError(`Cannot use the pattern: ${reason.trim().slice(0, 300)}`, {
    remedy: "mend the regular expression or set literal",
  });
}

/** Builds a test whether a file found by ripgrep lies in something a walker would have skipped. */
function hiddenTest(place: SearchRoot): PathTest {
  const own = new Set([".reasonixignore"]);
  const folders = new Map<string, { readonly hidden: boolean; readonly scope: IgnoreScope }>();
  const folder = (path: string): { readonly hidden: boolean; readonly scope: IgnoreScope } => {
    const known = folders.get(path);
    if (known) return known;
    const isRoot = path === place.root || !contains(place.root, path);
    const above = isRoot ? undefined : folder(path.slice(0, path.lastIndexOf("/")));
    const outer = above?.scope ?? IgnoreScope.above(path, place.cwd, own);
    const hidden = above !== undefined &&
      (above.hidden || place.hidden(path) || outer.hides(path, path.slice(path.lastIndexOf("/") + 1), true));
    const state = { hidden, scope: outer.enter(path, own) };
    folders.set(path, state);
    return state;
  };
  return (path) => {
    const slash = path.lastIndexOf("/");
    const { hidden, scope } = folder(path.slice(0, slash) || "/");
    return hidden || place.hidden(path) || scope.hides(path, path.slice(slash + 1), false);
  };
}
