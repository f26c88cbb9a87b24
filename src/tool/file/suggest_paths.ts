import { suggestNames } from "../../util/suggest.ts";
import type { ToolContext } from "../tool.ts";
import { walkFiles } from "../search/walk.ts";

interface MissingPath {
  readonly path: string;
  readonly shown: string;
}

export type PathEnvironment = Pick<ToolContext, "cwd" | "paths" | "signal">;

const MAX_NAMES = 5000;
const MAX_PATHS = 3;

const SEARCH_MS = 300;

/** Existing paths that a missing one may mean: similar names next to it, else the same name elsewhere. */
export async function suggestPaths(target: MissingPath, context?: PathEnvironment): Promise<string[]> {
  const near = neighbours(target, context);
  return near.length > 0 || !context ? near : await sameName(target, context);
}

function neighbours(target: MissingPath, context?: PathEnvironment): string[] {
  const parts = target.path.split("/");
  for (let count = parts.length - 1; count > 0; count--) {
    const directory = parts.slice(0, count).join("/") || "/";
    const marks = new Map<string, string>();
    try {
      for (const entry of Deno.readDirSync(directory)) {
        if (context?.paths.hidden(`${directory === "/" ? "" : directory}/${entry.name}`)) continue;
        marks.set(entry.name, entry.isDirectory ? "/" : "");
        if (marks.size >= MAX_NAMES) break;
      }
    } catch {
      continue;
    }
    const tail = parts.slice(count).join("/").length;
    const head = target.shown.slice(0, Math.max(0, target.shown.length - tail));
    return suggestNames(parts[count] ?? "", marks.keys()).map((name) => head + name + marks.get(name));
  }
  return [];
}

/** Models get the directory wrong more often than the name. */
async function sameName(target: MissingPath, { cwd, paths, signal }: PathEnvironment): Promise<string[]> {
  const name = target.path.slice(target.path.lastIndexOf("/") + 1).toLowerCase();
  const root = await Deno.realPath(cwd).catch(() => undefined);
  if (root === undefined || name === "") return [];
  const found: string[] = [];
  const hidden = (path: string) => paths.hidden(path);
  await walkFiles({ root, cwd: root, hidden, signal, deadline: Date.now() + SEARCH_MS }, (path) => {
    if (path.toLowerCase().endsWith(`/${name}`)) found.push(path.slice(root.length + 1));
  });
  return found.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).slice(0, MAX_PATHS);
}
