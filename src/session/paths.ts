import { attempt } from "../util/lazy.ts";
export interface SessionPaths {
  readonly id: string;
  readonly path: string;
  /** Directory for full tool outputs, checkpoints and archives; made on first use. */
  readonly dir: string;
  readonly lock: string;
}

const SUFFIX = ".jsonl";

/** Joins with the separator the platform's own paths use; `/` works everywhere Deno runs. */
function join(...parts: string[]): string {
  return parts.map((part, i) => i === 0 ? part.replace(/[\\/]+$/, "") : part).join("/");
}

export function sessionsDir(project: string): string {
  return join(project, "sessions");
}

/** Sorts by creation: UTC time to the second, then four random characters. */
export function newSessionId(now: Date): string {
  const stamp = now.toISOString().replace(/[-:]/g, "").slice(0, 15).replace("T", "-");
  const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
  let tail = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(4))) tail += alphabet[byte % 36];
  return `${stamp}-${tail}`;
}

export function sessionPaths(project: string, id: string): SessionPaths {
  const base = join(sessionsDir(project), id);
  return { id, path: `${base}${SUFFIX}`, dir: base, lock: `${base}.lock` };
}

/** The paths that belong to a session file, wherever it is. */
export function pathsOfFile(path: string): SessionPaths {
  const base = path.endsWith(SUFFIX) ? path.slice(0, -SUFFIX.length) : `${path}.d`;
  const id = base.split(/[\\/]/).at(-1) ?? base;
  return { id, path, dir: base, lock: `${base}.lock` };
}

/** Id of the session a directory entry holds, or undefined. */
export function sessionIdOf(entryName: string): string | undefined {
  return entryName.endsWith(SUFFIX) ? entryName.slice(0, -SUFFIX.length) : undefined;
}

export function parentDir(path: string): string {
  const cut = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return cut > 0 ? path.slice(0, cut) : path.slice(0, cut + 1) || ".";
}

const POINTER = "last";

/**
 * Notes which session of its project was begun or resumed last, so that `--continue` need not look at all of
 * them.
 */
export function rememberLast(paths: SessionPaths): void {
  // Only a shortcut: without it the newest file is searched.
  attempt(() => Deno.writeTextFileSync(`${parentDir(paths.path)}/${POINTER}`, paths.id, { mode: 0o600 }));
}

/** The session of a project that was begun or resumed last. */
export function lastSession(project: string): SessionPaths | undefined {
  const directory = sessionsDir(project);
  try {
    const id = Deno.readTextFileSync(`${directory}/${POINTER}`).trim();
    const paths = sessionPaths(project, id);
    if (id !== "" && !/[\\/]/.test(id) && Deno.statSync(paths.path).isFile) return paths;
  } catch {
    // No pointer, or it points to a session that was deleted.
  }
  return newestFile(project, directory);
}

function newestFile(project: string, directory: string): SessionPaths | undefined {
  let newest: { readonly id: string; readonly time: number } | undefined;
  try {
    for (const entry of Deno.readDirSync(directory)) {
      if (!entry.name.endsWith(".jsonl")) continue;
      const time = Deno.statSync(`${directory}/${entry.name}`).mtime?.getTime() ?? 0;
      if (!newest || time > newest.time) newest = { id: entry.name.slice(0, -".jsonl".length), time };
    }
  } catch {
    return undefined;
  }
  return newest && sessionPaths(project, newest.id);
}
