import { errorMessage, ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import { isAbsolute } from "../../../path/lexical.ts";
import type { CommandBody, CommandHost } from "../../command.ts";
import { diagnose, reportText } from "../../doctor/mod.ts";

export const command: CommandBody = {
  async run(host, argument) {
    const texts = await loadTexts("report_commands", host.locale);
    const { paths, redact } = await host.session();
    const report = redact(await bugReport(host));
    if (argument === "") {
      const fence = "`".repeat(Math.max(3, ...(report.match(/`+/g) ?? []).map((run) => run.length + 1)));
      return host.say(host.headless ? report : `${fence}text\n${report}${fence}\n\n${texts.bugHint}`);
    }
    const file = isAbsolute(argument) ? argument : `${paths.cwd}/${argument}`;
    try {
      Deno.writeTextFileSync(file, report, { createNew: true });
    } catch (error) {
      const exists = error instanceof Deno.errors.AlreadyExists;
      throw new ReasonixError(texts.cannotWrite(file, exists ? texts.exists : errorMessage(error)), {
        exit: "usage",
        remedy: texts.otherName,
      });
    }
    host.say(texts.bugWritten(file));
  },
};

/** In English, for whoever mends it. Holds neither secrets nor a word of the conversation. */
async function bugReport(host: CommandHost): Promise<string> {
  const { paths, loaded, session: { id, state }, provider: { model } } = await host.session();
  const texts = await loadTexts("doctor", "en");
  const report = await diagnose(paths, { online: false, loaded, locale: "en", texts, warnings: [] });
  const { env } = paths;
  const terminal = ["TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "TMUX", "LANG", "LC_ALL"]
    .flatMap((name) => env(name) ? [`  ${name.padEnd(10)} ${name === "TMUX" ? "yes" : env(name)}`] : []);
  return [
    "What happened, and what should have happened:\n\n",
    `Session\n  id         ${id}\n  model      ${model.provider}/${model.id}\n`,
    `  turns      ${state.turns.length}\n${lastProblem(state)}\n`,
    `Terminal\n${terminal.join("\n")}\n\n`,
    await reportText(report, texts, { verbose: true }),
  ].join("");
}

type State = Awaited<ReturnType<CommandHost["session"]>>["session"]["state"];

/** What went wrong last. */
function lastProblem({ events }: State): string {
  const found = [...events.known].findLast((event) =>
    event?.type === "error" || (event?.type === "turn.end" && event.reason !== "done")
  );
  if (found?.type === "error") return `  error      ${found.time} ${found.code}: ${found.text}\n`;
  if (found?.type !== "turn.end") return "";
  return `  last end   ${found.time} ${found.reason}${
    found.detail === undefined ? "" : `: ${found.detail}`
  }\n`;
}
