import type { Config } from "../config/mod.ts";

/** Describes one kind of language server: programs, languages, projects, settings. */
export interface ServerSpec {
  readonly name: string;
  /** Names of its program; the first that is installed counts. */
  readonly programs: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Language identifiers of the protocol by the ends of file names, without the dot. */
  readonly languages: Readonly<Record<string, string>>;
  /** Files that mark the root directory of a project; none: every directory is one. */
  readonly markers: readonly string[];
  /** `initializationOptions`, and the settings that it requests, by their section. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Codes of errors that no edit can fix, such as packages that were not fetched. */
  readonly ignored: readonly string[];
}

const SCRIPTS = {
  ts: "typescript",
  mts: "typescript",
  cts: "typescript",
  tsx: "typescriptreact",
  js: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  jsx: "javascriptreact",
} as const;

const DENO_SETTINGS = {
  enable: true,
  cacheOnSave: false,
  lint: false,
  codeLens: { implementations: false, references: false, referencesAllFunctions: false, test: false },
  suggest: { imports: { autoDiscover: false, hosts: {} } },
};

/** Renames an imported name where it is defined, too, not only in the importing file. */
const RENAMING = { preferences: { useAliasesForRenames: false } };

/** Builds and runs nothing of the project: no build scripts, no procedural macros. */
const RUST_SETTINGS = {
  cargo: { buildScripts: { enable: false }, extraEnv: { CARGO_NET_OFFLINE: "true" } },
  procMacro: { enable: false },
  checkOnSave: false,
  cachePriming: { enable: false },
  files: { watcher: "server" },
  diagnostics: { disabled: ["unresolved-proc-macro", "proc-macro-disabled", "macro-error"] },
};

const PLAIN = { args: [], env: {}, options: {}, settings: {}, ignored: [] } as const;

/** The known servers. Of two for one language the first counts whose markers the project has. */
const SPECS: readonly ServerSpec[] = [
  {
    ...PLAIN,
    name: "deno",
    programs: ["deno"],
    args: ["lsp"],
    env: { DENO_NO_UPDATE_CHECK: "1", DENO_NO_PROMPT: "1" },
    languages: SCRIPTS,
    markers: ["deno.json", "deno.jsonc", "deno.lock"],
    options: DENO_SETTINGS,
    settings: { deno: DENO_SETTINGS, typescript: RENAMING, javascript: RENAMING },
    ignored: ["no-cache", "no-cache-npm", "no-cache-jsr", "not-installed-npm", "not-installed-jsr"],
  },
  {
    ...PLAIN,
    name: "typescript",
    programs: ["typescript-language-server"],
    args: ["--stdio"],
    languages: SCRIPTS,
    markers: ["tsconfig.json", "jsconfig.json", "package.json"],
    options: {
      disableAutomaticTypingAcquisition: true,
      preferences: { providePrefixAndSuffixTextForRename: false },
    },
  },
  {
    ...PLAIN,
    name: "go",
    programs: ["gopls"],
    env: { GOTOOLCHAIN: "local", GOPROXY: "off", GOFLAGS: "-mod=readonly" },
    languages: { go: "go" },
    markers: ["go.work", "go.mod"],
    options: { pullDiagnostics: true },
  },
  {
    ...PLAIN,
    name: "rust",
    programs: ["rust-analyzer"],
    env: { CARGO_NET_OFFLINE: "true" },
    languages: { rs: "rust" },
    markers: ["Cargo.toml", "rust-project.json"],
    options: RUST_SETTINGS,
    settings: { "rust-analyzer": RUST_SETTINGS },
  },
  {
    ...PLAIN,
    name: "python",
    programs: ["pyright-langserver", "basedpyright-langserver"],
    args: ["--stdio"],
    languages: { py: "python", pyi: "python" },
    markers: ["pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg", "requirements.txt"],
    settings: { "python.analysis": { diagnosticMode: "openFilesOnly", autoSearchPaths: true } },
  },
  {
    ...PLAIN,
    name: "cpp",
    programs: ["clangd"],
    args: ["--log=error", "-j=2"],
    languages: {
      c: "c",
      h: "c",
      cc: "cpp",
      cpp: "cpp",
      cxx: "cpp",
      hh: "cpp",
      hpp: "cpp",
      hxx: "cpp",
      m: "objective-c",
      mm: "objective-cpp",
    },
    markers: ["compile_commands.json", "build/compile_commands.json", "compile_flags.txt", ".clangd"],
  },
];

type ServerEntry = Config["lsp"]["servers"][string];

/** The known servers with the changes and additions of `[lsp.servers]`. */
export function serverSpecs(servers: Config["lsp"]["servers"]): readonly ServerSpec[] {
  const known = SPECS.map((spec) => {
    const entry = Object.hasOwn(servers, spec.name) ? servers[spec.name] : undefined;
    return entry ? changed(spec, entry) : spec;
  });
  const further = Object.entries(servers).filter(([name]) => !SPECS.some((spec) => spec.name === name))
    .map(([name, entry]) => changed({ ...PLAIN, name, programs: [], languages: {}, markers: [] }, entry));
  const off = new Set(Object.keys(servers).filter((name) => servers[name]?.enabled === false));
  // The user's servers go before the known ones.
  return [...further, ...known].filter(({ name, programs }) => !off.has(name) && programs.length > 0);
}

function changed(spec: ServerSpec, entry: ServerEntry): ServerSpec {
  const { command, args, env, extensions, language_id, root_markers } = entry;
  const ends = extensions.map((end) => end.replace(/^\*?\./, "").toLowerCase());
  const language = (end: string) => language_id || spec.languages[end] || spec.name;
  return {
    ...spec,
    programs: command === "" ? spec.programs : [command],
    args: command === "" && args.length === 0 ? spec.args : args,
    env: { ...spec.env, ...env },
    languages: ends.length === 0
      ? spec.languages
      : Object.fromEntries(ends.map((end) => [end, language(end)])),
    markers: root_markers.length === 0 ? spec.markers : root_markers,
  };
}

/** The identifier of the language that a file is in for a server; undefined where it does not serve it. */
export function languageOf({ languages }: Pick<ServerSpec, "languages">, path: string): string | undefined {
  const end = /[^/\\]\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase();
  return end !== undefined && Object.hasOwn(languages, end) ? languages[end] : undefined;
}
