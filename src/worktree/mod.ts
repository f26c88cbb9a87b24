/** Git work trees for agents beside the user: made, compared, applied, removed and never left behind. */
export { reapWorktrees, type WorktreeReport } from "./reap.ts";
export { parentOfWorktree, type WorktreeRecord } from "./owner.ts";
export type { WorktreePatch } from "./snapshot.ts";
export { adoptWorktree, createWorktree, requireRepository, type Worktree } from "./worktree.ts";
