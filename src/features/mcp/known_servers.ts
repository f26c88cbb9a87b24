import { listServers, type LoadedConfig, type PluginEntry, type ServerRow } from "../../config/mod.ts";
import { message, ReasonixError } from "../../core/mod.ts";
import type { McpQuestions, McpServers, ServerChange, ServerStatus } from "../../mcp/mod.ts";
import { openServices } from "../../tool/mod.ts";
import type { RunPaths } from "../../run/mod.ts";
import { openServers, workspaceRoot } from "./run_servers.ts";

interface ServerWork {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  /** The servers; absent: all of the configuration. */
  readonly plugins?: readonly PluginEntry[];
  readonly onChange?: (change: ServerChange) => void;
  /** Receives the milliseconds that stopping the servers took. */
  readonly onClosed?: (ms: number) => void;
}

/** Does something with MCP servers outside of a run, and ends what was started for it. */
export async function withServers<T>(
  { paths, loaded, plugins = loaded.config.plugins, onChange = () => {}, onClosed = () => {} }: ServerWork,
  work: (servers: McpServers) => Promise<T>,
): Promise<T> {
  await using services = openServices();
  const config = { ...loaded.config, plugins: [...plugins] };
  // Questions are dismissed; that they could be answered keeps the lists as they are in a run.
  const questions: McpQuestions = {
    roots: () => [workspaceRoot(paths.cwd)],
    elicit: () => Promise.resolve({ action: "cancel" }),
    ...(config.tools.mcp_sampling_tokens > 0
      ? { sample: () => Promise.reject(new ReasonixError(message`No user is available to allow it`)) }
      : {}),
  };
  const deps = { paths, loaded: { ...loaded, config }, guard: services.shell?.guard };
  const servers = await openServers(deps, questions, onChange);
  try {
    return await work(servers);
  } finally {
    const begun = performance.now();
    await servers.close();
    onClosed(performance.now() - begun);
  }
}

/** A server of the files, with its status where it is used. */
export interface KnownServer extends ServerRow {
  readonly status?: ServerStatus;
}

/** Lists all servers that the files describe with their records; `start` starts them all at once. */
export async function knownServers(
  paths: RunPaths,
  loaded: LoadedConfig,
  { start = false }: { readonly start?: boolean } = {},
): Promise<KnownServer[]> {
  const rows = listServers(loaded);
  if (loaded.config.plugins.length === 0) return rows;
  const statuses = await withServers({ paths, loaded }, async (servers) => {
    if (start) await servers.start();
    return new Map(servers.status.map((status) => [status.name, status]));
  });
  return rows.map((row) => {
    const status = row.state === "on" ? statuses.get(row.name) : undefined;
    return status ? { ...row, status } : row;
  });
}
