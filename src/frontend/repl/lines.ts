/** The chat in plain lines: a person who reads lines and types numbers. */
import type { PlanAnswer, PlanProposal, PlanReviewer } from "../../run/mod.ts";
import { allCommands, type Choice, type CommandHost } from "../../command/mod.ts";
import { type ApprovalAnswer, usageError } from "../../core/mod.ts";
import type { ApprovalLines, QuestionInLines } from "./overlay/questions.ts";
import type { Person } from "../session/mod.ts";
import { loadTexts, loadTranslator, type Locale, type Texts } from "../../i18n/mod.ts";
import type { ApprovalRequest } from "../../permission/mod.ts";
import type { Question } from "../../tool/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { palette } from "../../view/mod.ts";

export { ServerUpdates } from "../server_updates.ts";
export { executeMessage, SessionHost, SessionTexts } from "../session/mod.ts";

const loadQuestions = lazy(() => import("./overlay/questions.ts"));

/** Formats an approval request as plain lines of at most `columns` cells. */
export async function approvalLines(
  { checkRule, ...request }: ApprovalRequest,
  { locale, columns }: { readonly locale: Locale; readonly columns: number },
): Promise<ApprovalLines> {
  const { approvalInLines } = await loadQuestions();
  const [texts, translator] = await Promise.all([
    loadTexts("overlay", locale),
    loadTranslator(locale),
  ]);
  const style = { palette: palette(false), texts, translator, checkRule, changed() {} };
  return await approvalInLines(request, style, columns);
}

export async function planLines(locale: Locale): Promise<QuestionInLines<PlanAnswer | "leave">> {
  const { planEntries, planTitle } = await loadQuestions();
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

  /** The next line without its end; undefined when there is none any more, or when the signal aborts. */
  async next(signal?: AbortSignal): Promise<string | undefined> {
    for (let from = 0;;) {
      const end = this.#rest.indexOf("\n", from);
      if (end >= 0) {
        const line = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 1);
        return line.replace(/\r$/, "");
      }
      from = this.#rest.length;
      if (this.#ended || from > MAX_LINE_BYTES) return this.#last();
      if (signal?.aborted) return undefined;
      const count = await Deno.stdin.read(this.#buffer).catch(() => null);
      this.#ended = count === null;
      this.#rest += this.#decoder.decode(this.#buffer.subarray(0, count ?? 0), { stream: count !== null });
    }
  }

  #last(): string | undefined {
    const line = this.#rest;
    this.#rest = "";
    return line === "" ? undefined : line;
  }
}

type Entry<T> = QuestionInLines<T>["entries"][number];
type Rows = readonly Pick<Choice<unknown>, "label" | "detail">[];
type WrittenEntry<T> = Extract<Entry<T>, { readonly write: unknown }>;

interface LinePersonOptions {
  readonly lines: LineReader;
  readonly texts: () => Texts["chat"];
  /** Shows lines to the person, apart from answers. */
  readonly write: (text: string) => void | Promise<void>;
  readonly speak: Person["speak"];
  /** Text and answers of an approval. Absent: this person does not approve calls. */
  readonly approval?: (request: ApprovalRequest) => Promise<ApprovalLines>;
  /** The same of a plan. */
  readonly plan: () => Promise<QuestionInLines<PlanAnswer | "leave">>;
  /** Stops the turn. */
  readonly stop: () => void;
  /**
   * Gets a line that is no answer: one that came too early, or a text where a number is asked for. Absent:
   * every line answers.
   */
  readonly message?: (line: string) => void;
}

/** No one reads a question and types a line faster, in ms. */
const PAUSE_MS = 300;

/** A person who reads lines and types numbers. */
export class LinePerson {
  readonly planReviewer: PlanReviewer = { review: (proposal, signal) => this.#review(proposal, signal) };
  readonly #options: LinePersonOptions;

  constructor(options: LinePersonOptions) {
    this.#options = options;
  }

  /** With a user at the keyboard, or without. */
  asPerson(attended: boolean): Person {
    const { approval, speak, write } = this.#options;
    const person: Person = { speak, say: (text) => void write(`${text}\n`) };
    if (!attended) return person;
    return {
      ...person,
      ...(approval
        ? { approver: { ask: (request, signal) => this.#approve(approval(request), signal) } }
        : {}),
      planReviewer: this.planReviewer,
      asker: { ask: (questions, signal) => this.#ask(questions, signal) },
      trust: async (lines, details) => {
        const chat = this.#options.texts();
        const answer = await this.#choose([chat.trustTitle, ...lines, details].join("\n"), [
          { label: chat.trustIgnore, value: "ignore" as const },
          { label: chat.trust, value: "trust" as const },
        ]);
        return answer ?? "ignore";
      },
      copy: async ({ pid }) => {
        const { busy, busyCopy, no, yes } = this.#options.texts();
        const answer = await this.#choose(`${busy(pid)}\n${busyCopy}`, [
          { label: no, value: false },
          { label: yes, value: true },
        ]);
        return answer ?? false;
      },
      lend: (run) => run(),
    };
  }

  /** A numbered list that the person asked for; undefined when they gave no number of it. */
  readonly choose = async <T>(title: string, choices: readonly Choice<T>[]): Promise<T | undefined> => {
    await this.#show(title, choices);
    return numbered(await this.#options.lines.next(), choices)?.value;
  };

  /** The same of a question that the person did not ask for. */
  async #choose<T>(title: string, choices: readonly Choice<T>[]): Promise<T | undefined> {
    return numbered(await this.#answer(title, choices, "number"), choices)?.value;
  }

  /** A line; undefined when it is empty. */
  readonly prompt = async (question: string): Promise<string | undefined> => {
    await this.#options.write(`${question} `);
    return (await this.#options.lines.next())?.trim() || undefined;
  };

  /** The line that answers a question; all other lines are messages. */
  async #answer(title: string, choices: Rows, form: "number" | "text"): Promise<string> {
    const { lines, message, texts, write } = this.#options;
    await this.#show(title, choices);
    const shown = performance.now();
    for (;;) {
      const line = await lines.next();
      const answer = line?.trim() ?? "";
      const isLate = performance.now() - shown >= PAUSE_MS;
      const fits = form === "text" || answer === "" || numbered(answer, choices) !== undefined;
      if (line === undefined || !message || (isLate && fits)) return answer;
      message(line);
      if (!isLate) continue;
      await write(`${texts().lineInput.kept}\n`);
      await this.#askNumber(choices);
    }
  }

  async #show(title: string, choices: Rows): Promise<void> {
    const { write } = this.#options;
    const rows = choices.map(({ label, detail }, at) =>
      `  ${at + 1}. ${label}${detail === undefined ? "" : ` – ${detail}`}`
    );
    await write(`${[title, ...rows].join("\n")}\n`);
    await this.#askNumber(choices);
  }

  async #askNumber(choices: Rows): Promise<void> {
    const { texts, write } = this.#options;
    await write(texts().lineInput.number(choices.length));
  }

  async #approve(question: Promise<ApprovalLines>, signal: AbortSignal): Promise<ApprovalAnswer> {
    const answer = await this.#chosen(await question);
    if (signal.aborted) this.#options.stop();
    signal.throwIfAborted();
    return answer ?? { allow: false, scope: "once" };
  }

  async #review(proposal: PlanProposal, signal: AbortSignal): Promise<PlanAnswer | undefined> {
    const { plan, write } = this.#options;
    // On a terminal it was printed as what the model says.
    if (!Deno.stdout.isTerminal()) await write(`${proposal.plan}\n\n`);
    const answer = await this.#chosen(await plan());
    if (signal.aborted) this.#options.stop();
    signal.throwIfAborted();
    return answer === "leave" ? undefined : answer;
  }

  /** The chosen or written answer; undefined without a number of the list, or without a text. */
  async #chosen<T>({ text, entries }: QuestionInLines<T>): Promise<T | undefined> {
    const entry = numbered(await this.#answer(text, entries, "number"), entries);
    if (!entry || "value" in entry) return entry?.value;
    if ("entries" in entry) return await this.#chosen({ text: entry.label, entries: entry.entries });
    return await this.#written(entry);
  }

  /** An answer in the person's own words; undefined when they wrote none. */
  async #written<T>(entry: WrittenEntry<T>): Promise<T | undefined> {
    const { label, initial, check, write, prompt } = entry;
    for (;;) {
      const asked = prompt ?? `${label}${initial === undefined ? "" : ` (${initial})`}:`;
      const text = await this.prompt(asked);
      if (text === undefined) return undefined;
      const problem = check?.(text);
      if (problem === undefined) return write(text);
      await this.#options.write(`${problem}\n`);
    }
  }

  async #ask(
    questions: readonly Question[],
    signal: AbortSignal,
  ): Promise<readonly (readonly string[])[] | undefined> {
    const answers: string[][] = [];
    for (const { question, options, multiple } of questions) {
      const choices = options.map(({ label, description }): Choice<string> => ({
        label,
        value: label,
        ...(description === undefined ? {} : { detail: description }),
      }));
      const answer = await this.#answer(`${question}\n${this.#options.texts().ownWords}`, choices, "text");
      signal.throwIfAborted();
      if (answer === "") return undefined;
      const numbers = (multiple ? answer.split(/[\s,]+/) : [answer]).map((each) => choices[Number(each) - 1]);
      const labels = numbers.map((choice) => choice?.label);
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
  readonly person: LinePerson | undefined;
  readonly language: { readonly locale: Locale; readonly chat: Texts["chat"] };
}

/** The host of slash commands in plain lines. */
export function lineCommands({ person, language, ...rest }: LineCommandsDeps): CommandHost {
  const asking = (question: string): LinePerson => {
    if (person) return person;
    const { noTerminal, onTerminal } = language.chat.lineInput;
    throw usageError(noTerminal(question), onTerminal);
  };
  const choose: CommandHost["choose"] = (title, choices) => asking(title).choose(title, choices);
  return {
    ...rest,
    commands: allCommands,
    get locale() {
      return language.locale;
    },
    choose,
    prompt: (question) => asking(question).prompt(question),
    confirm: async (question, { text = "" } = {}) => {
      const { no, yes } = language.chat;
      const answer = await choose([question, text].filter(Boolean).join("\n"), [
        { label: no, value: false },
        { label: yes, value: true },
      ]);
      return answer ?? false;
    },
    show: (title, text) => Promise.resolve(rest.say(`${title}\n\n${text}`)),
  };
}
