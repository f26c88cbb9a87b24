/** Language servers: checks of edits, and answers about symbols. Loaded with the first edit. */
import { lazy } from "../util/lazy.ts";

export type { EditChecks } from "./edit_checks.ts";
export type { Names } from "./names.ts";
export type { LanguageServers } from "./language_servers.ts";

/** The pool of servers, the checks of edits, and the table of servers. */
export const loadLsp = lazy(async () => ({
  ...await import("./language_servers.ts"),
  ...await import("./edit_checks.ts"),
  ...await import("./server_specs.ts"),
  ...await import("./names.ts"),
}));

export const loadNameTools = lazy(() => import("./tools.ts"));
