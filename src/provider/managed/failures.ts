import { errorMessage, type ProviderErrorKind } from "../../core/mod.ts";
import { ProviderFailure } from "../failure.ts";
import type { ServerLease } from "./server_files.ts";
import { lastLines } from "./server_log.ts";
import type { ServerPlan } from "./server_plan.ts";

/** The server ended, while it loaded its model or later. */
export function endedFailure(
  plan: ServerPlan,
  lease: ServerLease,
  code: number | undefined,
): ProviderFailure {
  const how = code === undefined
    ? "was killed"
    : code > 128
    ? `was ended by signal ${code - 128}${code === 137 ? ", as it happens when memory runs out" : ""}`
    : `ended with exit code ${code}`;
  return failed("server", plan, how, lease);
}

export function lateFailure(plan: ServerPlan, lease: ServerLease): ProviderFailure {
  const how = `did not load ${plan.modelName} within startup_timeout_seconds = ${plan.startupMs / 1000}`;
  return failed("timeout", plan, how, lease);
}

export function noPortFailure(plan: ServerPlan): ProviderFailure {
  const [first, last] = plan.ports;
  return failed("connection", plan, `has no port: ${first} to ${last} are all taken; set another port_range`);
}

export function notStartedFailure(plan: ServerPlan, address: string, error: unknown): ProviderFailure {
  return failed("connection", plan, `could not be started for ${address}: ${errorMessage(error)}`);
}

/** In one line: what happened, the end of the log, and where the rest of it is. */
function failed(
  kind: ProviderErrorKind,
  { provider, binary }: ServerPlan,
  how: string,
  lease?: ServerLease,
): ProviderFailure {
  const lines = lease === undefined ? "" : lastLines(lease.log, lease.logStart);
  const log = lease === undefined ? "" : lease.log;
  const message = `Provider "${provider}": ${binary} ${how}${lines === "" ? "" : `: ${lines}`}` +
    `${log === "" ? "" : `; its log is ${log}`}`;
  return new ProviderFailure({ kind, message, said: [["serverFailed", provider, how, lines, log]] }, false);
}
