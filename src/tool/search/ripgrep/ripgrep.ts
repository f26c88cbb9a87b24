import { findProgram } from "../../../util/find_program.ts";
import { readEnv } from "../../../path/read_env.ts";
import type { PathFilter } from "../path_filter.ts";
import type { SearchRequest } from "../request.ts";

/** Path of ripgrep, by the search path it was looked up in. */
const found = new Map<string, string | undefined>();

/** A whole disk: commands may write all of it only where nothing confines them. */
const EVERYTHING = /^(?:[A-Za-z]:)?[\\/]$/;

/** The installed ripgrep, or undefined. Not one from the working directory or from `writable` directories. */
export function findRipgrep(cwd: string, writable: readonly string[] = []): string | undefined {
  const searchPath = readEnv("PATH") ?? "";
  const key = [cwd, ...writable, searchPath].join("\0");
  if (!found.has(key)) {
    // Without confinement a command needs no program to be run for it, and a slow search helps nobody.
    const untrusted = writable.filter((folder) => !EVERYTHING.test(folder));
    found.set(key, findProgram("rg", searchPath, [cwd, ...untrusted]));
  }
  return found.get(key);
}

/** Flags that make ripgrep walk as our own walker does. */
const WALK_FLAGS: readonly string[] = [
  "--no-config",
  "--hidden",
  "--no-require-git",
  "--no-messages",
  "--color=never",
  "--null",
  "-g",
  "!.git",
];

/** The command line of a content search. */
export function searchArguments(
  request: SearchRequest,
  filter: PathFilter,
  target: string,
  sorted: boolean,
): string[] {
  const args = [...WALK_FLAGS, "--with-filename"];
  for (const pattern of filter.exclude) args.push("-g", `!${pattern}`);
  for (const name of typeGlobs(filter)) args.push("--type-add", `wanted:${name}`);
  if (typeGlobs(filter).length > 0) args.push("-t", "wanted");
  if (request.ignoreCase) args.push("--ignore-case");
  if (request.multiline) args.push("--multiline", "--multiline-dotall");
  if (request.mode === "files") args.push("--files-with-matches");
  else if (request.mode === "count" && !request.multiline) args.push("--count");
  else {
    args.push("--no-heading", "--line-number", "--column");
    if (request.mode === "content") args.push("-B", String(request.before), "-A", String(request.after));
  }
  if (sorted) args.push("--sort", "path");
  return [...args, "-e", request.pattern, "--", target];
}

/**
 * `include` as ripgrep file types, which narrow without bringing ignored files back (as `-g` would). Empty
 * when one of the patterns cannot be said that way; the caller tests the paths anyway.
 */
function typeGlobs(filter: PathFilter): string[] {
  const names = filter.include.map((pattern) => pattern.slice(pattern.lastIndexOf("/") + 1));
  return names.every((name) => /^[\w.*? -]+$/.test(name) && !name.includes("**")) ? names : [];
}

/** Returns what ripgrep may know of the environment: where the user's ignore file is. */
export function ripgrepEnv(): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of ["HOME", "USERPROFILE", "XDG_CONFIG_HOME", "PATH", "SystemRoot"]) {
    const value = readEnv(name);
    if (value !== undefined) env[name] = value;
  }
  return env;
}
