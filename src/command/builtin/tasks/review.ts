import type { CommandBody } from "../../command.ts";
import prompt from "./review.md" with { type: "text" };

/** Without a wish: what `git diff HEAD` and untracked files say. */
const WORKING_TREE = "everything in the working tree that is not committed.";

export const command: CommandBody = {
  run(host, what) {
    host.send(prompt.replace("{what}", () => what || WORKING_TREE).trim(), { readOnly: true });
  },
};
