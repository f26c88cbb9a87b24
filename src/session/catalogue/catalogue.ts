import { projectDir } from "../../path/project_dir.ts";
import { type EventOf, message, ReasonixError, usageError } from "../../core/mod.ts";
import { isFile } from "../../path/probe.ts";
import {
  parentDir,
  pathsOfFile,
  sessionIdOf,
  type SessionPaths,
  sessionPaths,
  sessionsDir,
} from "../paths.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { titleOf } from "../state/state.ts";
import { attempt } from "../../util/lazy.ts";
import { FileLock, type LockOwner } from "../../util/lock.ts";
import { readPiece } from "../../util/file_bytes.ts";

/** The facts of a session that can be read from the beginning and the end of its file. */
export interface SessionInfo {
  readonly id: string;
  readonly path: string;
  /** Working directory; empty when the file does not say. */
  readonly cwd: string;
  /** Given title, else the first line of the first prompt. */
  readonly title: string;
  /** First prompt, at most 400 characters. */
  readonly prompt: string;
  readonly model?: string;
  readonly parent?: string;
  /** RFC 3339. */
  readonly created: string;
  readonly updated: string;
  readonly bytes: number;
  /** The end of the last turn; "open": it has none in the file. Absent: there was no turn. */
  readonly turn?: EventOf<"turn.end">["reason"] | "open";
}

const HEAD = 65_536;
const TAIL = 24_576;

/** A session in the order of lists: milliseconds since 1970, and the identifier. */
interface ListedAt {
  readonly time: number;
  readonly id: string;
}

interface ListOptions {
  readonly limit?: number;
  /** Begins behind this session. */
  readonly after?: ListedAt;
}

/**
 * The sessions of a project or several, latest change first. Of each file only the first and last piece is
 * read.
 */
export function listSessions(projects: string | readonly string[], options: ListOptions = {}): SessionInfo[] {
  const { limit = Infinity, after } = options;
  const files = [projects].flat().flatMap((project) =>
    sessionIds(project).flatMap((id) => {
      const paths = sessionPaths(project, id);
      const stat = attempt(() => Deno.statSync(paths.path));
      // Removed since the directory was read.
      return stat ? [{ paths, id, time: stat.mtime?.getTime() ?? 0 }] : [];
    })
  );
  const order = (a: ListedAt, b: ListedAt) => b.time - a.time || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
  const wanted = after ? files.filter((file) => order(after, file) < 0) : files;
  const found: SessionInfo[] = [];
  for (const { paths } of wanted.sort(order)) {
    if (found.length >= limit) break;
    const info = attempt(() => sessionInfo(paths));
    if (info) found.push(info);
  }
  return found;
}

/**
 * A part of that list, and the cursor of the next one. Throws a ReasonixError (usage) for a cursor that is
 * from no list.
 */
export function sessionPage(
  projects: string | readonly string[],
  { limit, cursor = "" }: { readonly limit: number; readonly cursor?: string | undefined },
): { readonly sessions: readonly SessionInfo[]; readonly next?: string } {
  const [, time, id = ""] = /^(\d+)\.([\w-]+)$/.exec(cursor) ?? [];
  if (cursor !== "" && time === undefined) {
    throw usageError(message`Cannot use ${"cursor"}: ${message`it is not from a list of sessions`}`);
  }
  const after = time === undefined ? {} : { after: { time: Number(time), id } };
  const found = listSessions(projects, { limit: limit + 1, ...after });
  const sessions = found.slice(0, limit);
  const last = found.length > limit ? sessions.at(-1) : undefined;
  return { sessions, ...(last ? { next: `${Date.parse(last.updated)}.${last.id}` } : {}) };
}

/** Directories of all projects under a Reasonix home. */
export function projectDirs(home: string): string[] {
  const directory = parentDir(projectDir(home, "/"));
  return namesIn(directory).map((name) => `${directory}/${name}`);
}

function namesIn(directory: string): string[] {
  return attempt(() => [...Deno.readDirSync(directory)].map((entry) => entry.name).sort()) ?? [];
}

export function sessionIds(project: string): string[] {
  return namesIn(sessionsDir(project)).flatMap((name) => sessionIdOf(name) ?? []);
}

/** The process that writes a session file; undefined: none does. */
export function sessionOwner(path: string): LockOwner | undefined {
  return FileLock.ownerOf(pathsOfFile(path).lock);
}

/** Throws what the system says when there is no such file. */
export function sessionInfo(paths: SessionPaths): SessionInfo {
  const file = Deno.openSync(paths.path, { read: true });
  try {
    const { size, mtime } = file.statSync();
    const events = eventsIn(readPiece(file, 0, Math.min(size, HEAD)));
    if (size > HEAD) {
      const tail = eventsIn(readPiece(file, Math.max(HEAD, size - TAIL), TAIL));
      // A tail without the end of a turn is in one.
      if (tail.length > 0) events.push({ type: "turn.start" }, ...tail);
    }
    const found = scan(events);
    const updated = (mtime ?? new Date(0)).toISOString();
    const { title, ...rest } = found;
    return {
      ...rest,
      id: paths.id,
      path: paths.path,
      title: title ?? titleOf(found.prompt),
      created: found.created ?? updated,
      updated,
      bytes: size,
    };
  } finally {
    file.close();
  }
}

/**
 * The last answer of a session in text, where the end of its file holds one; only that piece is read. At most
 * its last 2,000 characters.
 */
export function lastAnswer(path: string): string | undefined {
  try {
    using file = Deno.openSync(path);
    const { size } = file.statSync();
    const events = eventsIn(readPiece(file, Math.max(0, size - TAIL), TAIL));
    const answers = events.filter(({ type }) => type === "message.end").map(({ content }) => text(content));
    return answers.findLast((content) => content !== undefined && content.trim() !== "")?.slice(-2000);
  } catch {
    // Removed since it was listed.
    return undefined;
  }
}

function eventsIn(piece: Uint8Array): Record<string, unknown>[] {
  // Lines that the edge of the piece cuts, or that are damaged, are left out.
  return new TextDecoder().decode(piece).split("\n").map(parseJson).filter(isRecord);
}

interface Found {
  cwd: string;
  prompt: string;
  title?: string;
  model?: string;
  parent?: string;
  created?: string;
  turn?: Exclude<SessionInfo["turn"], undefined>;
}

function scan(events: readonly Record<string, unknown>[]): Found {
  const found: Found = { cwd: "", prompt: "" };
  for (const event of events) {
    if (event.type === "session.start") {
      found.cwd = text(event.cwd) ?? "";
      const created = text(event.time);
      if (created !== undefined) found.created = created;
      const parent = text((event.parent as { session?: unknown } | undefined)?.session);
      if (parent !== undefined) found.parent = parent;
    } else if (event.type === "session.rename") {
      found.title = text(event.title) ?? "";
    } else if (event.type === "message.user" && event.origin === "user" && found.prompt === "") {
      found.prompt = (text(event.content) ?? "").slice(0, 400);
    } else if (event.type === "message.end" || event.type === "context.prefix") {
      const model = text(event.model);
      if (model !== undefined) found.model = model;
    } else if (event.type === "turn.start") {
      found.turn = "open";
    } else if (event.type === "turn.end") {
      found.turn = event.reason as EventOf<"turn.end">["reason"];
    }
  }
  return found;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/**
 * Finds a session by path, id, unique beginning of an id, or a piece of its title or first prompt. The
 * project of `cwd` comes first: what is unique there is taken, whatever other projects have. Throws
 * ReasonixError (usage) when nothing, or more than one, fits.
 */
export function findSession(
  home: string,
  ref: string,
  options: { readonly cwd?: string } = {},
): SessionPaths {
  if (/[\\/]|\.jsonl$/.test(ref)) return findPath(ref);
  const own = options.cwd === undefined ? [] : [projectDir(home, options.cwd)];
  const projects = [...own, ...projectDirs(home).filter((project) => !own.includes(project))];
  for (const project of projects) {
    const paths = sessionPaths(project, ref);
    if (isFile(paths.path)) return paths;
  }
  for (const search of [byIdPrefix, byText]) {
    for (const group of [own, projects]) {
      const hits = group.flatMap((project) => search(project, ref));
      if (hits.length === 1 && hits[0]) return hits[0].paths;
      if (hits.length > 1) throw ambiguous(ref, hits);
    }
  }
  throw usageError(
    message`Cannot find a session "${ref}"`,
    message`see the sessions there are with \`reasonix session list --all\``,
  );
}

interface Hit {
  readonly paths: SessionPaths;
  readonly title: string;
}

function findPath(ref: string): SessionPaths {
  if (isFile(ref)) return pathsOfFile(ref);
  throw usageError(
    message`Cannot find the session file ${ref}`,
    message`give the path of a .jsonl session file, or a session id`,
  );
}

function byIdPrefix(project: string, ref: string): Hit[] {
  return sessionIds(project).filter((id) => id.startsWith(ref)).map((id) => ({
    paths: sessionPaths(project, id),
    title: "",
  }));
}

function byText(project: string, ref: string): Hit[] {
  const wanted = ref.toLowerCase();
  const hits = listSessions(project).filter(({ title, prompt }) =>
    title.toLowerCase().includes(wanted) || prompt.toLowerCase().includes(wanted)
  );
  const exact = hits.filter(({ title }) => title.toLowerCase() === wanted);
  return (exact.length > 0 ? exact : hits).map(({ id, title }) => ({
    paths: sessionPaths(project, id),
    title,
  }));
}

function ambiguous(ref: string, hits: readonly Hit[]): ReasonixError {
  const shown = hits.slice(0, 5).map(({ paths, title }) => title ? `${paths.id} (${title})` : paths.id);
  const list = hits.length > 5 ? [...shown, "…"] : shown;
  return usageError(
    message`"${ref}" matches ${hits.length} sessions: ${list}`,
    message`give the whole id, or more of the title`,
  );
}

/** The agent of a session; undefined for sessions of the user. */
export function agentOfSession(path: string): string | undefined {
  try {
    using file = Deno.openSync(path);
    const [head] = eventsIn(readPiece(file, 0, Math.min(file.statSync().size, HEAD)));
    return isRecord(head?.parent) ? text(head.parent.agent) : undefined;
  } catch {
    return undefined;
  }
}
