/** Facts that outlive a session. */
import { lazy } from "../util/lazy.ts";

export type { FactStoreOptions } from "./store.ts";

/** Loads the store of the tools `memory`, `remember` and `forget`. */
export const loadMemory = lazy(() => import("./store.ts"));
