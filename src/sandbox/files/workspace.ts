import { message, ReasonixError } from "../../core/mod.ts";
import {
  absolutePath,
  contains,
  containsOnDisk,
  foldPath,
  IGNORES_CASE,
  normalize,
  type PathBase,
  requireFilePath,
} from "../../path/lexical.ts";
import { exists } from "../../path/probe.ts";
import { worktreeIdOf } from "../../path/project_dir.ts";
import { isSystemDirectory } from "../../path/protected.ts";
import { realPath, RealPathCache } from "../../path/real_path.ts";
import { absoluteGlobs, namedBy, type PathGlob } from "../../rule/mod.ts";

/** Plain data, so that it can be sent to a worker. */
export interface WorkspaceOptions {
  /** Absolute; relative paths count from here. */
  readonly cwd: string;
  /** The workspace root, `allow_write`, `--add-dir`: directories or files. Relative ones count from `cwd`. */
  readonly roots: readonly string[];
  /** Paths that may not be read, listed or searched, with all they contain. Variables are expanded. */
  readonly forbidRead?: readonly string[];
  /** The Reasonix home: only its config file may be written, its key files may not be read. */
  readonly home: string;
  /** The directory that `~` means. Without it `~` is an ordinary file name; `~name` always is. */
  readonly userHome?: string | undefined;
  readonly caseInsensitive?: boolean;
  /** Globs of permission rules that refuse to read; lists and searches leave them out. */
  readonly denyRead?: readonly string[];
  /** The directory that the jail shows as `/tmp`, so that file tools and commands see the same one. */
  readonly privateTmp?: string;
}

/**
 * Confines file tools to the workspace; what `[sandbox]` sets; see docs/security.md. Structurally a
 * `WorkspacePolicy`.
 *
 * Contract: what `read` and `write` return is a real path: no symlink, no `..`. A writer replaces the file by
 * renaming a new one over it, which leaves other hard links of the old file alone; one that opens the file in
 * place must call `verifyOpened(file, path, "write")`. Refusals are `ReasonixError`s that name the path, the
 * writable roots and the remedy. Nothing is ever created.
 */
export class Workspace {
  readonly options: WorkspaceOptions;
  readonly #base: PathBase;
  readonly #normalized: (path: string) => string;
  readonly #contains: (directory: string, path: string) => boolean;
  /**
   * Resolved once, before any tool ran: a root that turns into a symlink later does not move the boundary.
   */
  readonly #areas: { readonly roots: string[]; readonly home: string; readonly forbidden: readonly string[] };
  readonly #hidden: readonly string[];
  readonly #denied: ((path: string) => boolean) | undefined;
  #tmp: string | undefined;
  #shownTmp: readonly string[] = [];

  constructor(options: WorkspaceOptions) {
    this.options = options;
    this.#tmp = options.privateTmp;
    const insensitive = options.caseInsensitive ?? IGNORES_CASE;
    this.#base = { cwd: options.cwd, home: options.userHome };
    this.#normalized = insensitive ? foldPath : (path) => path;
    this.#contains = insensitive ? containsOnDisk : contains;
    const secrets = HOME_SECRETS.map((name) => `${options.home}/${name}`);
    const forbidden = [...(options.forbidRead ?? []), ...secrets].map((path) => this.#absolute(path));
    this.#areas = {
      roots: options.roots.map((root) => realPath(this.#absolute(root))),
      home: realPath(this.#absolute(options.home)),
      forbidden: forbidden.map(realPath),
    };
    // Walkers hand in paths as they were reached, so the unresolved spelling of an entry must match too.
    const spellings = forbidden.map((path) => normalize(path));
    this.#hidden = [...new Set([...this.#areas.forbidden, ...spellings].map(this.#normalized))];
    this.#denied = this.#deniedTest();
  }

  /**
   * Sets the directory that commands see as `/tmp`, once the jail is chosen; `shown` are parts of the real
   * one.
   */
  usePrivateTmp(directory: string | undefined, shown: readonly string[] = []): void {
    this.#tmp = directory;
    this.#shownTmp = shown;
  }

  /**
   * The one directory whose opening would allow these writes; never a system directory, a home, or a parent
   * of one.
   */
  couldOpen(paths: readonly string[]): string | undefined {
    const outside = paths.map((path) => this.#resolve(path, "write"))
      .filter((real) => !this.#areas.roots.some((root) => this.#contains(root, real)));
    const directories = new Set(outside.map((real) => real.slice(0, real.lastIndexOf("/")) || "/"));
    const [directory = "/", ...others] = directories;
    const { userHome } = this.options;
    const home = userHome === undefined ? undefined : realPath(userHome);
    const holds = [this.#areas.home, home].some((each) =>
      each !== undefined && this.#contains(directory, each)
    );
    if (others.length > 0 || holds || isSystemDirectory(directory, home)) return undefined;
    const roots = [...this.#areas.roots, directory];
    try {
      const trial = new Workspace({ ...this.options, roots });
      for (const path of paths) trial.#checkWrite(path, trial.#resolve(path, "write"));
      return directory;
    } catch {
      return undefined;
    }
  }

  addRoot(directory: string): void {
    if (!this.#areas.roots.includes(directory)) this.#areas.roots.push(directory);
  }

  get roots(): readonly string[] {
    return this.#areas.roots;
  }

  /** Paths that may not be read, as real paths; key files of the Reasonix home included. */
  get forbidden(): readonly string[] {
    return this.#areas.forbidden;
  }

  read(path: string): Promise<string> {
    return attempt(() => {
      const real = this.#resolve(path, "read");
      this.#checkRead(path, real);
      return real;
    });
  }

  write(path: string): Promise<string> {
    return attempt(() => {
      const real = this.#resolve(path, "write");
      this.#checkWrite(path, real);
      return real;
    });
  }

  #deniedTest(): ((path: string) => boolean) | undefined {
    const { denyRead: globs = [], cwd, userHome } = this.options;
    if (globs.length === 0) return undefined;
    return deniedTest({ globs, roots: [...new Set([cwd, ...this.#areas.roots])], userHome });
  }

  /** Lists and searches leave out what may not be read, or what a rule refuses. */
  hidden(absolutePath: string): boolean {
    return this.forbids(absolutePath) || this.#denied?.(absolutePath) === true;
  }

  /** A path may not be read at all, whatever the rules say. */
  forbids(absolutePath: string): boolean {
    const path = this.#normalized(absolutePath);
    return this.#hidden.some((area) => contains(area, path));
  }

  /**
   * Checks on the open file that the path still leads to it, so that a directory swapped for a symlink is
   * noticed. Contract: `path` is the result of `read` or `write`. With "write" a file with a second name is
   * refused, since that name may be outside.
   */
  verifyOpened(file: Deno.FsFile, path: string, access: "read" | "write" = "read"): Promise<void> {
    return attempt(() => {
      const real = realPath(path);
      if (access === "read") this.#checkRead(path, real);
      else this.#checkWrite(path, real);
      const info = verifyOpenFile(file, path, real);
      if (!info.isFile || info.nlink === null || info.nlink < 2) return;
      if (access === "write") {
        throw refusal(
          `Cannot write ${path} in place: the file has ${info.nlink} names, and one may lie outside`,
          {
            remedy: "replace the file instead of changing it in place",
          },
        );
      }
      if (holdsInode(this.#areas.forbidden, info)) throw forbidden(path, real);
    });
  }

  #inOwnWorktree(real: string): boolean {
    const { roots, home } = this.#areas;
    return roots.some((root) => worktreeIdOf(home, root) !== undefined && contains(root, real));
  }

  #absolute(path: string): string {
    requireFilePath(path);
    return absolutePath(path, this.#base);
  }

  #resolve(path: string, access: "read" | "write"): string {
    const absolute = this.#absolute(path);
    const tmp = this.#tmp;
    if (tmp === undefined || !/^\/tmp(?:\/|$)/.test(absolute)) return realPath(absolute);
    const real = realPath(absolute);
    if (real !== "/tmp" && !contains("/tmp", real)) return real;
    if ([...this.#areas.roots, ...this.#shownTmp, tmp].some((root) => contains(root, real))) return real;
    const mapped = realPath(tmp + real.slice("/tmp".length));
    return access === "write" || exists(mapped) ? mapped : real;
  }

  #checkRead(path: string, real: string): void {
    if (this.forbids(real)) throw forbidden(path, real);
    const reason = kernelReason(real, "read");
    if (reason) {
      throw refusal(`Cannot read ${shown(path, real)}: ${reason}`, { remedy: "use a command instead" });
    }
  }

  #checkWrite(path: string, real: string): void {
    const { roots, home } = this.#areas;
    const reason = kernelReason(real, "write");
    if (reason) {
      throw refusal(`Cannot write ${shown(path, real)}: ${reason}`, { remedy: "write a regular file" });
    }
    if (this.forbids(real)) throw forbidden(path, real, "write");
    if (this.#tmp !== undefined && contains(this.#tmp, real)) return;
    if (contains(this.#normalized(home), this.#normalized(real))) {
      if (this.#inOwnWorktree(real)) return;
      throw refusal(`Cannot write ${shown(path, real)}: it belongs to the state of Reasonix`, {
        remedy: "leave that directory alone; the user changes settings with reasonix config set",
      });
    }
    if (roots.some((root) => this.#contains(root, real))) return;
    throw refusal(
      `Cannot write ${shown(path, real)}: it is outside the writable roots (${roots.join(", ") || "none"})`,
      {
        remedy:
          "write inside them, or have the user restart with --add-dir DIR or add DIR to [sandbox] allow_write",
      },
    );
  }
}

export function createWorkspace(options: WorkspaceOptions): Workspace {
  return new Workspace(options);
}

function attempt<T>(run: () => T): Promise<T> {
  try {
    return Promise.resolve(run());
  } catch (error) {
    return Promise.reject(error);
  }
}

function shown(path: string, real: string): string {
  return path === real ? path : `${path} (really ${real})`;
}

function refusal(message: string, options: { remedy: string }): ReasonixError {
  return new ReasonixError(message, { exit: "blocked", remedy: options.remedy });
}

function forbidden(path: string, real: string, verb = "read"): ReasonixError {
  return refusal(`Cannot ${verb} ${shown(path, real)}: the user has forbidden it ([sandbox] forbid_read)`, {
    remedy: "do not look for another way; ask the user for what is needed from it",
  });
}

const MAX_ENTRIES = 20_000;

/**
 * The state of an open file to which `path` still leads. Device and inode are compared on the descriptor, so
 * that later changes of the path do not matter.
 */
function verifyOpenFile(file: Deno.FsFile, path: string, real: string): Deno.FileInfo {
  const info = file.statSync();
  const changed = () =>
    new ReasonixError(message`Cannot use ${path}: it was replaced while it was being opened`, {
      exit: "blocked",
      remedy: message`look at the file again, then retry`,
    });
  if (real !== path) throw changed();
  let named: Deno.FileInfo;
  try {
    named = Deno.lstatSync(path);
  } catch {
    throw changed();
  }
  if (named.isSymlink || named.ino !== info.ino || named.dev !== info.dev) throw changed();
  return info;
}

/** Finds hard links to files below these paths. */
function holdsInode(areas: readonly string[], wanted: Deno.FileInfo): boolean {
  let left = MAX_ENTRIES;
  const pending = [...areas];
  for (let path = pending.pop(); path !== undefined && left > 0; path = pending.pop()) {
    left--;
    try {
      const info = Deno.lstatSync(path);
      if (info.ino === wanted.ino && info.dev === wanted.dev) return true;
      if (info.isDirectory) {
        for (const entry of Deno.readDirSync(path)) pending.push(`${path}/${entry.name}`);
      }
    } catch {
      // Gone or unreadable for us, so unreadable through a link as well.
    }
  }
  return false;
}

export interface DeniedGlobs {
  readonly globs: readonly string[];
  readonly roots: readonly string[];
  readonly userHome?: string | undefined;
}

function deniedTest(denied: DeniedGlobs): ((path: string) => boolean) | undefined {
  const globs = deniedGlobs(denied);
  if (globs.length === 0) return undefined;
  const isNamed = namedBy(globs, foldName);
  return (path) => isNamed(foldName(path));
}

export function deniedGlobs({ globs, roots, userHome }: DeniedGlobs): PathGlob[] {
  const real = new RealPathCache();
  const context = { bases: roots, home: userHome, realPath: (path: string) => real.of(path) };
  return globs.filter((glob) => !meansEveryFile(glob)).flatMap((glob) => absoluteGlobs(glob, context, true));
}

/** A rule about every file would leave commands nothing to work with. */
export function meansEveryFile(glob: string): boolean {
  return !/[^*?/.]/.test(glob);
}

export function foldName(path: string): string {
  return IGNORES_CASE ? foldPath(path) : path.normalize("NFC");
}

/** Paths that no tool may use, whatever the configuration says. Data first, for review. */

/** Files of the Reasonix home that hold keys. */
export const HOME_SECRETS = [
  ".env",
  "credentials",
  "credentials.json",
  "mcp-auth.json",
  "tokens.json",
] as const;

/** Kernel files that show another process, the kernel's memory, or a raw device. */
const KERNEL_READ = /^\/(?:proc\/(?:\d+|self|thread-self|kcore|kmsg|keys)(?:\/|$)|dev\/(?!shm(?:\/|$)))/;
const KERNEL_WRITE = /^\/(?:proc|sys|dev)(?:\/|$)(?!shm(?:\/|$))/;

/** The reason why a real path is not an ordinary file. */
function kernelReason(realPath: string, access: "read" | "write"): string | undefined {
  if (access === "write" && KERNEL_WRITE.test(realPath)) return "it is a kernel or device file";
  if (!KERNEL_READ.test(realPath)) return undefined;
  return realPath.startsWith("/dev/") ? "it is a device" : "it shows the inside of a running process";
}

export interface ProcessScope {
  /** Writable directories, the directory for full outputs included. */
  readonly writable: readonly string[];
  readonly forbidRead: readonly string[];
  /** Stays as it is although in a writable directory. */
  readonly keep?: readonly string[];
}

/**
 * Flags of `deno run` for the process that changes files: all reads except forbidden paths, writes to the
 * given directories, nothing else. The runtime splits the paths of a flag at commas and knows no escape. If
 * a path has one, the permissions are in a private file that is created under a name of `newFile`; it is read
 * at each start of the process. Contract: write permission follows existing symlinks; the process still
 * resolves paths with the workspace.
 */
export function processFlags(scope: ProcessScope, newFile: () => string): string[] {
  const denied = scope.forbidRead.map(realPath);
  const kept = [...denied, ...(scope.keep ?? []).map(realPath)];
  const writable = scope.writable.map(realPath);
  if ([...kept, ...writable].some((path) => path.includes(","))) {
    const file = newFile();
    const worker = {
      read: { allow: true, deny: denied },
      write: { allow: writable, deny: [...kept, realPath(file)] },
    };
    Deno.mkdirSync(file.replace(/\/[^/]*$/, ""), { recursive: true, mode: 0o700 });
    const text = JSON.stringify({ permissions: { worker } });
    Deno.writeTextFileSync(file, text, { createNew: true, mode: 0o600 });
    return [`--config=${file}`, "--permission-set=worker"];
  }
  return [
    "--allow-read",
    ...(denied.length > 0 ? [`--deny-read=${denied.join(",")}`] : []),
    ...(kept.length > 0 ? [`--deny-write=${kept.join(",")}`] : []),
    `--allow-write=${writable.join(",")}`,
  ];
}
