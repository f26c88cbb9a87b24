import { contains } from "../../path/lexical.ts";
import { worktreeIdOf } from "../../path/project_dir.ts";
import { isSystemDirectory, protectedCandidates, type ProtectedScope } from "../../path/protected.ts";
import { realPath } from "../../path/real_path.ts";
import type {
  AgentDirectory,
  HostEnvironment,
  JailPlan,
  JailScope,
  MountPath,
  Replacement,
} from "./backend.ts";
import { gitPaths } from "../mounts/git.ts";
import { HOME_SECRETS } from "../files/workspace.ts";
import {
  agentDirectories,
  existingMounts,
  neededBelowTemporary,
  planCaches,
  visibleSockets,
} from "../mounts/mounts.ts";

/** Cookies and sockets that let a command have other programs act for it, relative to the user's home. */
const AGENT_FILES = [
  ".ssh/agent",
  ".1password",
  ".docker/run",
  ".docker/desktop",
  ".colima",
  ".orbstack/run",
  ".rd",
  ".lima",
  ".local/share/containers/podman/machine",
  ".Xauthority",
] as const;

const IN_ROOT: readonly ProtectedScope[] = ["anywhere", "root"];
const IN_HOME: readonly ProtectedScope[] = [...IN_ROOT, "home"];

function inHome(scope: JailScope, names: readonly string[]): string[] {
  return scope.userHome === undefined ? [] : names.map((name) => `${scope.userHome}/${name}`);
}

function homeWithin({ roots, userHome }: JailScope): string[] {
  return userHome !== undefined && roots.some((root) => contains(root, userHome)) ? [userHome] : [];
}

/** The part of a plan that does not change during a session. */
export interface FixedPlan {
  readonly scope: JailScope;
  readonly roots: readonly MountPath[];
  readonly writable: readonly MountPath[];
  readonly hidden: readonly MountPath[];
  /** Programs and caches of programs; read-only although in a writable directory. */
  readonly programs: readonly MountPath[];
  readonly replaced: readonly Replacement[];
  /** Needs of commands in the temporary directories that they do not see. */
  readonly needed: readonly MountPath[];
  /** Files that lead git elsewhere and were there at the start, so they are the user's. */
  readonly redirects: readonly string[];
}

function toHide(scope: JailScope): string[] {
  return [
    ...scope.forbidRead ?? [],
    ...HOME_SECRETS.map((name) => `${scope.home}/${name}`),
    ...inHome(scope, AGENT_FILES),
  ];
}

export function fixPlan(given: JailScope, host: HostEnvironment): FixedPlan {
  const { roots, repositories = new Map() } = given;
  const scope = { ...given, repositories };
  const needed = neededBelowTemporary(scope, host);
  const caches = planCaches(scope, host);
  const sockets = existingMounts(host.sockets ?? []).map((mount) => mount.path);
  return {
    scope,
    roots: existingMounts(roots),
    writable: caches.writable,
    hidden: existingMounts([
      ...toHide(scope),
      ...visibleSockets(sockets, scope, needed.map((mount) => mount.path)),
    ]),
    programs: [...caches.protectedPaths, ...programs(scope, host.searchPath ?? [])],
    needed,
    redirects: existingMounts(roots.flatMap((root) => gitPaths(root, repositories).redirects)).map((mount) =>
      mount.path
    ),
    replaced: caches.replaced,
  };
}

/** The plan of a program that writes only to its directory, which also replaces caches. */
export function lookingPlan(fixed: FixedPlan, own: string): FixedPlan {
  const { privateTmp: _commands, proxy: _none, ...scope } = fixed.scope;
  const standIn = (path: string) => {
    const by = `${own}/${path.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-/, "")}`;
    Deno.mkdirSync(by, { recursive: true, mode: 0o700 });
    return by;
  };
  return {
    ...fixed,
    scope: { ...scope, rootAccess: "read", network: "none" },
    writable: existingMounts([own]),
    replaced: fixed.replaced.map((one) => ({ ...one, by: standIn(one.path), shared: [] })),
  };
}

function writableRoots({ roots, rootAccess }: JailScope): readonly string[] {
  return rootAccess === "read" ? [] : roots;
}

/** `/` is read-only anyway, and commands have their own `/tmp` to write to. */
function readableRoots({ roots, rootAccess }: JailScope): readonly string[] {
  return rootAccess === "read" ? roots.filter((root) => !/^\/(?:(?:private\/)?tmp)?$/.test(root)) : [];
}

/** Programs that the user starts by name from a writable directory that is not a project. */
function programs(scope: JailScope, searchPath: readonly string[]): MountPath[] {
  const projects = scope.roots.filter((root) => !isSystemDirectory(root, scope.userHome));
  const paths = existingMounts([
    ...searchPath.filter((path) => path.startsWith("/")),
    ...scope.userHome === undefined ? [] : protectedCandidates(scope.userHome, ["programs"]),
  ]);
  return paths.filter(({ path }) => path !== "/" && !projects.some((root) => contains(root, path)));
}

/**
 * The Reasonix home, unless only this run's work tree in it is writable: not every backend can open a
 * directory in a protected one.
 */
function protectedHome({ roots, home }: JailScope): string[] {
  const own = roots.some((root) => worktreeIdOf(realPath(home), root) !== undefined);
  return own && !roots.some((root) => contains(root, home)) ? [] : [home];
}

/**
 * Leaves out missing paths. Those that may not be looked at (a worker may not see hidden ones) count as
 * present.
 */
function stillThere(paths: readonly MountPath[]): MountPath[] {
  return paths.flatMap((mount) => {
    try {
      return [{ ...mount, directory: Deno.lstatSync(mount.path).isDirectory }];
    } catch (error) {
      return error instanceof Deno.errors.NotFound ? [] : [mount];
    }
  });
}

function hiddenNow({ scope, hidden }: FixedPlan, agents: readonly AgentDirectory[]): MountPath[] {
  const now = new Map(stillThere(hidden).map((mount) => [mount.path, mount]));
  const come = existingMounts([...toHide(scope), ...agents.flatMap(({ sockets }) => sockets)]);
  for (const mount of come) if (!now.has(mount.path)) now.set(mount.path, mount);
  const all = [...now.values()];
  // Nothing can be mounted in a directory that is hidden.
  return all.filter(({ path }) =>
    !all.some((outer) => outer.directory && outer.path !== path && contains(outer.path, path))
  );
}

/** Paths that rules refuse and that are not hidden already. A root stays: commands need a directory. */
function withoutHidden(
  hidden: readonly MountPath[],
  denied: readonly MountPath[],
  roots: readonly string[],
): MountPath[] {
  const directories = [...hidden, ...denied].filter((mount) => mount.directory).map((mount) => mount.path);
  const known = new Set(hidden.map((mount) => mount.path));
  return denied.filter(({ path }) =>
    !known.has(path) && !roots.some((root) => contains(path, root)) &&
    !directories.some((directory) => directory !== path && contains(directory, path))
  );
}

/** A command that only reads, or works in an agent's own work tree, gets a new container. */
function keptProject({ roots: [project], rootAccess, home }: JailScope): { project?: string } {
  return project === undefined || rootAccess === "read" || contains(home, project) ? {} : { project };
}

interface DeniedMounts {
  readonly read: readonly MountPath[];
  readonly write: readonly MountPath[];
}

const NOTHING_DENIED: DeniedMounts = { read: [], write: [] };

/** Protected paths are looked up for each command: the one before may have made some. */
export function currentPlan(fixed: FixedPlan, denied: DeniedMounts = NOTHING_DENIED): JailPlan {
  const { scope } = fixed;
  const roots = writableRoots(scope);
  const gitOf = (root: string) => gitPaths(root, scope.repositories);
  const paths = roots.map(gitOf);
  const readable = readableRoots(scope).flatMap((root) => [root, ...gitOf(root).writable]);
  const agents = agentDirectories(scope.userHome);
  const hidden = hiddenNow(fixed, agents);
  const candidates = [
    ...scope.roots.flatMap((root) => protectedCandidates(root, IN_ROOT)),
    ...homeWithin(scope).flatMap((home) => protectedCandidates(home, IN_HOME)),
    ...paths.flatMap((git) => git.protectedPaths),
  ];
  return {
    writable: [
      ...stillThere(scope.rootAccess === "read" ? fixed.writable : [...fixed.roots, ...fixed.writable]),
      ...existingMounts(paths.flatMap((git) => git.writable)),
    ],
    readable: [
      ...existingMounts([...readable, ...scope.shown ?? []]),
      ...stillThere(fixed.needed).filter(({ path }) => !roots.some((root) => contains(root, path))),
    ],
    protectedPaths: [
      ...existingMounts([...candidates, ...protectedHome(scope)]),
      ...fixed.programs,
      ...denied.write,
    ],
    replaced: fixed.replaced,
    mustNotAppear: paths.flatMap((git) => git.redirects).filter((path) => !fixed.redirects.includes(path)),
    hidden: [...hidden, ...withoutHidden(hidden, denied.read, scope.roots)],
    agents,
    network: scope.network,
    ...(scope.userHome === undefined ? {} : { userHome: scope.userHome }),
    ...keptProject(scope),
    ...(scope.privateTmp === undefined ? {} : { privateTmp: scope.privateTmp }),
    ...(scope.proxy === undefined ? {} : { proxy: scope.proxy }),
  };
}
