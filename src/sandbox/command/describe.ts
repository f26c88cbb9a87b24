import type { ProbeResult } from "./backend.ts";
import type { BackendName } from "./backends.ts";
import type { JailScope } from "./plan.ts";
import { describeUnconfined } from "./unconfined.ts";

const NETWORK = {
  none: "no network",
  filtered: "network only to the hosts of [sandbox] network_hosts",
  open: "network open",
} as const;

/** One line that says what is and what is not confined. */
export function describeJail(backend: BackendName, scope: JailScope, probe: ProbeResult): string {
  if (backend === "none") return describeUnconfined(probe.detail ?? "no jail");
  const hidden = scope.forbidRead?.length ? "; forbid_read is invisible" : "";
  const roots = scope.rootAccess === "read" ? [] : scope.roots;
  const shut = scope.rootAccess === "read" ? "the workspace is read-only, " : "";
  const writes = `${shut}writes only to ${[...roots, "/tmp", "tool caches"].join(", ")}`;
  const network = scope.network !== "open" && !probe.network
    ? `the network is NOT confined (${probe.detail ?? "not possible here"})`
    : NETWORK[scope.network];
  return `Commands run in a jail (${backend}): ${writes}; ${network}${hidden}`;
}
