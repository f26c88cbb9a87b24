/** Commits and pull requests with texts that a model writes. */
export { commitStaged } from "./commit.ts";
export { openPatchRequests, type PatchRequest } from "./patch_requests.ts";
export { openPullRequest } from "./pull_request.ts";
export { type GitHost, repositoryTop, type WritingOptions } from "./writing.ts";
