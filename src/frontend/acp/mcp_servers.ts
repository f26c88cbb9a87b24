import { parsePlugin, type PluginEntry } from "../../config/mod.ts";
import { message } from "../../core/mod.ts";
import { recordOf } from "../../util/json.ts";
import { Fields, unusable } from "./content.ts";

/**
 * Reads the MCP servers that a client has for a session. Throws a ReasonixError (usage) that names the index
 * of an entry and what is missing. Values are not repeated: they may be secrets.
 */
export function pluginEntries(mcpServers: unknown): PluginEntry[] {
  if (mcpServers === undefined || mcpServers === null) return [];
  if (!Array.isArray(mcpServers)) throw unusable("mcpServers", message`it is not a list`);
  const names = new Map<string, number>();
  return mcpServers.map((server: unknown, index) => {
    const at = `mcpServers[${index}]`;
    const entry = readServer(new Fields(server, at), at);
    const same = names.get(entry.name);
    names.set(entry.name, index);
    if (same === undefined) return entry;
    throw unusable(at, message`mcpServers[${same}] has the name "${entry.name}" as well`);
  });
}

function readServer(server: Fields, index: string): PluginEntry {
  const name = filled(server, "name");
  const fields = new Fields(server.values, `${index} (${JSON.stringify(name)})`);
  const { type = "stdio" } = server.values;
  switch (type) {
    case "stdio":
    case null:
      return parsePlugin({
        name,
        type: "stdio",
        command: filled(fields, "command"),
        args: fields.texts("args"),
        env: pairs(fields, "env"),
      });
    case "http": {
      const url = filled(fields, "url");
      if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
        throw fields.unusable(message`its url is not an http or https address`);
      }
      return parsePlugin({ name, type, url, headers: pairs(fields, "headers") });
    }
    case "sse":
      throw fields.unusable(
        message`the transport "sse" is an older one that is not supported`,
        message`set type = "http" for it: most servers speak streamable HTTP at the same or a similar address`,
      );
    default:
      throw fields.unusable(message`its type is unknown`, message`use one of ${["stdio", "http"]}`);
  }
}

function filled(from: Fields, field: string): string {
  const value = from.text(field);
  if (value.trim() !== "") return value;
  throw from.unusable(message`its ${field} is empty`);
}

/** A list of `{ name, value }`. */
function pairs(from: Fields, field: string): Record<string, string> {
  return Object.fromEntries(
    from.list(field).map((pair, index) => {
      const { name, value } = recordOf(pair);
      if (typeof name === "string" && name !== "" && typeof value === "string") return [name, value];
      throw from.unusable(message`${field}[${index}] is not a { name, value } of texts`);
    }),
  );
}
