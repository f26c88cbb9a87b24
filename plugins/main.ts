/**
 * The process of a plugin: `plugins/main.ts NAME [COMMAND [ARGUMENT…]]` from the sources. The built
 * reasonix.plugins.js calls {@linkcode runPlugin} from an entry that the build makes of the list.
 */
import { workAsWorker } from "./common/bounded.ts";
import type { Plugin } from "./common/plugin.ts";
import { PLUGINS } from "./plugins.ts";

/** What the start of a process gives to a plugin. */
export interface Start {
  /** Imports the module of a plugin. */
  load(module: string): Promise<{ readonly plugin: Plugin }>;
  /** The module that the process started with, from which its workers start. */
  readonly entry: string;
  /** The version of the program. */
  version(): string | Promise<string>;
}

/** Runs the plugin that the arguments of this process name, and ends the process; or works as its worker. */
export async function runPlugin(start: Start): Promise<void> {
  if (await workAsWorker(start.entry)) return;
  // No worker or timer of a plugin keeps it.
  Deno.exit(await exitCodeOf(start));
}

async function exitCodeOf({ load, entry, version }: Start): Promise<number> {
  const [name = "", ...args] = Deno.args[0] === "plugin" ? Deno.args.slice(1) : Deno.args;
  const info = PLUGINS.find((each) => each.name === name);
  if (!info) {
    const names = PLUGINS.map((each) => each.name).join(", ");
    const line = `There is no plugin ${JSON.stringify(name)}; there are ${names}\n`;
    Deno.stderr.writeSync(new TextEncoder().encode(line));
    return 2;
  }
  const [{ startPlugin }, { plugin }] = await Promise.all([import("./common/start.ts"), load(info.module)]);
  return await startPlugin(name, await version(), plugin, args, entry);
}

// In the built file this module is not the entry, and has its address.
if (import.meta.url.endsWith("/plugins/main.ts")) {
  const version = async () => (await import("../deno.json", { with: { type: "json" } })).default.version;
  // A path that the build cannot follow.
  const load: Start["load"] = (module) => import(new URL(module, import.meta.url).href);
  await runPlugin({ load, entry: import.meta.url, version });
}
