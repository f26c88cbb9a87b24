import { contains } from "../../path/lexical.ts";
import { type GlobTest, literalHead, unescapeGlob } from "../../path/glob.ts";
import { protectedForms } from "../../path/protected.ts";
import { realPath } from "../../path/real_path.ts";
import { literalPath, namedBy } from "../../rule/mod.ts";
import type { MountPath } from "../jail/backend.ts";
import type { JailScope } from "../jail/plan.ts";
import { type DeniedGlobs, deniedGlobs, foldName } from "./workspace.ts";

/** Directories looked into, and files hidden, before the rest is left to the rules alone. */
const MAX_DIRECTORIES = 1500;
const MAX_FILES = 256;
/**
 * A directory that changed less than this before it was listed may change again without a new time (ms); more
 * where there are only whole seconds.
 */
const SETTLED = 50;
const SETTLED_COARSE = 2100;
/**
 * Packages and git's own files, which are many: what is in there is only hidden when a rule names it without
 * wildcards.
 */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/** A name below a root that a file system gives back as it was written, but for the case of its letters. */
const PLAIN_NAME = /^\/[\x21-\x2e\x30-\x7e]+(?:\/|$)/;

interface Listing {
  /** By the time that no command can set. */
  readonly changed: number;
  readonly listed: number;
  /** In small letters, of a root; absent: it may not be listed. */
  readonly names?: ReadonlySet<string>;
  readonly directories: readonly string[];
  readonly matches: readonly string[];
}

/**
 * Finds what rules refuse, so that commands cannot reach it either. Files a glob means are looked up
 * when first asked for, and again in directories that have changed since; asking again costs one look a
 * directory.
 */
export class DeniedFiles {
  readonly #plain: readonly string[];
  /** The same by the root they are in, where one look at it reports that most are not there. */
  readonly #parents: ReadonlyMap<string, readonly string[]>;
  readonly #pattern: GlobTest | undefined;
  /** What a rule means by its name alone, in whatever directory. */
  readonly #names: GlobTest | undefined;
  readonly #bases: readonly string[];
  readonly #listings = new Map<string, Listing>();
  #capped = false;

  constructor(denied: DeniedGlobs) {
    const globs = deniedGlobs(denied);
    const plain = globs.flatMap((glob) => literalPath(glob) ?? []);
    const within = (root: string) =>
      plain.filter((path) => path.startsWith(`${root}/`) && PLAIN_NAME.test(path.slice(root.length)));
    const parents = denied.roots.map((root) => [root, within(root)] as const);
    this.#parents = new Map(parents.filter(([, paths]) => paths.length > 0));
    const byParent = new Set([...this.#parents.values()].flat());
    this.#plain = plain.filter((path) => !byParent.has(path));
    const open = globs.filter((glob) => literalPath(glob) === undefined);
    this.#pattern = open.length === 0 ? undefined : namedBy(open, foldName);
    const anywhere = open.filter(({ glob, floating }) => floating && glob.startsWith("/**/"));
    this.#names = anywhere.length === 0 ? undefined : namedBy(anywhere, foldName);
    const heads = open.map(({ glob }) => literalHead(glob)).map((head) =>
      head.slice(0, head.lastIndexOf("/"))
    );
    // The whole file system is too much to look through; what commands can write to is not.
    this.#bases = outermost(heads.flatMap((head) => head === "" ? denied.roots : [unescapeGlob(head)]));
  }

  /** Reports whether not all of it could be found. */
  get capped(): boolean {
    return this.#capped;
  }

  /** Returns what is there now. */
  find(): readonly MountPath[] {
    const found = new Map<string, MountPath>();
    for (const path of [...this.#plain, ...this.#inParents(), ...this.#matches()]) {
      try {
        Deno.lstatSync(path);
        const real = realPath(path);
        const loose = this.#names?.(foldName(real)) ? { loose: true } as const : {};
        found.set(real, { path: real, directory: Deno.statSync(real).isDirectory, ...loose });
      } catch {
        // Not there, or a link to nothing.
      }
    }
    const paths = [...found.values()];
    this.#capped ||= paths.length > MAX_FILES;
    return paths.slice(0, MAX_FILES);
  }

  #inParents(): string[] {
    return [...this.#parents].flatMap(([root, paths]) => {
      const { names } = this.#list(root);
      const first = (path: string) => path.slice(root.length + 1).split("/", 1)[0]?.toLowerCase() ?? "";
      return names ? paths.filter((path) => names.has(first(path))) : paths;
    });
  }

  #matches(): string[] {
    if (!this.#pattern) return [];
    const matches: string[] = [];
    const pending = [...this.#bases];
    let looked = 0;
    for (let directory = pending.shift(); directory !== undefined; directory = pending.shift()) {
      if (++looked > MAX_DIRECTORIES) {
        this.#capped = true;
        break;
      }
      const listing = this.#list(directory);
      for (const match of listing.matches) matches.push(match);
      for (const inner of listing.directories) pending.push(inner);
    }
    return matches;
  }

  #list(directory: string): Listing {
    try {
      const { ctime, mtime } = Deno.lstatSync(directory);
      const changed = (ctime ?? mtime)?.getTime() ?? NaN;
      const settled = changed % 1000 === 0 ? SETTLED_COARSE : SETTLED;
      const known = this.#listings.get(directory);
      if (known && known.changed === changed && known.listed - changed > settled) return known;
      const directories: string[] = [];
      const matches: string[] = [];
      const names = new Set<string>();
      const keepsNames = this.#parents.has(directory);
      const listed = Date.now();
      for (const { name, isDirectory } of Deno.readDirSync(directory)) {
        const path = `${directory === "/" ? "" : directory}/${name}`;
        if (keepsNames) names.add(name.toLowerCase());
        if (this.#pattern?.(foldName(path))) matches.push(path);
        else if (isDirectory && !SKIPPED.has(name)) directories.push(path);
      }
      const listing = { changed, listed, names, directories, matches };
      this.#listings.set(directory, listing);
      return listing;
    } catch {
      return { changed: 0, listed: 0, directories: [], matches: [] };
    }
  }
}

/** Directories that none of the others contains. */
function outermost(directories: readonly string[]): string[] {
  const all = [...new Set(directories)];
  return all.filter((directory) => !all.some((other) => other !== directory && contains(other, directory)));
}

/** Files that a command made and that a mount could not protect, since they were not there before. */
export interface MadeFiles {
  /** Files that other programs execute. */
  readonly protectedPaths: readonly string[];
  /** What `Edit` rules deny. */
  readonly denied: readonly string[];
}

/** Notices which protected files appear. What a background job makes is named with the next command. */
export class MadeFilesWatch {
  readonly #kinds: readonly { readonly finder: DeniedFiles; known: ReadonlySet<string> }[];
  /** Commands that are still running. */
  #running = 0;

  constructor({ roots, userHome, denyWrite = [] }: JailScope) {
    const globs = [
      ...protectedForms(["anywhere"]).map((form) => `**/${form}`),
      ...roots.flatMap((root) => protectedForms(["root"]).map((form) => `${root}/${form}`)),
    ];
    this.#kinds = [globs, denyWrite].map((wanted) => {
      const finder = new DeniedFiles({ globs: wanted, roots, userHome });
      return { finder, known: new Set<string>() };
    });
  }

  /** A command begins; the function returned says, when it has ended, what it made. */
  begin(): () => MadeFiles {
    if (this.#running++ === 0) { for (const kind of this.#kinds) kind.known = there(kind.finder); }
    return () => {
      this.#running--;
      const [protectedPaths = [], denied = []] = this.#kinds.map((kind) => {
        const now = there(kind.finder);
        const made = [...now].filter((path) => !kind.known.has(path));
        kind.known = now;
        return made.sort();
      });
      return { protectedPaths, denied };
    };
  }
}

function there(finder: DeniedFiles): ReadonlySet<string> {
  return new Set(finder.find().map(({ path }) => path));
}
