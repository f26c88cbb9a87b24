/** Facts that outlive a session. */
import type { MemoryPort } from "../tool/mod.ts";
import type { FactStoreOptions } from "./store.ts";

export type { StoredFact } from "./fact.ts";
export { type MemoryPaths, openingMemory } from "./opening_memory.ts";
export type { ArchivedFact, FactStore, FactStoreOptions } from "./store.ts";

/** What the tools `memory`, `remember` and `forget` work with; the store is loaded by the first call. */
export function memoryPort(options: FactStoreOptions): MemoryPort {
  let store: Promise<MemoryPort> | undefined;
  const open = () => store ??= import("./store.ts").then(({ FactStore }) => new FactStore(options));
  return {
    search: async (query, limit) => await (await open()).search(query, limit),
    list: async () => await (await open()).list(),
    read: async (name, scope) => await (await open()).read(name, scope),
    remember: async (fact) => await (await open()).remember(fact),
    forget: async (name, scope) => await (await open()).forget(name, scope),
  };
}
