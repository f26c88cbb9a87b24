/** Git work trees for agents: created, compared, applied, and always removed. */
export { parentOfWorktree, reapWorktrees, type WorktreeRecord, type WorktreeReport } from "./owner.ts";
export type { WorktreePatch } from "./snapshot.ts";
export { adoptWorktree, createWorktree, requireRepository, type Worktree } from "./worktree.ts";
