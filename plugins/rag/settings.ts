/** The settings of the plugin. They are loaded with each start, so nothing of `node:` is imported here. */
import * as z from "zod";
import { isRemote, type PluginContext } from "../common/plugin.ts";

const text = z.string();
const patterns = z.array(text);
const count = z.int().min(1);

const indexSettings = z.strictObject({
  path: text,
  include: patterns.optional(),
  exclude: patterns.optional(),
});

export const SETTINGS = z.strictObject({
  indexes: z.record(
    text.regex(/^[A-Za-z0-9][\w.-]*$/, "a name has letters, digits, dots, hyphens and underscores"),
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
  embedding: text.regex(/^[^/]+\/.+$/, "write PROVIDER/MODEL").optional(),
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

/** Reports whether the texts of queries and files leave this machine. */
export function reachesNetwork({ settings, providers }: Context): boolean {
  const name = settings.embedding?.split("/", 1)[0];
  return providers.some((each) => each.name === name && isRemote(each));
}
