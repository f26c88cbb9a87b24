import { absolutePath, normalize } from "../../../path/lexical.ts";
import { isKnown } from "../../../rule/mod.ts";
import type { Environment, Input } from "../types.ts";
import { MKTEMP_NAME, type Variables } from "./words.ts";

/** Where in a script the second pass is. `cwds` changes as it goes on. */
export interface Scope {
  cwds: readonly string[] | undefined;
  /** Where the `cd` that was just expanded leads if it succeeds. */
  arrived?: readonly string[] | undefined;
  readonly input: Input;
  /** This runs exactly once, in order. */
  readonly straight: boolean;
  readonly inFunction: boolean;
  /** The text in which node positions count. */
  readonly source: string;
}

export function child(scope: Scope): Scope {
  return { ...scope, straight: false };
}

/** The most directories that are followed: each move that may fail doubles them. */
const MAX_CWDS = 32;

/** Returns all directories of both; undefined as soon as one is unknown, or when they are too many. */
export function join(a: Scope["cwds"], b: Scope["cwds"]): Scope["cwds"] {
  const all = a && b ? [...new Set([...a, ...b])] : undefined;
  return all && all.length <= MAX_CWDS ? all : undefined;
}

interface Surroundings {
  readonly environment: Environment;
  readonly variables: Variables;
  /** The script sets `CDPATH`. */
  readonly cdPath: boolean;
}

/**
 * Follows `cd`. When the directory does not exist yet, the move may fail and both directories are possible.
 */
export function changeDirectory(argv: readonly string[], scope: Scope, around: Surroundings): void {
  const { env, home, isDirectory } = around.environment;
  const words = /^(?:builtin|command)$/.test(argv[0] ?? "") ? argv.slice(1) : argv;
  const name = words[0];
  const evaluated = name === "eval" &&
    words.some((word) => !isKnown(word) || /\b(?:cd|pushd|popd)\b/.test(word));
  if (name === "popd" || name === "pushd" || evaluated) scope.cwds = undefined;
  if (name !== "cd" || !scope.cwds) return;
  const target = words.slice(1).find((word) => !/^-[LPe@]+$/.test(word) && word !== "--") ??
    around.variables.get("HOME");
  const temporary = target?.endsWith(`/${MKTEMP_NAME}`);
  const searched = around.cdPath || "CDPATH" in env;
  if (
    target === undefined || target === "-" || (!temporary && !isKnown(target)) ||
    (searched && !/^[./~]/.test(target))
  ) {
    scope.cwds = undefined;
    return;
  }
  scope.arrived = [...new Set(scope.cwds.map((cwd) => normalize(absolutePath(target, { cwd, home }))))];
  scope.cwds = scope.arrived.every(isDirectory) ? scope.arrived : join(scope.arrived, scope.cwds);
}
