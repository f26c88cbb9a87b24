import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import type { Shell } from "../../shell/find_shell.ts";
import { describeJob, jobText } from "../../shell/jobs/job_text.ts";

/** A command that fails at once should say so in the result of the call that started it. */
const FIRST_LOOK_MS = 100;

export async function startJob(
  command: string,
  shell: Shell,
  cwd: string,
  context: ToolContext,
): Promise<ToolResult> {
  const jobs = context.services?.jobs;
  if (!jobs) {
    return failure("Cannot run in the background: this session has no jobs", "run it in the foreground");
  }
  const plan = context.jail.wrap(shell.argv(command, false), { cwd });
  const { minFreeDiskMb } = context.settings;
  const { id } = jobs.start({ command, plan, cwd, dir: context.outputDir, minFreeDiskMb });
  await jobs.ended(id, FIRST_LOOK_MS, context.signal);
  const news = jobs.news(id);
  if (!news) return failure(`Cannot find ${id} again`);
  const { text, truncated } = jobText(news);
  return {
    content: [describeJob(news.view), ...(text === "" ? [] : [text])].join("\n"),
    summary: `${id} ${news.view.status}`,
    ...(truncated ? { truncated } : {}),
  };
}
