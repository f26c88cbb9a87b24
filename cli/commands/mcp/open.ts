import { loadServerWork, loadTrustedConfig, type RunPaths } from "../../../src/assembly/mod.ts";
import { listServers, type LoadedConfig, type ServerRow } from "../../../src/config/mod.ts";
import { type ExitName, formatLocation, ReasonixError } from "../../../src/core/mod.ts";
import type { McpServers } from "../../../src/mcp/mod.ts";
import { suggestNames } from "../../../src/util/suggest.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";

/** Servers for a command that uses them itself: nothing has started yet. */
export interface OpenServers {
  readonly servers: McpServers;
  readonly rows: readonly ServerRow[];
  readonly loaded: LoadedConfig;
  readonly paths: RunPaths;
}

export interface OpenOptions {
  /** The only server that matters; absent: all that are switched on. */
  readonly name?: string | undefined;
  /** Receives the time that the end of the servers took. */
  readonly onClosed?: (ms: number) => void;
}

/**
 * Does something with the servers that count here, and ends what was started. What a project brings and
 * nobody trusts is not there.
 */
export async function openNamed<T>(
  context: CliContext,
  { name, ...options }: OpenOptions,
  work: (open: OpenServers) => Promise<T>,
): Promise<T> {
  const paths = runPaths(context);
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const rows = listServers(loaded);
  if (name !== undefined) requireServer(rows, name);
  const all = loaded.config.plugins;
  // A server that is named is tried although it is switched off.
  const plugins = name === undefined
    ? all.filter(({ enabled }) => enabled)
    : all.filter((entry) => entry.name === name).map((entry) => ({ ...entry, enabled: true }));
  const { withServers } = await loadServerWork();
  return await withServers(
    { paths, loaded, plugins, ...options },
    (servers) => work({ servers, rows, loaded, paths }),
  );
}

/** Throws a ReasonixError where no server of that name can be used, and says why. */
export function requireServer(rows: readonly ServerRow[], name: string): void {
  const own = rows.filter((row) => row.name === name);
  if (own.some(({ state, target }) => state === "on" || (state === "off" && target !== ""))) return;
  const [row] = own;
  const cannot = `Cannot use the MCP server "${name}"`;
  if (!row) {
    const near = suggestNames(name, rows.map((other) => other.name));
    throw new ReasonixError(`${cannot}: no file describes one of that name`, {
      exit: "usage",
      remedy: near.length > 0 ? `did you mean ${near.join(" or ")}?` : "`reasonix mcp list` shows them",
    });
  }
  const place = row.place === undefined ? "" : ` (${formatLocation(row.place)})`;
  if (row.state === "off") {
    throw new ReasonixError(`${cannot}: this project switches it off${place}`, {
      exit: "usage",
      remedy: "use it in another directory, or take the entry out of the project's file",
    });
  }
  const exit: ExitName = row.state === "untrusted" ? "blocked" : "config";
  const reason = row.state === "untrusted"
    ? "the project brings it, and you have not trusted it"
    : row.why ?? "";
  throw new ReasonixError(`${cannot}: ${reason}${place}`, {
    exit,
    ...(row.remedy === undefined ? {} : { remedy: row.remedy }),
  });
}
