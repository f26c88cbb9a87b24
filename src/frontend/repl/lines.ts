/** The chat in plain lines: a person who reads lines and types numbers. */
import type { PlanAnswer, PlanProposal } from "../../run/mod.ts";
import { allCommands, type Choice, type CommandHost } from "../../command/mod.ts";
import { type ApprovalAnswer, errorMessage, usageError } from "../../core/mod.ts";
import type { ApprovalStyle } from "./overlay/questions.ts";
import { personOf, questionsOfCommands } from "../session/person.ts";
import {
  type Answer,
  type ApprovalQuestion,
  type OpenQuestion,
  type QuestionInLines,
  Questions,
} from "../session/questions.ts";
import type { SessionTexts } from "../session/texts.ts";
import { loadTexts, loadTranslator, type Locale } from "../../i18n/mod.ts";
import type { Question } from "../../tool/mod.ts";
import { defined } from "../../util/json.ts";
import { lazy } from "../../util/lazy.ts";
import { READING_MS, unlessAborted } from "../../util/timer.ts";
import { palette } from "../../view/mod.ts";

export { ServerUpdates } from "../server_updates.ts";
export { SessionHost } from "../session/session_host.ts";
export { executeMessage } from "../session/submissions.ts";
export { SessionTexts } from "../session/texts.ts";
export { personOf, Questions };

const loadQuestions = lazy(() => import("./overlay/questions.ts"));
const loadAnswers = lazy(() => import("../session/answers.ts"));

interface ApprovalForm extends Pick<ApprovalStyle, "checkRule"> {
  readonly locale: Locale;
  readonly columns: number;
}

/** Formats an approval as plain lines of at most `columns` cells. */
export async function approvalLines(
  question: ApprovalQuestion,
  { locale, columns, checkRule }: ApprovalForm,
): Promise<QuestionInLines<ApprovalAnswer>> {
  const [{ approvalInLines }, texts, translator] = await Promise.all([
    loadQuestions(),
    loadTexts("overlay", locale),
    loadTranslator(locale),
  ]);
  const style = { palette: palette(false), texts, translator, checkRule, changed() {} };
  return await approvalInLines(question, style, columns);
}

export async function planLines(locale: Locale): Promise<QuestionInLines<PlanAnswer | "leave">> {
  const [{ planTitle }, { planEntries }] = await Promise.all([loadQuestions(), loadAnswers()]);
  const { plan } = await loadTexts("overlay", locale);
  return { text: planTitle(plan), entries: planEntries(plan) };
}

const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Lines of standard input, read when they are asked for. */
export class LineReader {
  readonly #decoder = new TextDecoder();
  readonly #buffer = new Uint8Array(64 * 1024);
  #rest = "";
  #ended = false;
  #reading: Promise<void> | undefined;

  /**
   * The next line without its end; undefined when there is none any more, or when the signal aborts: then the
   * line is for the next reader.
   */
  async next(signal?: AbortSignal): Promise<string | undefined> {
    for (let from = 0; !signal?.aborted;) {
      const end = this.#rest.indexOf("\n", from);
      if (end >= 0) {
        const line = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 1);
        return line.replace(/\r$/, "");
      }
      from = this.#rest.length;
      if (this.#ended || from > MAX_LINE_BYTES) return this.#last();
      this.#reading ??= this.#read();
      await unlessAborted(this.#reading, signal).catch(() => {});
    }
    return undefined;
  }

  async #read(): Promise<void> {
    const count = await Deno.stdin.read(this.#buffer).catch(() => null);
    this.#ended = count === null;
    this.#rest += this.#decoder.decode(this.#buffer.subarray(0, count ?? 0), { stream: count !== null });
    this.#reading = undefined;
  }

  #last(): string | undefined {
    const line = this.#rest;
    this.#rest = "";
    return line === "" ? undefined : line;
  }
}

/** The display of a question: until the signal aborts; `called` when the person has asked for it. */
type Shown = Pick<OpenQuestion, "called"> & { readonly signal: AbortSignal };
type Entry<T> = QuestionInLines<T>["entries"][number];
type Rows = readonly Pick<Choice<unknown>, "label" | "detail">[];
type WrittenEntry<T> = Extract<Entry<T>, { readonly write: unknown }>;

interface LinePersonOptions {
  readonly lines: LineReader;
  readonly texts: Pick<SessionTexts, "chat" | "locale">;
  readonly questions: Questions;
  /** Cells of a line. */
  readonly columns: () => number;
  /** Standard output is a terminal: a plan was printed there as what the model says. */
  readonly isPlanShown: boolean;
  /** Shows lines to the person, apart from answers. */
  readonly write: (text: string) => void | Promise<void>;
  /**
   * Gets a line that is no answer: one that came too early, or a text where a number is asked for. Absent:
   * every line answers.
   */
  readonly message?: (line: string) => void;
}

/** A person who reads lines and types numbers: shows the questions of a session one after the other. */
export class LinePerson {
  readonly #options: LinePersonOptions;
  /** Resolves when the questions before the next one are closed. */
  #shown: Promise<unknown> = Promise.resolve();

  constructor(options: LinePersonOptions) {
    this.#options = options;
    const { questions, texts, write } = options;
    questions.attach({
      name: "terminal",
      show: (question, signal) => this.#shown = this.#show(this.#shown, question, signal),
      elsewhere: (by) => void write(`${texts.chat.answeredElsewhere(by)}\n`),
      failed: (error) => void write(`${errorMessage(error)}\n`),
    });
  }

  async #show(
    before: Promise<unknown>,
    { id, kind, question, called }: OpenQuestion,
    signal: AbortSignal,
  ): Promise<Answer | undefined> {
    await before.catch(() => {});
    if (signal.aborted) return undefined;
    const { chat } = this.#options.texts;
    const yesOrNo = [{ label: chat.no, value: false }, { label: chat.yes, value: true }];
    const shown = { signal, called };
    switch (kind) {
      case "approval":
        return await this.#approve(id, question, shown);
      case "ask":
        return await this.#askAll(question.questions, shown);
      case "plan":
        return await this.#review(question, shown);
      case "trust":
        return await this.#choose([chat.trustTitle, ...question.lines, question.details].join("\n"), [
          { label: chat.trustIgnore, value: "ignore" as const },
          { label: chat.trust, value: "trust" as const },
        ], shown);
      case "copy":
        return await this.#choose(`${chat.busy(question.pid)}\n${chat.busyCopy}`, yesOrNo, shown);
      case "choose": {
        const choices = question.entries.map((entry, value) => ({ ...entry, value }));
        return await this.#choose(question.title, choices, shown);
      }
      case "confirm":
        return await this.#choose([question.title, question.text].filter(Boolean).join("\n"), yesOrNo, shown);
      case "prompt":
        return await this.#prompt(question.title, shown);
      case "show":
      case "changes":
        // The commands of the line chat print them as their report.
        return null;
    }
  }

  /** A numbered list; undefined when the person gave no number of it. */
  async #choose<T>(
    title: string,
    choices: readonly (Rows[number] & { readonly value: T })[],
    shown: Shown,
  ): Promise<T | undefined> {
    if (!shown.called) return numbered(await this.#answer(title, choices, "number", shown), choices)?.value;
    await this.#write(title, choices);
    return numbered(await this.#options.lines.next(shown.signal), choices)?.value;
  }

  /** A line; undefined when it is empty. */
  async #prompt(question: string, { signal }: Shown): Promise<string | undefined> {
    await this.#options.write(`${question} `);
    return (await this.#options.lines.next(signal))?.trim() || undefined;
  }

  /** The line that answers a question that the person did not ask for; all other lines are messages. */
  async #answer(title: string, choices: Rows, form: "number" | "text", { signal }: Shown): Promise<string> {
    const { lines, message, texts, write } = this.#options;
    await this.#write(title, choices);
    const shown = performance.now();
    for (;;) {
      const line = await lines.next(signal);
      const answer = line?.trim() ?? "";
      const isLate = performance.now() - shown >= READING_MS;
      const fits = form === "text" || answer === "" || numbered(answer, choices) !== undefined;
      if (line === undefined || !message || (isLate && fits)) return answer;
      message(line);
      if (!isLate) continue;
      await write(`${texts.chat.lineInput.kept}\n`);
      await this.#askNumber(choices);
    }
  }

  async #write(title: string, choices: Rows): Promise<void> {
    const { write } = this.#options;
    const rows = choices.map(({ label, detail }, at) =>
      `  ${at + 1}. ${label}${detail === undefined ? "" : ` – ${detail}`}`
    );
    await write(`${[title, ...rows].join("\n")}\n`);
    await this.#askNumber(choices);
  }

  async #askNumber(choices: Rows): Promise<void> {
    const { texts, write } = this.#options;
    await write(texts.chat.lineInput.number(choices.length));
  }

  async #approve(id: string, question: ApprovalQuestion, shown: Shown): Promise<ApprovalAnswer> {
    const { texts: { locale }, columns, questions } = this.#options;
    const checkRule = question.checksRule && ((rule: string) => questions.call(id, "checkRule", rule));
    const lines = await approvalLines(question, { locale, columns: columns(), checkRule });
    return await this.#chosen(lines, shown) ?? { allow: false, scope: "once" };
  }

  async #review(proposal: PlanProposal, shown: Shown): Promise<PlanAnswer | undefined> {
    const { texts: { locale }, write, isPlanShown } = this.#options;
    if (!isPlanShown) await write(`${proposal.plan}\n\n`);
    const answer = await this.#chosen(await planLines(locale), shown);
    return answer === "leave" ? undefined : answer;
  }

  /** The chosen or written answer; undefined without a number of the list, or without a text. */
  async #chosen<T>({ text, entries }: QuestionInLines<T>, shown: Shown): Promise<T | undefined> {
    const entry = numbered(await this.#answer(text, entries, "number", shown), entries);
    if (!entry || "value" in entry) return entry?.value;
    if ("entries" in entry) return await this.#chosen({ text: entry.label, entries: entry.entries }, shown);
    return await this.#written(entry, shown);
  }

  /** An answer in the person's own words; undefined when they wrote none. */
  async #written<T>(entry: WrittenEntry<T>, shown: Shown): Promise<T | undefined> {
    const { label, initial, check, write, prompt } = entry;
    for (;;) {
      const asked = prompt ?? `${label}${initial === undefined ? "" : ` (${initial})`}:`;
      const text = await this.#prompt(asked, shown);
      if (text === undefined) return undefined;
      const problem = check?.(text);
      if (problem === undefined) return write(text);
      await this.#options.write(`${problem}\n`);
    }
  }

  async #askAll(
    questions: readonly Question[],
    shown: Shown,
  ): Promise<readonly (readonly string[])[] | undefined> {
    const answers: string[][] = [];
    for (const { question, options, multiple } of questions) {
      const rows = options.map(({ label, description }) => ({ label, ...defined({ detail: description }) }));
      const title = `${question}\n${this.#options.texts.chat.ownWords}`;
      const answer = await this.#answer(title, rows, "text", shown);
      if (answer === "") return undefined;
      const numbers = (multiple ? answer.split(/[\s,]+/) : [answer]).map((each) => rows[Number(each) - 1]);
      const labels = numbers.map((row) => row?.label);
      answers.push(labels.every((label) => label !== undefined) ? labels : [answer]);
    }
    return answers;
  }
}

/** The entry whose number the line is. */
function numbered<E>(line: string | undefined, entries: readonly E[]): E | undefined {
  return /^\s*\d+\s*$/.test(line ?? "") ? entries[Number(line) - 1] : undefined;
}

interface LineCommandsDeps extends Pick<CommandHost, "session" | "say" | "send" | "reopen" | "quit"> {
  /** Absent: there is no user. */
  readonly questions: Questions | undefined;
  readonly texts: Pick<SessionTexts, "chat" | "locale">;
}

/** The host of slash commands in plain lines. */
export function lineCommands({ questions, texts, ...rest }: LineCommandsDeps): CommandHost {
  const asked = questions && questionsOfCommands(questions);
  const asking = (question: string): NonNullable<typeof asked> => {
    if (asked) return asked;
    const { noTerminal, onTerminal } = texts.chat.lineInput;
    throw usageError(noTerminal(question), onTerminal);
  };
  return {
    ...rest,
    commands: () => allCommands({ locale: texts.locale, session: rest.session }),
    get locale() {
      return texts.locale;
    },
    choose: async (title, ...given) => await asking(title).choose(title, ...given),
    confirm: async (title, options) => await asking(title).confirm(title, options),
    prompt: async (title, initial) => await asking(title).prompt(title, initial),
    show: (title, text) => Promise.resolve(rest.say(`${title}\n\n${text}`)),
  };
}
