/** The indexes of the settings, and the names of their files. */
import { relative, resolve } from "node:path";
import { PluginError } from "../common/plugin.ts";
import type { Context } from "./settings.ts";

export interface Index {
  readonly name: string;
  /** Absolute path of its directory. */
  readonly root: string;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** An index by its name, or a {@linkcode PluginError} with the names that there are. */
export function indexNamed({ settings, workspace }: Context, name: string): Index {
  const given = Object.hasOwn(settings.indexes, name) ? settings.indexes[name] : undefined;
  if (given === undefined) {
    const names = Object.keys(settings.indexes).join(", ");
    throw new PluginError(
      `There is no index ${JSON.stringify(name)}`,
      names === "" ? ADD_INDEX : `choose from ${names}`,
    );
  }
  return {
    name,
    root: resolve(workspace, given.path),
    include: given.include ?? settings.include,
    exclude: given.exclude ?? settings.exclude,
  };
}

const ADD_INDEX = "add [plugins.settings.indexes.NAME] with its path to the entry of this plugin";

/** The named indexes, or all. */
export function indexesNamed(context: Context, names: readonly string[] = []): readonly Index[] {
  const all = names.length > 0 ? [...new Set(names)] : Object.keys(context.settings.indexes);
  if (all.length === 0) throw new PluginError("No index is configured", ADD_INDEX);
  return all.map((name) => indexNamed(context, name));
}

/** A file as people and tools name it: relative to the workspace where it is in there. */
export function shownPath({ workspace }: Context, { root }: Index, path: string): string {
  const absolute = resolve(root, path);
  const short = relative(workspace, absolute);
  return (short.startsWith("..") || short === "" ? absolute : short).replaceAll("\\", "/");
}

type FileProblems = readonly { readonly path: string; readonly problem: string }[];

/** Lines about files that an index has only in part, or not; the rest is counted. */
export function describeFiles(
  context: Context,
  index: Index,
  { partial, skipped }: { readonly partial: FileProblems; readonly skipped: FileProblems },
): readonly string[] {
  const MOST = 10;
  const lines = (label: string, files: FileProblems) => [
    ...files.slice(0, MOST).map(({ path, problem }) =>
      `${label}: ${shownPath(context, index, path)}: ${problem}`
    ),
    ...(files.length > MOST ? [`${label}: ${counted(files.length - MOST, "more file")}`] : []),
  ];
  return [...lines("Only in part", partial), ...lines("Left out", skipped)];
}

/** `1 file`, `2 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** `rag://INDEX/PATH#L10-40`. */
export function uriOf(index: string, path: string, from: number, to: number): string {
  return `rag://${index}/${path.split("/").map(encodeURIComponent).join("/")}#L${from}-${to}`;
}
