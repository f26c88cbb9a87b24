/** The files next to the program, and the modules that are in each. */
import type { Chunk } from "./chunk.ts";
import { hasMost } from "./executed.ts";
import { type Parts, reachedFrom } from "./pack.ts";

/** The file of worker processes. An executable starts them from itself. */
export const WORKER = "reasonix.worker.js";

/** The file that the process of a plugin starts from. */
export const PLUGINS_FILE = "reasonix.plugins.js";

/** The grammars of the plugin `map`. */
export const GRAMMARS = "reasonix.grammars.bin";

/** The part of it with the packages that plugins load when they need them. */
const PLUGIN_LIBRARIES = "plugin_libs";

/** The program in one file, for where only one can be copied. */
export const ALONE_FILE = "reasonix-all.js";

/** Installs the other files from their server. */
export const INSTALLER = "install.js";

/** A chunk of the pages of the documentation, by the name that cli/terminal/pages.ts loads. */
export const PAGES = "./reasonix.docs.js";

/** A chunk of the built web page, by the name that src/frontend/web/page_files.ts loads. */
export const PAGE = "./reasonix.page.js";

/** A chunk of the licenses of the packages in the program, likewise. */
export const LICENSES = "./reasonix.licenses.js";

/**
 * The parts of the program (`reasonix.<name>.js`) by the paths of their modules; the first part that names a
 * module of a chunk gets it. Every start executes the program and reads a megabyte in 7 ms, so that it holds
 * only what a short task executes.
 */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  zh_cn: ["/src/i18n/zh_cn.ts", "/src/i18n/zh-CN.json"],
  acp: ["/@agentclientprotocol/", "/src/frontend/acp/", "/cli/commands/run/acp.ts"],
  web: [
    "/src/frontend/web/",
    "/cli/commands/run/hand_over.ts",
    "/uqr/",
    "/cli/commands/run/serve.ts",
    "/src/i18n/en/cli/serve.ts",
    "/src/i18n/en/web.ts",
    "/bcryptjs/",
    PAGE,
  ],
  mcp: ["/@modelcontextprotocol/", "/jose/", "/zod/", "/src/mcp/", "/src/features/mcp/", "/plugins/"],
  telemetry: ["/@opentelemetry/", "/src/features/telemetry/"],
  full: [
    "/src/frontend/repl/full/",
    "/src/frontend/repl/overlay/box.ts",
    "/src/frontend/repl/overlay/full_keys.ts",
    "/src/frontend/repl/screen/full_screen.ts",
    "/src/frontend/session/session_log.ts",
    "/src/i18n/en/details.ts",
    "/src/i18n/en/full.ts",
    "/src/reports/changes.ts",
    "/src/reports/mod.ts",
    "/src/reports/table.ts",
    "/src/session/log/window.ts",
  ],
  chat: [
    "/src/frontend/repl/",
    "/src/frontend/session/",
    "/cli/commands/run/chat.ts",
    "/cli/commands/run/open_chat.ts",
    "/src/command/mod.ts",
    "/src/command/builtins.ts",
    "/src/command/project_commands.ts",
    "/src/command/registry.ts",
    "/src/i18n/en/chat.ts",
    "/src/i18n/en/composer.ts",
    "/src/i18n/en/overlay.ts",
    "/src/i18n/en/turn_view.ts",
    "/src/path/reference_text.ts",
    "/@earendil-works/pi-tui/",
    "/marked/",
    "/highlight.js/",
  ],
  commands: [
    "/cli/",
    "/src/command/",
    "/src/reports/",
    "/src/config/foreign/",
    "/src/batch/emit/",
    "/toml-patch/",
    "/@clack/",
    PAGES,
    LICENSES,
  ],
  tools: ["/"],
};

/** Stay in the program: other provider kinds take 70 KB, and a file for each costs a start more. */
const PROVIDERS = "/src/provider/kinds/";

/** Stay in the program: a run with telemetry executes them before its first request. */
const OBSERVED = ["/src/features/telemetry/telemetry.ts", "/src/features/telemetry/operations.ts"];

/**
 * Stay in the program with all that they import: commands that run where the other files may be missing.
 */
const ALONE = [
  "/cli/commands/sandbox.ts",
  "/cli/commands/install.ts",
  "/cli/commands/update.ts",
  "/src/i18n/en/cli/update.ts",
];

/**
 * Stay in the program with all that they load: a program that came from an address starts its worker
 * processes from itself, and those load nothing more from there.
 */
const WORKERS = ["/src/run/tools/worker.ts", "/src/tool/host/worker_process.ts"];

/** Paths of this project that decide where chunks go. */
export const PROJECT_PATHS = [...Object.values(PARTS).flat(), PROVIDERS, ...OBSERVED, ...ALONE, ...WORKERS]
  .filter((path) => /^\/(?:src|cli|plugins)\//.test(path));

/** Names of the parts of the program, in order. */
export function partFiles(): readonly string[] {
  return Object.keys(PARTS).sort().map((name) => `reasonix.${name}.js`);
}

/** Names of the files that an executable contains in addition to the program: its workers start from it. */
export function embeddedFiles(): readonly string[] {
  return [...partFiles(), PLUGINS_FILE, `reasonix.${PLUGIN_LIBRARIES}.js`, GRAMMARS];
}

/** Names of all files that are installed, the program first. */
export function installedFiles(): readonly string[] {
  return ["reasonix.js", ...embeddedFiles(), WORKER];
}

/**
 * Sorts the chunks of plugins: packages that a start does not load go into a part. A start loads the module
 * of its plugin.
 */
export function pluginPartsOf(
  chunks: readonly Chunk[],
  entry: string,
  plugins: readonly { readonly module: string }[],
): Parts {
  const eager = chunks.map((chunk) => ({ ...chunk, lazy: [] }));
  const modules = ["/plugins/common/start.ts", ...plugins.map(({ module }) => `/plugins/${module}`)];
  const started = reachedFrom([entry, ...chunksOf(modules, chunks)], eager);
  const libraries = chunks.filter(({ id, modules }) =>
    !started.has(id) && modules.some((module) => !module.startsWith("/plugins/"))
  );
  return new Map([[PLUGIN_LIBRARIES, libraries]]);
}

/** Sorts the chunks of a program into parts; `started` are the modules that its start executes. */
export function partsOf(chunks: readonly Chunk[], started: ReadonlySet<string>): Parts {
  const eagerOnly = chunks.map((chunk) => ({ ...chunk, lazy: [] }));
  const stays = new Set([
    ...chunks.filter(({ modules }) => hasMost(started, modules)).map(({ id }) => id),
    ...reachedFrom(chunksOf(WORKERS, chunks), withoutDisplay(chunks)),
    ...reachedFrom(chunksOf(ALONE, chunks), eagerOnly),
    ...chunksOf([PROVIDERS, ...OBSERVED], chunks),
    // It asks for the address of the program.
    ...chunks.filter(({ body }) => body.includes("import.meta")).map(({ id }) => id),
  ]);
  const parts = new Map<string, Chunk[]>(Object.keys(PARTS).map((name) => [name, []]));
  const byId = new Map(chunks.map((chunk) => [chunk.id, chunk]));
  for (const chunk of chunks) {
    // A chunk without modules only exports what the first one that it imports exports.
    const { id, modules } = chunk.modules.length > 0 ? chunk : byId.get(chunk.imports[0] ?? "") ?? chunk;
    if (!stays.has(chunk.id) && !stays.has(id)) parts.get(partOf({ modules }))?.push(chunk);
  }
  return parts;
}

/** Returns the chunks that a process without a terminal can execute: the others are of no use to workers. */
export function withoutDisplay(chunks: readonly Chunk[]): readonly Chunk[] {
  return chunks.filter((chunk) => !["chat", "zh_cn"].includes(partOf(chunk)));
}

function partOf({ modules }: Pick<Chunk, "modules">): string {
  const named = Object.entries(PARTS).find(([, paths]) =>
    modules.some((module) => paths.some((path) => module.includes(path)))
  );
  return named?.[0] ?? "tools";
}

/** Returns the chunks that hold modules below one of each of these paths. */
function chunksOf(paths: readonly string[], chunks: readonly Chunk[]): string[] {
  return paths.flatMap((path) => {
    const found = chunks.filter(({ modules }) => modules.some((module) => module.includes(path)));
    if (found.length === 0) throw new Error(`Cannot find a chunk with modules of ${path}`);
    return found.map(({ id }) => id);
  });
}
