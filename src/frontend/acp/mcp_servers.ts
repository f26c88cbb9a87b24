import { parsePlugin, type PluginEntry } from "../../config/mod.ts";
import { message } from "../../core/mod.ts";
import { isRecord } from "../../util/json.ts";
import { textField, unusable } from "./content.ts";

/**
 * Reads the MCP servers that a client has for a session. Throws a ReasonixError (usage) that names the index
 * of an entry and what is missing. Values are not repeated: they may be secrets.
 */
export function pluginEntries(mcpServers: unknown): PluginEntry[] {
  if (mcpServers === undefined || mcpServers === null) return [];
  if (!Array.isArray(mcpServers)) throw unusable("mcpServers", message`it is not a list`);
  const names = new Map<string, number>();
  return mcpServers.map((server: unknown, index) => {
    const entry = readServer(server, `mcpServers[${index}]`);
    const same = names.get(entry.name);
    if (same !== undefined) {
      throw unusable(
        `mcpServers[${index}]`,
        message`mcpServers[${same}] has the name "${entry.name}" as well`,
      );
    }
    names.set(entry.name, index);
    return entry;
  });
}

function readServer(server: unknown, index: string): PluginEntry {
  if (!isRecord(server)) throw unusable(index, message`it is not an object`);
  const { type = "stdio" } = server;
  const name = textIn(server, "name", index);
  const at = `${index} (${JSON.stringify(name)})`;
  switch (type) {
    case "stdio":
    case null:
      return parsePlugin({
        name,
        type: "stdio",
        command: textIn(server, "command", at),
        args: listIn(server, "args", at).map((value, n) => {
          if (typeof value === "string") return value;
          throw unusable(at, message`args[${n}] is not a text`);
        }),
        env: pairsIn(server, "env", at),
      });
    case "http":
      return parsePlugin({ name, type, url: addressIn(server, at), headers: pairsIn(server, "headers", at) });
    case "sse":
      throw unusable(
        at,
        message`the transport "sse" is an older one that is not supported`,
        message`set type = "http" for it: most servers speak streamable HTTP at the same or a similar address`,
      );
    default:
      throw unusable(at, message`its type is unknown`, message`use one of ${["stdio", "http"]}`);
  }
}

function textIn(from: Record<string, unknown>, field: string, at: string): string {
  const value = textField(from, field, at);
  if (value.trim() !== "") return value;
  throw unusable(at, message`its ${field} is empty`);
}

function addressIn(server: Record<string, unknown>, at: string): string {
  const url = textIn(server, "url", at);
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return url;
  throw unusable(at, message`its url is not an http or https address`);
}

function listIn(from: Record<string, unknown>, field: string, at: string): readonly unknown[] {
  const value = from[field];
  if (value === null) return [];
  if (Array.isArray(value)) return value;
  throw unusable(at, value === undefined ? message`it has no ${field}` : message`its ${field} is not a list`);
}

/** A list of `{ name, value }`. */
function pairsIn(from: Record<string, unknown>, field: string, at: string): Record<string, string> {
  return Object.fromEntries(
    listIn(from, field, at).map((pair, index) => {
      const { name, value } = isRecord(pair) ? pair : {};
      if (typeof name === "string" && name !== "" && typeof value === "string") return [name, value];
      throw unusable(at, message`${field}[${index}] is not a { name, value } of texts`);
    }),
  );
}
