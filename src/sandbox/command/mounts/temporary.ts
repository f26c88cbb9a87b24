import { contains } from "../../../path/contains.ts";
import type { MountPath } from "../backend.ts";
import { existingMounts } from "../mount_path.ts";

/** The directories of temporary files, in the place of which commands get empty ones of their own. */
export const TEMPORARY = ["/tmp", "/var/tmp"] as const;

/** What commands use without being told of it. Absolute paths, which may not exist. */
export interface CommandNeeds {
  readonly userHome?: string | undefined;
  /** Directories in which programs are looked up. */
  readonly searchPath: readonly string[];
  /** The program that runs this one, which commands may start too. */
  readonly executable?: string | undefined;
}

/**
 * Those of a command's needs that an empty temporary directory would hide: homes, toolchains and the runtime
 * of a container or of a build machine often lie there. The directory itself is not among them, whatever
 * names it.
 */
export function neededBelowTemporary({ userHome, searchPath, executable }: CommandNeeds): MountPath[] {
  const absolute = [userHome ?? "", ...searchPath, executable ?? ""].filter((path) => path.startsWith("/"));
  const below = existingMounts(absolute).filter(({ path }) =>
    TEMPORARY.some((directory) => path !== directory && contains(directory, path))
  );
  return below.filter(({ path }) =>
    !below.some((outer) => outer.path !== path && contains(outer.path, path))
  );
}
