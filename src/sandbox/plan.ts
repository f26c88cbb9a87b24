import type { JailPlan, NetworkMode, Place, ProxyAddress, Replacement } from "./backend.ts";
import { isWithin } from "./area.ts";
import { planCaches } from "./caches.ts";
import { gitPlaces } from "./git_places.ts";
import { HOME_PROGRAMS, HOME_SECRETS, PROTECTED_PATHS } from "./guarded.ts";
import { existing } from "./places.ts";
import { agentSockets, foreignSockets, isWide } from "./sockets.ts";

/** The folders and the network a jail is made of. Absolute paths; variables are already expanded. */
export interface JailAreas {
  /** The workspace root, `allow_write`, `--add-dir`; writable unless they are to stay as they are. */
  readonly roots: readonly string[];
  /** "read": nothing in the roots may change. */
  readonly rootAccess?: "read";
  /** Further folders that are shown, as far as they exist, though what is around them may not be; read-only. */
  readonly shown?: readonly string[];
  readonly forbidRead?: readonly string[];
  /** Globs of permission rules that refuse to read; what matches them is as invisible. */
  readonly denyRead?: readonly string[];
  /** The Reasonix home: nothing in it is writable, its key files are invisible. */
  readonly home: string;
  readonly userHome?: string;
  /** The folder shown as `/tmp`, kept between commands. */
  readonly privateTmp?: string;
  readonly network: NetworkMode;
  readonly proxy?: ProxyAddress;
}

/** Cookies and folders of sockets that let a command have other programs act for it, relative to the user's home. */
const AGENT_FILES = [
  ".docker/run",
  ".docker/desktop",
  ".colima",
  ".orbstack/run",
  ".rd",
  ".lima",
  ".gnupg/S.gpg-agent",
  ".gnupg/S.gpg-agent.ssh",
  ".gnupg/S.gpg-agent.extra",
  ".local/share/containers/podman/machine",
  ".Xauthority",
] as const;

/** The protected paths of a root that may exist. One look at the folder is cheaper than thirty failing looks at its entries. */
function protectedCandidates(root: string): string[] {
  let names: Set<string>;
  try {
    names = new Set([...Deno.readDirSync(root)].map((entry) => entry.name));
  } catch {
    return [];
  }
  const there = PROTECTED_PATHS.filter((path) => names.has(path.split("/", 1)[0] ?? ""));
  return there.map((path) => `${root}/${path}`);
}

function inHome(areas: JailAreas, names: readonly string[]): string[] {
  return areas.userHome === undefined ? [] : names.map((name) => `${areas.userHome}/${name}`);
}

/** What else is there on the machine. */
export interface Surroundings {
  /** The cache of the runtime, where the environment names it. */
  readonly runtime?: string;
  /** Where the folders are kept that commands get instead of the user's. */
  readonly standIns?: string;
  /** Folders in which programs are looked up. */
  readonly searchPath?: readonly string[];
  /** Sockets that programs of the user listen on. */
  readonly sockets?: readonly string[];
}

/** The user's home, when it lies in a writable folder. */
function homeWithin({ roots, userHome }: JailAreas): string[] {
  return userHome !== undefined && roots.some((root) => isWithin(userHome, root)) ? [userHome] : [];
}

/** The part of a plan that does not change during a session. */
export interface FixedPlan {
  readonly areas: JailAreas;
  readonly writable: readonly Place[];
  readonly hidden: readonly Place[];
  /** Programs and caches of programs; read-only although in a writable folder. */
  readonly programs: readonly Place[];
  readonly replaced: readonly Replacement[];
  /** Files that lead git elsewhere and were there at the start, so they are the user's. */
  readonly redirects: readonly string[];
}

/** Looks the folders up. */
export function fixPlan(areas: JailAreas, around: Surroundings): FixedPlan {
  const { roots, userHome } = areas;
  const caches = planCaches({
    userHome,
    roots,
    runtime: around.runtime,
    standIns: around.standIns,
    online: areas.network === "open",
  });
  return {
    areas,
    writable: [...existing(writableRoots(areas)), ...caches.writable],
    hidden: existing([
      ...areas.forbidRead ?? [],
      ...HOME_SECRETS.map((name) => `${areas.home}/${name}`),
      ...inHome(areas, AGENT_FILES),
      ...foreignSockets(existing(around.sockets ?? []).map((place) => place.path), roots, userHome),
    ]),
    programs: [...caches.protectedPaths, ...programs(areas, around.searchPath ?? [])],
    redirects: existing(roots.flatMap((root) => gitPlaces(root).redirects)).map((place) => place.path),
    replaced: caches.replaced,
  };
}

function writableRoots({ roots, rootAccess }: JailAreas): readonly string[] {
  return rootAccess === "read" ? [] : roots;
}

/** Roots that stay as they are. `/` is read-only anyhow, and commands have a `/tmp` of their own to write to. */
function readableRoots({ roots, rootAccess }: JailAreas): readonly string[] {
  return rootAccess === "read" ? roots.filter((root) => !/^\/(?:(?:private\/)?tmp)?$/.test(root)) : [];
}

/** What the user starts by name, where it lies in a writable folder that is more than a project. A project's programs are the project's. */
function programs(areas: JailAreas, searchPath: readonly string[]): Place[] {
  const projects = areas.roots.filter((root) => !isWide(root, areas.userHome));
  const places = existing([
    ...searchPath.filter((path) => path.startsWith("/")),
    ...inHome(areas, HOME_PROGRAMS),
  ]);
  return places.filter(({ path }) => path !== "/" && !projects.some((root) => isWithin(path, root)));
}

/** Leaves out what is gone by now; what may not be looked at (a worker may not look at what is hidden) is believed to be there. */
function stillThere(places: readonly Place[]): Place[] {
  return places.filter(({ path }) => {
    try {
      Deno.lstatSync(path);
      return true;
    } catch (error) {
      return !(error instanceof Deno.errors.NotFound);
    }
  });
}

/** Of what rules refuse, that which is not hidden already. A root stays: commands would have nowhere to be. */
function besides(hidden: readonly Place[], denied: readonly Place[], roots: readonly string[]): Place[] {
  const folders = [...hidden, ...denied].filter((place) => place.folder).map((place) => place.path);
  const known = new Set(hidden.map((place) => place.path));
  return denied.filter(({ path }) =>
    !known.has(path) && !roots.some((root) => isWithin(root, path)) &&
    !folders.some((folder) => folder !== path && isWithin(path, folder))
  );
}

/** The plan for the next command. Protected paths are looked up each time: the command before may have made one. */
export function currentPlan(fixed: FixedPlan, denied: readonly Place[] = []): JailPlan {
  const { areas } = fixed;
  const places = writableRoots(areas).map(gitPlaces);
  const readable = readableRoots(areas).flatMap((root) => [root, ...gitPlaces(root).writable]);
  const agents = existing(agentSockets(areas.userHome));
  const hidden = [...stillThere(fixed.hidden), ...agents];
  const candidates = [
    ...new Set([...areas.roots, ...homeWithin(areas)].flatMap(protectedCandidates)),
    ...places.flatMap((git) => git.protectedPaths),
  ];
  return {
    writable: [...stillThere(fixed.writable), ...existing(places.flatMap((git) => git.writable))],
    readable: existing([...readable, ...areas.shown ?? []]),
    protectedPaths: [...existing([...candidates, areas.home]), ...fixed.programs],
    replaced: fixed.replaced,
    mustNotAppear: places.flatMap((git) => git.redirects).filter((path) => !fixed.redirects.includes(path)),
    hidden: [...hidden, ...besides(hidden, denied, areas.roots)],
    network: areas.network,
    ...(areas.privateTmp === undefined ? {} : { privateTmp: areas.privateTmp }),
    ...(areas.proxy === undefined ? {} : { proxy: areas.proxy }),
  };
}
