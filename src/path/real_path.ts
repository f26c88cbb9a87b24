import { errorMessage, message, ReasonixError, type Text, usageError } from "../core/mod.ts";
import { baseName, join, normalize, parentOf, slashed, splitPath } from "./lexical.ts";

/** Links after which kernels give up on a path. */
const MAX_LINKS = 40;
/** Longer paths name nothing: kernels refuse them. */
const MAX_LENGTH = 4096;
/** Elsewhere a name may have other spellings, which only the system knows. */
const ONE_SPELLING = Deno.build.os === "linux";

/** A path without links; `missing`: nothing is there, nor below. */
interface Resolved {
  readonly path: string;
  readonly missing: boolean;
}

/**
 * Walks name by name as the kernel does, so that `..` leaves the directory a link leads to, and dangling
 * links and missing ends are followed.
 */
class Walk {
  #links = 0;

  constructor(readonly known: Map<string, Resolved>, readonly strict: boolean) {}

  resolve(path: string): Resolved {
    const known = this.known.get(path);
    if (known) return known;
    const found = this.#whole(path) ?? this.#step(path);
    this.known.set(path, found);
    return found;
  }

  #whole(path: string): Resolved | undefined {
    const real = ONE_SPELLING ? undefined : existingRealPath(path);
    return real === undefined ? undefined : { path: real, missing: false };
  }

  #step(path: string): Resolved {
    if (splitPath(path).names.length === 0) return { path: normalize(path), missing: false };
    const tidy = path.replace(/\/+$/, "");
    const directory = this.resolve(parentOf(tidy));
    const name = baseName(tidy);
    if (name === "" || name === ".") return directory;
    if (name === "..") return { path: parentOf(directory.path), missing: false };
    const whole = join(directory.path, name);
    if (directory.missing) return { path: whole, missing: true };
    const entry = this.#look(whole);
    if (typeof entry !== "object") return { path: whole, missing: entry === "missing" };
    if (++this.#links > MAX_LINKS) {
      if (this.strict) throw new Error("Too many levels of symbolic links");
      return { path: whole, missing: false };
    }
    const target = slashed(entry.target);
    return this.resolve(splitPath(target).root === "" ? join(directory.path, target) : target);
  }

  #look(path: string): "missing" | "plain" | { readonly target: string } {
    try {
      return Deno.lstatSync(path).isSymlink ? { target: Deno.readLinkSync(path) } : "plain";
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
        return "missing";
      }
      // The runtime forbids this process even to look at it, so nothing that comes of the path can be opened
      // here either.
      if (error instanceof Deno.errors.NotCapable || !this.strict) return "plain";
      throw error;
    }
  }
}

/** The path with every link, `.` and `..` resolved; undefined when nothing is there. */
export function existingRealPath(path: string): string | undefined {
  try {
    return slashed(Deno.realPathSync(path));
  } catch {
    return undefined;
  }
}

/** The real path of a directory. Throws ReasonixError (usage) with the action that failed. */
export function realDirectory(path: string, purpose: Text): string {
  try {
    const real = Deno.realPathSync(path);
    if (Deno.statSync(real).isDirectory) return real;
  } catch (error) {
    const missing = error instanceof Deno.errors.NotFound;
    throw unusableDirectory(purpose, missing ? message`there is no such directory` : errorMessage(error));
  }
  throw unusableDirectory(purpose, message`it is not a directory`);
}

function unusableDirectory(purpose: Text, reason: Text): ReasonixError {
  return usageError(message`Cannot ${purpose}: ${reason}`, message`name an existing directory`);
}

/**
 * The path with every link, `.` and `..` resolved, of the deepest existing ancestor when the end does not
 * exist (a dangling link counts as what it points to). Synchronous on purpose: a call costs 5 µs, a promise
 * of it 60.
 *
 * Contract: `path` is absolute; throws a `ReasonixError` when the way there cannot be looked at.
 */
export function realPath(path: string): string {
  // Whatever is in the way, the walk meets it again and distinguishes a missing end from a refusal.
  const existing = existingRealPath(path);
  if (existing !== undefined) return existing;
  try {
    return new Walk(directoryOf(path), true).resolve(slashed(path)).path;
  } catch (error) {
    throw new ReasonixError(`Cannot resolve ${path}: ${errorMessage(error)}`, {
      exit: "blocked",
      remedy: "use another path",
      cause: error,
    });
  }
}

/** The directory of a path, resolved by the kernel at once: usually only the end of a path is missing. */
function directoryOf(path: string): Map<string, Resolved> {
  if (normalize(path) !== path) return new Map();
  const directory = parentOf(path);
  const real = existingRealPath(directory);
  return new Map(real === undefined ? [] : [[directory, { path: real, missing: false }]]);
}

/**
 * Real paths, looked up directory by directory and kept until they are forgotten. Files of one directory
 * share the look at it, and a name that does not exist yet costs one failing look instead of three, which are
 * the slow part.
 *
 * Contract: never throws; what cannot be looked at counts as what its name says.
 */
export class RealPathCache {
  readonly #known = new Map<string, Resolved>();

  of(path: string): string {
    return path.length > MAX_LENGTH
      ? normalize(path)
      : new Walk(this.#known, false).resolve(slashed(path)).path;
  }

  forget(): void {
    this.#known.clear();
  }
}
