import { isWithin } from "./area.ts";
import type { Place } from "./backend.ts";
import { absoluteGlobs, foldGlob, type GlobPlaces, globSource, shortestGlob } from "./denied_globs.ts";
import { realPathOf } from "./resolve.ts";

/** Folders looked into, and files hidden, before the rest is left to the rules alone. */
const MAX_FOLDERS = 1500;
const MAX_FILES = 256;
/** A folder that changed less than this before it was listed may change again without a new time (ms). */
const SETTLED = 50;
/** Packages and git's own files, which are many: what is in there is only hidden when a rule names it without wildcards. */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", ".git"]);

interface Listing {
  readonly changed: number;
  readonly listed: number;
  readonly folders: readonly string[];
  readonly matches: readonly string[];
}

/**
 * Finds what `Read` rules refuse, so that commands cannot see it either. Files a glob means are looked up when first asked for, and
 * again in folders that have changed since; asking again costs one look a folder.
 */
export class DeniedFiles {
  readonly #plain: readonly string[];
  readonly #pattern: RegExp | undefined;
  /** What a rule means by its name alone, in whatever folder. */
  readonly #names: RegExp | undefined;
  readonly #bases: readonly string[];
  readonly #listings = new Map<string, Listing>();
  #capped = false;

  constructor(places: GlobPlaces) {
    const forms = absoluteGlobs(places);
    this.#plain = forms.filter((form) => !/[*?]/.test(form));
    const open = forms.filter((form) => /[*?]/.test(form));
    this.#pattern = open.length === 0
      ? undefined
      : new RegExp(`^(?:${open.map(globSource).join("|")})$`, "su");
    const names = places.globs.map(shortestGlob).filter((form) =>
      /[^*?/.]/.test(form) && !form.includes("/")
    );
    this.#names = names.length === 0
      ? undefined
      : new RegExp(`/(?:${names.map(globSource).join("|")})$`, "su");
    const heads = open.map((form) => form.slice(0, form.slice(0, form.search(/[*?]/)).lastIndexOf("/")));
    // The whole file system is too much to look through; what commands can write to is not.
    this.#bases = outermost(heads.flatMap((head) => head === "" ? places.roots : [head]));
  }

  /** Whether not all of it could be found. */
  get capped(): boolean {
    return this.#capped;
  }

  /** What is there now. */
  find(): readonly Place[] {
    const found = new Map<string, Place>();
    for (const path of [...this.#plain, ...this.#matches()]) {
      try {
        Deno.lstatSync(path);
        const real = realPathOf(path);
        const loose = this.#names?.test(foldGlob(real)) ? { loose: true } as const : {};
        found.set(real, { path: real, folder: Deno.statSync(real).isDirectory, ...loose });
      } catch {
        // Not there, or a link to nothing.
      }
    }
    const places = [...found.values()];
    this.#capped ||= places.length > MAX_FILES;
    return places.slice(0, MAX_FILES);
  }

  #matches(): string[] {
    if (!this.#pattern) return [];
    const matches: string[] = [];
    const pending = [...this.#bases];
    let looked = 0;
    for (let folder = pending.shift(); folder !== undefined; folder = pending.shift()) {
      if (++looked > MAX_FOLDERS) {
        this.#capped = true;
        break;
      }
      const listing = this.#list(folder);
      for (const match of listing.matches) matches.push(match);
      for (const inner of listing.folders) pending.push(inner);
    }
    return matches;
  }

  #list(folder: string): Listing {
    try {
      const changed = Deno.lstatSync(folder).mtime?.getTime() ?? NaN;
      const known = this.#listings.get(folder);
      if (known && known.changed === changed && known.listed - changed > SETTLED) return known;
      const folders: string[] = [];
      const matches: string[] = [];
      const listed = Date.now();
      for (const { name, isDirectory } of Deno.readDirSync(folder)) {
        const path = `${folder === "/" ? "" : folder}/${name}`;
        if (this.#pattern?.test(foldGlob(path))) matches.push(path);
        else if (isDirectory && !SKIPPED.has(name)) folders.push(path);
      }
      const listing = { changed, listed, folders, matches };
      this.#listings.set(folder, listing);
      return listing;
    } catch {
      return { changed: 0, listed: 0, folders: [], matches: [] };
    }
  }
}

/** Folders that lie in none of the others. */
function outermost(folders: readonly string[]): string[] {
  const all = [...new Set(folders)];
  return all.filter((folder) => !all.some((other) => other !== folder && isWithin(folder, other)));
}
