import { ReasonixError } from "../../core/mod.ts";
import type { ContainerSettings, NetworkMode, ProbeResult } from "./backend.ts";
import { type BackendName, BACKENDS, candidates } from "./backends.ts";
import { findJailProgram } from "./programs.ts";
import { NOT_INSTALLED, probeCached, rememberedProbe } from "./probe.ts";

/** A backend that was looked at and does not work here. */
export interface RejectedBackend {
  readonly backend: BackendName;
  readonly reason: string;
}

/** What decides whether there is a jail. */
export interface ExpectedSandboxOptions {
  /**
   * `[sandbox] bash`: "enforce" refuses to run without a jail, "auto" takes the strongest that works, "off"
   * none.
   */
  readonly mode: "enforce" | "auto" | "off";
  readonly network: NetworkMode;
  /** The container that commands run in instead of the system's jail. Without it, nothing runs. */
  readonly container?: ContainerSettings;
  /** Where probe results are kept between runs; absent = probed each time. */
  readonly cacheDir?: string;
}

/** What a run can be told about its jail before the first request; `reason` says why there is none. */
export type ExpectedSandbox =
  | { readonly confined: true }
  | { readonly confined: false; readonly reason: string };

/**
 * Tells whether there will be a jail. Costs two looks at files where an earlier run probed the same machine.
 *
 * Contract: "yes" is a promise that `expected` of the jail's options keeps; a remembered "no" is only the
 * news before the first request, since the jail itself probes again. Throws a `ReasonixError` with exit
 * "blocked" when `mode` is "enforce" and no jail works.
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
  return { confined: false, reason };
}

/** Tells why the settings cannot be met by what the probe found, or undefined. */
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
      `Cannot run commands in a container as [sandbox] backend = "${container.program}" asks: ${why}`,
      { exit: "blocked", remedy: 'or set [sandbox] backend = "auto" to use the jail of the system' },
    );
  }
  return new ReasonixError(`Cannot confine commands as [sandbox] bash = "enforce" asks: ${why}`, {
    exit: "blocked",
    remedy:
      'install bubblewrap (Linux), or set [sandbox] bash = "auto" to run commands unconfined where no jail works',
  });
}

/** A run that was told of a jail runs nothing without it. */
export function sandboxLost(why: string): ReasonixError {
  return new ReasonixError(`Cannot confine commands any more: ${why}`, {
    exit: "blocked",
    remedy: "start again; no command runs without the jail that this run began with",
  });
}
