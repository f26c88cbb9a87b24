/**
 * Layer of each package; a package imports only from lower layers. The leaf helpers of path and util may
 * speak core's types.
 */
export const LAYERS: Readonly<Record<string, number>> = {
  core: 0,
  path: 0.25,
  util: 0.5,
  git: 0.75,
  i18n: 1,
  rule: 1,
  view: 1,
  worktree: 1,
  trust: 1.25,
  config: 1.5,
  provider: 2,
  tool: 2,
  permission: 2,
  sandbox: 2,
  session: 2,
  mcp: 3,
  lsp: 3,
  memory: 3,
  context: 3,
  agent: 4,
  control: 5,
  run: 6,
  features: 6.1,
  batch: 6.22,
  reports: 6.22,
  commit: 6.22,
  review: 6.22,
  command: 6.25,
  frontend: 6.5,
  cli: 7,
};

/** The highest layer the embedding API at the top `mod.ts` may show. */
export const API_LAYER = LAYERS.features ?? 0;

/**
 * Packages without a `mod.ts`: their files stand on their own, so that start-up pays only for those in use.
 */
export const OPEN_PACKAGES: readonly string[] = ["path", "util"];

/** Files next to the `mod.ts` of a package that may be imported for their types. */
export const TYPE_ENTRIES: readonly string[] = ["src/core/event_schema.ts"];

/** Entry modules of a process: imported lazily, without the `mod.ts`, which loads much more. */
export const PROCESS_ENTRIES: readonly string[] = [
  "src/run/tools/worker.ts",
  "src/tool/host/worker_process.ts",
];

/** A directory that grows by one entry and one line in its list file. */
export interface ExtensionPoint {
  readonly directory: string;
  readonly list: string;
  /** Further files the list was split into. */
  readonly parts?: RegExp;
  /** The kind of an entry: a directory, a file with this extension, or either. */
  readonly entries: "directories" | ".ts" | ".toml" | "both";
  /** The entry whose types the others have to match. */
  readonly model?: string;
  /** A directory that is no entry: the entries use it. */
  readonly shared?: string;
}

export const EXTENSION_POINTS: readonly ExtensionPoint[] = [
  {
    directory: "src/i18n",
    list: "src/i18n/locales.ts",
    parts: /^page\/texts\.ts$/,
    entries: "directories",
    model: "src/i18n/en",
  },
  { directory: "src/provider/kinds", list: "src/provider/kinds.ts", entries: "directories" },
  {
    directory: "src/tool/builtin",
    list: "src/tool/builtins.ts",
    parts: /^src\/tool\/file_writers\.ts$/,
    entries: "directories",
  },
  { directory: "src/sandbox/jail/backends", list: "src/sandbox/jail/backends.ts", entries: ".ts" },
  { directory: "src/config/presets", list: "src/config/presets.ts", entries: ".toml" },
  { directory: "src/command/builtin", list: "src/command/builtins.ts", entries: ".ts" },
  {
    directory: "src/frontend",
    list: "src/frontend/frontends.ts",
    entries: "directories",
    shared: "src/frontend/session",
  },
  {
    directory: "src/features",
    list: "src/features/features.ts",
    parts: /^src\/features\/mod\.ts$/,
    entries: "directories",
  },
  { directory: "cli/commands", list: "cli/app.ts", entries: "both" },
];

/** Reports whether a file is the list of an extension point, or a part of it. */
export function isListOf(point: ExtensionPoint, path: string): boolean {
  return path === point.list || (point.parts?.test(path) ?? false);
}

/** "src/agent/loop.ts" → "agent", "cli/main.ts" → "cli"; undefined outside the layered packages. */
export function packageOf(path: string): string | undefined {
  const [top, second, third] = path.split("/");
  if (top === "cli") return "cli";
  return top === "src" && third !== undefined ? second : undefined;
}
