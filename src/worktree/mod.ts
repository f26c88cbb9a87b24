/** Git work trees for agents: created, compared, applied, and always removed. */
export {
  borrowedObjects,
  parentOfWorktree,
  reapWorktrees,
  type WorktreeRecord,
  type WorktreeReport,
} from "./owner.ts";
export type { WorktreePatch } from "./snapshot.ts";
export { isServerAddress, RepositoryCache, shownRepository } from "./repository_cache.ts";
export {
  adoptWorktree,
  cloneWorktree,
  createWorktree,
  requireRepository,
  type Worktree,
} from "./worktree.ts";
