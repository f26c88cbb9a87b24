import { resolveReal } from "./paths.ts";

interface Place {
  readonly path: string;
  /** Surely nothing is there, nor below. */
  readonly missing: boolean;
}

/** Names that a lookup folder by folder would get wrong: `..` after a link, another spelling of a name, a very long path. */
const ODD = /(?:^|\/)\.{1,2}(?:\/|$)|\/\//;
const MAX_LENGTH = 4096;
/** Elsewhere a name may have other spellings, which only the system can tell. */
const STEPWISE = Deno.build.os === "linux";

/**
 * Real paths, looked up folder by folder and kept until they are forgotten. Files of one folder share the look at it, and a
 * name that does not exist yet costs one failing look instead of three, which are the slow part.
 */
export class RealPaths {
  readonly #known = new Map<string, Place>();

  of(path: string): string {
    return this.#look(path).path;
  }

  forget(): void {
    this.#known.clear();
  }

  #look(path: string): Place {
    let place = this.#known.get(path);
    if (!place) {
      const plain = STEPWISE && path.startsWith("/") && path.length <= MAX_LENGTH && !ODD.test(path);
      place = plain ? this.#step(path) : { path: resolveReal(path), missing: false };
      this.#known.set(path, place);
    }
    return place;
  }

  #step(path: string): Place {
    const tidy = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
    if (tidy === "/") return { path: tidy, missing: false };
    const cut = tidy.lastIndexOf("/");
    const folder = this.#look(cut === 0 ? "/" : tidy.slice(0, cut));
    const whole = `${folder.path === "/" ? "" : folder.path}${tidy.slice(cut)}`;
    if (folder.missing) return { path: whole, missing: true };
    try {
      return Deno.lstatSync(whole).isSymlink
        ? { path: resolveReal(whole), missing: false }
        : { path: whole, missing: false };
    } catch {
      return { path: whole, missing: true };
    }
  }
}
