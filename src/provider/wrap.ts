import type { Provider } from "./provider.ts";

type Optional = { [K in keyof Provider]-?: undefined extends Provider[K] ? K : never }[keyof Provider];

/** The optional members of a provider. */
const OPTIONAL = {
  remoteMode: 0,
  rehearse: 0,
  askWindow: 0,
  sentPrefix: 0,
  count: 0,
} satisfies Record<
  Optional,
  number
>;

/** The optional members that a provider has, bound to it: it may be an object of a class. */
export function optionalMembers(provider: Provider): Partial<Pick<Provider, Optional>> {
  const members: Record<string, unknown> = {};
  for (const name of Object.keys(OPTIONAL) as Optional[]) {
    const member = provider[name];
    if (typeof member === "function") members[name] = member.bind(provider);
    else if (member !== undefined) members[name] = member;
  }
  return members;
}

/** A provider with these members, and all others of the inner one. */
export function wrapProvider(
  provider: Provider,
  own: Pick<Provider, "stream"> & Partial<Pick<Provider, Optional>>,
): Provider {
  return { name: provider.name, model: provider.model, ...optionalMembers(provider), ...own };
}
