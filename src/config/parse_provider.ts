import { checkTree } from "./check.ts";
import { DEFAULT_LAYER } from "./defaults.ts";
import { fillDefaults } from "./merge.ts";
import { ConfigError } from "./problem.ts";
import type { ConfigInput } from "./schema.ts";
import type { ProviderEntry } from "./provider_schema.ts";
import type { Tree } from "./shape.ts";

type ProviderInput = NonNullable<ConfigInput["providers"]>[number];

/**
 * A provider entry from a plain object, with every default filled in: what `[[providers]]` is in a file.
 *
 * @throws {ConfigError} when a value does not fit
 */
export function parseProvider(input: ProviderInput): ProviderEntry {
  const tree: Tree = { providers: [input] };
  const errors = checkTree(tree).filter((finding) => finding.level === "error");
  if (errors.length > 0) throw new ConfigError(errors);
  const [entry] = fillDefaults(tree).providers;
  if (!entry) throw new TypeError("Cannot read the provider entry: it is missing");
  return entry;
}

/** The providers there are without any configuration. */
export function builtInProviders(): readonly ProviderEntry[] {
  return fillDefaults(DEFAULT_LAYER.tree).providers;
}
