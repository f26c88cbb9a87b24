import type { Provider } from "./provider.ts";

type Optional = { [K in keyof Provider]-?: undefined extends Provider[K] ? K : never }[keyof Provider];

/** All that a provider may lack: one that is added to the type has to be added here. */
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

/** What a provider has of all that it may lack, bound to it: it may be an object of a class. */
export function optionalMembers(provider: Provider): Partial<Pick<Provider, Optional>> {
  const members: Record<string, unknown> = {};
  for (const name of Object.keys(OPTIONAL) as Optional[]) {
    const member = provider[name];
    if (typeof member === "function") members[name] = member.bind(provider);
    else if (member !== undefined) members[name] = member;
  }
  return members;
}

/** A provider that does what `own` says in its own way and everything else like the one inside. */
export function wrapProvider(
  provider: Provider,
  own: Pick<Provider, "stream"> & Partial<Pick<Provider, Optional>>,
): Provider {
  return { name: provider.name, model: provider.model, ...optionalMembers(provider), ...own };
}
