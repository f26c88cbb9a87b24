import { contains } from "../../path/lexical.ts";
import { type GlobTest, literalHead, unescapeGlob } from "../../path/glob.ts";
import { protectedForms } from "../../path/protected.ts";
import { realPath } from "../../path/real_path.ts";
import { literalPath, namedBy } from "../../rule/mod.ts";
import type { JailScope, MountPath } from "../jail/backend.ts";
import { type DeniedGlobs, deniedGlobs, foldName } from "./workspace.ts";

/** Further directories and files are left to the rules alone. */
const MAX_DIRECTORIES = 1500;
const MAX_FILES = 256;
/**
 * Milliseconds within which a directory may change again without a new time; more where times have whole
 * seconds.
 */
const SETTLED = 50;
const SETTLED_COARSE = 2100;
/** Packages and git's files are many: a rule hides them only by a name without wildcards. */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/** A name below a root that a file system gives back as it was written, but for the case of its letters. */
const PLAIN_NAME = /^\/[\x21-\x2e\x30-\x7e]+(?:\/|$)/;

interface Listing {
  readonly changed: number;
  readonly listed: number;
  /** In small letters, of a root; absent: it may not be listed. */
  readonly names?: ReadonlySet<string>;
  readonly directories: readonly string[];
  readonly matches: readonly string[];
}

/**
 * Finds the paths that rules refuse, to hide them from commands. Globs are looked up again in directories
 * that have changed; a repeated search costs one look a directory.
 */
export class DeniedFiles {
  readonly #plain: readonly string[];
  /** By root, where one listing shows that most do not exist. */
  readonly #parents: ReadonlyMap<string, readonly string[]>;
  readonly #pattern: GlobTest | undefined;
  /** Rules about a name in any directory. */
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

  get capped(): boolean {
    return this.#capped;
  }

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

function outermost(directories: readonly string[]): string[] {
  const all = [...new Set(directories)];
  return all.filter((directory) => !all.some((other) => other !== directory && contains(other, directory)));
}

/** Files that a command made and that a mount could not protect, since they were not there before. */
export interface MadeFiles {
  readonly protectedPaths: readonly string[];
  readonly denied: readonly string[];
}

/** Notices new protected files; those of a background job are reported with the next command. */
export class MadeFilesWatch {
  readonly #kinds: readonly { readonly finder: DeniedFiles; known: ReadonlySet<string> }[];
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

  /** The returned function reports the files that were made meanwhile. */
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
