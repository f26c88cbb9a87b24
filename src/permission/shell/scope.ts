import { absolutePath, normalize } from "../../path/lexical.ts";
import { isKnown } from "../../rule/mod.ts";
import { isDirectory } from "../../path/probe.ts";
import type { Input, Segment } from "./line.ts";
import type { Survey } from "./syntax.ts";
import type { Variables } from "./words.ts";

/** What a line is read with. */
export interface LineContext {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
}

/** What one reading of a line gathers, nested code included. */
export interface Found {
  readonly context: LineContext;
  readonly segments: Segment[];
  /** Values of variables the line writes; undefined for those only the shell will know. */
  readonly values: Map<string, string | undefined>;
  /** Files that are run as programs or scripts. */
  readonly runs: { readonly path: string; readonly cwds: readonly string[] | undefined }[];
  opaque?: string;
  /** Functions of the line that are sure to be defined where the walker is. */
  defined: ReadonlySet<string>;
  /** A variable is set that says where programs or their settings are looked for. */
  steered: boolean;
  forkBomb: boolean;
}

/** One piece of shell code: the line itself, or code that a command of it is handed. */
export interface Frame {
  readonly found: Found;
  readonly survey: Survey;
  /** The text in which node positions count. */
  readonly source: string;
  readonly depth: number;
}

/** Where in the code the walker is. `cwds` changes as it goes on. */
export interface Scope {
  cwds: readonly string[] | undefined;
  readonly input: Input;
  /** This runs exactly once, in order. */
  readonly straight: boolean;
  readonly inFunction: boolean;
}

export function childScope(scope: Scope): Scope {
  return { ...scope, straight: false };
}

const DYNAMIC =
  /^(?:_|RANDOM|SRANDOM|SECONDS|EPOCH\w+|LINENO|SHLVL|PPID|BASH\w*|OLDPWD|FUNCNAME|DIRSTACK|OPTARG|OPTIND|REPLY)$/;

/** Variables as they are known at a place of the code. */
export function variablesAt(frame: Frame, scope: Scope): Variables {
  const { found, survey } = frame;
  const cwd = scope.cwds?.length === 1 ? scope.cwds[0] : undefined;
  return {
    cwd,
    splitsOddly: survey.splitsOddly,
    get(name) {
      if (survey.writes.has("*") || DYNAMIC.test(name)) return undefined;
      const written = survey.writes.has(name) || found.values.has(name);
      if (written) return scope.inFunction || frame.depth > 0 ? undefined : found.values.get(name);
      if (name === "PWD") return cwd;
      return found.context.env[name] ?? (name === "HOME" ? found.context.home : undefined);
    },
  };
}

/** Notes what a variable becomes. One that is written in several places is not followed. */
export function bindVariable(frame: Frame, name: string, value: string | undefined): void {
  const once = frame.survey.writes.get(name) === 1 && frame.depth === 0;
  frame.found.values.set(name, once ? value : undefined);
}

/** All folders of both; undefined as soon as one is unknown. */
export function joinFolders(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): readonly string[] | undefined {
  return a && b ? [...new Set([...a, ...b])] : undefined;
}

/** Follows `cd` and its relatives. When the folder does not exist yet, the move may fail and both folders are possible. */
export function changeFolder(argv: readonly string[], frame: Frame, scope: Scope): void {
  const words = /^(?:builtin|command)$/.test(argv[0] ?? "") ? argv.slice(1) : argv;
  const name = words[0];
  const evaluated = name === "eval" &&
    words.some((word) => !isKnown(word) || /\b(?:cd|pushd|popd)\b/.test(word));
  if (name === "popd" || name === "pushd" || evaluated) scope.cwds = undefined;
  if (name !== "cd" || !scope.cwds) return;
  const target = words.slice(1).find((word) => !/^-[LPe@]+$/.test(word) && word !== "--") ??
    variablesAt(frame, scope).get("HOME");
  const searched = "CDPATH" in frame.found.context.env || frame.survey.writes.has("CDPATH");
  if (target === undefined || target === "-" || !isKnown(target) || (searched && !/^[./~]/.test(target))) {
    scope.cwds = undefined;
    return;
  }
  const home = frame.found.context.home;
  const next = scope.cwds.map((cwd) => normalize(absolutePath(target, { cwd, home })));
  scope.cwds = next.every(isDirectory) ? [...new Set(next)] : joinFolders(next, scope.cwds);
}
