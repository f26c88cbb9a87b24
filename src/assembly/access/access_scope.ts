import { cacheDirectory, type Config, type LoadedConfig } from "../../config/mod.ts";
import type { NewEventOf } from "../../core/mod.ts";
import type { PermissionMode } from "../../permission/mod.ts";
import { contains } from "../../path/contains.ts";
import { existingRealPath } from "../../path/real_path.ts";
import { isProblem, parseRule } from "../../rule/mod.ts";
import {
  type ContainerSettings,
  createWorkspace,
  describeConfinement,
  forecastJail,
  type JailForecast,
  noConfinement,
  type Workspace,
} from "../../sandbox/mod.ts";
import type { RunPaths } from "../run_paths.ts";
import { projectNotices } from "./project_notices.ts";

/** A notice for the user. */
export type Remark = Omit<NewEventOf<"notice">, "type" | "level" | "code">;

/** The reach of the commands and file tools of a run. */
export interface AccessScope {
  /** What rules count from, and what the destructive-command check protects everything outside of. */
  readonly rooted: Workspace;
  /** The reach of file tools; the same, or more. */
  readonly workspace: Workspace;
  /** Commands run without a jail, and file tools write outside the workspace too. */
  readonly full: boolean;
  /** A notice for the user about it. */
  readonly notice?: Remark;
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
      notice: unconfined(MODE, true),
    }
    : {
      full: false,
      notice: { text: `Commands and file tools stay confined in spite of ${MODE}, because of ${stays}` },
    };
}

function unconfined(why: string, full = false): Remark {
  const confinement = noConfinement(why, full);
  return { text: describeConfinement(confinement), confinement };
}

/** `further` are directories that file tools may write to besides those of the configuration. */
export function buildWorkspace(paths: RunPaths, config: Config, further: readonly string[] = []): Workspace {
  const { sandbox } = config;
  const userHome = paths.env("HOME") ?? paths.env("USERPROFILE");
  return createWorkspace({
    cwd: paths.cwd,
    home: paths.home,
    roots: [sandbox.workspace_root || paths.cwd, ...sandbox.allow_write, ...further],
    forbidRead: sandbox.forbid_read,
    denyRead: deniedGlobs(config, "Read"),
    ...(userHome === undefined ? {} : { userHome }),
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

/** Tells how far a run reaches, by its configuration and its `--permission-mode`. */
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

/** The reach of a run that is about to begin. */
export interface RunScope extends AccessScope {
  readonly forecast: JailForecast;
  /** What the user is told before the first request: of it, and of what the project brings in vain. */
  readonly notices: readonly Remark[];
}

/**
 * Tells besides how commands will be confined. Throws a ReasonixError (exit "blocked") when
 * `[sandbox] bash = "enforce"` finds no jail.
 */
export async function openAccessScope(
  paths: RunPaths,
  loaded: LoadedConfig,
  mode: PermissionMode | undefined,
): Promise<RunScope> {
  const { config } = loaded;
  const scope = buildAccessScope(paths, config, mode);
  const { bash, network, network_hosts } = config.sandbox;
  const container = containerOf(config.sandbox);
  const forecast = await forecastJail({
    ...(container === undefined ? {} : { container }),
    mode: scope.full ? "off" : bash,
    network: network ? "open" : network_hosts.length > 0 ? "filtered" : "none",
    cacheDir: cacheDirectory(paths),
  });
  const notices = [
    ...(scope.notice ? [scope.notice] : []),
    ...(scope.full || forecast.confined ? [] : [unconfined(forecast.reason)]),
    ...projectNotices(paths, loaded).map((text) => ({ text })),
  ];
  return { ...scope, forecast, notices };
}
