import { type ProviderEntry, withModelSettings } from "../../config/mod.ts";
import { isSameRunning, running } from "./server_files.ts";
import { serverPlan } from "./server_plan.ts";

/** The server of an entry as its files tell; nothing is started or asked for that. */
export interface ServerState {
  readonly log: string;
  /** Absent when it does not run. */
  readonly running?: {
    /** Of the process that keeps it, whose group it is in. */
    readonly pid: number;
    readonly port: number;
    /** RFC 3339. */
    readonly since: string;
    /** Processes that use it. */
    readonly users: readonly number[];
  };
}

/** Looks for the server of an entry. Rejects with a ReasonixError when its settings keep it from starting. */
export async function serverState(
  entry: ProviderEntry,
  { model, home }: { readonly model: string; readonly home: string },
): Promise<ServerState> {
  const { files, log } = await serverPlan({
    entry: withModelSettings(entry, model),
    model: { id: model },
    values: { home },
  });
  const lease = files.lease();
  if (!lease || !isSameRunning(lease)) return { log };
  const { keeper, port, since, users } = lease;
  const pids = [...new Set(running(users).map(({ pid }) => pid))];
  return { log, running: { pid: keeper.pid, port, since, users: pids } };
}
