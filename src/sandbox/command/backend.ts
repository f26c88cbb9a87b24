import { contains } from "../../path/contains.ts";

/** A command line ready to be spawned; `env` is the whole environment of the child. */
export interface SpawnPlan {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** `"none"`: no network. `"filtered"`: through the proxy only. */
export type NetworkMode = "none" | "filtered" | "open";

/** Something that exists. */
export interface MountPath {
  readonly path: string;
  readonly directory: boolean;
  /** It is found again under any other path, so that the directories above it may move. */
  readonly loose?: true;
}

/** A directory shown in place of another. */
export interface Replacement {
  readonly path: string;
  readonly by: string;
  /** Parts of the real one that stay to be read. */
  readonly shown: readonly string[];
  /** Parts of the real one that stay writable. */
  readonly shared: readonly string[];
}

/** The way a command is confined, independent of the backend. All paths are absolute and real. */
export interface JailPlan {
  readonly writable: readonly MountPath[];
  /** Shown although in a directory that a backend replaces, and read-only although in a writable one. */
  readonly readable: readonly MountPath[];
  /** Read-only although inside a writable directory. */
  readonly protectedPaths: readonly MountPath[];
  /** Not even readable. */
  readonly hidden: readonly MountPath[];
  /**
   * Files the user does not have, removed after each command: what does not exist cannot be mounted over and
   * so not be protected.
   */
  readonly mustNotAppear: readonly string[];
  /** Stand-ins for directories that this program itself depends on. */
  readonly replaced: readonly Replacement[];
  /** The directory shown as `/tmp`; absent = each command gets an empty one. */
  readonly privateTmp?: string;
  readonly network: NetworkMode;
  /** The way the filtering proxy is reached; needed for "filtered". */
  readonly proxy?: ProxyAddress;
}

/**
 * The place where the filtering proxy listens, and what runs inside the jail to reach its socket (a command
 * line prefix).
 */
export interface ProxyAddress {
  readonly socket?: string;
  readonly port?: number;
  readonly forwarder?: readonly string[];
}

/** The findings of a probe. Plain data: it is kept in a file and handed to workers. */
export interface ProbeResult {
  readonly works: boolean;
  /** The program, and the options it needs here. */
  readonly program?: string;
  readonly options?: readonly string[];
  /** File with the filter of system calls. */
  readonly filter?: string;
  /** Says whether the network can be cut off. */
  readonly network?: boolean;
  /** The reason why it does not work, or what is missing though it does. */
  readonly detail?: string;
}

/** One command to confine. */
export interface JailedCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly plan: JailPlan;
  readonly probe: ProbeResult;
}

/** One way to confine a command. */
export interface Backend {
  /**
   * Returns what decides whether an earlier probe still counts: program, its change time, kernel. Undefined =
   * not installed.
   */
  fingerprint(cacheDir?: string): Promise<string | undefined>;
  /** Contract: starts processes; writes nothing but its own files in `cacheDir`. */
  probe(cacheDir?: string): Promise<ProbeResult>;
  /** Contract: pure. */
  wrap(command: JailedCommand): SpawnPlan;
}

/**
 * The writable directories above what is protected or hidden, up to the root they belong to: whoever renames
 * one of them takes along what is in it, and its path is free or leads to something else. Backends keep them
 * where they are.
 */
export function ancestors({ writable, protectedPaths, hidden }: JailPlan): string[] {
  const roots = writable.map((place) => place.path);
  const found = new Set<string>();
  for (const { path } of [...protectedPaths, ...hidden].filter((place) => !place.loose)) {
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
