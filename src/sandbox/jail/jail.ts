import { lstatSync, statSync } from "node:fs";
import type { LocalizedMessage } from "../../core/mod.ts";
import { defined } from "../../util/json.ts";
import { attempt } from "../../util/lazy.ts";
import type {
  Backend,
  ContainerSettings,
  HostEnvironment,
  JailScope,
  NetworkMode,
  ProbeResult,
  SpawnPlan,
} from "./backend.ts";
import { type BackendName, BACKENDS, candidates } from "./backends.ts";
import { childEnvironment, type EnvironmentOptions } from "./environment.ts";
import { currentPlan, type FixedPlan, fixPlan, lookingPlan } from "./plan.ts";
import { DeniedFiles, type MadeFiles, MadeFilesWatch } from "../files/denied_files.ts";
import { meansEveryFile } from "../files/workspace.ts";
import { type Confinement, describeConfinement, forbiddenPaths, noConfinement } from "./confinement.ts";
import {
  type ExpectedSandboxOptions,
  forgetProbe,
  probeCached,
  probeKey,
  type RejectedBackend,
  sandboxLost,
  sandboxUnavailable,
  shortfall,
  whyNone,
} from "./expected_sandbox.ts";
import { boundSockets, namedSockets } from "../mounts/mounts.ts";

export interface JailOptions extends JailScope, ExpectedSandboxOptions {
  /** The run began with the promise of a jail: without one, nothing runs. */
  readonly expected?: boolean;
  readonly environment?: EnvironmentOptions;
}

interface JailData {
  readonly backend: BackendName;
  readonly probe: ProbeResult;
  readonly rejected: readonly RejectedBackend[];
  readonly fixed: FixedPlan;
  readonly env: Readonly<Record<string, string>>;
  readonly cacheDir?: string;
  readonly container?: ContainerSettings;
  /** The mark of the container that confines commands, where there is no jail. */
  readonly inContainer?: string;
}

interface WrapOptions {
  readonly cwd: string;
  /** Variables of this command. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/**
 * Wraps command lines for the OS jail. Structurally a `CommandJail`.
 *
 * Contract: `wrap` starts nothing; children get the environment of `childEnvironment` and what `env` adds.
 * Processes that a command leaves behind end with it: the jail is gone when its first process is.
 */
export class Jail {
  readonly data: JailData;
  readonly #backend: Backend;
  readonly #denied: DeniedFiles | undefined;
  readonly #kept: DeniedFiles | undefined;
  #made: MadeFilesWatch | undefined;

  constructor(data: JailData, backend: Backend) {
    this.data = data;
    this.#backend = backend;
    const { denyRead = [], denyWrite = [], roots, userHome } = data.fixed.scope;
    const finder = (globs: readonly string[]) =>
      globs.length === 0 || data.backend === "none" ? undefined : new DeniedFiles({ globs, roots, userHome });
    this.#denied = finder(denyRead);
    this.#kept = finder(denyWrite);
  }

  wrap(argv: readonly string[], { cwd, env: more }: WrapOptions): SpawnPlan {
    const { fixed, probe, backend } = this.data;
    const env = more ? { ...this.data.env, ...more } : this.data.env;
    const plan = backend === "none" ? EMPTY_PLAN : currentPlan(fixed, {
      read: this.#denied?.find() ?? [],
      write: this.#kept?.find() ?? [],
    });
    return this.#backend.wrap({ argv, cwd, env, plan, probe });
  }

  /**
   * The returned function reports the protected files that were made meanwhile; none in a read-only jail, and
   * without one.
   */
  watchMade(): () => MadeFiles {
    const { fixed: { scope }, backend } = this.data;
    if (backend === "none" || scope.rootAccess === "read") return () => ({ protectedPaths: [], denied: [] });
    return (this.#made ??= new MadeFilesWatch(scope)).begin();
  }

  /** The probable reason of a failure in this jail. */
  denialOf(outcome: CommandOutcome): JailDenial | undefined {
    const { backend, fixed: { scope: { network } } } = this.data;
    return looksJailDenied(outcome, { backend, network });
  }

  /**
   * The jail could not be set up, which a new `wrap` may fix: hidden paths may have disappeared. `output` was
   * written before the command began.
   */
  failedToBegin(output: string): boolean {
    return this.confined && looksLikeFailedSetUp(output, this.data.backend);
  }

  async withNetwork(network: Pick<JailScope, "network" | "proxy">): Promise<Jail> {
    const { fixed } = this.data;
    return this.#with({ ...fixed, scope: await withForwarder({ ...fixed.scope, ...network }) });
  }

  #with(fixed: FixedPlan): Jail {
    return new Jail({ ...this.data, fixed }, this.#backend);
  }

  readOnly(): Jail {
    const { fixed } = this.data;
    return this.#with({ ...fixed, scope: { ...fixed.scope, rootAccess: "read" } });
  }

  /**
   * The same jail for a program that only reads the project: it writes to the existing directory `own`, which
   * also replaces caches, and to an empty `/tmp`; it has no network.
   */
  onlyLooking(own: string): Jail {
    return this.#with(lookingPlan(this.data.fixed, own));
  }

  /** The command as it would run without a jail, for the one unconfined run the user agreed to. */
  unconfined(argv: readonly string[], env?: WrapOptions["env"]): SpawnPlan {
    const [command = "", ...args] = argv;
    return { command, args, env: { ...this.data.env, ...env } };
  }

  /** For when setting the jail up failed: the next session looks again at what works. */
  async forgetProbe(): Promise<void> {
    const { backend, cacheDir, container } = this.data;
    if (cacheDir !== undefined) await forgetProbe(probeKey(backend, container), cacheDir);
  }

  /** `project` is the directory that the user knows as that. */
  confinement(project?: string): Confinement {
    const { backend, fixed: { scope }, probe, container, inContainer } = this.data;
    if (backend === "none") {
      return noConfinement(probe.detail ?? "no jail", defined({ container: inContainer }));
    }
    const readOnly = scope.rootAccess === "read";
    const ruled = this.#denied?.find().length ?? 0;
    const forbidden = forbiddenPaths(scope);
    const isOpen = scope.network === "open" || probe.network;
    return {
      backend: container === undefined ? backend : `${backend}: ${container.image}`,
      ...(readOnly ? { readOnly } : {}),
      roots: readOnly ? [] : scope.roots.map((root) => root === project ? "" : root),
      privateTmp: this.privateDirectories.includes("/tmp"),
      network: scope.network,
      ...(isOpen ? {} : { openNetwork: probe.detail ?? "not possible here" }),
      ...(forbidden === 0 ? {} : { forbidden }),
      ...(ruled > 0 ? { ruled } : {}),
      ...(ruled > 0 && this.#denied?.capped ? { capped: true } : {}),
    };
  }

  describe(project?: string): LocalizedMessage {
    return describeConfinement(this.confinement(project));
  }

  /** The directory that commands see as `/tmp`, if it is not the real one. */
  get privateTmp(): string | undefined {
    const { roots, rootAccess, privateTmp } = this.data.fixed.scope;
    const real = rootAccess !== "read" && roots.includes("/tmp");
    return this.#mounts && !real ? privateTmp : undefined;
  }

  /** Parts of the real temporary directories that commands can read. */
  get shownTmp(): string[] {
    const { fixed: { needed } } = this.data;
    return this.#mounts ? needed.map((mount) => mount.path) : [];
  }

  get privateDirectories(): string[] {
    const { fixed: { scope: { roots, rootAccess } }, inContainer } = this.data;
    // What goes with the container is private to it; what is mounted into it may be shared.
    if (inContainer !== undefined) return ["/tmp", "/var/tmp"].filter((path) => isOnDiskOf("/", path));
    const open = rootAccess === "read" ? [] : roots;
    if (!this.#mounts) return [];
    return ["/tmp", "/var/tmp"].filter((path) =>
      ![path, ...(path === "/tmp" ? ["/"] : [])].some((root) => open.includes(root))
    );
  }

  get #mounts(): boolean {
    return this.confined && this.data.backend !== "seatbelt";
  }

  get networkMode(): NetworkMode {
    const { backend, probe, fixed: { scope } } = this.data;
    return backend === "none" || !probe.network ? "open" : scope.network;
  }

  /** Commands can reach single hosts: their forwarder runs in the jail. */
  get filters(): boolean {
    return this.data.probe.proxy ?? true;
  }

  /** Commands can reach other machines, if only some. */
  get network(): boolean {
    return !this.confined || this.data.fixed.scope.network !== "none";
  }

  get confined(): boolean {
    return this.data.backend !== "none";
  }
}

const EMPTY_PLAN = {
  writable: [],
  readable: [],
  protectedPaths: [],
  hidden: [],
  agents: [],
  mustNotAppear: [],
  replaced: [],
  network: "open",
} as const;

export async function openJail(options: JailOptions): Promise<Jail> {
  const rejected: RejectedBackend[] = [];
  const env = childEnvironment(options.environment);
  const sockets = options.mode === "off" ? Promise.resolve([]) : boundSockets();
  const { container } = options;
  for (const name of options.mode === "off" ? [] : candidates(container)) {
    const backend = await BACKENDS[name](container);
    const probe = await probeCached(probeKey(name, container), backend, options.cacheDir);
    const reason = shortfall(probe, options) ?? (container && wholeRoot(options));
    if (reason === undefined) {
      const scope = await withForwarder(withRules(options));
      const fixed = fixPlan(scope, inspectHost(env, options, await sockets));
      const more = {
        ...(options.cacheDir === undefined ? {} : { cacheDir: options.cacheDir }),
        ...(container === undefined ? {} : { container }),
      };
      return new Jail({ backend: name, probe, rejected, fixed, env, ...more }, backend);
    }
    rejected.push({ backend: name, reason });
  }
  const detail = options.mode === "off" ? '[sandbox] bash = "off"' : whyNone(rejected);
  if (options.mode === "enforce" || (container && options.mode !== "off")) {
    throw sandboxUnavailable(detail, container);
  }
  if (options.expected) throw sandboxLost(detail);
  const fixed = {
    scope: options,
    roots: [],
    writable: [],
    hidden: [],
    programs: [],
    replaced: [],
    needed: [],
    redirects: [],
  };
  const { inContainer } = options.mode === "off" ? {} : options;
  return new Jail(
    { backend: "none", probe: { works: true, detail }, rejected, fixed, env, ...defined({ inContainer }) },
    await BACKENDS.none(),
  );
}

function isOnDiskOf(directory: string, path: string): boolean {
  return attempt(() => lstatSync(path).dev === statSync(directory).dev) ?? false;
}

function wholeRoot({ roots }: JailScope): string | undefined {
  return roots.includes("/") ? "a container cannot show / of the machine; name a directory" : undefined;
}

/** A rule that refuses to edit every file leaves nothing writable. */
function withRules(options: JailOptions): JailScope {
  const { container, userHome, shown = [] } = options;
  const scope = container === undefined || userHome === undefined ? options : {
    ...options,
    // A container shows nothing else of the home; commits want the user's name.
    shown: [...container.kept ? [] : shown, `${userHome}/.gitconfig`, `${userHome}/.config/git`],
  };
  return scope.denyWrite?.some(meansEveryFile) ? { ...scope, rootAccess: "read" } : scope;
}

/** A jail with its own network needs a process inside that connects to the proxy. */
async function withForwarder(scope: JailScope): Promise<JailScope> {
  if (scope.network !== "filtered" || scope.proxy?.socket === undefined || scope.proxy.forwarder) {
    return scope;
  }
  const { forwarderCommand } = await import("../network/forwarder.ts");
  return { ...scope, proxy: { ...scope.proxy, forwarder: forwarderCommand() } };
}

function inspectHost(
  env: Record<string, string>,
  options: JailOptions,
  bound: readonly string[],
): HostEnvironment {
  const { cacheDir, environment } = options;
  const named = namedSockets(environment?.env ?? Deno.env.toObject());
  return {
    ...(options.container === undefined ? {} : { container: true }),
    searchPath: (env.PATH ?? "").split(":"),
    executable: Deno.execPath(),
    sockets: [...bound, ...named],
    ...(env.DENO_DIR === undefined ? {} : { runtime: env.DENO_DIR }),
    ...(cacheDir === undefined || Deno.build.os !== "linux" ? {} : { standIns: cacheDir }),
  };
}

export interface CommandOutcome {
  readonly exitCode: number | undefined;
  readonly output: string;
}

export interface JailDenial {
  readonly kind: "file" | "network" | "setup";
  readonly evidence: string;
  readonly host?: string;
}

const MOUNTED = /read-only file system|\bEROFS\b|device or resource busy|\bos error 30\b/i;

const FILE: { readonly [name: string]: RegExp } = {
  bubblewrap: MOUNTED,
  seatbelt: /operation not permitted|\bEPERM\b|\bos error 1\b/i,
  podman: MOUNTED,
  docker: MOUNTED,
};

const NETWORK =
  /could not resolve (?:host|proxy)|unable to resolve host|temporary failure in name resolution|name or service not known|nodename nor servname|network is unreachable|no address associated with hostname|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b|failed to lookup address|getaddrinfo|no such host|cannot assign requested address|blocked by \[sandbox\] network_hosts/i;

const HOST =
  /(?:could not resolve host:?|unable to resolve host address|\b(?:EAI_AGAIN|ENOTFOUND)|\blookup(?: address)?|host=|connection to)[ '"‘]*((?:[\w-]+\.)+[a-z][\w-]*)/i;

const SETUP = /^(?:bwrap|sandbox-exec): /;

/** The exit code of podman and docker where they did not start the command, and how they say why. */
const CONTAINER_FAILED = 125;
const CONTAINER_SETUP = /^(?:Error: |docker: |reasonix: \S+ did not start the container)/m;

/**
 * A jail that reports why it could not be set up. Only for output before the command began: a command can
 * print the same.
 */
function looksLikeFailedSetUp(output: string, backend: BackendName): boolean {
  return (isContainer(backend) ? CONTAINER_SETUP : SETUP).test(output);
}

function isContainer(backend: BackendName): boolean {
  return backend === "podman" || backend === "docker";
}

const TAIL = 16_000;

/**
 * Guesses whether a command failed because of the jail, to offer one unconfined run. A program may print such
 * a line for other reasons. Never used to allow anything automatically.
 */
export function looksJailDenied(
  outcome: CommandOutcome,
  jail: { readonly backend: BackendName; readonly network: "none" | "filtered" | "open" },
): JailDenial | undefined {
  const pattern = FILE[jail.backend];
  if (outcome.exitCode === 0 || outcome.exitCode === undefined || pattern === undefined) return undefined;
  const inContainer = isContainer(jail.backend) && outcome.exitCode === CONTAINER_FAILED;
  const setup = inContainer ? CONTAINER_SETUP : SETUP;
  const lines = outcome.output.slice(-TAIL).split("\n");
  for (const line of lines.reverse()) {
    const evidence = line.trim().slice(0, 300);
    if (setup.test(evidence)) return { kind: "setup", evidence };
    if (pattern.test(evidence)) return { kind: "file", evidence };
    if (jail.network !== "open" && NETWORK.test(evidence)) {
      const host = lines.map((each) => HOST.exec(each)?.[1]).find((each) => each !== undefined);
      return { kind: "network", evidence, ...(host === undefined ? {} : { host: host.toLowerCase() }) };
    }
  }
  return undefined;
}
