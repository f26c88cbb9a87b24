/** Git repositories: reading them without anything of theirs running, and changes as data. */
export {
  DiskFiles,
  entries,
  firstLine,
  Git,
  type GitOptions,
  openRepository,
  problemOf,
  type Repository,
} from "./git.ts";
export {
  type Change,
  type ChangeRequest,
  defaultRequest,
  hunkDigest,
  numberedDiff,
  readChange,
  type Revision,
} from "./change.ts";
export type { ChangedFile, Hunk } from "./compare.ts";
