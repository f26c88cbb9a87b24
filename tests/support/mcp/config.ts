import type { Behaviour } from "./behaviour.ts";
import { scriptedServer } from "./scripted_mcp_server.ts";

/** The entry of a scripted server for a config.toml. */
export function pluginToml(name: string, behaviour: Behaviour = {}, extra = ""): string {
  const { command, args } = scriptedServer(behaviour);
  return `\n[[plugins]]\nname = "${name}"\ncommand = ${JSON.stringify(command)}\n` +
    `args = ${JSON.stringify(args)}\n${extra}\n`;
}
