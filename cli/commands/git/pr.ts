import { HINT, write, WRITING_FLAGS } from "./commit.ts";
import { command, flag, option } from "../../command.ts";
import { openPullRequest } from "../../../src/commit/mod.ts";

export const prCommand = command({
  description:
    "Push the branch and open a pull request with your gh or glab; without one, print its text and address.",
  flags: {
    base: option("Merge into this branch; default: that of the remote", "branch"),
    draft: flag("Open it as a draft"),
    ...WRITING_FLAGS,
  },
  rest: HINT,
  async run({ base, draft = false, ...flags }, ...words) {
    const options = { program: "pr", title: "Pull request", flags, words } as const;
    await write(this, options, (writing) => openPullRequest({ ...writing, base, draft }));
  },
});
