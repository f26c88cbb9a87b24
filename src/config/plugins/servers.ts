import type { LoadedConfig } from "../load/load.ts";
import { formatKey } from "../problem.ts";
import { commandLine, hideSecrets } from "../query/hide_secrets.ts";
import { sourceOf } from "../query/settings.ts";
import type { PluginEntry } from "../schema/config_types.ts";
import type { SourceLocation } from "../../core/mod.ts";

/** An MCP server that the files describe, whether or not it counts. */
export interface ServerRow {
  readonly name: string;
  readonly state: "on" | "off" | "untrusted" | "left out";
  /** Why it does not count, and what to do. */
  readonly why?: string;
  readonly remedy?: string;
  readonly type?: PluginEntry["type"];
  /** Its command line or address, fit to be shown. */
  readonly target?: string;
  readonly place?: SourceLocation;
  /** Whose file describes it. */
  readonly source?: "environment" | "user" | "project" | "preset" | "flag" | "default";
}

/**
 * Tests whether a file describes the server of a name that counts: another file may have one of the same name
 * that counts in its place.
 */
export function describesServer(loaded: LoadedConfig, file: string, server: string): boolean {
  return listServers(loaded).some(({ name, place }) => name === server && place?.file === file);
}

/** Lists the servers in the order in which they count, then those that do not. */
export function listServers(loaded: LoadedConfig): ServerRow[] {
  const counting = loaded.config.plugins.map((entry): ServerRow => {
    const { source, ...place } = sourceOf(loaded, formatKey(["plugins", entry.name]));
    const { file } = place;
    return {
      name: entry.name,
      state: entry.enabled ? "on" : "off",
      type: entry.type,
      target: targetOf(entry),
      source,
      ...(file === undefined ? {} : { place: { ...place, file } }),
    };
  });
  const untrusted = loaded.needsTrust.filter(({ kind }) => kind === "plugin").map((item): ServerRow => ({
    name: item.name,
    state: "untrusted",
    why: item.reason ?? "",
    remedy: "look at it with `reasonix trust`",
    source: "project",
    place: item.place,
  }));
  const leftOut = loaded.leftOut.map(({ name, message, remedy, place }): ServerRow => ({
    name,
    state: "left out",
    why: message,
    remedy,
    place,
  }));
  return [...counting, ...untrusted, ...leftOut];
}

/** The command line or the address of a server, fit to be shown. */
function targetOf({ type, url, command, args }: PluginEntry): string {
  if (type !== "stdio") return String(hideSecrets(url));
  return commandLine(command, args);
}
