import * as z from "zod/mini";
import { amount, key, text } from "./schema_key.ts";

/** One hook: an entry of `[[hooks]]`. */
export const hookSchema = z.object({
  event: key(
    z.string().check(z.minLength(1)),
    "When it runs, such as `PreToolUse` or `Stop`; the list is in docs/hooks.md.",
  ),
  matcher: key(
    text(),
    "What it runs for: names such as `Bash`, with bars between several, or a regular expression; empty = all.",
  ),
  command: key(z.string().check(z.minLength(1)), "Line of the shell that is run."),
  timeout_seconds: key(amount(60), "Time limit of a run; 0 = no limit."),
  failure: key(
    z._default(z.enum(["open", "closed"]), "open"),
    "Whether a hook that fails, is late or cannot be run lets go on (`open`) or refuses (`closed`).",
  ),
});

/** A hook of the configuration with every default filled in. */
export type HookEntry = z.infer<typeof hookSchema>;
