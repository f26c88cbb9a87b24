import type { BackendName } from "./backends.ts";

/** The outcome of a command. */
export interface CommandOutcome {
  readonly exitCode: number | undefined;
  readonly output: string;
}

/** The reason why the jail looks like the cause of a failure. */
export interface JailDenial {
  readonly kind: "file" | "network" | "setup";
  /** The line of output that says so. */
  readonly evidence: string;
  /** The host that the line names. */
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
  /could not resolve (?:host|proxy)|temporary failure in name resolution|name or service not known|nodename nor servname|network is unreachable|no address associated with hostname|\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b|failed to lookup address|getaddrinfo|no such host|cannot assign requested address|blocked by \[sandbox\] network_hosts/i;

const HOST =
  /(?:could not resolve host:?|\b(?:EAI_AGAIN|ENOTFOUND)|\blookup(?: address)?|host=)[ '"]*((?:[\w-]+\.)+[a-z][\w-]*)/i;

const SETUP = /^(?:bwrap|sandbox-exec): /;

/** The exit code of podman and docker where they did not start the command, and how they say why. */
const CONTAINER_FAILED = 125;
const CONTAINER_SETUP = /^(?:Error: |docker: |reasonix: \S+ did not start the container)/m;

/**
 * Whether this is a jail that says why it could not be set up. Only of what was written before the command
 * began: a command can print the same.
 */
export function looksLikeFailedSetUp(output: string, backend: BackendName): boolean {
  return (isContainer(backend) ? CONTAINER_SETUP : SETUP).test(output);
}

function isContainer(backend: BackendName): boolean {
  return backend === "podman" || backend === "docker";
}

/** Output is looked at from its end: that is where programs say why they gave up. */
const TAIL = 16_000;

/**
 * Reports whether a failed command probably failed because of the jail, so that one unconfined run can be
 * offered. A guess by nature: exit codes do not carry it, and a program may print such a line for its own
 * reasons. Never used to allow anything by itself.
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
