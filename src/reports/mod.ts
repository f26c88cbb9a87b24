/** Reports of the program about itself: data and text. */
import { lazy } from "../util/lazy.ts";

export { minute, type Row, rowsText, table } from "./table.ts";

export type { SessionChange } from "./changes.ts";

export const loadChanges = lazy(() => import("./changes.ts"));

export type { WorkspaceFile } from "./workspace_file.ts";

export const loadWorkspaceFile = lazy(() => import("./workspace_file.ts"));

export const loadDoctor = lazy(() => import("./doctor.ts"));

export const loadLists = lazy(() => import("./lists.ts"));

export const loadModelReports = lazy(() => import("./models.ts"));
export const loadStatsReports = lazy(() => import("./stats.ts"));
