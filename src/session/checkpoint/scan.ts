import { IgnoreRules } from "../../path/ignore_rules.ts";

export interface ScanOptions {
  /** Real absolute path of the workspace. */
  readonly root: string;
  /** Absolute paths that are left out, such as the Reasonix home. */
  readonly skip?: (path: string) => boolean;
  readonly maxFiles: number;
}

export interface Scan {
  /** Files and links below the root that no ignore rule hides, by path relative to the root. */
  readonly files: Map<string, Deno.FileInfo>;
  /** Whether there are more than `maxFiles`. */
  readonly partial: boolean;
}

const NEVER: ReadonlySet<string> = new Set([".git", ".hg", ".svn", ".jj", "node_modules"]);

/** Work is done in slices of this many milliseconds, so that a reply that streams in meanwhile is not held up. */
const SLICE_MS = 8;

interface Folder {
  /** Relative to the root; empty for the root itself. */
  readonly path: string;
  readonly rules: readonly Rules[];
}

interface Rules {
  readonly base: string;
  readonly list: IgnoreRules;
}

/** Looks at every file of the workspace that .gitignore files do not hide, without reading contents. */
export async function scanWorkspace(options: ScanOptions): Promise<Scan> {
  const files = new Map<string, Deno.FileInfo>();
  const folders: Folder[] = [{ path: "", rules: [] }];
  let sliceEnd = performance.now() + SLICE_MS;
  for (let folder = folders.pop(); folder; folder = folders.pop()) {
    scanFolder(options, folder, { files, folders });
    if (files.size >= options.maxFiles) return { files, partial: true };
    if (performance.now() > sliceEnd) {
      // Any trip through the event loop will do; the first timer of a process costs ten milliseconds.
      await Deno.lstat(options.root).catch(() => {});
      sliceEnd = performance.now() + SLICE_MS;
    }
  }
  return { files, partial: false };
}

function scanFolder(
  options: ScanOptions,
  folder: Folder,
  out: { files: Map<string, Deno.FileInfo>; folders: Folder[] },
): void {
  const absolute = folder.path === "" ? options.root : `${options.root}/${folder.path}`;
  let entries: Deno.DirEntry[];
  try {
    entries = [...Deno.readDirSync(absolute)];
  } catch {
    return;
  }
  const rules = ownRules(folder, absolute, entries);
  for (const entry of entries) {
    const path = folder.path === "" ? entry.name : `${folder.path}/${entry.name}`;
    if (NEVER.has(entry.name) || isIgnored(rules, path, entry)) continue;
    if (options.skip?.(`${options.root}/${path}`)) continue;
    if (entry.isDirectory) {
      out.folders.push({ path, rules });
      continue;
    }
    try {
      out.files.set(path, Deno.lstatSync(`${options.root}/${path}`));
    } catch {
      // Removed while the folder was read.
    }
  }
}

function ownRules(folder: Folder, absolute: string, entries: readonly Deno.DirEntry[]): readonly Rules[] {
  if (!entries.some((entry) => entry.name === ".gitignore" && entry.isFile)) return folder.rules;
  try {
    const list = new IgnoreRules(Deno.readTextFileSync(`${absolute}/.gitignore`));
    return [...folder.rules, { base: folder.path, list }];
  } catch {
    return folder.rules;
  }
}

/** The innermost file that has an opinion decides. */
function isIgnored(rules: readonly Rules[], path: string, entry: Deno.DirEntry): boolean {
  for (let i = rules.length - 1; i >= 0; i--) {
    const rule = rules[i];
    if (!rule) continue;
    const below = rule.base === "" ? path : path.slice(rule.base.length + 1);
    const verdict = rule.list.match(below, entry.name, entry.isDirectory);
    if (verdict !== undefined) return verdict === "ignore";
  }
  return false;
}
