import { cacheDirectory, type LoadedConfig } from "../../config/mod.ts";
import { errorMessage, message, newNotice, type PreparedCall, ReasonixError } from "../../core/mod.ts";
import { type EditChecks, type LanguageServers, loadLsp, loadNameTools, type Names } from "../../lsp/mod.ts";
import { projectDir } from "../../session/mod.ts";
import {
  loadProcesses,
  loadSymbolEdits,
  type ServerProcess,
  type Tool,
  type ToolResult,
} from "../../tool/mod.ts";
import { findProgram } from "../../util/process.ts";
import { buildWorkspace, type LanguageDeps, type RunPaths, type ScopedDeps } from "../../run/mod.ts";

/** Time that the result of an edit waits for the findings of a language server. */
const BUDGET_MS = 500;

type FileChange = NonNullable<ToolResult["changes"]>[number];

/** The language servers of a run, and the checks of its edits. */
export class RunLsp {
  readonly servers: LanguageServers;
  readonly checks: EditChecks;
  readonly names: Names;
  readonly #deps: LanguageDeps;

  private constructor(
    deps: LanguageDeps,
    { servers, checks, names }: Pick<RunLsp, "servers" | "checks" | "names">,
  ) {
    this.#deps = deps;
    this.names = names;
    this.servers = servers;
    this.checks = checks;
  }

  static async open(deps: LanguageDeps): Promise<RunLsp> {
    const { EditChecks, Names } = await loadLsp();
    const servers = await openLanguageServers(deps);
    const { cwd } = deps.paths;
    const shown = (path: string) => shownIn(cwd, path);
    return new RunLsp(deps, {
      servers,
      checks: new EditChecks({ servers, budgetMs: BUDGET_MS, shown }),
      names: new Names({ servers, shown, read: (path) => readText(deps.scope, path) }),
    });
  }

  /** Reads files before an edit of them; the paths are as the model wrote them. */
  async before(paths: readonly string[]): Promise<void> {
    if (!this.#deps.loaded.config.lsp.enabled) return;
    const { workspace } = this.#deps.scope;
    const real = await Promise.all(paths.map((path) => workspace.write(path).catch(() => undefined)));
    this.checks.before(real.filter((path) => path !== undefined));
  }

  /** Returns the text about new errors for the result of an edit. */
  async after(changes: readonly FileChange[], signal: AbortSignal): Promise<string | undefined> {
    if (!this.#deps.loaded.config.lsp.enabled) return undefined;
    const files = changes.flatMap(({ path, from, change }) => [
      ...(from === undefined ? [] : [{ path: from, change: "deleted" } as const]),
      { path, change: change === "deleted" || change === "created" ? change : "changed" } as const,
    ]);
    return await this.checks.after(files, signal);
  }

  /** Works out the changes of a call of `lsp_rename` or `delete_symbol`, or the problem. Never rejects. */
  async symbolEdit(
    { tool, args }: Pick<PreparedCall, "tool" | "args">,
    signal: AbortSignal,
  ): Promise<{ readonly patch: string } | { readonly problem: string }> {
    const { cwd } = this.#deps.paths;
    try {
      const location = { path: String(args.path), symbol: String(args.symbol) };
      const line = args.line === undefined ? undefined : Number(args.line);
      const files = tool === "lsp_rename"
        ? await this.names.rename({ ...location, line: line ?? 1 }, String(args.new_name), signal)
        : await this.names.remove({ ...location, line }, signal);
      const { patchFor } = await loadSymbolEdits();
      return { patch: await patchFor(files.map((file) => ({ ...file, path: shownIn(cwd, file.path) }))) };
    } catch (error) {
      const remedy = error instanceof ReasonixError ? error.remedy : undefined;
      return { problem: remedy ? `${errorMessage(error)}; ${remedy}` : errorMessage(error) };
    }
  }

  async close(): Promise<void> {
    this.checks.close();
    await this.servers.close();
  }
}

function shownIn(cwd: string, path: string): string {
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
}

/** Limit of source files, in bytes; larger ones are generated. */
const MAX_BYTES = 2 * 1024 * 1024;

/** A source file as far as the run may read it. */
async function readText(
  { workspace }: LanguageDeps["scope"],
  path: string,
): Promise<{ path: string; text: string }> {
  const real = await workspace.read(path);
  const info = await Deno.stat(real).catch(() => undefined);
  if (workspace.hidden(real) || !info?.isFile || info.size > MAX_BYTES) {
    throw new ReasonixError(`Cannot read ${path} as a source file`, { remedy: "check the path" });
  }
  try {
    return { path: real, text: new TextDecoder("utf-8", { fatal: true }).decode(await Deno.readFile(real)) };
  } catch {
    throw new ReasonixError(`${path} is not encoded as UTF-8, which language servers take`);
  }
}

/**
 * The servers of the configuration, none started. Programs in directories that can be written to do not
 * count.
 */
async function openLanguageServers(deps: LanguageDeps): Promise<LanguageServers> {
  const { paths, loaded: { config }, scope, recorder } = deps;
  const { LanguageServers, serverSpecs } = await loadLsp();
  return new LanguageServers({
    specs: serverSpecs(config.lsp.servers),
    cwd: scope.rooted.roots.find((root) => paths.cwd.startsWith(`${root}/`)) ?? paths.cwd,
    userHome: paths.env("HOME"),
    find: programFinder(paths, scope.rooted.roots),
    spawn: (server, argv, env) => startJailed(deps, server, { argv, env }),
    changed({ server, state, why }) {
      if (state === "idle") return;
      void recorder.record({
        type: "lsp.server",
        server,
        state,
        ...why === undefined ? {} : { detail: why },
      });
      if (state !== "failed") return;
      const text = message`The language server ${server} is not started again: ${why ?? ""}`;
      void recorder.record(newNotice("warning", "lsp", text));
    },
  });
}

/** Looks for programs on `PATH`; those in directories that can be written to do not count. */
function programFinder(
  { cwd, env }: RunPaths,
  roots: readonly string[],
): (name: string) => string | undefined {
  return (name) => findProgram(name, env("PATH") ?? "", [cwd, ...roots]);
}

/** The tools about names: all of them, or `delete_symbol` where a language server is installed. */
export async function languageTools({ paths, loaded }: ScopedDeps): Promise<readonly Tool[]> {
  if (loaded.config.lsp.tools) {
    const [{ NAME_TOOLS }, { SYMBOL_EDITS }] = await Promise.all([loadNameTools(), loadSymbolEdits()]);
    return [...NAME_TOOLS, ...SYMBOL_EDITS];
  }
  const rows = await languageServerRows(paths, loaded);
  return rows.some(({ program }) => program !== undefined) ? [(await loadSymbolEdits()).DELETE_SYMBOL] : [];
}

/** A known language server, and its program where that is installed. */
export interface LanguageServerRow {
  readonly name: string;
  readonly program?: string;
}

/** The servers of the configuration, for people; nothing is started. */
export async function languageServerRows(
  paths: RunPaths,
  loaded: LoadedConfig,
): Promise<LanguageServerRow[]> {
  if (!loaded.config.lsp.enabled && !loaded.config.lsp.tools) return [];
  const { serverSpecs } = await loadLsp();
  const find = programFinder(paths, buildWorkspace(paths, loaded.config).roots);
  return serverSpecs(loaded.config.lsp.servers).map(({ name, programs }) => {
    const program = programs.map(find).find((found) => found !== undefined);
    return { name, ...(program === undefined ? {} : { program }) };
  });
}

async function startJailed(
  { paths, scope, guard, openJail }: LanguageDeps,
  { name, root }: { readonly name: string; readonly root: string },
  { argv, env }: { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> },
): Promise<ServerProcess> {
  const [jail, { ServerProcess }] = await Promise.all([openJail(), loadProcesses()]);
  if (!jail.confined && !scope.full) throw new ReasonixError("There is no jail for language servers");
  const directory = `${projectDir(cacheDirectory(paths), root)}/lsp-${name.replace(/[^A-Za-z0-9]+/g, "-")}`;
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  const plan = jail.onlyLooking(directory).wrap(argv, { cwd: root });
  return new ServerProcess({ ...plan, env: { ...plan.env, ...env } }, { cwd: root, guard });
}
