import { buildWorkspace, redactorOf, type RunPaths, withJail } from "../../../src/assembly/mod.ts";
import {
  ConfigError,
  formatProblem,
  idleSettings,
  keySource,
  listSettings,
  loadConfig,
  type LoadedConfig,
  modelsOf,
  projectConfigFile,
  type ProviderEntry,
  requireProvider,
  resolveKey,
  resolveModel,
  userConfigFile,
} from "../../../src/config/mod.ts";
import { loadWindow } from "../../../src/context/mod.ts";
import { errorMessage } from "../../../src/core/mod.ts";
import { listModels } from "../../../src/provider/mod.ts";
import { listSessions, projectDir } from "../../../src/session/mod.ts";
import { standingLayers } from "../../../src/sandbox/mod.ts";
import { mapTexts } from "../../../src/util/map_texts.ts";
import { isFile } from "../../../src/path/probe.ts";
import { originText } from "../../terminal/origin_text.ts";
import { needlessPermissions, type Permissions, readPermissions } from "./permissions.ts";
import { VERSION } from "../../../src/util/version.ts";

/** The findings of `doctor`; safe to attach to an issue. */
export interface Report {
  readonly versions: Readonly<Record<string, string>>;
  readonly permissions: Permissions;
  readonly paths: Readonly<Record<string, string>>;
  readonly config: {
    readonly files: readonly { readonly path: string; readonly found: boolean }[];
    /** Settings that differ from the defaults. */
    readonly settings: readonly { readonly key: string; readonly value: string; readonly origin: string }[];
    readonly warnings: readonly string[];
    readonly error?: string;
  };
  readonly providers: readonly {
    readonly name: string;
    readonly models: readonly string[];
    readonly key: string;
    readonly online?: string;
  }[];
  readonly sandbox: {
    readonly summary: string;
    readonly rejected: readonly { readonly backend: string; readonly reason: string }[];
    /** The layers of defence that stand without the jail, where there is none. */
    readonly standing?: readonly string[];
    /** Those that would stand in `--permission-mode danger-full-access`. */
    readonly fullAccess?: readonly string[];
  };
  readonly sessions: { readonly count: number; readonly bytes: number; readonly homeBytes: number };
  readonly problems: readonly string[];
}

const ONLINE_LIMIT_MS = 10_000;

/** Examines configuration, providers, sandbox and disk; asks the providers only when `online`. */
export async function diagnose(paths: RunPaths, options: { readonly online: boolean }): Promise<Report> {
  const permissions = readPermissions();
  const problems = needlessPermissions(permissions);
  const loaded = await loadConfig(paths).catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems.map(formatProblem));
    return error;
  });
  const usable = loaded instanceof ConfigError ? undefined : loaded;
  if (usable) await checkModel(usable, problems);
  const sessions = listSessions(projectDir(paths.home, paths.cwd));
  return {
    versions: { reasonix: VERSION, deno: Deno.version.deno, target: Deno.build.target },
    permissions,
    paths: { cwd: paths.cwd, home: paths.home, sessions: `${projectDir(paths.home, paths.cwd)}/sessions` },
    config: usable ? configPart(usable) : brokenConfig(paths, loaded as ConfigError),
    providers: usable ? await providerPart(usable, options.online, problems) : [],
    sandbox: usable ? await sandboxPart(paths, usable, problems) : { summary: "not examined", rejected: [] },
    sessions: {
      count: sessions.length,
      bytes: sessions.reduce((sum, session) => sum + session.bytes, 0),
      homeBytes: folderBytes(paths.home),
    },
    problems,
  };
}

function checkModel(loaded: LoadedConfig, problems: string[]): void {
  try {
    requireProvider(loaded);
    resolveKey(resolveModel(loaded.config).entry, loaded.keys);
  } catch (error) {
    problems.push(errorMessage(error));
  }
}

function configPart(loaded: LoadedConfig): Report["config"] {
  const redact = redactorOf(loaded);
  const changed = listSettings(loaded).filter((setting) => setting.from.source !== "default");
  return {
    files: loaded.files.map(({ path, found }) => ({ path, found })),
    settings: changed.map(({ key, value, from: origin }) => ({
      key,
      value: JSON.stringify(mapTexts(value, redact)),
      origin: originText(origin),
    })),
    warnings: [...loaded.warnings, ...idleSettings(loaded)].map(formatProblem),
  };
}

function brokenConfig(paths: RunPaths, error: ConfigError): Report["config"] {
  const files = [projectConfigFile(paths.cwd), userConfigFile(paths.home)];
  return {
    files: files.map((path) => ({ path, found: isFile(path) })),
    settings: [],
    warnings: [],
    error: error.problems.map(formatProblem).join("; "),
  };
}

async function providerPart(
  loaded: LoadedConfig,
  online: boolean,
  problems: string[],
): Promise<Report["providers"]> {
  return await Promise.all(loaded.config.providers.map(async (entry) => ({
    name: entry.name,
    models: modelsOf(entry),
    key: { home: "set in the home", env: "set in the environment", missing: "MISSING", none: "not needed" }[
      keySource(entry, loaded.keys)
    ],
    ...(online ? { online: await reach(entry, loaded, problems) } : {}),
  })));
}

async function reach(entry: ProviderEntry, loaded: LoadedConfig, problems: string[]): Promise<string> {
  try {
    const apiKey = resolveKey(entry, loaded.keys);
    const models = await listModels(
      { entry, version: VERSION, ...(apiKey === undefined ? {} : { apiKey }) },
      AbortSignal.timeout(ONLINE_LIMIT_MS),
    );
    problems.push(...await windowProblem(entry, apiKey));
    const missing = modelsOf(entry).filter((model) => models.length > 0 && !models.includes(model));
    return missing.length > 0
      ? `reachable, but does not list ${missing.join(", ")}`
      : `reachable, ${models.length} models`;
  } catch (error) {
    problems.push(`${entry.name}: ${errorMessage(error)}`);
    return "NOT reachable";
  }
}

/**
 * A server of one's own usually starts with a small window, and then drops the beginning of what it is sent.
 */
async function windowProblem(entry: ProviderEntry, apiKey: string | undefined): Promise<string[]> {
  const [model] = modelsOf(entry);
  if (model === undefined || entry.context_window === 0) return [];
  const { discoverWindow } = await loadWindow();
  const found = await discoverWindow({
    entry: { ...entry, context_window: 0 },
    model,
    fetch: globalThis.fetch,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  if (found === undefined || found.tokens >= entry.context_window) return [];
  return [
    `${entry.name}: the server gives ${model} a window of ${found.tokens} tokens, but context_window is ` +
    `${entry.context_window}; set context_window = ${found.tokens}, or have the server give it more`,
  ];
}

async function sandboxPart(
  paths: RunPaths,
  loaded: LoadedConfig,
  problems: string[],
): Promise<Report["sandbox"]> {
  try {
    const workspace = buildWorkspace(paths, loaded.config);
    return await withJail({ paths, loaded, workspace }, (jail) => ({
      summary: jail.describe(paths.cwd),
      rejected: jail.data.rejected,
      ...(jail.confined ? {} : { standing: standingLayers(false) }),
      fullAccess: standingLayers(true),
    }));
  } catch (error) {
    problems.push(errorMessage(error));
    return { summary: errorMessage(error), rejected: [] };
  }
}

function folderBytes(folder: string): number {
  try {
    let bytes = 0;
    for (const entry of Deno.readDirSync(folder)) {
      const path = `${folder}/${entry.name}`;
      bytes += entry.isDirectory ? folderBytes(path) : Deno.lstatSync(path).size;
    }
    return bytes;
  } catch {
    return 0;
  }
}
