/** Commits and pull requests with texts that a model writes. */
export { commitStaged } from "./commit.ts";
export { openPullRequest } from "./pull_request.ts";
export { type GitHost, repositoryTop, type WritingOptions } from "./writing.ts";
