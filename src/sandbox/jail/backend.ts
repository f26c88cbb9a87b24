import type { WorkspaceOptions } from "../files/workspace.ts";
import type { NestedRepositories } from "../mounts/git.ts";
import { isFile } from "../../path/probe.ts";
import { contains } from "../../path/lexical.ts";

/** A command line ready to be spawned; `env` is the whole environment of the child. */
export interface SpawnPlan {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** `"none"`: no network. `"filtered"`: through the proxy only. */
export type NetworkMode = "none" | "filtered" | "open";

export interface MountPath {
  readonly path: string;
  readonly directory: boolean;
  /** It is found again under any other path, so that the directories above it may move. */
  readonly loose?: true;
}

/** The directories and the network a jail is made of. Absolute paths; variables are already expanded. */
export interface JailScope
  extends Pick<WorkspaceOptions, "roots" | "forbidRead" | "denyRead" | "home" | "userHome" | "privateTmp"> {
  /** "read": nothing in the roots may change, which else are writable. */
  readonly rootAccess?: "read";
  /** Further directories that are shown read-only where they exist, although their parents may not be. */
  readonly shown?: readonly string[];
  /** Globs of permission rules that refuse to edit; what matches them and is there is read-only. */
  readonly denyWrite?: readonly string[];
  /** Those of the session, which its jails share. */
  readonly repositories?: NestedRepositories;
  readonly network: NetworkMode;
  readonly proxy?: ProxyAddress;
}

export interface HostEnvironment {
  /** The cache of the runtime, where the environment names it. */
  readonly runtime?: string;
  /** The directory of the replacements that commands get instead of the user's directories. */
  readonly standIns?: string;
  readonly searchPath?: readonly string[];
  readonly executable?: string;
  /** Commands have the programs of an image, so they need none of the machine. */
  readonly container?: true;
  readonly sockets?: readonly string[];
}

/** A directory shown instead of another. */
export interface Replacement {
  readonly path: string;
  readonly by: string;
  /** Parts of the real one that stay to be read. */
  readonly shown: readonly string[];
  /** Parts of the real one that stay writable. */
  readonly shared: readonly string[];
}

/** A directory in which programs of the user make sockets at any time. All paths are absolute. */
export interface AgentDirectory {
  readonly path: string;
  /** Files and directories in it. */
  readonly shown: readonly string[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
  readonly sockets: readonly string[];
}

/** The way a command is confined, independent of the backend. All paths are absolute and real. */
export interface JailPlan {
  readonly writable: readonly MountPath[];
  /** Shown although in a directory that a backend replaces, and read-only although in a writable one. */
  readonly readable: readonly MountPath[];
  /** Read-only although inside a writable directory. */
  readonly protectedPaths: readonly MountPath[];
  readonly hidden: readonly MountPath[];
  readonly agents: readonly AgentDirectory[];
  /** Files removed after each command: what does not exist cannot be mounted over and so not be protected. */
  readonly mustNotAppear: readonly string[];
  /** Stand-ins for directories that this program itself depends on. */
  readonly replaced: readonly Replacement[];
  /** The directory shown as `/tmp`; absent = each command gets an empty one. */
  readonly privateTmp?: string;
  readonly network: NetworkMode;
  /** The way the filtering proxy is reached; needed for "filtered". */
  readonly proxy?: ProxyAddress;
  readonly userHome?: string;
  /** The project whose kept container a command may use; absent where it has to run in a new one. */
  readonly project?: string;
}

/** Address of the filtering proxy, and the command line prefix that connects a jail to its socket. */
export interface ProxyAddress {
  readonly socket?: string;
  readonly port?: number;
  readonly forwarder?: readonly string[];
}

/** Plain data: it is kept in a file and sent to workers. */
export interface ProbeResult {
  readonly works: boolean;
  /** The program, and the options it needs here. */
  readonly program?: string;
  readonly options?: readonly string[];
  readonly filter?: string;
  /** The network can be cut off. */
  readonly network?: boolean;
  /** Commands can reach the filtering proxy; absent: wherever the network can be cut off. */
  readonly proxy?: boolean;
  /** An empty directory, mounted over what is hidden. */
  readonly empty?: string;
  /** The reason why it does not work, or what is missing though it does. */
  readonly detail?: string;
}

/** The container that commands run in instead of the system's own jail. */
export interface ContainerSettings {
  readonly program: ContainerProgram;
  readonly image: string;
  /** One container per project that stays, instead of a new one for each command. */
  readonly kept: boolean;
}

type ContainerProgram = "podman" | "docker";

export interface JailedCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly plan: JailPlan;
  readonly probe: ProbeResult;
}

export interface Backend {
  /**
   * Identifies the program, its change time and the kernel, to decide whether an earlier probe still counts.
   * Undefined = not installed.
   */
  fingerprint(cacheDir?: string): Promise<string | undefined>;
  /** Contract: starts processes; writes nothing but its own files in `cacheDir`. */
  probe(cacheDir?: string): Promise<ProbeResult>;
  /** Contract: pure. */
  wrap(command: JailedCommand): SpawnPlan;
}

/**
 * The writable directories above protected or hidden paths, up to their root. Backends keep them in place:
 * renaming one would free the paths in it.
 */
export function ancestors({ writable, protectedPaths, hidden }: JailPlan): string[] {
  const roots = writable.map((mount) => mount.path);
  const found = new Set<string>();
  for (const { path } of [...protectedPaths, ...hidden].filter((mount) => !mount.loose)) {
    let directory = parentOf(path);
    while (!found.has(directory) && roots.some((root) => directory !== root && contains(root, directory))) {
      found.add(directory);
      directory = parentOf(directory);
    }
  }
  return [...found];
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** Variables that lead to sockets the jail does not show. */
export const DANGLING = [
  "SSH_AUTH_SOCK",
  "DBUS_SESSION_BUS_ADDRESS",
  "XDG_RUNTIME_DIR",
  "WAYLAND_DISPLAY",
  "DISPLAY",
  "XAUTHORITY",
];

/** Capabilities that root keeps, to use files of other owners in the writable directories. */
export const ROOT_CAPABILITIES = ["DAC_OVERRIDE", "CHOWN", "FOWNER", "SETUID", "SETGID"] as const;

export const isWhole = ({ path }: { readonly path: string }) => path === "/";

export interface BindMount {
  readonly path: string;
  readonly from: string;
  readonly writable: boolean;
}

/** The mounts of a plan, outer before inner. What is hidden comes after all of them. */
export function bindMounts(plan: JailPlan): BindMount[] {
  const writable = plan.writable.filter((mount) => !isWhole(mount));
  const covers = (path: string) => plan.writable.some((mount) => contains(mount.path, path));
  const fixed = plan.protectedPaths.map((mount) => mount.path).filter(covers);
  const readable = plan.readable.map((mount) => mount.path);
  const kept = ancestors(plan).filter((path) => isWritable(path, writable, [...fixed, ...readable]));
  const binds = [
    ...writable.map(({ path }) => bind(path, true)),
    ...plan.replaced.flatMap(({ path, by, shown, shared }) => [
      bind(path, true, by),
      ...shared.map((part) => bind(part, true)),
      ...shown.map((part) => bind(part, false)),
    ]),
    ...[...readable, ...fixed].map((path) => bind(path, false)),
    ...kept.map((path) => bind(path, true)),
  ];
  const unique = new Map(binds.map((one) => [`${one.writable}\0${one.from}\0${one.path}`, one]));
  return [...unique.values()].sort((a, b) => a.path.length - b.path.length);
}

/** The innermost mount decides; of two at the same path, the read-only one. */
function isWritable(path: string, writable: readonly MountPath[], fixed: readonly string[]): boolean {
  const depth = (mounts: readonly string[]) =>
    Math.max(-1, ...mounts.filter((mount) => contains(mount, path)).map((mount) => mount.length));
  return depth(writable.map((mount) => mount.path)) > depth(fixed);
}

function bind(path: string, writable: boolean, from = path): BindMount {
  return { path, from, writable };
}

/** Shell text that removes the files of `$files`. It runs outside of a jail, after the command. */
export const CLEANER = `PATH=/usr/bin:/bin:/run/current-system/sw/bin
set -f; IFS='
'
for file in $files; do
  if [ -e "$file" ] || [ -L "$file" ]; then
    rm -rf -- "$file" && echo "reasonix: removed $file, which would have made git run other programs" >&2
  fi
done`;

/** The kernel takes no argument of more than 128 KiB, and a character here may be three bytes there. */
const MAX_LIST = 40_000;

export function joinPaths(paths: readonly string[]): string {
  const text = paths.filter((path) => !path.includes("\n")).join("\n");
  return text.length <= MAX_LIST ? text : text.slice(0, text.lastIndexOf("\n", MAX_LIST));
}

/** Paths of the program of each jail. Not from PATH: a repository may have put a directory there. */
export const JAIL_PROGRAMS = {
  bubblewrap: ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"],
  seatbelt: ["/usr/bin/sandbox-exec"],
  podman: containerProgram("podman"),
  docker: containerProgram("docker"),
} as const;

function containerProgram(name: string): string[] {
  return ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"]
    .map((directory) => `${directory}/${name}`);
}

/** The program of a jail, or undefined where it is not installed. Cheaper than loading the jail to ask it. */
export function findJailProgram(name: keyof typeof JAIL_PROGRAMS): string | undefined {
  const paths: readonly string[] = JAIL_PROGRAMS[name];
  return paths.find(isFile);
}
