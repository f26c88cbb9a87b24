import type { LoadedConfig } from "../load/load.ts";
import { formatKey } from "../problem.ts";
import { commandLine, hideSecrets } from "./hide_secrets.ts";
import { type ConfigSource, placeOf, sourceOf } from "./settings.ts";
import type { PluginEntry } from "../schema/config_types.ts";
import type { SourceLocation } from "../../core/mod.ts";
import { defined } from "../../util/json.ts";

export interface ServerRow {
  readonly name: string;
  readonly state: "on" | "off" | "untrusted" | "left out";
  readonly why?: string;
  readonly remedy?: string;
  readonly type?: PluginEntry["type"];
  readonly target?: string;
  readonly place?: SourceLocation;
  readonly source?: ConfigSource["source"];
}

/** Reports whether the active server of a name is described by a file. */
export function describesServer(loaded: LoadedConfig, file: string, server: string): boolean {
  return listServers(loaded).some(({ name, place }) => name === server && place?.file === file);
}

/** Lists the active servers in their order, then the others. */
export function listServers(loaded: LoadedConfig): ServerRow[] {
  const counting = loaded.config.plugins.map((entry): ServerRow => {
    const found = sourceOf(loaded, formatKey(["plugins", entry.name]));
    return {
      name: entry.name,
      state: entry.enabled ? "on" : "off",
      type: entry.type,
      target: targetOf(entry),
      source: found.source,
      ...defined({ place: placeOf(found) }),
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

function targetOf({ type, url, command, args }: PluginEntry): string {
  if (type !== "stdio") return String(hideSecrets(url));
  return commandLine(command, args);
}
