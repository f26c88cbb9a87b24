import { ReasonixError } from "../../core/mod.ts";
import { loadTexts, type Locale } from "../../i18n/mod.ts";
import type { LoadedConfig } from "../load/load.ts";
import { unnamedProvider } from "./built_in.ts";

/**
 * Makes sure that there is a provider to talk to. Returns a line for the user when it is one that a key of
 * the environment chose.
 *
 * @throws {ReasonixError} (exit "config") when nothing is set up and there is no key either
 */
export async function requireProvider(loaded: LoadedConfig, locale: Locale): Promise<string | undefined> {
  const unnamed = unnamedProvider(loaded);
  if (!unnamed) return undefined;
  const texts = await loadTexts("start", locale);
  const { key, keyName, vendor } = unnamed;
  if (key === "environment") return texts.usesEnvironment(keyName, vendor);
  throw new ReasonixError(texts.noProvider, {
    exit: "config",
    remedy: key === "unused" ? texts.keyNotUsedRemedy(keyName) : texts.noProviderRemedy(keyName),
  });
}
