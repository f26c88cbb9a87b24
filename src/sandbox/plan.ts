import type { JailPlan, NetworkMode, Place, ProxyAddress, Replacement } from "./backend.ts";
import { isWithin } from "./area.ts";
import { gitPlaces } from "./git_places.ts";
import { HOME_SECRETS, PROTECTED_PATHS } from "./guarded.ts";
import { realPathOf } from "./resolve.ts";

/** The folders and the network a jail is made of. Absolute paths; variables are already expanded. */
export interface JailAreas {
  /** Writable folders: the workspace root, `allow_write`, `--add-dir`. */
  readonly roots: readonly string[];
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

/** Caches of build tools that stay writable, relative to the user's home. Folders that hold programs are left out. */
const TOOL_CACHES = [
  ".cache",
  ".npm",
  ".yarn/cache",
  ".local/share/pnpm/store",
  ".bun/install/cache",
  ".cargo/registry",
  ".cargo/git",
  "go/pkg",
  ".gradle/caches",
  ".gradle/daemon",
  ".gradle/wrapper",
  ".m2/repository",
  ".ivy2/cache",
  ".nuget/packages",
  ".pub-cache/hosted",
  ".composer/cache",
  ".hex/packages",
  ".stack/pantry",
  ".cabal/packages",
  "Library/Caches",
] as const;

/** Where the runtime of this program keeps the code that it will run next time, unless DENO_DIR says otherwise. */
const RUNTIME_CACHES = [".cache/deno", "Library/Caches/deno"] as const;

/** Parts of it that commands may read: what a project without network depends on. */
const RUNTIME_PACKAGES = ["npm", "remote"] as const;

/** Sockets and cookies that let a command have other programs act for it, relative to the user's home. */
const AGENT_SOCKETS = [
  ".docker/run",
  ".docker/desktop",
  ".colima",
  ".orbstack/run",
  ".lima",
  ".gnupg/S.gpg-agent",
  ".gnupg/S.gpg-agent.ssh",
  ".gnupg/S.gpg-agent.extra",
  ".Xauthority",
] as const;

/** What is there of these paths, as real paths: nothing can be mounted on a path that does not exist. */
function existing(paths: Iterable<string>): Place[] {
  const found = new Map<string, Place>();
  for (const path of paths) {
    try {
      // Most candidates are absent, and finding that out is cheapest this way.
      Deno.lstatSync(path);
      const real = realPathOf(path);
      found.set(real, { path: real, folder: Deno.statSync(real).isDirectory });
    } catch {
      // Not there, or a dangling link: nothing to show, hide or protect.
    }
  }
  return [...found.values()];
}

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

/** The part of a plan that does not change during a session. */
export interface FixedPlan {
  readonly areas: JailAreas;
  readonly writable: readonly Place[];
  readonly hidden: readonly Place[];
  /** The runtime's cache; read-only where it cannot be replaced. */
  readonly runtime: readonly Place[];
  readonly replaced: readonly Replacement[];
  /** Files that lead git elsewhere and were there at the start, so they are the user's. */
  readonly redirects: readonly string[];
}

/** Looks the folders up. `runtime` tells where the runtime's cache is, and a folder commands may use as theirs instead. */
export function fixPlan(
  areas: JailAreas,
  runtime: { readonly cache?: string; readonly standIn?: string },
): FixedPlan {
  const cache = existing(runtime.cache === undefined ? inHome(areas, RUNTIME_CACHES) : [runtime.cache]);
  const { standIn } = runtime;
  // With the network a project fetches for itself what it needs; without, it has what is there.
  const shown = areas.network === "open" ? [] : RUNTIME_PACKAGES;
  return {
    areas,
    writable: existing([...areas.roots, ...inHome(areas, TOOL_CACHES)]),
    hidden: existing([
      ...areas.forbidRead ?? [],
      ...HOME_SECRETS.map((name) => `${areas.home}/${name}`),
      ...inHome(areas, AGENT_SOCKETS),
    ]),
    runtime: cache,
    redirects: existing(areas.roots.flatMap((root) => gitPlaces(root).redirects)).map((place) => place.path),
    replaced: standIn === undefined ? [] : cache.map(({ path }) => ({ path, by: standIn, shown })),
  };
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
  const places = areas.roots.map(gitPlaces);
  const hidden = stillThere(fixed.hidden);
  const candidates = [
    ...areas.roots.flatMap(protectedCandidates),
    ...places.flatMap((git) => git.protectedPaths),
  ];
  return {
    writable: [...stillThere(fixed.writable), ...existing(places.flatMap((git) => git.writable))],
    protectedPaths: [...existing([...candidates, areas.home]), ...fixed.runtime],
    replaced: fixed.replaced,
    mustNotAppear: places.flatMap((git) => git.redirects).filter((path) => !fixed.redirects.includes(path)),
    hidden: [...hidden, ...besides(hidden, denied, areas.roots)],
    network: areas.network,
    ...(areas.privateTmp === undefined ? {} : { privateTmp: areas.privateTmp }),
    ...(areas.proxy === undefined ? {} : { proxy: areas.proxy }),
  };
}
