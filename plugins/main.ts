/**
 * Entry of the process of a plugin: `plugins/main.ts NAME [COMMAND [ARGUMENT…]]`. The workers for bounded
 * conversions start with it, too.
 */
import { workAsWorker } from "./common/bounded.ts";
import type { Plugin } from "./common/plugin.ts";
import { PLUGINS } from "./plugins.ts";

/** `load` imports the module of a plugin, which the build has in its own file. */
async function main(
  load: (module: string) => Promise<{ readonly plugin: Plugin }>,
  entry: string,
): Promise<number> {
  const [name = "", ...args] = Deno.args;
  const info = PLUGINS.find((each) => each.name === name);
  if (!info) {
    const names = PLUGINS.map((each) => each.name).join(", ");
    const line = `There is no plugin ${JSON.stringify(name)}; there are ${names}\n`;
    Deno.stderr.writeSync(new TextEncoder().encode(line));
    return 2;
  }
  const [{ startPlugin }, { plugin }] = await Promise.all([import("./common/start.ts"), load(info.module)]);
  return await startPlugin(name, "0.1.0", plugin, args, entry);
}

if (import.meta.main && !await workAsWorker(import.meta.url)) {
  Deno.exitCode = await main((module) => import(`./${module}`), import.meta.url);
}
