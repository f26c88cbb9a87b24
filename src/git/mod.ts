/** Git repositories: reading them without anything of theirs running, and changes as data. */
export {
  connectionEnvironment,
  DiskFiles,
  entries,
  firstLine,
  Git,
  type GitOptions,
  joined,
  openRepository,
  problemOf,
  type Repository,
} from "./git.ts";
export {
  type Change,
  type ChangeRequest,
  defaultBranch,
  defaultRequest,
  hunkDigest,
  numberedDiff,
  readChange,
  type Revision,
} from "./change.ts";
export type { ChangedFile, Hunk } from "./compare.ts";
