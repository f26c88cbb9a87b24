import { realPath } from "../../path/real_path.ts";

/** The paths that the process that changes files has to reach. Absolute paths. */
export interface ProcessScope {
  /** Writable directories, the directory for full outputs included. */
  readonly writable: readonly string[];
  readonly forbidRead: readonly string[];
  /** Stays as it is although in a writable directory. */
  readonly keep?: readonly string[];
}

/**
 * Flags of `deno run` for the process that changes files: it reads all but what is forbidden, writes the
 * given directories, and has no network, programs, environment, system information or native code.
 *
 * Contract: write permission follows symlinks that exist; the process still has to resolve paths with the
 * workspace.
 */
export function processFlags(scope: ProcessScope): string[] {
  const denied = scope.forbidRead.map(realPath);
  const kept = [...denied, ...(scope.keep ?? []).map(realPath)];
  return [
    "--allow-read",
    ...(denied.length > 0 ? [`--deny-read=${listOf(denied)}`] : []),
    ...(kept.length > 0 ? [`--deny-write=${listOf(kept)}`] : []),
    `--allow-write=${listOf(scope.writable.map(realPath))}`,
  ];
}

/** Paths as one value of a flag; a comma in a path is doubled. */
function listOf(paths: readonly string[]): string {
  return paths.map((path) => path.replaceAll(",", ",,")).join(",");
}
