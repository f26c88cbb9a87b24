import type { Place } from "./backend.ts";
import { realPathOf } from "./resolve.ts";

/** What is there of these paths, as real paths: nothing can be mounted on a path that does not exist. */
export function existing(paths: Iterable<string>): Place[] {
  const found = new Map<string, Place>();
  for (const path of paths) {
    try {
      // Most candidates are absent, and finding that out is cheapest this way.
      Deno.lstatSync(path);
      const real = realPathOf(path);
      found.set(real, { path: real, folder: Deno.statSync(real).isDirectory });
    } catch {
      // Not there, or a dangling link: nothing to show, hide or protect.
    }
  }
  return [...found.values()];
}
