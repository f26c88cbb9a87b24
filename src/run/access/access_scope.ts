import {
  cacheDirectory,
  type Config,
  type EnvironmentSecrets,
  environmentSecrets,
  loadConfig,
  type LoadedConfig,
  type LoadOptions,
  userHome,
} from "../../config/mod.ts";
import { formatLocation, message, type NewEventOf, ReasonixError, textFields } from "../../core/mod.ts";
import { contains } from "../../path/lexical.ts";
import { exists, readSmallText } from "../../path/probe.ts";
import { processEnvironment } from "../../path/read_env.ts";
import { existingRealPath } from "../../path/real_path.ts";
import type { PermissionMode } from "../../permission/mod.ts";
import { isProblem, parseRule } from "../../rule/mod.ts";
import {
  type ContainerSettings,
  createWorkspace,
  describeConfinement,
  type ExpectedSandbox,
  expectedSandbox,
  noConfinement,
  type Workspace,
} from "../../sandbox/mod.ts";
import { projectDir } from "../../session/mod.ts";
import { type TrustItem, TrustStore } from "../../trust/mod.ts";
import { createRedactor } from "../../util/redact.ts";
import type { RunOptions, RunPaths } from "../run_options.ts";
import { cutText } from "../../util/terminal_text.ts";
import { attempt } from "../../util/lazy.ts";

/** Returns what of this process's environment stays out of children and texts. */
export function secretsOf(loaded: LoadedConfig): EnvironmentSecrets {
  return environmentSecrets(loaded, processEnvironment());
}

/** Takes what the configuration and the environment know of secrets out of a text. */
export function redactorOf(loaded: LoadedConfig): (text: string) => string {
  return createRedactor(secretsOf(loaded).redacted);
}

export interface TrustOptions extends Pick<RunOptions, "trustProject" | "ignoreUntrusted"> {
  /** Asks the user about items without a decision; absent: there is no prompt. */
  readonly decide?: ((items: readonly TrustItem[]) => Promise<"trust" | "ignore">) | undefined;
}

/**
 * Loads the configuration of a run with the items of the project that the user trusts. An executable item
 * without a decision ends a headless run (exit 3), unless the options use it or leave it out; otherwise
 * `decide` prompts for it. Permission grants and hooks are left out until they are trusted.
 */
export async function loadTrustedConfig(
  load: Omit<LoadOptions, "trust"> & RunPaths,
  options: TrustOptions,
): Promise<LoadedConfig> {
  const store = new TrustStore({ home: load.home, project: load.cwd, trustAll: options.trustProject });
  const loaded = await loadConfig({ ...load, trust: (item) => store.isTrusted(item) });
  const refused = loaded.needsTrust.filter(({ kind }) => !WAITING.has(kind));
  const [first] = refused;
  if (!first || options.ignoreUntrusted) return loaded;
  if (options.decide) {
    const items = loaded.needsTrust;
    if (await options.decide(items) === "ignore") return loaded;
    await store.trust(items);
    return await loadTrustedConfig(load, { ...options, ignoreUntrusted: true });
  }
  const names = refused.map((item) =>
    `${item.kind} ${item.name} (${formatLocation(item.place)}): ${item.reason}`
  );
  throw new ReasonixError(
    message`This project contains items that you have not trusted yet:\n  ${names.join("\n  ")}`,
    {
      exit: "blocked",
      place: first.place,
      remedy:
        message`look at it, then \`reasonix trust\`; or add --trust-project for this run, or --ignore-untrusted to leave it out`,
    },
  );
}

/** Items that a run can do without: they are named, and left out. */
const WAITING: ReadonlySet<TrustItem["kind"]> = new Set(["widening", "hook"]);

export type Warning = Omit<NewEventOf<"notice">, "type" | "level" | "code">;

/** The reach of the commands and file tools of a run. */
export interface AccessScope {
  /** The root of relative rules; the destructive-command check protects everything outside. */
  readonly rooted: Workspace;
  /** The reach of file tools; the same, or more. */
  readonly workspace: Workspace;
  /** Commands run without a jail, and file tools write outside the workspace too. */
  readonly full: boolean;
  readonly notice?: Warning;
}

const MODE = "--permission-mode danger-full-access";

/** Full access is only ever asked for on the command line; what a file sets more strictly stays in force. */
function accessOf(
  { sandbox, tools }: Pick<Config, "sandbox" | "tools">,
  mode: PermissionMode | undefined,
): Pick<AccessScope, "full" | "notice"> {
  if (mode !== "danger-full-access") return { full: false };
  const stays = sandbox.bash === "enforce"
    ? '[sandbox] bash = "enforce"'
    : tools.writes !== "allow"
    ? `[tools] writes = "${tools.writes}"`
    : undefined;
  return stays === undefined
    ? {
      full: true,
      notice: unconfined(MODE, { full: true }),
    }
    : {
      full: false,
      notice: textFields(
        message`Commands and file tools stay confined in spite of ${MODE}, because of ${stays}`,
      ),
    };
}

function unconfined(why: string, more: Parameters<typeof noConfinement>[1]): Warning {
  const confinement = noConfinement(why, more);
  return { ...textFields(describeConfinement(confinement)), confinement };
}

/** `further` are directories that file tools may write to in addition to those of the configuration. */
export function buildWorkspace(paths: RunPaths, config: Config, further: readonly string[] = []): Workspace {
  const { sandbox } = config;
  return createWorkspace({
    cwd: paths.cwd,
    home: paths.home,
    roots: [sandbox.workspace_root || paths.cwd, ...sandbox.allow_write, ...further],
    forbidRead: sandbox.forbid_read,
    denyRead: deniedGlobs(config, "Read"),
    userHome: userHome(paths.env),
  });
}

/** Returns what permission rules refuse to read or edit: commands and searches should not reach it either. */
export function deniedGlobs({ permissions }: Pick<Config, "permissions">, family: "Read" | "Edit"): string[] {
  return permissions.deny.flatMap((text) => {
    const rule = parseRule({ text }, "deny");
    return !isProblem(rule) && rule.family === family && rule.spec?.kind === "glob" ? [rule.spec.raw] : [];
  });
}

/**
 * Real paths of settings that no other rule protects: those of the project that are links, whose protected
 * name is not the one that a change of them goes by, and those of the user outside of the Reasonix home.
 */
export function linkedSettings({ files, home }: LoadedConfig): string[] {
  return files.filter(({ found }) => found).flatMap(({ source, path }) => {
    const real = existingRealPath(path);
    if (source === "user") return real === undefined || contains(home, path) ? [] : [real];
    return real === undefined || real === path ? [] : [real];
  });
}

/** Reports how far a run reaches, by its configuration and its `--permission-mode`. */
export function buildAccessScope(
  paths: RunPaths,
  config: Config,
  mode: PermissionMode | undefined,
): AccessScope {
  const rooted = buildWorkspace(paths, config);
  const access = accessOf(config, mode);
  return { ...access, rooted, workspace: access.full ? buildWorkspace(paths, config, ["/"]) : rooted };
}

/** The container that commands run in, where the user chose one. */
export function containerOf({ backend, image, container }: Config["sandbox"]): ContainerSettings | undefined {
  return backend === "auto" ? undefined : { program: backend, image, kept: container === "kept" };
}

export interface RunScope extends AccessScope {
  readonly expected: ExpectedSandbox;
  /** Notices before the first request, such as about repository content without effect. */
  readonly notices: readonly Warning[];
}

/**
 * Also reports how commands will be confined. Throws a ReasonixError (exit "blocked") when
 * `[sandbox] bash = "enforce"` finds no jail.
 */
export async function openAccessScope(
  paths: RunPaths,
  loaded: LoadedConfig,
  mode: PermissionMode | undefined,
  inContainer?: string,
): Promise<RunScope> {
  const { config } = loaded;
  const scope = buildAccessScope(paths, config, mode);
  const { bash, network, network_hosts } = config.sandbox;
  const container = containerOf(config.sandbox);
  const expected = await expectedSandbox({
    ...(container === undefined ? {} : { container }),
    mode: scope.full ? "off" : bash,
    network: network ? "open" : network_hosts.length > 0 ? "filtered" : "none",
    cacheDir: cacheDirectory(paths),
    inContainer,
  });
  const notices = [
    ...(scope.notice ? [scope.notice] : []),
    ...(scope.full || expected.confined ? [] : [unconfined(expected.reason, expected)]),
    ...projectNotices(paths, loaded).map((text) => ({ text })),
  ];
  return { ...scope, expected, notices };
}

/** Repository content for other agents that this version does not use. */
const UNUSED: readonly string[] = [
  ".claude/rules",
];

/** Returns notices about ignored repository content, each kind once, and again after a change. */
function projectNotices(paths: RunPaths, loaded: LoadedConfig): string[] {
  const unused = unusedFilesNotice(paths.cwd, loaded.unused);
  return [
    oncePerProject(paths, "providers", providersNotice(loaded)),
    oncePerProject(paths, "widening", grantsNotice(loaded)),
    oncePerProject(paths, "hooks", hooksNotice(paths.cwd, loaded)),
    oncePerProject(paths, "unused", unused),
    oncePerProject(paths, "servers", serversNotice(paths.cwd, loaded)),
  ].filter((text) => text !== undefined);
}

/** Names such files of the project, and `unused` parts of others; undefined when there are none. */
function unusedFilesNotice(cwd: string, unused: readonly string[]): string | undefined {
  const found = [...UNUSED.filter((name) => exists(`${cwd}/${name}`)), ...unused];
  if (found.length === 0) return undefined;
  return `This project contains ${
    found.join(", ")
  }, which this version does not use; see reasonix docs not-yet`;
}

/** Names the MCP servers that are overridden or switched off; undefined when there are none. */
function serversNotice(cwd: string, { leftOut }: LoadedConfig): string | undefined {
  const lines = leftOut.filter(({ why }) => why === "shadowed" || why === "switched off").map((server) =>
    `${JSON.stringify(server.name)} (${
      formatLocation(server.place).replace(`${cwd}/`, "")
    }): ${server.message}`
  );
  return lines.length === 0 ? undefined : `MCP servers that are not used: ${lines.join("; ")}`;
}

/** Names the user's providers with other models or sampling in this project; undefined without any. */
function providersNotice({ projectProviders }: LoadedConfig): string | undefined {
  const paired = projectProviders.filter(({ userEntry }) => userEntry !== undefined);
  const used = paired.map(({ name, userEntry }) =>
    name === userEntry
      ? `${name} replaces yours`
      : `${name} uses the key and address of yours named ${userEntry}`
  );
  if (used.length === 0) return undefined;
  return `The project's provider ${
    used.join(", ")
  }: models and sampling are the project's, limits can only ` +
    "be lower, address, key, prices and everything else stay yours";
}

/** Names the permission grants of the project without trust; undefined when there are none. */
function grantsNotice(loaded: LoadedConfig): string | undefined {
  const items = loaded.needsTrust.filter(({ kind }) => kind === "widening");
  const grants = items.flatMap((item) => item.grants ?? []);
  if (grants.length === 0) return undefined;
  const shown = grants.slice(0, 3).map(({ value }) => cutText(value, 60));
  const more = grants.length - shown.length;
  return `This project would allow ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""} ` +
    `(${items.map(placed).join(", ")}); not in force until you look at it with \`reasonix trust\``;
}

/** Names the hooks of the project without trust; undefined when there are none. */
function hooksNotice(cwd: string, loaded: LoadedConfig): string | undefined {
  const hooks = loaded.needsTrust.filter(({ kind }) => kind === "hook");
  if (hooks.length === 0) return undefined;
  const shown = hooks.slice(0, 3).map(({ name, place }) =>
    `${name} (${formatLocation(place).replace(`${cwd}/`, "")})`
  );
  const more = hooks.length - shown.length;
  return `This project contains hooks that do not run: ${shown.join(", ")}${
    more > 0 ? ` and ${more} more` : ""
  }; ` +
    "look at them with `reasonix trust`";
}

/**
 * Returns a notice that was not given in this project yet, or differs from the last one of its kind;
 * undefined otherwise. What cannot be remembered is said again.
 */
function oncePerProject(
  paths: RunPaths,
  kind: "hooks" | "providers" | "servers" | "unused" | "widening",
  text: string | undefined,
): string | undefined {
  if (text === undefined) return undefined;
  const directory = projectDir(cacheDirectory(paths), paths.cwd);
  const file = `${directory}/${kind}`;
  if (readSmallText(file) === text) return undefined;
  // A home that cannot be written to is no reason to stop.
  attempt(() => {
    Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
    Deno.writeTextFileSync(file, text, { mode: 0o600 });
  });
  return text;
}

function placed({ name, place }: TrustItem): string {
  return place.line === undefined ? name : `${name}:${place.line}`;
}
