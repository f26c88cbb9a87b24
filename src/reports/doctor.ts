import {
  type KnownServer,
  type LanguageServerRow,
  loadAgentList,
  loadHookList,
  loadLanguageServers,
  loadLog,
  loadPluginStart,
  loadServerWork,
  loadTelemetry,
} from "../features/mod.ts";
import {
  buildWorkspace,
  findSkillSet,
  loadRuleRows,
  redactorOf,
  type RuleRow,
  type RunPaths,
  withJail,
} from "../run/mod.ts";
import {
  ConfigError,
  formatProblem,
  isLoopback,
  keySource,
  listSettings,
  type LoadedConfig,
  modelsOf,
  nonInteractive,
  originText,
  projectConfigFile,
  type ProviderEntry,
  type ProviderTable,
  requireProvider,
  resolveKey,
  resolveModel,
  unusedSettings,
  userConfigFile,
  withModelSettings,
} from "../config/mod.ts";
import { errorMessage, formatLocation, ReasonixError } from "../core/mod.ts";
import { loadTranslator, type Locale, type Texts } from "../i18n/mod.ts";
import { loadPluginList, pluginNameOf } from "../mcp/mod.ts";
import { isFile } from "../path/probe.ts";
import {
  checkProvider,
  loadLocalServers,
  loadServerState,
  loadWindow,
  type LocalServer,
  modelInfo,
} from "../provider/mod.ts";
import { alwaysOnProtections } from "../sandbox/mod.ts";
import { listSessions, projectDir } from "../session/mod.ts";
import { padDisplay } from "../util/display_width.ts";
import { defined, mapTexts } from "../util/json.ts";
import { type Fetch, programFetch } from "../util/network/fetch.ts";
import { oneLine, terminalSafe } from "../util/terminal_text.ts";
import { VERSION } from "../util/version.ts";
import { reapWorktrees } from "../worktree/mod.ts";

/** The findings of `doctor`; safe to attach to an issue. */
interface Report {
  readonly versions: Readonly<Record<string, string>>;
  readonly permissions: Permissions;
  readonly paths: Readonly<Record<string, string>>;
  readonly config: {
    readonly files: readonly { readonly path: string; readonly found: boolean }[];
    readonly settings: readonly { readonly key: string; readonly value: string; readonly origin: string }[];
    readonly warnings: readonly string[];
    readonly error?: string;
  };
  readonly rules: readonly RuleRow[];
  readonly providers: readonly {
    readonly name: string;
    readonly models: readonly string[];
    readonly key: string;
    /** The answer of the provider, or the state of a server that the program runs. */
    readonly online?: string;
  }[];
  readonly localServers: readonly LocalServerReport[];
  readonly servers: readonly ServerReport[];
  /** Language servers, with their programs where they are installed. */
  readonly languageServers: readonly LanguageServerRow[];
  readonly sandbox: {
    readonly summary: string;
    readonly rejected: readonly { readonly backend: string; readonly reason: string }[];
    /** The layers of defence that stand without the jail, where there is none. */
    readonly standing?: readonly string[];
    /** Those that would be in `--permission-mode danger-full-access`. */
    readonly fullAccess?: readonly string[];
  };
  /** Work trees of agents: what is used, what waits for its batch, what was left behind and is gone now. */
  readonly worktrees: Readonly<Record<"inUse" | "waiting" | "removed" | "failed", readonly string[]>>;
  /** Absent: telemetry is off. */
  readonly telemetry?: { readonly signals: readonly string[]; readonly receivers: readonly string[] };
  readonly sessions: { readonly count: number; readonly bytes: number; readonly homeBytes: number };
  readonly problems: readonly string[];
  /** Warnings: faults of the runtime and of files of agents and skills, an unknown context window. */
  readonly remarks: readonly string[];
}

interface ReportOptions {
  readonly online: boolean;
  readonly loaded: LoadedConfig | ConfigError;
  readonly locale: Locale;
  readonly texts: Texts["doctor"];
  readonly warnings: readonly string[];
  /** The location of the program, and the way in which it was installed. */
  readonly installation?: { readonly program: string; readonly channel: string };
}

/**
 * Faults of runtimes that weaken this program or end its runs, with where the runtime's makers describe them.
 * The runtime that a package or an executable contains has none of them.
 */
const RUNTIME_FAULTS: readonly RuntimeFault[] = [
  { fixedIn: "2.7.14", os: "darwin", fault: "deniedSpellings", source: "CVE-2026-49401" },
  { fixedIn: "2.9.2", fault: "unixSockets", source: "denoland/deno#34395, denoland/deno#35835" },
  { fixedIn: "2.9.4", os: "windows", fault: "pipeNames", source: "denoland/deno#36081" },
];

interface RuntimeFault {
  readonly fixedIn: string;
  /** Absent where every system has it. */
  readonly os?: typeof Deno.build.os;
  readonly fault: "deniedSpellings" | "unixSockets" | "pipeNames";
  readonly source: string;
}

/** Known faults of the runtime `version` on `os`. */
export function runtimeFaults(version: string, os: typeof Deno.build.os): readonly RuntimeFault[] {
  return RUNTIME_FAULTS.filter((row) => (row.os ?? os) === os && isOlder(version, row.fixedIn));
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split(/[.+-]/).slice(0, 3).map(Number));
  const at = [0, 1, 2].find((index) => a?.[index] !== b?.[index]);
  return at !== undefined && (a?.[at] ?? 0) < (b?.[at] ?? 0);
}

/** Examines configuration, providers, sandbox and disk; asks the providers only when `online`. */
export async function diagnose(
  paths: RunPaths,
  { online, loaded, locale, texts, warnings, installation }: ReportOptions,
): Promise<Report> {
  const permissions = readPermissions();
  const problems = needlessPermissions(permissions, texts);
  const usable = loaded instanceof ConfigError ? undefined : loaded;
  if (usable) await checkModel(usable, { locale, texts }, problems);
  else problems.push(...(loaded as ConfigError).problems.map(formatProblem));
  if (usable) problems.push(...await hookProblems(paths, usable));
  const sessions = listSessions(projectDir(paths.home, paths.cwd));
  return {
    versions: {
      reasonix: VERSION,
      deno: Deno.version.deno,
      target: Deno.build.target,
      ...defined({ channel: installation?.channel }),
    },
    permissions,
    paths: {
      ...defined({ program: installation?.program }),
      cwd: paths.cwd,
      home: paths.home,
      sessions: `${projectDir(paths.home, paths.cwd)}/sessions`,
      ...defined({ log: usable && (await loadLog()).logFileOf({ loaded: usable, paths }) }),
    },
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
    ...(usable && usable.config.telemetry.otlp !== ""
      ? { telemetry: await telemetryPart(paths, usable) }
      : {}),
    sessions: {
      count: sessions.length,
      bytes: sessions.reduce((sum, session) => sum + session.bytes, 0),
      homeBytes: directoryBytes(paths.home),
    },
    problems,
    remarks: [
      ...runtimeFaults(Deno.version.deno, Deno.build.os).map(({ fault, source, fixedIn }) =>
        texts.runtimeFault(Deno.version.deno, texts[fault], source, fixedIn)
      ),
      ...launcherCost(paths, texts),
      ...(/^(?:1|true)$/.test(paths.env("OTEL_DENO") ?? "") ? [texts.otelDeno] : []),
      ...(usable
        ? [...await fileWarnings(paths, usable), ...await windowWarnings(usable, online, texts)]
        : []),
    ],
  };
}

/** Reports that the Node launcher of the npm package started this process (cli/terminal/launcher.ts). */
function launcherCost({ env }: RunPaths, texts: Texts["doctor"]): string[] {
  const [kind, pid, name = ""] = env("REASONIX_LAUNCHED")?.split(":") ?? [];
  if (kind !== "node" || pid !== String(Deno.pid)) return [];
  return [Deno.build.os === "windows" ? texts.launcherOnWindows : texts.launcher(name)];
}

/** Names the receivers of telemetry: each signal can have its own one. */
async function telemetryPart(
  { env }: RunPaths,
  { config: { telemetry } }: LoadedConfig,
): Promise<NonNullable<Report["telemetry"]>> {
  const { addressOf } = await loadTelemetry();
  const { signals } = telemetry;
  const receivers = signals.map((signal) => {
    const { address } = addressOf(signal, telemetry, env);
    const url = URL.parse(address);
    return url ? `${url.origin}${url.pathname.replace(/\/$/, "")}` : address;
  });
  return { signals, receivers: [...new Set(receivers)] };
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
      ? await managedServerPart(entry, { home, workspace: loaded.cwd }, texts)
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
    const translator = await loadTranslator(locale);
    return await withJail({ paths, loaded, workspace }, (jail) => {
      const { rejected } = jail.data;
      const standing = (full: boolean) => alwaysOnProtections(full).map((text) => translator.text(text));
      if (!jail.confined && rejected.some(isMissing)) problems.push(texts.noBubblewrap);
      return {
        summary: translator.text(jail.describe(paths.cwd)),
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

function directoryBytes(directory: string): number {
  try {
    let bytes = 0;
    for (const entry of Deno.readDirSync(directory)) {
      const path = `${directory}/${entry.name}`;
      bytes += entry.isDirectory ? directoryBytes(path) : Deno.lstatSync(path).size;
    }
    return bytes;
  } catch {
    return 0;
  }
}

/** The report for people: what is wrong first. All that there is, when `verbose`. */
export async function reportText(
  report: Report,
  texts: Texts["doctor"],
  { verbose = false }: { readonly verbose?: boolean } = {},
): Promise<string> {
  const { ruleLine } = await loadRuleRows();
  const { versions, permissions, paths, config, providers, servers, sandbox, telemetry, sessions } = report;
  const section = (title: string, rows: readonly string[]) =>
    rows.length === 0 ? [] : [`${title}\n${rows.map((row) => `  ${terminalSafe(row)}\n`).join("")}`];
  const more = (title: string, rows: readonly string[]) => verbose ? section(title, rows) : [];
  const files = config.files.filter(({ found }) => found || verbose);
  const localServers = report.localServers.filter(({ provider }) => verbose || provider === undefined);
  const warnings = [...config.warnings, ...report.remarks];
  const { removed } = report.worktrees;
  return [
    ...(report.problems.length === 0
      ? [`${texts.noProblems}\n`]
      : section(texts.problems, report.problems.map((text) => `✗ ${text}`))),
    ...section(texts.remarks, warnings.map((text) => `! ${text}`)),
    ...more(texts.versions, Object.entries(versions).map(([name, value]) => `${name.padEnd(10)} ${value}`)),
    ...more(
      texts.permissions,
      (["allowed", "limited", "denied"] as const).filter((group) => permissions[group].length > 0)
        .map((group) => `${padDisplay(texts[group], 10)} ${permissions[group].join(", ")}`),
    ),
    ...section(
      texts.paths,
      Object.entries(paths).filter(([name]) => verbose || name === "log")
        .map(([name, value]) => `${name.padEnd(10)} ${value}`),
    ),
    ...section(texts.configuration, [
      ...files.map((file) => verbose ? `${file.found ? texts.found : texts.absent} ${file.path}` : file.path),
      ...(verbose ? config.settings.map((row) => `${row.key} = ${row.value}  # ${row.origin}`) : []),
    ]),
    ...more(texts.rules, report.rules.map(ruleLine)),
    ...section(
      texts.providers,
      providers.map((row) =>
        `${row.name}  ${row.models.join(", ") || texts.noModel}  ${texts.keyIs(row.key)}${
          row.online ? `  ${row.online}` : ""
        }`
      ),
    ),
    ...section(texts.localServers, localServers.flatMap((server) => localServerLines(server, texts))),
    ...section(
      texts.servers,
      servers.flatMap(({ name, state, place, notes = [] }) => [
        `${name}  ${state}${place === undefined ? "" : `  (${place})`}`,
        ...notes.map((note) => `  ${note}`),
      ]),
    ),
    ...more(
      texts.languageServers,
      report.languageServers.map(({ name, program = texts.notInstalled }) =>
        `${padDisplay(name, 10)} ${program}`
      ),
    ),
    ...section(texts.sandbox, [
      sandbox.summary,
      ...(verbose ? sandbox.rejected.map((row) => `${row.backend}: ${row.reason}`) : []),
      ...listed(texts.withoutJail, sandbox.standing),
      ...(verbose ? listed(texts.withFullAccess, sandbox.fullAccess) : []),
    ]),
    ...section(texts.worktrees, [
      ...report.worktrees.inUse.map((tree) => texts.worktreeUsed(tree)),
      ...report.worktrees.waiting.map((tree) => texts.worktreeWaits(tree)),
      ...(removed.length > 0 ? [texts.worktreesRemoved(removed.length)] : []),
    ]),
    ...section(
      texts.telemetry,
      telemetry ? [`${telemetry.signals.join(", ")} → ${telemetry.receivers.join(", ")}`] : [],
    ),
    ...more(texts.sessions, [
      texts.sessionCount(sessions.count, size(sessions.bytes, texts), size(sessions.homeBytes, texts)),
    ]),
    ...(verbose ? [] : [`${texts.verbose}\n`]),
  ].join("\n");
}

function size(bytes: number, texts: Texts["doctor"]): string {
  if (bytes < 1000) return texts.bytes(bytes);
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function listed(title: string, rows: readonly string[] = []): string[] {
  return rows.length === 0 ? [] : [title, ...rows.map((row) => `- ${row}`)];
}

const LIMIT_MS = 15_000;

interface OnlineFinding {
  readonly summary: string;
  readonly problems: readonly string[];
}

/** Asks a provider for its models (a model for a word where there is no list) and compares with its entry. */
async function askProvider(
  entry: ProviderEntry,
  loaded: LoadedConfig,
  texts: Texts["doctor"],
): Promise<OnlineFinding> {
  try {
    const apiKey = resolveKey(entry, loaded.keys);
    const fetch = fetchOnce();
    const [model] = modelsOf(entry);
    const { models, failure } = await checkProvider(
      { entry, version: VERSION, deps: { fetch }, ...defined({ apiKey, model }) },
      AbortSignal.timeout(LIMIT_MS),
    );
    if (failure) {
      return { summary: failure.reached ? texts.refused : texts.notReachable, problems: [failure.message] };
    }
    const problems = await windowProblem(entry, { fetch, apiKey, texts });
    if (models === undefined) {
      const summary = model === undefined ? texts.itAnswersWithoutList : texts.answersWithoutList(model);
      return { summary, problems };
    }
    const missing = modelsOf(entry).filter((name) => !isListed(name, models));
    if (models.length > 0 && missing.length > 0) {
      const shown = models.slice(0, LONGEST_LIST);
      const more = models.length - shown.length;
      problems.push(texts.notListed(entry.name, missing.join(", "), shown.join(", "), more));
    }
    return { summary: texts.reachable(models.length), problems };
  } catch (error) {
    return { summary: texts.notAsked, problems: [`${entry.name}: ${errorMessage(error)}`] };
  }
}

/** Some lists add a default tag, others a directory. */
function isListed(name: string, models: readonly string[]): boolean {
  return models.some((listed) =>
    listed === name || listed === `${name}:latest` || listed === `models/${name}`
  );
}

const LONGEST_LIST = 8;

/**
 * A local server usually starts with a small window, and then drops the beginning of what it is sent.
 */
async function windowProblem(
  entry: ProviderEntry,
  { fetch, apiKey, texts }: {
    readonly fetch: Fetch;
    readonly apiKey: string | undefined;
    readonly texts: Texts["doctor"];
  },
): Promise<string[]> {
  const [model] = modelsOf(entry);
  const { context_window: declared = 0 } = model === undefined ? entry : withModelSettings(entry, model);
  if (model === undefined || declared === 0) return [];
  const { discoverWindow } = await loadWindow();
  const found = await discoverWindow({
    entry: { ...entry, context_window: 0 },
    model,
    fetch,
    ...defined({ apiKey }),
  });
  if (found === undefined || found.tokens >= declared) return [];
  return [texts.smallWindow(entry.name, model, found.tokens, declared)];
}

/** Returns a fetch that asks every address once: a second GET is answered from memory. */
function fetchOnce(): Fetch {
  const answers = new Map<string, Promise<{ text: string; status: number; headers: Headers }>>();
  return async (url, init) => {
    if ((init?.method ?? "GET") !== "GET") return await programFetch(url, init);
    const address = new URL(url).href;
    const answer = answers.get(address) ?? programFetch(url, init).then(async (response) => ({
      text: await response.text(),
      status: response.status,
      headers: response.headers,
    }));
    answers.set(address, answer);
    const { text, status, headers } = await answer;
    return new Response(text === "" ? null : text, { status, headers });
  };
}

interface LocalServerReport {
  readonly name: string;
  readonly url: string;
  readonly models: LocalServer["models"];
  /** Name of the configured provider that uses it. */
  readonly provider?: string;
  /** The entry that would configure it; absent where it is configured, or lists no model. */
  readonly entry?: ProviderTable;
}

/** Looks for the usual model servers on this machine; that takes 300 ms at most. */
async function localServerPart(
  providers: readonly ProviderEntry[],
): Promise<readonly LocalServerReport[]> {
  const { findLocalServers, proposedEntry } = await loadLocalServers();
  return (await findLocalServers()).map((server) => {
    const provider = providers.find(({ base_url }) => isSameServer(base_url, server.port));
    const entry = provider ? undefined : proposedEntry(server);
    return {
      name: server.label,
      url: server.baseUrl,
      models: server.models,
      ...(provider ? { provider: provider.name } : {}),
      ...(entry ? { entry } : {}),
    };
  });
}

function isSameServer(url: string, port: number): boolean {
  return isLoopback(url) && Number(URL.parse(url)?.port) === port;
}

const MOST_MODELS = 8;

/** Lines about a server: what it has, and the entry that would use it. */
function localServerLines(
  { name, url, models, provider, entry }: LocalServerReport,
  texts: Texts["doctor"],
): readonly string[] {
  const shown = models.slice(0, MOST_MODELS).map(({ id, window, vision, tools }) => {
    const facts = [
      window === undefined ? "" : texts.windowOf(window),
      vision ? texts.seesImages : "",
      tools === false ? texts.noToolCalls : "",
    ];
    return `  ${id}${facts.filter(Boolean).map((fact) => `, ${fact}`).join("")}`;
  });
  const more = models.length - shown.length;
  return [
    `${name}  ${url}  ${provider === undefined ? texts.notSetUp : texts.usedBy(provider)}`,
    ...shown,
    ...(more > 0 ? [`  ${texts.moreModels(more)}`] : []),
    ...(entry
      ? [
        `  ${texts.addEntry}`,
        "    [[providers]]",
        ...Object.entries(entry).map(([key, value]) => `    ${key} = ${JSON.stringify(value)}`),
      ]
      : []),
  ];
}

/** Reports whether the program itself runs the server of an entry. */
function hasManagedServer({ kind }: ProviderEntry): boolean {
  return kind === "llamacpp";
}

/** The state of a server that the program starts; it is not started for that. */
async function managedServerPart(
  entry: ProviderEntry,
  places: { readonly home: string; readonly workspace: string },
  texts: Texts["doctor"],
): Promise<OnlineFinding> {
  const [model = ""] = modelsOf(entry);
  try {
    const { serverState } = await loadServerState();
    const { running } = await serverState(entry, { model, ...places });
    if (!running) return { summary: texts.serverStopped, problems: [] };
    return { summary: texts.serverRuns(running.pid, running.port, running.users.length), problems: [] };
  } catch (error) {
    const remedy = error instanceof ReasonixError ? error.remedy : undefined;
    const message = errorMessage(error);
    return {
      summary: texts.serverUnusable,
      problems: [remedy === undefined ? message : texts.withRemedy(message, remedy)],
    };
  }
}

interface ServerReport {
  readonly name: string;
  /** In a few words: what it offers, or why it is not used. */
  readonly state: string;
  readonly place?: string;
  /** Of a plugin of this program: what its process may touch, and which layer of defence is missing. */
  readonly notes?: readonly string[];
}

/** Starts that take longer are reported as slow. */
const SLOW_MS = 5_000;

/** Reports the MCP servers: from what is remembered, or with `online` from a start of each. */
async function serverPart(
  paths: RunPaths,
  loaded: LoadedConfig,
  { online, texts }: Pick<ReportOptions, "online" | "texts">,
  problems: string[],
): Promise<ServerReport[]> {
  const { knownServers } = await loadServerWork();
  const redact = redactorOf(loaded);
  const known = await knownServers(paths, loaded, { start: online });
  const notes = await pluginNotes(paths, loaded, texts, problems);
  return known.map((server) => {
    const { place, status } = server;
    const name = oneLine(server.name, 60);
    const failed = status?.state === "failed" || status?.state === "needs-auth";
    const state = oneLine(redact(stateOf(server, texts)), 400);
    if (online && failed) problems.push(`${name}: ${state}`);
    return {
      name,
      state,
      ...(place === undefined ? {} : { place: terminalSafe(formatLocation(place)) }),
      ...defined({ notes: notes.get(server.name) }),
    };
  });
}

/** Reports what the plugins of this program may touch, and what they lack, by the names of their servers. */
export async function pluginNotes(
  paths: RunPaths,
  loaded: LoadedConfig,
  texts: Texts["doctor"],
  problems: string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const notes = new Map<string, readonly string[]>();
  const entries = loaded.config.plugins.filter((entry) => entry.enabled && pluginNameOf(entry) !== undefined);
  if (entries.length === 0) return notes;
  const [{ PLUGINS }, { checkPlugin }] = await Promise.all([loadPluginList(), loadPluginStart()]);
  for (const entry of entries) {
    const info = PLUGINS.find(({ name }) => name === pluginNameOf(entry));
    if (!info) continue;
    try {
      const found = await checkPlugin({ paths, loaded }, info, entry);
      notes.set(entry.name, [
        texts.pluginTouches(touched(found.permissions, texts)),
        ...Deno.build.standalone ? [texts.pluginWithin] : [],
        ...found.proxy === undefined ? [] : [texts.pluginProxy(found.proxy)],
      ]);
      problems.push(
        ...found.isAbsent ? [texts.pluginAbsent(info.name)] : [],
        ...found.missing.map((name) => texts.pluginKey(entry.name, name, loaded.keys.file)),
      );
    } catch (error) {
      problems.push(`${entry.name}: ${errorMessage(error)}`);
    }
  }
  return notes;
}

type Touched = ReturnType<
  NonNullable<Awaited<ReturnType<typeof loadPluginList>>["PLUGINS"][number]>["permissions"]
>;

function touched(
  { read = [], write = [], net = [], denyNet = [], env = [] }: Touched,
  texts: Texts["doctor"],
) {
  const all = denyNet.length === 0 ? texts.mayReachAll : texts.mayReachBut(denyNet.length);
  const hosts = net === true ? [all] : net.length > 0 ? [texts.mayReach(net.join(", "))] : [];
  const seen = env.filter((name) => !/_proxy$/i.test(name));
  const parts = [
    ...read.length > 0 ? [texts.mayRead(read.join(", "))] : [],
    ...write.length > 0 ? [texts.mayWrite(write.join(", "))] : [],
    ...hosts,
    ...seen.length > 0 ? [texts.maySee(seen.join(", "))] : [],
  ];
  return parts.length === 0 ? texts.mayNothing : parts.join("; ");
}

function stateOf({ name, state, why = "", remedy, status }: KnownServer, texts: Texts["doctor"]): string {
  if (state === "off") return texts.serverOff;
  if (!status) return remedy === undefined ? why : texts.withRemedy(why, remedy);
  const { greetedMs = 0, listedMs = 0, detail, lastFailure, isKnown } = status;
  if (status.state === "failed" || status.state === "needs-auth") {
    return texts.withRemedy(texts.serverBroken(detail ?? status.state), texts.tryServer(name));
  }
  if (lastFailure !== undefined) {
    return texts.withRemedy(texts.serverFailed(lastFailure), texts.tryServer(name));
  }
  if (!isKnown) return texts.serverUnknown;
  const offers = texts.serverOffers(status.tools, status.prompts, status.resources);
  if (status.state !== "ready") return offers;
  const ms = greetedMs + listedMs;
  const ready = texts.serverReady(offers, ms);
  return ms > SLOW_MS ? texts.withRemedy(ready, texts.serverSlow) : ready;
}

interface Permissions {
  readonly allowed: readonly string[];
  /** Allowed in part, as `import` from the address that the program was installed from. */
  readonly limited: readonly string[];
  readonly denied: readonly string[];
}

const NAMES = ["read", "write", "net", "env", "run", "sys", "ffi", "import"] as const;

/** Permissions that the program never needs, and their risk. */
const NEEDLESS = { ffi: "nativeCode", import: "remoteModules" } as const;

/** Reads the permissions that this process really has, whatever it was meant to have. */
function readPermissions(): Permissions {
  const { allowed = [], limited = [], denied = [] } = Object.groupBy(NAMES, groupOf);
  return { allowed, limited, denied };
}

/** One sentence for each permission that this process has and never needs. */
function needlessPermissions({ allowed }: Permissions, texts: Texts["doctor"]): string[] {
  return (["ffi", "import"] as const).filter((name) => allowed.includes(name))
    .map((name) => texts.needless(texts[NEEDLESS[name]], name));
}

function groupOf(name: typeof NAMES[number]): keyof Permissions {
  const { state, partial } = Deno.permissions.querySync({ name });
  if (state === "denied") return "denied";
  return state === "granted" && !partial ? "allowed" : "limited";
}
