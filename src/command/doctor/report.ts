import {
  buildWorkspace,
  findSkillSet,
  type LanguageServerRow,
  loadAgentList,
  loadHookList,
  loadLanguageServers,
  loadRuleRows,
  redactorOf,
  type RuleRow,
  type RunPaths,
  withJail,
} from "../../assembly/mod.ts";
import {
  ConfigError,
  formatProblem,
  keySource,
  listSettings,
  type LoadedConfig,
  modelsOf,
  nonInteractive,
  originText,
  projectConfigFile,
  requireProvider,
  resolveKey,
  resolveModel,
  unusedSettings,
  userConfigFile,
  withModelSettings,
} from "../../config/mod.ts";
import { errorMessage, formatLocation, ReasonixError } from "../../core/mod.ts";
import { loadTexts, type Locale, type Texts } from "../../i18n/mod.ts";
import { listSessions, projectDir } from "../../session/mod.ts";
import { alwaysOnProtections } from "../../sandbox/mod.ts";
import { loadWindow, modelInfo } from "../../provider/mod.ts";
import { mapTexts } from "../../util/json.ts";
import { isFile } from "../../path/probe.ts";
import { askProvider } from "./online.ts";
import { localServerPart, type LocalServerReport } from "./local_servers.ts";
import { hasManagedServer, managedServerPart } from "./managed_server.ts";
import { serverPart, type ServerReport } from "./mcp_servers.ts";
import { needlessPermissions, type Permissions, readPermissions } from "./permissions.ts";
import { reapWorktrees } from "../../worktree/mod.ts";
import { VERSION } from "../../util/version.ts";
import { programFetch } from "../../util/network/fetch.ts";

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
  /** Permission rules, and what a project would allow and nobody has trusted. */
  readonly rules: readonly RuleRow[];
  readonly providers: readonly {
    readonly name: string;
    readonly models: readonly string[];
    readonly key: string;
    /** What it answered, or what its server does where the program runs that. */
    readonly online?: string;
  }[];
  /** Model servers that answer on this machine. */
  readonly localServers: readonly LocalServerReport[];
  /** MCP servers that the files describe. */
  readonly servers: readonly ServerReport[];
  /** Language servers, with their programs where they are installed. */
  readonly languageServers: readonly LanguageServerRow[];
  readonly sandbox: {
    readonly summary: string;
    readonly rejected: readonly { readonly backend: string; readonly reason: string }[];
    /** The layers of defence that stand without the jail, where there is none. */
    readonly standing?: readonly string[];
    /** Those that would stand in `--permission-mode danger-full-access`. */
    readonly fullAccess?: readonly string[];
  };
  /** Work trees of agents: what is used, what waits for its batch, what was left behind and is gone now. */
  readonly worktrees: Readonly<Record<"inUse" | "waiting" | "removed" | "failed", readonly string[]>>;
  readonly sessions: { readonly count: number; readonly bytes: number; readonly homeBytes: number };
  readonly problems: readonly string[];
  /** What stops nothing: faults in files of agents and skills, a context window that nobody knows. */
  readonly remarks: readonly string[];
}

interface ReportOptions {
  readonly online: boolean;
  readonly loaded: LoadedConfig | ConfigError;
  readonly locale: Locale;
  readonly texts: Texts["doctor"];
  /** Further remarks about the configuration. */
  readonly warnings: readonly string[];
}

/** Examines configuration, providers, sandbox and disk; asks the providers only when `online`. */
export async function diagnose(
  paths: RunPaths,
  { online, loaded, locale, texts, warnings }: ReportOptions,
): Promise<Report> {
  const permissions = readPermissions();
  const problems = needlessPermissions(permissions, texts);
  const usable = loaded instanceof ConfigError ? undefined : loaded;
  if (usable) await checkModel(usable, { locale, texts }, problems);
  else problems.push(...(loaded as ConfigError).problems.map(formatProblem));
  if (usable) problems.push(...await hookProblems(paths, usable));
  const sessions = listSessions(projectDir(paths.home, paths.cwd));
  return {
    versions: { reasonix: VERSION, deno: Deno.version.deno, target: Deno.build.target },
    permissions,
    paths: { cwd: paths.cwd, home: paths.home, sessions: `${projectDir(paths.home, paths.cwd)}/sessions` },
    config: usable ? configPart(usable, warnings) : brokenConfig(paths, loaded as ConfigError),
    rules: usable ? (await loadRuleRows()).ruleRows(usable) : [],
    providers: usable ? await providerPart(usable, { online, texts, home: paths.home }, problems) : [],
    localServers: await localServerPart(usable?.config.providers ?? []),
    servers: usable ? await serverPart(paths, usable, { online, texts }, problems) : [],
    languageServers: usable ? await (await loadLanguageServers()).languageServerRows(paths, usable) : [],
    sandbox: usable
      ? await sandboxPart({ paths, loaded: usable, texts, locale }, problems)
      : { summary: texts.notExamined, rejected: [] },
    worktrees: await worktreePart(paths.home, texts, problems),
    sessions: {
      count: sessions.length,
      bytes: sessions.reduce((sum, session) => sum + session.bytes, 0),
      homeBytes: directoryBytes(paths.home),
    },
    problems,
    remarks: usable
      ? [...await fileWarnings(paths, usable), ...await windowWarnings(usable, online, texts)]
      : [],
  };
}

/** Hooks that do not run, or whose program is missing. */
async function hookProblems(paths: RunPaths, loaded: LoadedConfig): Promise<string[]> {
  const rows = loaded.config.hooks.length > 0 ? await (await loadHookList()).hookRows(loaded, paths) : [];
  return rows.flatMap(({ state, event, why, place }) =>
    state === "untrusted" || why === undefined
      ? []
      : [`${place ? `${formatLocation(place)}: ` : ""}hook of ${event || "no event"}: ${why}`]
  );
}

/** Faults in files of agents and skills, and the agents that wait for trust. */
async function fileWarnings(paths: RunPaths, loaded: LoadedConfig): Promise<string[]> {
  const { agents, warnings } = await (await loadAgentList()).agentList(paths, loaded);
  const { warnings: ofSkills } = await findSkillSet(paths, loaded);
  const untrusted = agents.filter(({ usable }) => !usable).map(({ name }) => name);
  return [
    ...ofSkills.map(({ path, text }) => `${path}: ${text}`),
    ...warnings.map(({ path, line, text }) => `${path}:${line}: ${text}`),
    ...(untrusted.length > 0
      ? [`Not active until trusted (\`reasonix trust\`): ${untrusted.join(", ")}`]
      : []),
  ];
}

async function windowWarnings(
  loaded: LoadedConfig,
  online: boolean,
  texts: Texts["doctor"],
): Promise<string[]> {
  try {
    const { entry, model } = resolveModel(loaded.config);
    const { context_window: declared } = withModelSettings(entry, model);
    if (declared || hasManagedServer(entry)) return [];
    if ((await modelInfo({ entry, model })).contextWindow !== undefined) return [];
    if (online) {
      const { discoverWindow } = await loadWindow();
      const apiKey = resolveKey(entry, loaded.keys);
      if (await discoverWindow({ entry, model, fetch: programFetch, apiKey })) return [];
    }
    return [texts.unknownWindow(entry.name, model)];
  } catch {
    // What is wrong with the model is a problem already.
    return [];
  }
}

async function worktreePart(
  home: string,
  texts: Texts["doctor"],
  problems: string[],
): Promise<Report["worktrees"]> {
  const { inUse, waiting, removed, failed } = await reapWorktrees(home);
  problems.push(...failed.map(({ id, reason }) => texts.worktreeStays(id, reason)));
  return {
    inUse: inUse.map(({ tree }) => tree),
    waiting: waiting.map(({ tree }) => tree),
    removed,
    failed: failed.map(({ id }) => id),
  };
}

async function checkModel(
  loaded: LoadedConfig,
  { locale, texts }: Pick<ReportOptions, "locale" | "texts">,
  problems: string[],
): Promise<void> {
  try {
    await requireProvider(loaded, locale);
    for (const { config } of new Set([loaded, nonInteractive(loaded)])) {
      resolveKey(resolveModel(config).entry, loaded.keys);
    }
  } catch (error) {
    const remedy = error instanceof ReasonixError ? error.remedy : undefined;
    problems.push(remedy ? texts.withRemedy(errorMessage(error), remedy) : errorMessage(error));
  }
}

function configPart(loaded: LoadedConfig, notices: readonly string[]): Report["config"] {
  const redact = redactorOf(loaded);
  const changed = listSettings(loaded).filter((setting) => setting.from.source !== "default");
  return {
    files: loaded.files.map(({ path, found }) => ({ path, found })),
    settings: changed.map(({ key, value, from: origin }) => ({
      key,
      value: JSON.stringify(mapTexts(value, redact)),
      origin: originText(origin),
    })),
    warnings: [...notices, ...[...loaded.warnings, ...unusedSettings(loaded)].map(formatProblem)],
  };
}

function brokenConfig(paths: RunPaths, error: ConfigError): Report["config"] {
  const files = [projectConfigFile(paths.cwd), userConfigFile(paths)];
  return {
    files: files.map((path) => ({ path, found: isFile(path) })),
    settings: [],
    warnings: [],
    error: error.problems.map(formatProblem).join("; "),
  };
}

const KEY_STATES = {
  command: "keyFromCommand",
  home: "keyInHome",
  env: "keyInEnvironment",
  missing: "keyMissing",
  none: "keyNotNeeded",
} as const;

async function providerPart(
  loaded: LoadedConfig,
  { online, texts, home }: Pick<ReportOptions, "online" | "texts"> & { readonly home: string },
  problems: string[],
): Promise<Report["providers"]> {
  return await Promise.all(loaded.config.providers.map(async (entry) => {
    const found = hasManagedServer(entry)
      ? await managedServerPart(entry, home, texts)
      : online
      ? await askProvider(entry, loaded, texts)
      : undefined;
    problems.push(...(found?.problems ?? []).filter((problem) => !problems.includes(problem)));
    return {
      name: entry.name,
      models: modelsOf(entry),
      key: texts[KEY_STATES[keySource(entry, loaded.keys)]],
      ...(found ? { online: found.summary } : {}),
    };
  }));
}

async function sandboxPart(
  { paths, loaded, texts, locale }: Pick<ReportOptions, "texts" | "locale"> & {
    paths: RunPaths;
    loaded: LoadedConfig;
  },
  problems: string[],
): Promise<Report["sandbox"]> {
  try {
    const workspace = buildWorkspace(paths, loaded.config);
    const reasons = await loadTexts("reasons", locale);
    return await withJail({ paths, loaded, workspace }, (jail) => {
      const { rejected } = jail.data;
      const standing = (full: boolean) =>
        alwaysOnProtections(full).map(({ id, text }) => reasons.standing(id, text));
      if (!jail.confined && rejected.some(isMissing)) problems.push(texts.noBubblewrap);
      return {
        summary: reasons.confinement(jail.confinement(paths.cwd), jail.describe(paths.cwd)),
        rejected,
        ...(jail.confined ? {} : { standing: standing(false) }),
        fullAccess: standing(true),
      };
    });
  } catch (error) {
    const message = errorMessage(error);
    problems.push(message, ...(/bubblewrap: .*not installed/.test(message) ? [texts.noBubblewrap] : []));
    return { summary: errorMessage(error), rejected: [] };
  }
}

function isMissing({ backend, reason }: Report["sandbox"]["rejected"][number]): boolean {
  return backend === "bubblewrap" && reason.includes("not installed");
}

function directoryBytes(folder: string): number {
  try {
    let bytes = 0;
    for (const entry of Deno.readDirSync(folder)) {
      const path = `${folder}/${entry.name}`;
      bytes += entry.isDirectory ? directoryBytes(path) : Deno.lstatSync(path).size;
    }
    return bytes;
  } catch {
    return 0;
  }
}
