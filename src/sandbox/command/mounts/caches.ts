import { contains } from "../../../path/contains.ts";
import type { MountPath, Replacement } from "../backend.ts";
import { existingMounts } from "../mount_path.ts";

/**
 * The parts that commands may use of the caches in the user's home. Packages and objects that builds fetch
 * and compile are shared with the user; what a program or a shell would run by itself is not. Data first:
 * reviewers should be able to check the lists.
 */

/**
 * The directories for caches of all programs. Shells and editors keep code in there, so commands get one of
 * their own instead.
 */
const COMMON = [".cache", "Library/Caches"] as const;

/** Of that directory, what is shared. */
const SHARED = [
  "pip",
  "go-build",
  "yarn",
  "Yarn",
  "pnpm",
  "node-gyp",
  "pypoetry/cache",
  "pypoetry/artifacts",
  "pdm",
  "ccache",
  "sccache",
  "Mozilla.sccache",
  "composer",
  "coursier/v1",
  "zig",
] as const;

/** Of that directory, what can be used but not changed: programs and models. */
const SHOWN = [
  "ms-playwright",
  "ms-playwright-go",
  "puppeteer",
  "Cypress",
  "electron",
  "selenium",
  "prisma",
  "node",
  "bazelisk",
  "pypoetry/virtualenvs",
  "huggingface",
  "torch",
] as const;

/** Further caches that are shared, relative to the user's home. */
const TOOLS = [
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
] as const;

/** Parts of these from which programs are started by name. */
const STARTED = [".npm/_npx"] as const;
/** A directory of toolchains among packages; one of them is started when the user types `go`. */
const TOOLCHAINS = "go/pkg/mod/golang.org";

/**
 * The place where the runtime of this program keeps the code that it will run next time, unless DENO_DIR says
 * otherwise.
 */
const RUNTIME = [".cache/deno", "Library/Caches/deno"] as const;
/** Parts of it that commands may read: what a project without network depends on. */
const RUNTIME_PACKAGES = ["npm", "remote"] as const;

export interface CacheSources {
  readonly userHome?: string | undefined;
  /** Writable directories of the user's choice. */
  readonly roots: readonly string[];
  /** The runtime's cache, where the environment names it. */
  readonly runtime?: string | undefined;
  /** The place where the directories are kept that commands get instead; absent: there is no replacing. */
  readonly standIns?: string | undefined;
  /** The program that runs this one, which the way to the network filter needs. */
  readonly executable?: string | undefined;
  /** Commands have network and can fetch what they need. */
  readonly online: boolean;
}

export interface CachePlan {
  readonly writable: readonly MountPath[];
  /** Read-only although in a writable directory. */
  readonly protectedPaths: readonly MountPath[];
  readonly replaced: readonly Replacement[];
}

/** Looks up which caches there are, and makes the directories that stand in for some. */
export function planCaches(sources: CacheSources): CachePlan {
  const { userHome, runtime, standIns, roots, online, executable = "" } = sources;
  const inHome = (names: readonly string[]) =>
    userHome === undefined ? [] : names.map((name) => `${userHome}/${name}`);
  const shared = COMMON.flatMap((directory) => SHARED.map((name) => `${directory}/${name}`));
  const tools = existingMounts(inHome(TOOLS));
  const started = existingMounts([...inHome(STARTED), ...inHome(toolchains(userHome))]);
  const own = existingMounts(runtime === undefined ? inHome(RUNTIME) : [runtime]);
  if (standIns === undefined) {
    // A rule about a path can be made before there is anything.
    const here = Deno.build.os === "darwin"
      ? inHome(shared).map(directoryAt)
      : existingMounts(inHome(shared));
    return { writable: [...tools, ...here], protectedPaths: [...started, ...own], replaced: [] };
  }
  // Who names the directory itself as writable means the real one.
  const chosen = (path: string) =>
    roots.some((root) => contains(root, path) && !contains(root, userHome ?? ""));
  const common = existingMounts(inHome(COMMON)).filter(({ path }) => !chosen(path));
  const npx = started.filter(({ path }) => path.endsWith("/_npx") && !chosen(path));
  const replaced = [
    ...common.map(({ path }) =>
      replacement(path, `${standIns}/jail-cache`, { shown: SHOWN, shared: SHARED })
    ),
    ...npx.map(({ path }) => {
      const shown = contains(path, executable) ? [executable.slice(path.length + 1)] : [];
      return replacement(path, `${standIns}/jail-npx`, { shown });
    }),
    ...own.map(({ path }) =>
      replacement(path, `${standIns}/jail-runtime`, online ? {} : { shown: RUNTIME_PACKAGES })
    ),
  ].flatMap((one) => one ?? []);
  const gone = new Set(replaced.map(({ path }) => path));
  return {
    writable: tools,
    protectedPaths: [...started, ...own].filter(({ path }) => !gone.has(path)),
    replaced,
  };
}

function directoryAt(path: string): MountPath {
  return { path, directory: true };
}

function toolchains(userHome: string | undefined): string[] {
  try {
    return [...Deno.readDirSync(`${userHome}/${TOOLCHAINS}`)]
      .filter(({ name }) => name.startsWith("toolchain@")).map(({ name }) => `${TOOLCHAINS}/${name}`);
  } catch {
    return [];
  }
}

/** Undefined where the directory that should stand in cannot be made: then the real one is read-only. */
function replacement(
  path: string,
  by: string,
  parts: { readonly shown?: readonly string[]; readonly shared?: readonly string[] },
): Replacement | undefined {
  try {
    Deno.mkdirSync(by, { recursive: true, mode: 0o700 });
  } catch {
    return undefined;
  }
  const there = (names: readonly string[] = []) =>
    existingMounts(names.map((name) => `${path}/${name}`)).map((place) => place.path);
  return { path, by, shown: there(parts.shown), shared: there(parts.shared) };
}
