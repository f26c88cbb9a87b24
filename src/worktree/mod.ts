/** Git work trees for agents: created, compared, applied, and always removed. */
import { lazy } from "../util/lazy.ts";

export { parentOfWorktree, reapWorktrees, type WorktreeRecord, type WorktreeReport } from "./owner.ts";
export type { WorktreePatch } from "./git.ts";
export const loadGit = lazy(() => import("./git.ts"));
export { adoptWorktree, createWorktree, requireRepository, type Worktree } from "./worktree.ts";
