import { parentDir, type SessionPaths, sessionPaths, sessionsDir } from "../paths.ts";

const POINTER = "last";

/**
 * Notes which session of its project was begun or resumed last, so that `--continue` need not look at all of
 * them.
 */
export function rememberLast(paths: SessionPaths): void {
  try {
    Deno.writeTextFileSync(`${parentDir(paths.path)}/${POINTER}`, paths.id, { mode: 0o600 });
  } catch {
    // Only a shortcut: without it the newest file is searched.
  }
}

/** The session of a project that was begun or resumed last. */
export function lastSession(project: string): SessionPaths | undefined {
  const folder = sessionsDir(project);
  try {
    const id = Deno.readTextFileSync(`${folder}/${POINTER}`).trim();
    const paths = sessionPaths(project, id);
    if (id !== "" && !/[\\/]/.test(id) && Deno.statSync(paths.path).isFile) return paths;
  } catch {
    // No pointer, or it points to a session that was deleted.
  }
  return newestFile(project, folder);
}

function newestFile(project: string, folder: string): SessionPaths | undefined {
  let newest: { readonly id: string; readonly time: number } | undefined;
  try {
    for (const entry of Deno.readDirSync(folder)) {
      if (!entry.name.endsWith(".jsonl")) continue;
      const time = Deno.statSync(`${folder}/${entry.name}`).mtime?.getTime() ?? 0;
      if (!newest || time > newest.time) newest = { id: entry.name.slice(0, -".jsonl".length), time };
    }
  } catch {
    return undefined;
  }
  return newest && sessionPaths(project, newest.id);
}
