import { type EnvLookup, resolvePath } from "../config_paths.ts";
import type { Layer } from "../load/layer.ts";
import { hideSecrets } from "../query/hide_secrets.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";

/** The entries of `[[hooks]]` of a layer that count. */
export function hooksOf({ table: { hooks } }: Pick<Layer, "table">): TomlTable[] {
  return Array.isArray(hooks) ? hooks.filter(isTable) : [];
}

/** A hook of a project as it waits for trust. */
export interface HookCandidate {
  readonly kind: "hook";
  readonly name: string;
  readonly written: TomlTable;
  readonly reason: string;
  readonly lines: readonly string[];
  /** Paths that its line names, absolute, whether or not there are such files. */
  readonly paths: readonly string[];
}

/** Makes what a person decides about of an entry as written. */
export function hookCandidate(
  written: TomlTable,
  context: { readonly cwd: string; readonly env: EnvLookup },
): HookCandidate {
  const { event, matcher = "", command } = written;
  const line = String(hideSecrets(String(command)));
  const about = matcher === "" || matcher === "*" ? "" : String(matcher);
  return {
    kind: "hook",
    name: about === "" ? String(event) : `${event} ${about}`,
    written,
    reason: `it would run ${JSON.stringify(line)} at ${event}${about === "" ? "" : ` of ${about}`}`,
    lines: [
      `runs: ${line}`,
      `at: ${event}${about === "" ? "" : `, of ${about}`}`,
      "it can refuse and change calls, answer for you what no rule speaks of, and tell the model things",
      ...(written.failure === "closed" ? ["if it fails, it refuses"] : []),
    ],
    paths: pathsInLine(String(command), context),
  };
}

/** The variable that stands for the project in a line, in the forms of a shell. */
const PROJECT =
  /"?\$(?:\{(?:CLAUDE|REASONIX)_PROJECT_DIR(?::[-?=][^}]*)?\}|(?:CLAUDE|REASONIX)_PROJECT_DIR\b)"?/g;

/** Returns the paths that the words of a line may name, absolute, whether or not there are such files. */
export function pathsInLine(
  line: string,
  { cwd, env }: { readonly cwd: string; readonly env: EnvLookup },
): string[] {
  const here = line.replace(PROJECT, cwd.replaceAll("$", "$$$$"));
  const quoted = [...here.matchAll(/"([^"]+)"|'([^']+)'/g)].map(([, double, single]) =>
    double ?? single ?? ""
  );
  const words = [...quoted, ...here.split(/[\s"'`=,;|&<>()]+/)];
  const paths = words.filter((word) => word !== "" && !word.includes("\0"))
    .map((word) => resolvePath(word, cwd, env));
  return [...new Set(paths)];
}
