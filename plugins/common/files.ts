/** Walks of directories for plugins: what ignore files, the session's rules and sizes leave. */
import { isAbsolute, relative, resolve, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { type PluginContext, PluginError } from "./plugin.ts";

interface WalkedFile {
  /** Relative to the root, with `/`. */
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

export interface WalkOptions {
  /** The session's rules for files that it may not read: `context.hidden`. */
  readonly hidden?: readonly string[];
  /** The directory that the rules of `hidden` belong to, if it is not the root. */
  readonly workspace?: string;
  /** Patterns of ignore files; only matching files are walked. */
  readonly include?: readonly string[];
  /** Patterns of ignore files; matching files and directories are not walked. */
  readonly exclude?: readonly string[];
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

/** The rules of the ignore files in one directory, `below` being the path from it to the root of the walk. */
interface Rules {
  readonly ignore: Ignore;
  /** Of `path`, what is in front of the part that the rules judge. */
  readonly prefix: string;
  /** Between the directory of the rules and the root. */
  readonly below: string;
}

/** Later files override earlier ones. */
const IGNORE_FILES = [".gitignore", ".ignore"];
/** Can only hide more. */
const OWN_IGNORE_FILE = ".reasonixignore";
/** A walk lets other work through after this time, such as a cancellation. */
const TURN_MS = 10;

/**
 * Yields the regular files below a directory, in the order of their names. Symbolic links are not followed;
 * names that begin with a dot and `node_modules` are left out, as well as directories that cannot be read.
 * Rejects with the reason of an aborted signal.
 */
export async function* walkFiles(root: string, options: WalkOptions = {}): AsyncGenerator<WalkedFile> {
  const { hidden = [], workspace = root, include, exclude = [], maxBytes = Infinity, signal } = options;
  const excluded = exclude.length > 0 ? ignore().add([...exclude]) : undefined;
  const included = include && ignore().add([...include]);
  const isHidden = hiddenPaths(hidden, root, workspace);
  let turn = performance.now();

  const isLeftOut = (path: string, rules: readonly Rules[], own: readonly Rules[]) =>
    excluded?.ignores(path) || isHidden(path) || isIgnored(path, rules) ||
    own.some((each) => isIgnored(path, [each]));

  /** Yields nothing before each directory. */
  function* walk(
    below: string,
    above: readonly Rules[],
    aboveOwn: readonly Rules[],
  ): Generator<WalkedFile | undefined> {
    yield undefined;
    const entries = entriesOf(`${root}/${below}`);
    const names = new Set(entries.map(({ name }) => name));
    const rules = [...rulesOf(`${root}/${below}`, names, IGNORE_FILES, below, ""), ...above];
    const own = [...rulesOf(`${root}/${below}`, names, [OWN_IGNORE_FILE], below, ""), ...aboveOwn];
    for (const { name, isFile, isDirectory } of entries) {
      const path = below + name;
      if (name.startsWith(".") || name === "node_modules") continue;
      if (isDirectory && !isLeftOut(`${path}/`, rules, own)) yield* walk(`${path}/`, rules, own);
      if (!isFile || isLeftOut(path, rules, own) || included?.ignores(path) === false) continue;
      const info = attempt(() => Deno.lstatSync(`${root}/${path}`));
      if (info?.isFile && info.size <= maxBytes) {
        yield { path, size: info.size, mtimeMs: info.mtime?.getTime() ?? 0 };
      }
    }
  }
  for (const file of walk("", rulesAbove(root, IGNORE_FILES), rulesAbove(root, [OWN_IGNORE_FILE]))) {
    if (file) {
      yield file;
      continue;
    }
    signal?.throwIfAborted();
    if (performance.now() - turn <= TURN_MS) continue;
    await new Promise((resolve) => setTimeout(resolve, 0));
    turn = performance.now();
    signal?.throwIfAborted();
  }
}

export interface WorkspaceFile {
  /** Its real path. */
  readonly file: string;
  /** Its real path below the workspace, with `/`. */
  readonly name: string;
}

/**
 * Finds a file of the workspace by a path. Throws a {@linkcode PluginError} for what is no file, is outside,
 * or is hidden from the session.
 */
export function workspaceFile(
  path: string,
  { workspace, hidden }: Pick<PluginContext, "workspace" | "hidden">,
): WorkspaceFile {
  const cannot = (why: string, remedy?: string) => new PluginError(`Cannot read ${path}: ${why}`, remedy);
  const outside = () => cannot(`it is outside of ${workspace}`, "copy it there first");
  let file: string;
  let root: string;
  try {
    root = Deno.realPathSync(workspace);
    file = Deno.realPathSync(resolve(workspace, path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw cannot("there is no such file");
    if (error instanceof Deno.errors.NotCapable) throw outside();
    throw cannot(error instanceof Error ? error.message : String(error));
  }
  const name = relative(root, file).split(sep).join("/");
  if (isAbsolute(name) || name === ".." || name.startsWith("../")) throw outside();
  if (!Deno.statSync(file).isFile) throw cannot("it is not a file");
  const written = relative(workspace, resolve(workspace, path)).split(sep).join("/");
  const isHidden = hiddenPaths(hidden, root, root);
  if ([name, ...written.startsWith("..") ? [] : [written]].some(isHidden)) {
    throw cannot("the session may not read this file");
  }
  return { file, name };
}

/** Reports for paths below a root whether the session may not read them. */
export function hiddenPaths(
  hidden: readonly string[],
  root: string,
  workspace: string,
): (path: string) => boolean {
  if (hidden.length === 0) return () => false;
  const rules = ignore().add([...hidden]);
  const between = relative(workspace, root);
  const inside = between !== "" && !between.startsWith("..") && !isAbsolute(between);
  const prefix = inside ? `${between.split(sep).join("/")}/` : "";
  return (path) => rules.ignores(prefix + path);
}

/** The rules of the deepest directory that has one for the path decide. */
function isIgnored(path: string, rules: readonly Rules[]): boolean {
  for (const { ignore, prefix, below } of rules) {
    const { ignored, unignored } = ignore.test(below + path.slice(prefix.length));
    if (ignored || unignored) return ignored;
  }
  return false;
}

function rulesOf(
  directory: string,
  names: ReadonlySet<string>,
  files: readonly string[],
  prefix: string,
  below: string,
): Rules[] {
  const texts = files.flatMap((name) =>
    names.has(name) ? attempt(() => Deno.readTextFileSync(`${directory}/${name}`)) ?? [] : []
  );
  return texts.length === 0 ? [] : [{ ignore: ignore().add(texts.join("\n")), prefix, below }];
}

/** Rules of the directories above the root, up to that of its repository; the deepest first. */
function rulesAbove(root: string, files: readonly string[]): Rules[] {
  const found: Rules[] = [];
  const parts = root.split(/[\\/]/);
  const hasGit = (directory: string) => attempt(() => Deno.lstatSync(`${directory}/.git`)) !== undefined;
  for (let at = parts.length; at > 1 && !hasGit(parts.slice(0, at).join("/")); at--) {
    const directory = parts.slice(0, at - 1).join("/");
    const below = `${parts.slice(at - 1).join("/")}/`;
    found.push(...rulesOf(directory, new Set(files), files, "", below));
  }
  return found;
}

function entriesOf(directory: string): Deno.DirEntry[] {
  const entries = attempt(() => [...Deno.readDirSync(directory)]) ?? [];
  return entries.sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Undefined for what is not there or may not be read. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
      return undefined;
    }
    if (error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.NotADirectory) {
      return undefined;
    }
    throw error;
  }
}
