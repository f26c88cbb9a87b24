import { isFile } from "../path/probe.ts";
import { existingRealPath } from "../path/real_path.ts";

const WINDOWS = Deno.build.os === "windows";

/**
 * An installed program, or undefined. Directories in which a repository or a jailed command may have put one
 * do not count, nor do links to such directories: what they hold is not run unasked, and not without a jail.
 */
export function findProgram(
  name: string,
  searchPath: string,
  untrusted: readonly string[],
): string | undefined {
  const areas = [...new Set(untrusted.flatMap((folder) => [folder, existingRealPath(folder) ?? folder]))];
  const own = (path: string) =>
    areas.some((area) => path === area || path.startsWith(area.endsWith("/") ? area : `${area}/`));
  for (const folder of searchPath.split(WINDOWS ? ";" : ":")) {
    if (!/^(?:\/|[A-Za-z]:)/.test(folder) || own(folder)) continue;
    const path = `${folder}/${name}${WINDOWS ? ".exe" : ""}`;
    const real = existingRealPath(path);
    if (real !== undefined && !own(real) && isFile(real)) return path;
  }
  return undefined;
}
