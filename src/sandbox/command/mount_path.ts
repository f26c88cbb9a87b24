import type { MountPath } from "./backend.ts";
import { realPath } from "../../path/real_path.ts";

/**
 * Returns what is there of these paths, as real paths: nothing can be mounted on a path that does not exist.
 */
export function existingMounts(paths: Iterable<string>): MountPath[] {
  const found = new Map<string, MountPath>();
  for (const path of paths) {
    try {
      // Most candidates are absent, and finding that out is cheapest this way.
      Deno.lstatSync(path);
      const real = realPath(path);
      found.set(real, { path: real, directory: Deno.statSync(real).isDirectory });
    } catch {
      // Not there, or a dangling link: nothing to show, hide or protect.
    }
  }
  return [...found.values()];
}
