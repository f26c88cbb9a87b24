import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import { searchRoot } from "../../search/path_filter.ts";
import { type Arguments, texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const GREP = defineBuiltin({
  name: "grep",
  description,
  properties: {
    pattern: { type: "string" },
    path: { type: "string", description: "File or folder" },
    include: { type: "string", description: "Only files like *.{ts,tsx} or src/**/*.ts" },
    exclude: { type: "string" },
    output_mode: { type: "string", enum: ["content", "files", "count"] },
    context: { type: "integer", minimum: 0, maximum: 50, description: "Lines around matches" },
    case_insensitive: { type: "boolean" },
    literal: { type: "boolean" },
    multiline: { type: "boolean", description: "Match across lines; . matches line ends" },
    limit: { type: "integer", minimum: 1, description: "100 matches if absent" },
  },
  required: ["pattern"],
  readOnly: true,
  title: ({ pattern, path }) => message`grep "${String(pattern)}" in ${searchRoot(path)}`,
  synonyms: {
    query: "pattern",
    regex: "pattern",
    glob: "include",
    "-i": "case_insensitive",
    ignore_case: "case_insensitive",
    "-C": "context",
    "-A": "context",
    "-B": "context",
    "-n": null,
    max_results: "limit",
    dir_path: "path",
    include_pattern: "include",
    exclude_pattern: "exclude",
    fixed_strings: "literal",
    "-F": "literal",
  },
  unoffered: { offset: { type: "integer", minimum: 1 } },
  translate: toolSearch,
  family: "Read",
  reads: ({ path }) => [searchRoot(path)],
  subjects: ({ pattern }) => texts(pattern),
  load: async () => (await import("./grep.ts")).grep,
});

/** Most matches where a model asks for all of them; the bytes of a result are bounded all the same. */
const ALL = 100_000;

/** File types by the names that ripgrep gives them. */
const TYPES: Readonly<Record<string, string>> = {
  c: "*.{c,h}",
  cpp: "*.{cpp,cc,cxx,hpp,hh,hxx,h,inl}",
  cs: "*.cs",
  css: "*.{css,scss}",
  go: "*.go",
  html: "*.{html,htm,ejs}",
  java: "*.java",
  js: "*.{js,jsx,mjs,cjs,vue}",
  json: "*.json",
  kotlin: "*.{kt,kts}",
  lua: "*.lua",
  markdown: "*.{md,markdown,mdx}",
  md: "*.{md,markdown,mdx}",
  php: "*.php",
  py: "*.{py,pyi}",
  python: "*.{py,pyi}",
  ruby: "*.{rb,gemspec}",
  rust: "*.rs",
  sh: "*.{sh,bash,zsh,ksh}",
  sql: "*.sql",
  svelte: "*.svelte",
  swift: "*.swift",
  toml: "*.toml",
  ts: "*.{ts,tsx,mts,cts}",
  typescript: "*.{ts,tsx,mts,cts}",
  vue: "*.vue",
  xml: "*.xml",
  yaml: "*.{yaml,yml}",
};

/** `type` as the names of its files, and a `head_limit` of 0 as all matches. */
function toolSearch({ type, ...args }: Arguments): Arguments {
  const files = typeof type === "string" && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  const named = args.include ?? args.glob ?? args.include_pattern;
  const { head_limit, ...rest } = args;
  return {
    ...rest,
    ...(type === undefined || type === null
      ? {}
      : files !== undefined && named === undefined
      ? { include: files }
      : { type }),
    ...(head_limit === undefined ? {} : { limit: head_limit === 0 || head_limit === "0" ? ALL : head_limit }),
  };
}
