import type { Assembly, TurnInput } from "../run/mod.ts";
import {
  addSpending,
  type Cost,
  type ExitName,
  NO_SPENDING,
  totalCost,
  type Usage,
  usageError,
} from "../core/mod.ts";
import { loadTexts, type Locale, type Texts } from "../i18n/mod.ts";
import type { CommandHost, SlashCommand } from "./command.ts";
import { allCommands, plainText, readCommand } from "./registry.ts";

/** The outcome of a line of a non-interactive run: a turn, or the report of a command. */
export type LineOutcome =
  & (
    | { readonly input: TurnInput }
    | { readonly input?: undefined; readonly report: CommandReport }
  )
  & {
    /** A notice for the user, such as a file of the same name that is ignored. */
    readonly notice?: string;
  };

export interface CommandReport {
  readonly text: string;
  readonly usage: Usage;
  readonly cost?: Cost;
  readonly durationMs: number;
  /** The reason why the report is not complete. */
  readonly early?: { readonly exit: ExitName; readonly reason: string };
}

interface HeadlessOutcome {
  report: string;
  sent?: TurnInput;
  early?: CommandReport["early"];
}

export interface LineOptions {
  readonly locale?: Locale | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Executes a line that may begin with `/name`. Everything that is no command, such as a path, is text for
 * the model. Throws ReasonixError (usage) for a name that no command has.
 */
export async function executeLine(
  text: string,
  assembly: Assembly,
  { locale = "en", signal }: LineOptions,
): Promise<LineOutcome> {
  const outcome: HeadlessOutcome = { report: "" };
  const host = headlessHost(assembly, locale, await loadTexts("commands", locale), outcome);
  const line = await readCommand(text, { locale, session: host.session });
  if (!line) return { input: { text: plainText(text) } };
  const { command, argument } = line;
  const notice = await shadowNotice(command, assembly, locale);
  return await assembly.stoppable(signal, async () => {
    const spent = await measured(assembly, async () => await command.run(host, argument, signal));
    const { report, sent, early } = outcome;
    const whole = { text: report, ...spent, ...(early ? { early } : {}) };
    return { ...notice, ...sent ? { input: sent } : { report: whole } };
  });
}

/** Names the command file in whose place a command of the program runs. */
async function shadowNotice(
  { kind, name, aliases = [] }: SlashCommand,
  assembly: Assembly,
  locale: Locale,
): Promise<{ readonly notice?: string }> {
  if (kind !== "builtin") return {};
  const { commandsOf } = await import("./markdown/markdown_commands.ts");
  const file = commandsOf(assembly).commands.find((each) => [name, ...aliases].includes(each.name));
  if (!file) return {};
  return { notice: (await loadTexts("report_commands", locale)).builtinWins(file.file, file.name) };
}

/** A run has one session and an output, and no user. Fills in `outcome`. */
function headlessHost(
  assembly: Assembly,
  locale: Locale,
  texts: Texts["commands"],
  outcome: HeadlessOutcome,
): CommandHost {
  const { continueHeadless, needsPerson, needsPersonRemedy, needsPersonToAgree, noPromptFor, oneSession } =
    texts;
  const refuse = (message: string, remedy: string) => Promise.reject(usageError(message, remedy));
  const session = () => Promise.resolve(assembly);
  const say = (text: string) => void (outcome.report += text.endsWith("\n") ? text : `${text}\n`);
  return {
    headless: true,
    locale,
    session,
    say,
    commands: () => allCommands({ headless: true, locale, session }),
    choose: () => refuse(needsPerson, needsPersonRemedy),
    confirm: (question) => refuse(noPromptFor(question), needsPersonToAgree),
    prompt: (question) => refuse(noPromptFor(question), needsPersonRemedy),
    show: (_title, text) => Promise.resolve(say(text)),
    send: (text, rest = {}) => void (outcome.sent = { ...rest, text }),
    reopen: () => refuse(oneSession, continueHeadless),
    quit: () => {},
    endedEarly: (exit, reason) => void (outcome.early = { exit, reason }),
  };
}

/** Does a piece of work and counts what it cost. */
async function measured(
  { controller, provider }: Assembly,
  work: () => Promise<void>,
): Promise<Omit<CommandReport, "text" | "early">> {
  const started = performance.now();
  let spending = NO_SPENDING;
  const unsubscribe = controller.subscribe((event) => {
    if (
      event.type === "message.end" || event.type === "image.described" ||
      event.type === "subagent.end" && event.usage
    ) {
      spending = addSpending(spending, event);
    }
  });
  try {
    await work();
    const cost = totalCost(spending, provider.model.price?.currency);
    const durationMs = Math.round(performance.now() - started);
    return { usage: spending.usage, durationMs, ...(cost ? { cost } : {}) };
  } finally {
    unsubscribe();
  }
}
