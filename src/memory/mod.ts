import { lazy } from "../util/lazy.ts";

export type { FactStoreOptions } from "./store.ts";

export const loadMemory = lazy(() => import("./store.ts"));
