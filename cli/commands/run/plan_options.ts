import type { RunFlags } from "../../run_flags.ts";
import type { Speech } from "../../terminal/language.ts";
import type { AssemblyOptions, PlanReviewer } from "../../../src/run/mod.ts";
import { message, usageError } from "../../../src/core/mod.ts";
import { FRONTENDS, Output } from "../../../src/frontend/mod.ts";
import { loadTexts } from "../../../src/i18n/mod.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";

/**
 * The reviewer of plans: the person at the terminal, else the flag that
 * says so, else none. Throws a ReasonixError (usage) for flags that contradict each other.
 */
export async function planOptions(
  flags: RunFlags,
  speech: Speech,
  signal: AbortSignal,
): Promise<Pick<AssemblyOptions, "permissionMode" | "planReviewer">> {
  const { permissionMode, planThenRun, onAsk } = flags;
  const attended = !flags.web && Deno.stdin.isTerminal() && Deno.stderr.isTerminal() &&
    flags.outputFormat === "text";
  const person = attended ? { planReviewer: await personAtTerminal(speech, signal) } : {};
  if (!planThenRun) return person;
  if (permissionMode === "read-only" || permissionMode === "danger-full-access") {
    throw usageError(
      message`Cannot use --plan-then-run together with --permission-mode ${permissionMode}`,
      message`leave out --permission-mode: the plan is made in plan mode and carried out in workspace-write`,
    );
  }
  const window = onAsk === undefined || onAsk === "allow";
  const byFlag: PlanReviewer = {
    takesProse: true,
    review: () => Promise.resolve({ approve: true, window, by: "flag" }),
  };
  return { permissionMode: "plan", planReviewer: byFlag, ...person };
}

async function personAtTerminal(speech: Speech, signal: AbortSignal): Promise<PlanReviewer> {
  const [lines, chat] = await Promise.all([FRONTENDS.lines(), loadTexts("chat", speech.locale)]);
  const err = new Output(Deno.stderr);
  const write = (text: string) => err.write(terminalSafe(text));
  const questions = new lines.Questions();
  const texts = { chat, locale: speech.locale };
  const isPlanShown = Deno.stdout.isTerminal();
  const reader = new lines.LineReader();
  new lines.LinePerson({ lines: reader, questions, texts, columns: () => 80, isPlanShown, write });
  return {
    takesProse: true,
    // No one who has pressed Ctrl-C writes a line as well.
    review: (proposal, turn) =>
      questions.ask("plan", proposal, { signal: AbortSignal.any([turn, signal]) }).catch(() => undefined),
  };
}
