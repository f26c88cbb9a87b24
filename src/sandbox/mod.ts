/** Confinement: which files tools may touch, and the jail that commands run in. */
import type { FilterProxy, ProxyOptions } from "./network/filter_proxy.ts";
import type { EnvironmentOptions } from "./jail/environment.ts";
import type { Jail, JailOptions } from "./jail/jail.ts";

export { createWorkspace, Workspace, type WorkspaceOptions } from "./files/workspace.ts";
export type { EnvironmentOptions } from "./jail/environment.ts";
export type { ContainerSettings } from "./jail/backend.ts";
export type { CommandOutcome, JailDenial } from "./jail/jail.ts";
export type { MadeFiles } from "./files/denied_files.ts";
export { processFlags, type ProcessScope } from "./files/workspace.ts";
export type { FilterProxy, ProxyOptions } from "./network/filter_proxy.ts";
export type { Jail, JailOptions } from "./jail/jail.ts";
export {
  alwaysOnProtections,
  type Confinement,
  describeConfinement,
  noConfinement,
} from "./jail/confinement.ts";
export { containerMark, type ExpectedSandbox, expectedSandbox } from "./jail/expected_sandbox.ts";

/**
 * Chooses and prepares the strongest jail that works here, or none as `mode` says. Costs a file read and at
 * most one process; meant for the time in which the model is thinking. Throws a `ReasonixError` with exit
 * "blocked" when `mode` is "enforce" and no jail works.
 */
export async function createJail(options: JailOptions): Promise<Jail> {
  return await (await import("./jail/jail.ts")).openJail(options);
}

/** The environment of a program that the user configured and that runs without a jail. */
export async function serverEnvironment(secrets: EnvironmentOptions): Promise<Record<string, string>> {
  const { childEnvironment } = await import("./jail/environment.ts");
  return childEnvironment(secrets);
}

/**
 * Starts the proxy of `[sandbox] network_hosts`; its `address` belongs to the jail's options, with network
 * "filtered". It needs network permission. Throws a `ReasonixError` with exit "config" for an entry that is
 * not a host.
 */
export async function startFilterProxy(options: ProxyOptions): Promise<FilterProxy> {
  const { FilterProxy } = await import("./network/filter_proxy.ts");
  return new FilterProxy(options);
}

/** The hosts that entries of `network_hosts` do not let commands reach. */
export async function unreachableHosts(
  hosts: readonly string[],
  entries: readonly string[],
): Promise<string[]> {
  const { HostList } = await import("./network/hosts.ts");
  const list = new HostList(entries);
  return hosts.filter((each) => {
    const [host = "", port = "443"] = each.split(":");
    return list.judge({ host, port: Number(port) }) === "refused";
  });
}

/** Body of the subcommand by which a compiled program reaches the proxy from inside a jail. */
export async function runForwarder(args: readonly string[]): Promise<void> {
  await (await import("./network/forwarder.ts")).forward(args);
}
