import { contains } from "../../../path/contains.ts";
import { ancestors, type JailPlan, type SpawnPlan } from "../backend.ts";

/** What the mounts of a jail rest on at one moment. Jails of the same words and basis are the same. */
export interface Basis {
  readonly basis: string;
  /** When the youngest of what it tells by time changed, in milliseconds since 1970; 0: nothing is. */
  readonly changed: number;
}

/**
 * Looks at every path that the command line of a jail names. A mount holds on to the file it was made on:
 * another file of the same name would be seen as it is, or not be seen. What is protected or hidden, and the
 * directories that hold it in place, are told by the time of their last change besides, since they may have
 * been moved away and back while the mounts were made. A moved file has another such time; nobody can set it.
 * What is protected outside of all that is writable has no mount, so no time of it matters, unless something
 * hidden is in it: the Reasonix home changes whenever a run is the first of anything.
 */
export function basisOf(plan: JailPlan, { command, args }: SpawnPlan, cwd: string): Basis {
  const hidden = plan.hidden.map((place) => place.path);
  const fixed = plan.protectedPaths.map((place) => place.path);
  const mounted = (path: string) =>
    plan.writable.some((place) => contains(place.path, path)) ||
    hidden.some((inner) => contains(path, inner));
  const held = new Set([...fixed.filter(mounted), ...hidden, ...ancestors(plan)]);
  const bound = [...plan.writable, ...plan.readable].map((place) => place.path);
  const named = [...fixed, ...bound, ...args.filter((word) => word.startsWith("/"))]
    .filter((path) => !held.has(path));
  let changed = 0;
  const parts = [...held].map((path) => {
    const [is, at] = look(path, Deno.lstatSync);
    changed = Math.max(changed, at);
    return `${path}\0${is}\0${at}`;
  });
  // What is only bound may be reached by way of links, which the system follows when it binds.
  for (const path of new Set([command, cwd, ...named])) {
    parts.push(`${path}\0${look(path, Deno.statSync)[0]}`);
  }
  return { basis: parts.join("\0\0"), changed };
}

/** Which file has this name, and when it changed last; what may not be looked at is the same each time. */
function look(path: string, stat: (path: string) => Deno.FileInfo): readonly [is: string, changed: number] {
  try {
    const { dev, ino, mode, ctime } = stat(path);
    return [`${dev} ${ino} ${mode}`, ctime?.getTime() ?? 0];
  } catch (error) {
    return [error instanceof Error ? error.name : "unknown", 0];
  }
}
