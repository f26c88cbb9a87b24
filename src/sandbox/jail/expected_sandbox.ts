import { errorMessage, message, ReasonixError } from "../../core/mod.ts";
import { exists } from "../../path/probe.ts";
import { defined } from "../../util/json.ts";
import { systemText } from "../../util/process.ts";
import type { Backend, ContainerSettings, NetworkMode, ProbeResult } from "./backend.ts";
import { type BackendName, BACKENDS, candidates } from "./backends.ts";
import { findJailProgram } from "./backend.ts";
import { attempt } from "../../util/lazy.ts";

export interface RejectedBackend {
  readonly backend: BackendName;
  readonly reason: string;
}

export interface ExpectedSandboxOptions {
  /**
   * `[sandbox] bash`: "enforce" refuses to run without a jail, "auto" takes the strongest that works, "off"
   * none.
   */
  readonly mode: "enforce" | "auto" | "off";
  readonly network: NetworkMode;
  /** The container that commands run in instead of the system's jail. Without it, nothing runs. */
  readonly container?: ContainerSettings;
  /** Directory that keeps probe results between runs; absent = probed each time. */
  readonly cacheDir?: string;
  /** The mark of the container that confines commands where no jail works. */
  readonly inContainer?: string | undefined;
}

/** The jail as known before the first request; `reason` says why there is none. */
export type ExpectedSandbox =
  | { readonly confined: true }
  | { readonly confined: false; readonly reason: string; readonly container?: string };

/**
 * Predicts whether there will be a jail, by two looks at files where an earlier run probed the same machine.
 * Contract: "yes" is a promise that `expected` of the jail's options keeps; a remembered "no" is only a
 * notice, since the jail probes again. Throws a `ReasonixError` with exit "blocked" when `mode` is "enforce"
 * and no jail works.
 */
export async function expectedSandbox(
  options: ExpectedSandboxOptions,
): Promise<ExpectedSandbox> {
  const { mode, cacheDir, container } = options;
  if (mode === "off") return { confined: false, reason: '[sandbox] bash = "off"' };
  const rejected: RejectedBackend[] = [];
  for (const backend of candidates(container)) {
    const remembered = rememberedProbe(probeKey(backend, container), cacheDir);
    if (!remembered && findJailProgram(backend) === undefined) {
      rejected.push({ backend, reason: NOT_INSTALLED });
      continue;
    }
    const known = remembered?.works || (mode === "auto" && !container) ? remembered : undefined;
    const probe = known ??
      await probeCached(probeKey(backend, container), await BACKENDS[backend](container), cacheDir);
    const reason = shortfall(probe, options);
    if (reason === undefined) return { confined: true };
    rejected.push({ backend, reason });
  }
  const reason = whyNone(rejected);
  if (mode === "enforce" || container) throw sandboxUnavailable(reason, container);
  return { confined: false, reason, ...defined({ container: options.inContainer }) };
}

const MARKS = ["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io/serviceaccount"];
/** Toolbox and distrobox show the whole machine here. */
const HOST = "/run/host/etc";

/**
 * Returns the mark by which an engine shows that this process is in a container; undefined on an ordinary
 * machine, and where the container shows the files of the machine. Only root can make the marks; a variable
 * counts only where the root directory is that of an image.
 */
export function containerMark(
  env: (name: string) => string | undefined,
  { exists, mounts }: { exists(path: string): boolean; mounts(): string } = SYSTEM,
): string | undefined {
  if (exists(HOST)) return undefined;
  const mark = MARKS.find(exists);
  if (mark !== undefined || env(KUBERNETES) === undefined) return mark;
  return /^\S+ \S+ \S+ \S+ \/ .* - (?:fuse\.fuse-)?overlay(?:fs)? /m.test(mounts()) ? KUBERNETES : undefined;
}

const KUBERNETES = "KUBERNETES_SERVICE_HOST";
const SYSTEM = { exists, mounts: () => systemText(["/proc/self/mountinfo"]) };

/** The reason why a probe does not meet the settings. */
export function shortfall(
  probe: ProbeResult,
  options: Pick<ExpectedSandboxOptions, "mode" | "network">,
): string | undefined {
  if (!probe.works) return probe.detail ?? "does not work here";
  if (options.mode === "enforce" && options.network !== "open" && !probe.network) {
    return `cannot cut off the network (${probe.detail ?? "not possible here"})`;
  }
  if (options.network === "filtered" && probe.proxy === false) {
    return "programs in the image cannot reach [sandbox] network_hosts; use an image with glibc, such as debian";
  }
  return undefined;
}

export function whyNone(rejected: readonly RejectedBackend[]): string {
  return rejected.map(({ backend, reason }) => `${backend}: ${reason}`).join("; ") ||
    `there is none for ${Deno.build.os}`;
}

/** The name under which the result of a probe is kept: each image has its own. */
export function probeKey(backend: BackendName, container: ContainerSettings | undefined): string {
  return container === undefined ? backend : `${backend}-${container.image.replace(/[^\w.]+/g, "-")}`;
}

export function sandboxUnavailable(why: string, container?: ContainerSettings): ReasonixError {
  if (container !== undefined) {
    return new ReasonixError(
      message`Cannot run commands in a container as [sandbox] backend = "${container.program}" asks: ${why}`,
      { exit: "blocked", remedy: message`or set [sandbox] backend = "auto" to use the jail of the system` },
    );
  }
  return new ReasonixError(message`Cannot confine commands as [sandbox] bash = "enforce" asks: ${why}`, {
    exit: "blocked",
    remedy:
      message`install bubblewrap (Linux), or set [sandbox] bash = "auto" to run commands unconfined where no jail works`,
  });
}

export function sandboxLost(why: string): ReasonixError {
  return new ReasonixError(message`Cannot confine commands any more: ${why}`, {
    exit: "blocked",
    remedy: message`start again; no command runs without the jail that this run began with`,
  });
}

const NOT_INSTALLED = "it is not installed";

interface Stamp {
  /** Of the backend. */
  readonly fingerprint: string;
  /** Comparable without the backend. */
  readonly system: string;
  readonly result: ProbeResult;
}

/**
 * The result of the probe, from a stamp file when nothing relevant has changed. A remembered failure serves
 * {@linkcode rememberedProbe} alone: after a repair no cache is in the way.
 */
export async function probeCached(
  name: string,
  backend: Backend,
  cacheDir: string | undefined,
): Promise<ProbeResult> {
  try {
    const fingerprint = await backend.fingerprint(cacheDir);
    if (fingerprint === undefined) return { works: false, detail: NOT_INSTALLED };
    const known = readStamp(name, cacheDir);
    if (known?.fingerprint === fingerprint && known.result.works) return known.result;
    const result = await backend.probe(cacheDir);
    // The probe may have made what belongs to the fingerprint.
    const made = await backend.fingerprint(cacheDir) ?? fingerprint;
    const system = systemKey(result.program);
    if (system !== undefined) await writeStamp(name, cacheDir, { fingerprint: made, system, result });
    return result;
  } catch (error) {
    return { works: false, detail: errorMessage(error) };
  }
}

/** The result of an earlier run with the same program, kernel and user. */
export function rememberedProbe(name: string, cacheDir: string | undefined): ProbeResult | undefined {
  const stamp = readStamp(name, cacheDir);
  return stamp && stamp.system === systemKey(stamp.result.program) ? stamp.result : undefined;
}

/** Forgets an earlier result, for when a jail that should work did not. */
export async function forgetProbe(name: string, cacheDir: string): Promise<void> {
  await Deno.remove(stampFile(name, cacheDir)).catch(() => {});
}

function systemKey(program: string | undefined): string | undefined {
  if (program === undefined) return undefined;
  return attempt(() =>
    [program, Deno.statSync(program).mtime?.getTime(), Deno.osRelease(), Deno.uid()].join(" ")
  );
}

function stampFile(name: string, cacheDir: string): string {
  return `${cacheDir}/jail-${name}.json`;
}

function readStamp(name: string, cacheDir: string | undefined): Stamp | undefined {
  if (cacheDir === undefined) return undefined;
  try {
    const stamp = JSON.parse(Deno.readTextFileSync(stampFile(name, cacheDir)));
    const whole = typeof stamp?.fingerprint === "string" && typeof stamp.system === "string" &&
      typeof stamp.result?.works === "boolean";
    return whole ? stamp : undefined;
  } catch {
    return undefined;
  }
}

async function writeStamp(name: string, cacheDir: string | undefined, stamp: Stamp): Promise<void> {
  if (cacheDir === undefined) return;
  const file = stampFile(name, cacheDir);
  const temporary = `${file}.${crypto.randomUUID()}`;
  try {
    await Deno.mkdir(cacheDir, { recursive: true, mode: 0o700 });
    await Deno.writeTextFile(temporary, JSON.stringify(stamp), { mode: 0o600 });
    await Deno.rename(temporary, file);
  } catch {
    // A read-only home costs one probe per run, nothing more.
  }
}
