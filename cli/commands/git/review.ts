import { argument, choice, command, flag, type FlagsOf, option, parsed, setting } from "../../command.ts";
import { displayOf, outputWidth } from "../../terminal/display.ts";
import type { CliContext } from "../../terminal/process.ts";
import { type ExitName, message, usageError } from "../../../src/core/mod.ts";
import {
  emptyReport,
  formatReview,
  FORMATS,
  openOf,
  performReview,
  prepareReview,
  PRIORITIES,
  publishSavedReview,
  pullRequestNumber,
  readable,
  type ReviewFinding,
  type ReviewReport,
} from "../../../src/review/mod.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";
import { palette } from "../../../src/view/mod.ts";
import { GIT_FLAGS, type GitRun, runGitCommand } from "./open.ts";

const FLAGS = {
  uncommitted: flag("Review everything that is not committed"),
  base: option("Review what came since the common ancestor with a branch", "branch"),
  commit: option("Review one commit", "sha"),
  pr: parsed("Review a pull request of GitHub, through gh with your login", "n", pullRequestNumber),
  head: option("Review this revision in place of HEAD, without a checkout", "rev"),
  incremental: flag("Review what came since the last review; mark old findings as fixed or standing"),
  whole: flag("Accept findings outside of the changed lines"),
  format: setting("Set the form of the result", FORMATS, "text"),
  failOn: choice("Exit with 7 when a finding has this priority or a higher one", PRIORITIES, {
    placeholder: "priority",
  }),
  publish: option("Publish a saved report (--format json) as a review of the pull request", "file"),
  ...GIT_FLAGS,
} as const;

type ReviewFlags = FlagsOf<typeof FLAGS>;

/** `reasonix review`: finds defects in a change, or publishes what was found. */
async function reviewChange(this: CliContext, flags: ReviewFlags, ...words: string[]): Promise<void> {
  const focus = words.join(" ").trim();
  if (flags.publish !== undefined) return await publish(this, flags, { focus, file: flags.publish });
  const options = { program: "review", flags, machine: flags.format !== "text" } as const;
  await runGitCommand(this, options, async (run) => await printReview(this, run, { flags, focus }));
}

async function publish(
  context: CliContext,
  flags: ReviewFlags,
  { file, focus }: { readonly file: string; readonly focus: string },
): Promise<void> {
  const { pr: number, head, failOn } = flags;
  // No model and nothing of the project is used.
  const options = { program: "review", flags: { ...flags, ignoreUntrusted: true } } as const;
  await runGitCommand(context, options, async ({ paths, signal, out, translate }) => {
    const others = ["uncommitted", "base", "commit", "incremental", "whole", "maxCost", "model"] as const;
    const other = others.find((name) => flags[name] !== undefined);
    if (other !== undefined || focus !== "") {
      const what = other === undefined ? `"${focus}"` : `--${other === "maxCost" ? "max-cost" : other}`;
      throw usageError(
        message`Cannot use ${what} together with --publish`,
        message`leave it out: --publish FILE --pr N publishes what a review has found`,
      );
    }
    if (number === undefined) {
      throw usageError(message`Cannot publish ${file}: no pull request is named`, message`add --pr N`);
    }
    const published = await publishSavedReview(paths, { file, number, head }, signal);
    const { added, edited, fixed, open, url } = published;
    const lines = url === undefined
      ? [message`Nothing to publish on pull request ${number}`]
      : [message`Published on pull request ${number}: ${added} new, ${edited} edited, ${fixed} fixed`, url];
    await out.write(lines.map((line) => `${terminalSafe(translate(line))}\n`).join(""));
    return failing(open, failOn) ? "findings" : "done";
  });
}

/** Reports whether an open finding has the priority, or a higher one. */
function failing(open: readonly ReviewFinding[], failOn: ReviewFlags["failOn"]): boolean {
  return failOn !== undefined && open.some(({ priority }) => priority <= failOn);
}

async function printReview(
  context: CliContext,
  run: GitRun,
  { flags, focus }: { readonly flags: ReviewFlags; readonly focus: string },
): Promise<ExitName> {
  const { signal, report: notify, out } = run;
  const { format, failOn, noColor } = flags;
  const prepared = await prepareReview(run.paths, { flags, focus }, { signal, report: notify });
  const { change } = prepared.request;
  const { outColor, width } = displayOf(context, noColor);
  const form = { palette: palette(outColor), columns: outputWidth() ?? Infinity, width, text: run.translate };
  const print = (report: ReviewReport) => out.write(formatReview(report, format, form));
  if (change.files.length === 0) {
    const line = run.translate(message`Nothing to review in ${readable(change.target)}`);
    await (format === "text" ? out.write(`${terminalSafe(line)}\n`) : print(emptyReport(change)));
    return "done";
  }
  const assembly = await run.open(`Review: ${change.target}`);
  const options = { signal, report: notify, progress: notify };
  const { report, exit } = await performReview(assembly, prepared, options);
  await print(report);
  const open = openOf(report);
  if (open.length > 0 && format === "text") {
    await out.flush();
    notify(message`To work on the findings: reasonix --resume ${assembly.session.id}`);
  }
  return exit === "done" && failing(open, failOn) ? "findings" : exit;
}

export const reviewCommand = command({
  description: "Find defects in a change. The result goes to standard output, progress to\n" +
    "standard error. Without a target: the uncommitted changes, else the branch\n" +
    "against the default branch.\n" +
    "Exit codes: 0 done, 1 failed, 2 usage, 4 limit, 5 provider, 6 config,\n" +
    "7 findings (--fail-on), 130 interrupted, 143 terminated.",
  flags: FLAGS,
  aliases: { m: "model", q: "quiet" },
  rest: argument("What to look at in particular", "focus"),
  run: reviewChange,
});
