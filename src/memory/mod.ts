/** Facts that outlive a session. */
import type { MemoryPort } from "../tool/mod.ts";
import { lazy } from "../util/lazy.ts";
import type { FactStoreOptions } from "./store.ts";

export type { StoredFact } from "./fact.ts";
export { type MemoryPaths, openingMemory } from "./opening_memory.ts";
export type { FactStore, FactStoreOptions } from "./store.ts";

/** Opens what the tools `memory`, `remember` and `forget` work with, when the first of them is called. */
export function memoryPort(options: FactStoreOptions): () => Promise<MemoryPort> {
  return lazy(async () => new (await import("./store.ts")).FactStore(options));
}
