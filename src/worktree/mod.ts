/** Git work trees for agents beside the user: made, compared, applied, removed and never left behind. */
export { parentOfWorktree, reapWorktrees, type WorktreeRecord, type WorktreeReport } from "./owner.ts";
export type { WorktreePatch } from "./git.ts";
export { adoptWorktree, createWorktree, requireRepository, type Worktree } from "./worktree.ts";
