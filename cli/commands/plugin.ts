import { type CommandGroup, entry, parsed, unusable, wholeNumber } from "../command.ts";
import { errorMessage, ReasonixError } from "../../src/core/mod.ts";

/** Serves the reference plugin until its client has gone or it is interrupted. */
async function examplePlugin(flags: { readonly http?: number }): Promise<void> {
  const { serve } = await loadExample();
  try {
    await serve(flags.http);
  } catch (error) {
    throw new ReasonixError(`Cannot serve the plugin on port ${flags.http}: ${errorMessage(error)}`, {
      remedy: "choose another port, or 0 for any free one",
    });
  }
}

async function loadExample() {
  try {
    return await import("../../plugins/example/main.ts");
  } catch (error) {
    throw new ReasonixError(`Cannot load the plugin: ${errorMessage(error)}`, {
      remedy: "keep reasonix.mcp.js next to reasonix.js",
    });
  }
}

/** A TCP port, or 0 for any free one. */
function portNumber(value: string): number {
  const port = wholeNumber("--http", 0)(value);
  if (port < 65536) return port;
  throw unusable(value, "--http", "a port, from 0 to 65535");
}

export const pluginCommands: CommandGroup = {
  commands: {
    example: entry("Start the example plugin, an MCP server", {
      flags: {
        http: parsed(
          "Serve streamable HTTP on this port of 127.0.0.1 (0 = any) instead of standard input",
          "port",
          portNumber,
        ),
      },
      run: examplePlugin,
    }),
  },
};
