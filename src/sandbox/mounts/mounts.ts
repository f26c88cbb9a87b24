import { contains } from "../../path/lexical.ts";
import { isSystemDirectory } from "../../path/protected.ts";
import { realPath } from "../../path/real_path.ts";
import type { AgentDirectory, HostEnvironment, JailScope, MountPath, Replacement } from "../jail/backend.ts";
import { runProgram } from "../../util/process.ts";
import { attempt } from "../../util/lazy.ts";
import { isDirectory } from "../../path/probe.ts";

/** The existing ones, as real paths: nothing can be mounted on a path that does not exist. */
export function existingMounts(paths: Iterable<string>): MountPath[] {
  const found = new Map<string, MountPath>();
  for (const path of paths) {
    try {
      // Most candidates are absent, and finding that out is cheapest this way.
      Deno.lstatSync(path);
      const real = realPath(path);
      found.set(real, { path: real, directory: Deno.statSync(real).isDirectory });
    } catch {
      // Not there, or a dangling link: nothing to show, hide or protect.
    }
  }
  return [...found.values()];
}

/** Commands get their own empty directories instead. */
const TEMPORARY = ["/tmp", "/var/tmp"] as const;

/**
 * Paths that an empty temporary directory would hide: homes, toolchains and the runtime of a container or
 * build machine are often there.
 */
export function neededBelowTemporary(
  { userHome = "" }: Pick<JailScope, "userHome">,
  { container, searchPath = [], executable = "" }: HostEnvironment,
): MountPath[] {
  if (container) return [];
  const absolute = [userHome, ...searchPath, executable].filter((path) => path.startsWith("/"));
  const below = existingMounts(absolute).filter(({ path }) =>
    TEMPORARY.some((directory) => path !== directory && contains(directory, path))
  );
  return below.filter(({ path }) =>
    !below.some((outer) => outer.path !== path && contains(outer.path, path))
  );
}

/**
 * Caches in the user's home. Packages and objects of builds are shared with the user, but not code that runs
 * automatically. Data first, for review.
 */

/** Cache directories of all programs. Shells and editors keep code there, so commands get separate ones. */
const COMMON = [".cache", "Library/Caches"] as const;

/** Shared parts of them. */
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

/** Read-only parts of them: programs and models. */
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

/** The runtime's cache, with the code of the next start of this program, unless DENO_DIR names another. */
const RUNTIME = [".cache/deno", "Library/Caches/deno"] as const;
/** Parts of it that commands may read: what a project without network depends on. */
const RUNTIME_PACKAGES = ["npm", "remote"] as const;

interface CachePlan {
  readonly writable: readonly MountPath[];
  /** Read-only although in a writable directory. */
  readonly protectedPaths: readonly MountPath[];
  readonly replaced: readonly Replacement[];
}

export function planCaches(
  { userHome, roots, network }: JailScope,
  { runtime, standIns, executable = "" }: HostEnvironment,
): CachePlan {
  const online = network === "open";
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
  return attempt(() =>
    [...Deno.readDirSync(`${userHome}/${TOOLCHAINS}`)]
      .filter(({ name }) => name.startsWith("toolchain@")).map(({ name }) => `${TOOLCHAINS}/${name}`)
  ) ?? [];
}

/** Undefined where the replacement cannot be made: then the real one is read-only. */
function replacement(
  path: string,
  by: string,
  parts: { readonly shown?: readonly string[]; readonly shared?: readonly string[] },
): Replacement | undefined {
  attempt(() => Deno.mkdirSync(by, { recursive: true, mode: 0o700 }));
  if (!isDirectory(by)) return undefined;
  const there = (names: readonly string[] = []) =>
    existingMounts(names.map((name) => `${path}/${name}`)).map((mount) => mount.path);
  return { path, by, shown: there(parts.shown), shared: there(parts.shared) };
}

/**
 * Sockets of programs that act for any client: key agents, containers, the desktop, editors. A read-only
 * mount does not prevent a connection, and a network namespace covers only sockets without a path.
 */

/** Directories in the user's home where agents and connections make sockets during a session, among files. */
const AGENT_DIRECTORIES = [".ssh", ".gnupg"] as const;

/** Directories that a jail replaces, so that nothing in them is seen. */
const REPLACED = [...TEMPORARY, "/run", "/dev", "/proc", "/sys"];

/** A program reads it, since the runtime refuses files of /proc. */
export async function boundSockets(): Promise<string[]> {
  if (Deno.build.os !== "linux") return [];
  try {
    const { text } = await runProgram(["/bin/sh", "-c", "cat /proc/net/unix"], {
      env: { PATH: "/usr/bin:/bin:/run/current-system/sw/bin" },
    });
    return socketPaths(text);
  } catch {
    return [];
  }
}

/** The paths in /proc/net/unix; names that begin with @ have none. */
function socketPaths(table: string): string[] {
  return [...table.matchAll(/^[0-9a-f]+: (?:\S+ +){5}\d+ +(\/.*)$/gm)].map((match) => match[1] ?? "");
}

/** Sockets that variables lead to, such as SSH_AUTH_SOCK, DOCKER_HOST and TMUX. */
export function namedSockets(env: Readonly<Record<string, string>>): string[] {
  const found = new Set<string>();
  for (const [name, value] of Object.entries(env)) {
    if (name === "PATH" || value.length > 4096) continue;
    for (const piece of value.split(/[,;:=]/)) {
      const path = piece.replace(/^\/+/, "/");
      if (path.startsWith("/") && isSocket(path)) found.add(path);
    }
  }
  return [...found];
}

export function agentDirectories(userHome: string | undefined): AgentDirectory[] {
  if (userHome === undefined) return [];
  const there = existingMounts(AGENT_DIRECTORIES.map((name) => `${userHome}/${name}`));
  return there.flatMap(({ path }) =>
    attempt(() => {
      const entries = [...Deno.readDirSync(path)];
      const at = ({ name }: Deno.DirEntry) => `${path}/${name}`;
      return {
        path,
        shown: entries.filter((entry) => entry.isFile || entry.isDirectory).map(at),
        links: entries.filter((entry) => entry.isSymlink).map(at)
          .flatMap((link) => attempt(() => ({ path: link, target: Deno.readLinkSync(link) })) ?? []),
        sockets: entries.filter((entry) => !entry.isFile && !entry.isDirectory && !entry.isSymlink).map(at),
      };
    }) ?? []
  );
}

/**
 * The sockets that a jail would show. A socket in a project belongs to it, but not in a root such as the home
 * directory.
 */
export function visibleSockets(
  sockets: readonly string[],
  { roots, userHome }: Pick<JailScope, "roots" | "userHome">,
  shown: readonly string[] = [],
): string[] {
  const projects = roots.filter((root) => !isSystemDirectory(root, userHome));
  const covered = REPLACED.filter((directory) => !roots.some((root) => contains(root, directory)));
  const within = (directories: readonly string[], path: string) =>
    directories.some((directory) => contains(directory, path));
  return sockets.filter((path) => !within(projects, path) && (within(shown, path) || !within(covered, path)));
}

function isSocket(path: string): boolean {
  return attempt(() => Deno.statSync(path).isSocket === true) ?? false;
}
