import type { Assembly, TurnInput } from "../assembly/mod.ts";
import { addSpending, type Cost, NO_SPENDING, ReasonixError, totalCost, type Usage } from "../core/mod.ts";
import { loadTexts, type Locale, type Texts } from "../i18n/mod.ts";
import type { CommandHost, SlashCommand } from "./command.ts";
import { allCommands, plainText, readCommand } from "./registry.ts";

/** The meaning of a line in a run that nobody watches. */
export type Line =
  | { readonly kind: "command"; readonly run: (signal?: AbortSignal) => Promise<CommandReport> }
  /** Text for the model. */
  | { readonly kind: "text"; readonly input: TurnInput };

/** The text that a command gave the user, and its cost. */
export interface CommandReport {
  readonly text: string;
  readonly usage: Usage;
  /** Absent when the price is unknown. */
  readonly cost?: Cost;
  readonly durationMs: number;
}

/**
 * Reads a line that may begin with `/name`. Everything that is no command, such as a path, is only text; so
 * is what a command sends to the model. Throws ReasonixError (usage) for a name that no command has.
 */
export async function readLine(text: string, assembly: Assembly, locale: Locale = "en"): Promise<Line> {
  if (!text.startsWith("/")) return { kind: "text", input: { text } };
  const host = new HeadlessHost(assembly, locale, await loadTexts("commands", locale));
  const line = await readCommand(text, { locale, session: () => host.session() });
  if (!line) return { kind: "text", input: { text: plainText(text) } };
  const { command, argument } = line;
  if (command.kind !== "builtin" || SENDING.has(command.name)) {
    await command.run(host, argument);
    if (host.sent) return { kind: "text", input: host.sent };
    return { kind: "command", run: () => Promise.resolve(free(host.report)) };
  }
  return {
    kind: "command",
    run: (signal) =>
      assembly.stoppable(signal, () => measured(assembly, () => reportOf(command, host, argument, signal))),
  };
}

/** Commands of the program that lead to a turn. */
const SENDING: ReadonlySet<string> = new Set(["init", "review"]);

async function reportOf(
  command: SlashCommand,
  host: HeadlessHost,
  argument: string,
  signal?: AbortSignal,
): Promise<string> {
  await command.run(host, argument, signal);
  return host.report;
}

/** A run is a session and an output: nobody can be asked, and there is nowhere to go. */
class HeadlessHost implements CommandHost {
  readonly headless = true;
  readonly locale: Locale;
  report = "";
  sent: TurnInput | undefined;
  readonly #assembly: Assembly;
  readonly #texts: Texts["commands"];

  constructor(assembly: Assembly, locale: Locale, texts: Texts["commands"]) {
    this.#assembly = assembly;
    this.locale = locale;
    this.#texts = texts;
  }

  session(): Promise<Assembly> {
    return Promise.resolve(this.#assembly);
  }

  commands(): Promise<readonly SlashCommand[]> {
    return allCommands({ headless: true, locale: this.locale, session: () => this.session() });
  }

  say(text: string): void {
    this.report += text.endsWith("\n") ? text : `${text}\n`;
  }

  choose(): Promise<never> {
    return this.#nobody(this.#texts.needsPerson, this.#texts.needsPersonRemedy);
  }

  confirm(question: string): Promise<never> {
    const { nobodyAgrees, needsPersonToAgree } = this.#texts;
    return this.#nobody(nobodyAgrees(question), needsPersonToAgree);
  }

  prompt(question: string): Promise<never> {
    return this.#nobody(this.#texts.nobodyAgrees(question), this.#texts.needsPersonRemedy);
  }

  show(_title: string, text: string): Promise<void> {
    return Promise.resolve(this.say(text));
  }

  send(text: string, rest: Omit<TurnInput, "text"> = {}): void {
    this.sent = { ...rest, text };
  }

  reopen(): Promise<never> {
    return this.#nobody(this.#texts.oneSession, this.#texts.goesOnHeadless);
  }

  #nobody(message: string, remedy: string): Promise<never> {
    return Promise.reject(new ReasonixError(message, { exit: "usage", remedy }));
  }

  quit(): void {}
}

function free(text: string): CommandReport {
  return { text, usage: NO_SPENDING.usage, durationMs: 0 };
}

async function measured(
  { controller, provider }: Assembly,
  work: () => Promise<string>,
): Promise<CommandReport> {
  const started = performance.now();
  let spending = NO_SPENDING;
  const unsubscribe = controller.subscribe((event) => {
    if (event.type === "message.end") spending = addSpending(spending, event);
  });
  try {
    const text = await work();
    const cost = totalCost(spending, provider.model.price?.currency);
    const durationMs = Math.round(performance.now() - started);
    return { text, usage: spending.usage, durationMs, ...(cost ? { cost } : {}) };
  } finally {
    unsubscribe();
  }
}
