import { gitHost, HINT, WRITING_FLAGS } from "./commit.ts";
import { runGitCommand } from "./open.ts";
import { command, flag, option } from "../../command.ts";
import { runPaths } from "../../terminal/process.ts";
import { openPullRequest, repositoryTop } from "../../../src/commit/mod.ts";

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
    const { cwd } = runPaths(this, flags.dir);
    const { yes = false } = flags;
    await runGitCommand(
      this,
      { program: "pr", flags: { ...flags, dir: await repositoryTop(cwd) } },
      async (run) => {
        const host = gitHost(this, run, { yes, title: "Pull request" });
        const options = { cwd, yes, host, base, draft, hint: words.join(" "), signal: run.signal };
        return await openPullRequest(options) ? "done" : "failed";
      },
    );
  },
});
