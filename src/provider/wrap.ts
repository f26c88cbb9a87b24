import type { Provider } from "./provider.ts";

type Optional = { [K in keyof Provider]-?: undefined extends Provider[K] ? K : never }[keyof Provider];

/** All that a provider may lack: one that is added to the type has to be added here. */
const OPTIONAL = { rehearse: 0, askWindow: 0, sentPrefix: 0, embed: 0, count: 0 } satisfies Record<
  Optional,
  number
>;

/**
 * A provider that does what `own` says in its own way and everything else like the one inside, whether that
 * is a plain object or one of a class.
 */
export function wrapProvider(
  provider: Provider,
  own: Pick<Provider, "stream"> & Partial<Pick<Provider, Optional>>,
): Provider {
  const passedOn: Record<string, unknown> = {};
  for (const name of Object.keys(OPTIONAL) as Optional[]) {
    const member = provider[name];
    if (typeof member === "function") passedOn[name] = member.bind(provider);
  }
  return { name: provider.name, model: provider.model, ...passedOn, ...own };
}
