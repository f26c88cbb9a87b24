import { parentDir, type SessionPlace, sessionPlace, sessionsDir } from "./paths.ts";

const POINTER = "last";

/** Notes which session of its project was begun or resumed last, so that `--continue` need not look at all of them. */
export function rememberLast(place: SessionPlace): void {
  try {
    Deno.writeTextFileSync(`${parentDir(place.path)}/${POINTER}`, place.id, { mode: 0o600 });
  } catch {
    // Only a shortcut: without it the newest file is searched.
  }
}

/** The session of a project that was begun or resumed last. */
export function lastSession(project: string): SessionPlace | undefined {
  const folder = sessionsDir(project);
  try {
    const id = Deno.readTextFileSync(`${folder}/${POINTER}`).trim();
    const place = sessionPlace(project, id);
    if (id !== "" && !/[\\/]/.test(id) && Deno.statSync(place.path).isFile) return place;
  } catch {
    // No pointer, or it points to a session that was deleted.
  }
  return newestFile(project, folder);
}

function newestFile(project: string, folder: string): SessionPlace | undefined {
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
  return newest && sessionPlace(project, newest.id);
}
