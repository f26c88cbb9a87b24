import { GIT_FLAGS, type GitRun, runGitCommand } from "./open.ts";
import { argument, command, flag, type FlagsOf } from "../../command.ts";
import { canAsk } from "../../terminal/open.ts";
import { type CliContext, runPaths } from "../../terminal/process.ts";
import { commitStaged, type GitHost, repositoryTop, type WritingOptions } from "../../../src/commit/mod.ts";
import { message, type Text, usageError } from "../../../src/core/mod.ts";
import { processEnvironment } from "../../../src/path/read_env.ts";
import { READING_MS } from "../../../src/util/timer.ts";

const { model, maxCost, dir, trustProject, ignoreUntrusted } = GIT_FLAGS;

/** Flags of the commands that write for the user. */
export const WRITING_FLAGS = {
  ...{ yes: flag("Do not ask"), model, maxCost, dir },
  ...{ trustProject, ignoreUntrusted },
} as const;

export const HINT = argument("Words for the text, such as a reason", "hint");

export const commitCommand = command({
  description: "Write a message for what is staged, show it, and commit with your git, hooks and signing.",
  flags: WRITING_FLAGS,
  rest: HINT,
  async run(flags, ...words) {
    await write(this, { program: "commit", title: "Commit message", flags, words }, commitStaged);
  },
});

interface Writing {
  readonly program: "commit" | "pr";
  /** Title of the session. */
  readonly title: string;
  readonly flags: FlagsOf<typeof WRITING_FLAGS>;
  readonly words: readonly string[];
}

/** Runs a command that writes a text and has the user agree to it. */
export async function write(
  context: CliContext,
  { program, title, flags, words }: Writing,
  work: (options: WritingOptions) => Promise<boolean>,
): Promise<void> {
  const { cwd } = runPaths(context, flags.dir);
  const { yes = false } = flags;
  const atTop = { ...flags, dir: await repositoryTop(cwd) };
  await runGitCommand(context, { program, flags: atTop }, async (run) => {
    const host = gitHost(context, run, { yes, title });
    return await work({ cwd, yes, host, hint: words.join(" "), signal: run.signal }) ? "done" : "failed";
  });
}

/** The terminal of the user. Throws a usage error where there is no prompt and no --yes. */
function gitHost(
  { process: { stdout } }: CliContext,
  run: GitRun,
  { yes, title }: { readonly yes: boolean; readonly title: string },
): GitHost {
  const asks = canAsk();
  if (!yes && !asks) {
    throw usageError(
      message`Cannot ask for a confirmation: there is no terminal`,
      message`add --yes to go without it`,
    );
  }
  const ask = (question: Text, initial?: string) => {
    for (;;) {
      const shown = performance.now();
      const answer = prompt(run.translate(question), initial) ?? undefined;
      // Enter while the model writes agrees to nothing: the question comes again.
      if (answer === undefined || performance.now() - shown >= READING_MS) return answer;
    }
  };
  return {
    environment: processEnvironment(),
    report: run.report,
    show: (text) => stdout.write(`${text}\n`),
    choose(question, entries) {
      const keys = entries.map(({ label, key }, at) =>
        `[${at === 0 ? run.translate(message`Enter`) : key}] ${run.translate(label)}`
      );
      stdout.write(`\n${run.translate(question)}\n`);
      for (;;) {
        const answer = ask(`${keys.join("  ")}:`)?.trim().toLowerCase();
        if (answer === undefined) return Promise.resolve(undefined);
        const chosen = answer === "" ? entries[0] : entries.find(({ key }) => key === answer[0]);
        if (chosen) return Promise.resolve(chosen.value);
      }
    },
    prompt: (question, initial) => Promise.resolve(ask(question, initial)),
    ...(asks ? { terminal: (work) => work() } : {}),
    assembly: () => run.open(title),
  };
}
