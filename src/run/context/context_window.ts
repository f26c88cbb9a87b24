import { isLoopback, type LoadedConfig, type ModelChoice, resolveKey } from "../../config/mod.ts";
import { programFetch } from "../../util/network/fetch.ts";
import { loadWindow, type Provider, type WindowFound } from "../../provider/mod.ts";

/**
 * Returns what a server on this machine says its context window is; undefined when the configuration says it,
 * or nobody.
 */
export async function askServerWindow(
  loaded: LoadedConfig,
  { entry, model }: ModelChoice,
  provider?: Provider,
): Promise<WindowFound | undefined> {
  if (provider?.askWindow && entry.context_window === undefined) {
    const tokens = await provider.askWindow().catch(() => undefined);
    return tokens === undefined ? undefined : { tokens, source: "props" };
  }
  if (entry.context_window !== undefined || !isLoopback(entry.base_url)) return undefined;
  const { discoverWindow } = await loadWindow();
  const apiKey = resolveKey(entry, loaded.keys);
  return await discoverWindow({
    entry,
    model,
    fetch: programFetch,
    apiKey,
  });
}
