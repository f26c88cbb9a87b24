import { argument, flag, type FlagsOf, option, optional } from "./command.ts";

export const IMPORT_WORDS = {
  flags: {
    from: option("Read this file or directory instead of the usual ones", "path"),
    dryRun: flag("Only show what would be written"),
    yes: flag("Write without asking"),
    keys: flag("Save keys that the files contain in .env of the Reasonix home"),
    json: flag("Print JSON; writes only with --yes"),
  },
  args: [optional(argument("claude, codex, opencode or reasonix (default: all that are found)", "agent"))],
};

export type ImportFlags = FlagsOf<typeof IMPORT_WORDS.flags>;
