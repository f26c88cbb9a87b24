import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { argument, choice, command, flag, type FlagsOf, option, parsed, setting } from "../../command.ts";
import { displayOf, outputWidth } from "../../terminal/display.ts";
import type { CliContext } from "../../terminal/process.ts";
import { errorMessage, type ExitName, message, ReasonixError, usageError } from "../../../src/core/mod.ts";
import {
  emptyReport,
  formatReview,
  FORMATS,
  performReview,
  prepareReview,
  PRIORITIES,
  publishReview,
  pullRequestNumber,
  type ReviewFinding,
  type ReviewReport,
} from "../../../src/review/mod.ts";
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
  publish: option("Publish a report of --format json as a review of --pr, or edit that review", "file"),
  failOn: choice("Exit with 7 when a finding has this priority or a higher one", PRIORITIES, {
    placeholder: "priority",
  }),
  ...GIT_FLAGS,
} as const;

type ReviewFlags = FlagsOf<typeof FLAGS>;

/** `reasonix review`: finds defects in a change. */
async function reviewChange(this: CliContext, flags: ReviewFlags, ...words: string[]): Promise<void> {
  const focus = words.join(" ").trim();
  const { publish: file } = flags;
  // What publishes uses nothing of the project.
  const trust = file === undefined ? flags : { ...flags, trustProject: undefined, ignoreUntrusted: true };
  const options = { program: "review", flags: trust, machine: flags.format !== "text" } as const;
  await runGitCommand(
    this,
    options,
    async (run) =>
      file === undefined
        ? await printReview(this, run, { flags, focus })
        : await publishReport(run, { flags, focus }, file),
  );
}

/** Needs no model: only the report and the commits of the pull request. */
async function publishReport(run: GitRun, { flags, focus }: Wanted, file: string): Promise<ExitName> {
  const { pr, head, failOn, uncommitted, base, commit, incremental, whole } = flags;
  const other = uncommitted || incremental || whole || base !== undefined || commit !== undefined ||
    focus !== "";
  if (pr === undefined || other) {
    throw usageError(
      message`Cannot publish ${file} this way: --publish takes --pr, --head and --fail-on only`,
      message`use \`reasonix review --pr N --publish FILE\``,
    );
  }
  const { cwd } = run.paths;
  const path = resolve(cwd, file);
  const text = await readFile(path, "utf8").catch((error) => {
    throw new ReasonixError(message`Cannot read ${path}: ${errorMessage(error)}`);
  });
  const request = { cwd, number: pr, text, file, head, signal: run.signal };
  const { added, edited, fixed, open, url } = await publishReview(request);
  const line = url === undefined
    ? message`Nothing to publish: there are no findings, and none were published before`
    : message`Published: ${added} new, ${edited} edited and ${fixed} fixed findings; ${url}`;
  await run.out.write(`${run.translate(line)}\n`);
  return failOn !== undefined && open.some(({ priority }) => priority <= failOn) ? "findings" : "done";
}

interface Wanted {
  readonly flags: ReviewFlags;
  readonly focus: string;
}

async function printReview(context: CliContext, run: GitRun, { flags, focus }: Wanted): Promise<ExitName> {
  const { signal, report: notify, out } = run;
  const { format, failOn, noColor } = flags;
  const prepared = await prepareReview(run.paths, { flags, focus }, { signal, report: notify });
  const { change } = prepared.request;
  const { outColor, width } = displayOf(context, noColor);
  const form = { palette: palette(outColor), columns: outputWidth() ?? Infinity, width, text: run.translate };
  const print = (report: ReviewReport) => out.write(formatReview(report, format, form));
  if (change.files.length === 0) {
    notify(message`${change.target} has no changes: nothing is reviewed`);
    await print(emptyReport(change));
    return "done";
  }
  const assembly = await run.open(`Review: ${change.target}`);
  const options = { signal, report: notify, progress: notify };
  const { report, exit } = await performReview(assembly, prepared, options);
  await print(report);
  const open = report.findings.filter(({ state }) => state !== "fixed");
  if (open.length > 0 && format === "text") {
    await out.flush();
    notify(message`To work on the findings: reasonix --resume ${assembly.session.id}`);
  }
  const fails = ({ priority }: ReviewFinding) => failOn !== undefined && priority <= failOn;
  return exit === "done" && open.some(fails) ? "findings" : exit;
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
