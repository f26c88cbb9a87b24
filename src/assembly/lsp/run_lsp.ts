import type { LoadedConfig } from "../../config/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import { ReasonixError, type Saying } from "../../core/mod.ts";
import { type EditChecks, type LanguageServers, loadLsp } from "../../lsp/mod.ts";
import type { Jail } from "../../sandbox/mod.ts";
import { projectDir } from "../../session/mod.ts";
import { loadServerProcess, type ProcessGuard, type ServerProcess, type ToolResult } from "../../tool/mod.ts";
import { findProgram } from "../../util/find_program.ts";
import type { RunScope } from "../access/access_scope.ts";
import type { RunPaths } from "../run_paths.ts";

export interface LspParts {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly recorder: Recorder;
  readonly scope: RunScope;
  readonly guard: ProcessGuard | undefined;
  readonly openJail: () => Promise<Jail>;
}

/** Time that the result of an edit waits for what a language server says of it. */
const BUDGET_MS = 500;

type FileChange = NonNullable<ToolResult["changes"]>[number];

/** The language servers of a run, and what they say of its edits. */
export class RunLsp {
  readonly servers: LanguageServers;
  readonly checks: EditChecks;
  readonly #parts: LspParts;

  private constructor(parts: LspParts, servers: LanguageServers, checks: EditChecks) {
    this.#parts = parts;
    this.servers = servers;
    this.checks = checks;
  }

  static async open(parts: LspParts): Promise<RunLsp> {
    const { EditChecks } = await loadLsp();
    const servers = await openLanguageServers(parts);
    const { cwd } = parts.paths;
    const shown = (path: string) => path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
    return new RunLsp(parts, servers, new EditChecks({ servers, budgetMs: BUDGET_MS, shown }));
  }

  /** An edit of these files begins; the paths are as the model wrote them. */
  async before(paths: readonly string[]): Promise<void> {
    if (!this.#parts.loaded.config.lsp.enabled) return;
    const { workspace } = this.#parts.scope;
    const real = await Promise.all(paths.map((path) => workspace.write(path).catch(() => undefined)));
    this.checks.before(real.filter((path) => path !== undefined));
  }

  /** What the result of an edit should say of new errors. */
  async after(changes: readonly FileChange[], signal: AbortSignal): Promise<string | undefined> {
    if (!this.#parts.loaded.config.lsp.enabled) return undefined;
    const files = changes.flatMap(({ path, from, change }) => [
      ...(from === undefined ? [] : [{ path: from, change: "deleted" } as const]),
      { path, change: change === "deleted" || change === "created" ? change : "changed" } as const,
    ]);
    return await this.checks.after(files, signal);
  }

  async close(): Promise<void> {
    this.checks.close();
    await this.servers.close();
  }
}

/**
 * The servers of the configuration, none started. Programs in directories that can be written to do not
 * count.
 */
async function openLanguageServers(parts: LspParts): Promise<LanguageServers> {
  const { paths, loaded: { config }, scope, recorder } = parts;
  const { LanguageServers, serverSpecs } = await loadLsp();
  const searchPath = paths.env("PATH") ?? "";
  const writable = [paths.cwd, ...scope.rooted.roots];
  return new LanguageServers({
    specs: serverSpecs(config.lsp.servers),
    cwd: scope.rooted.roots.find((root) => paths.cwd.startsWith(`${root}/`)) ?? paths.cwd,
    userHome: paths.env("HOME"),
    find: (program) => findProgram(program, searchPath, writable),
    spawn: (server, argv, env) => startJailed(parts, server, { argv, env }),
    givenUp(server, why) {
      const said: Saying = ["languageServerGone", server, why];
      const text = `The language server ${server} is not started again: ${why}`;
      void recorder.record({ type: "notice", level: "warning", code: "lsp", text, said: [said] });
    },
  });
}

async function startJailed(
  { paths, scope, guard, openJail }: LspParts,
  { name, root }: { readonly name: string; readonly root: string },
  { argv, env }: { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> },
): Promise<ServerProcess> {
  const [jail, { startServer }] = await Promise.all([openJail(), loadServerProcess()]);
  if (!jail.confined && !scope.full) throw new ReasonixError("There is no jail for language servers");
  const own = `${projectDir(`${paths.home}/cache`, root)}/lsp-${name.replace(/[^A-Za-z0-9]+/g, "-")}`;
  await Deno.mkdir(own, { recursive: true, mode: 0o700 });
  const plan = jail.onlyLooking(own).wrap(argv, { cwd: root });
  return startServer({ ...plan, env: { ...plan.env, ...env } }, { cwd: root, guard });
}
