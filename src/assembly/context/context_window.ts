import { isLoopback, type LoadedConfig, type ModelChoice, resolveKey, sourceOf } from "../../config/mod.ts";
import { loadWindow, type WindowFound } from "../../context/mod.ts";

/**
 * Returns what a server on this machine says its context window is; undefined when the configuration says it,
 * or nobody.
 */
export async function askServerWindow(
  loaded: LoadedConfig,
  { entry, model }: ModelChoice,
): Promise<WindowFound | undefined> {
  const declared = sourceOf(loaded, `providers.${entry.name}.context_window`).source !== "default";
  if (declared || entry.context_window > 0 || !isLoopback(entry.base_url)) return undefined;
  const { discoverWindow } = await loadWindow();
  const apiKey = resolveKey(entry, loaded.keys);
  return await discoverWindow({
    entry,
    model,
    fetch: globalThis.fetch,
    apiKey,
  });
}
