import { foldPath, IGNORES_CASE } from "../../path/contains.ts";
import { RealPathCache } from "../../path/real_path.ts";
import { absoluteGlobs, namedBy, type PathGlob } from "../../rule/mod.ts";

/** What rules refuse. */
export interface DeniedGlobs {
  /** The globs as they are written. */
  readonly globs: readonly string[];
  /** The directories that relative globs count from. */
  readonly roots: readonly string[];
  readonly userHome?: string | undefined;
}

/** A test of absolute paths: whether one of the globs means it, or a directory that it lies in. */
export function deniedTest(denied: DeniedGlobs): ((path: string) => boolean) | undefined {
  const globs = deniedGlobs(denied);
  if (globs.length === 0) return undefined;
  const isNamed = namedBy(globs, foldName);
  return (path) => isNamed(foldName(path));
}

/** The absolute globs that these stand for. */
export function deniedGlobs({ globs, roots, userHome }: DeniedGlobs): PathGlob[] {
  const real = new RealPathCache();
  const context = { bases: roots, home: userHome, realPath: (path: string) => real.of(path) };
  return globs.filter((glob) => !meansEveryFile(glob)).flatMap((glob) => absoluteGlobs(glob, context, true));
}

/** Reports whether a rule is about every file, which would leave commands nothing to work with. */
export function meansEveryFile(glob: string): boolean {
  return !/[^*?/.]/.test(glob);
}

/** The form in which names of this platform are compared. */
export function foldName(path: string): string {
  return IGNORES_CASE ? foldPath(path) : path.normalize("NFC");
}
