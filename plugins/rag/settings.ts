/** The settings of the plugin, and what follows from them for one index. */
import { relative, resolve } from "node:path";
import * as z from "zod";
import { isRemote, type PluginContext, PluginError } from "../common/plugin.ts";

const patterns = z.array(z.string().min(1));
const count = z.int().min(1);

const indexSettings = z.strictObject({
  path: z.string().min(1),
  include: patterns.optional(),
  exclude: patterns.optional(),
});

export const SETTINGS = z.strictObject({
  indexes: z.record(
    z.string().regex(/^[A-Za-z0-9][\w.-]*$/, "a name has letters, digits, dots, hyphens and underscores"),
    indexSettings,
  ).default({}),
  include: patterns.default([
    "**/*.md",
    "**/*.mdx",
    "**/*.txt",
    "**/*.rst",
    "**/*.pdf",
    "**/*.docx",
    "**/*.xlsx",
  ]),
  exclude: patterns.default([
    ".git",
    "node_modules",
    "__pycache__",
    ".venv",
    "**/*.png",
    "**/*.jpg",
  ]),
  max_file_mb: z.number().positive().default(10),
  embedding: z.string().regex(/^[^/]+\/.+$/, "write PROVIDER/MODEL").optional(),
  top_k: count.max(50).default(8),
  per_index_cap: count.optional(),
  preview_lines: count.default(3),
  similarity_threshold: z.number().min(-1).max(1).default(0.2),
  attach_mode: z.enum(["summary", "snippets"]).default("snippets"),
  total_chars_budget: count.default(12_000),
  group_by_file: z.boolean().default(true),
  merge_adjacent: z.boolean().default(true),
  merge_gap: z.int().min(0).default(3),
});

export type Settings = z.output<typeof SETTINGS>;
export type Context = PluginContext<Settings>;

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

/** `1 file`, `2 files`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** `rag://INDEX/PATH#L10-40`. */
export function uriOf(index: string, path: string, from: number, to: number): string {
  return `rag://${index}/${path.split("/").map(encodeURIComponent).join("/")}#L${from}-${to}`;
}

/** Reports whether the texts of queries and files leave this machine. */
export function reachesNetwork({ settings, providers }: Context): boolean {
  const name = settings.embedding?.split("/", 1)[0];
  return providers.some((each) => each.name === name && isRemote(each));
}
