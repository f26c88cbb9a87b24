import type { ProviderEntry } from "../../config/mod.ts";
import type { Price, Rates } from "../../core/mod.ts";
import type { FactPrice, FactRates } from "./tables.ts";

type Declared = NonNullable<ProviderEntry["price"]>;
type DeclaredTier = NonNullable<Declared["tiers"]>[number];

/** Returns a price as the configuration has it. */
export function declaredPrice({ currency, date, tiers, cache_hit, ...rest }: Declared): Price {
  return {
    ...declaredRates({ ...rest, cached_input: rest.cached_input ?? cache_hit }),
    currency,
    ...(date === undefined ? {} : { date }),
    ...(tiers ? { tiers: tiers.map(({ above, ...rates }) => ({ above, ...declaredRates(rates) })) } : {}),
  };
}

function declaredRates(
  { input, output, cached_input, cache_write }:
    | Pick<Declared, "input" | "output" | "cached_input" | "cache_write">
    | Omit<DeclaredTier, "above">,
): Rates {
  return {
    input,
    cachedInput: cached_input ?? input,
    output,
    ...(cache_write === undefined ? {} : { cacheWrite: cache_write }),
  };
}

/** Returns a price as a table of facts has it, for a cache that is kept so long. */
export function knownPrice(
  { currency = "USD", tiers, ...rates }: FactPrice,
  { ttl, date }: { readonly ttl: ProviderEntry["cache_ttl"]; readonly date: string },
): Price {
  return {
    ...knownRates(rates, ttl),
    currency,
    date,
    ...(tiers ? { tiers: tiers.map(({ above, ...each }) => ({ above, ...knownRates(each, ttl) })) } : {}),
  };
}

function knownRates(
  { input, output, cachedInput, cacheWrite, cacheWrite1h }: FactRates,
  ttl: ProviderEntry["cache_ttl"],
): Rates {
  const written = ttl === "1h" ? cacheWrite1h ?? cacheWrite : cacheWrite;
  return {
    input,
    cachedInput: cachedInput ?? input,
    output,
    ...(written === undefined ? {} : { cacheWrite: written }),
  };
}
