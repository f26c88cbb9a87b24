import * as z from "zod/mini";
import { count, flag, key } from "./schema_key.ts";

/** Command lines by glob of the files that ask for them; those of a project run once they are trusted. */
const commands = (description: string) =>
  key(z._default(z.record(z.string(), z.array(z.string())), {}), description, { project: "trust" });

/** `[workflow]`: what tests the changes of a turn. */
export const workflowSchema = z.object({
  enabled: key(
    flag(true),
    "Test what a turn changed before its answer counts, with the commands below or those of the project; " +
      "see docs/verification.md.",
  ),
  detect: key(
    flag(true),
    "Without commands here, use those that the project's own files name, once you trust them.",
  ),
  lint_commands: commands("Command lines by glob of the changed files, run before `verify_commands`."),
  verify_commands: commands("Command lines by glob of the changed files whose exit code must be 0."),
  test_timeout_ms: key(
    count(60_000),
    "Time limit of each of these commands; 0 = no limit.",
  ),
  max_rounds: key(
    count(3),
    "So often failures go back to the model in a turn; 0 = they are only reported.",
    { project: "lower" },
  ),
});
