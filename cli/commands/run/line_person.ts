import type { Choice } from "../../../src/command/mod.ts";
import type { ApprovalAnswer } from "../../../src/core/mod.ts";
import type { Person } from "../../../src/frontend/mod.ts";
import type { Texts } from "../../../src/i18n/mod.ts";
import type { ApprovalRequest } from "../../../src/permission/mod.ts";
import type { Question } from "../../../src/tool/mod.ts";
import { terminalSafe } from "../../../src/util/terminal_text.ts";
import type { LineReader } from "../../terminal/line_reader.ts";

export interface LinePersonOptions {
  readonly lines: LineReader;
  readonly texts: () => Texts["chat"];
  /** Shows lines to the person, apart from answers. */
  readonly write: (text: string) => void | Promise<void>;
  readonly speak: Person["speak"];
  /** Stops the turn. */
  readonly stop: () => void;
}

/** A person who reads lines and types numbers. */
export class LinePerson {
  readonly #options: LinePersonOptions;

  constructor(options: LinePersonOptions) {
    this.#options = options;
  }

  /** With somebody at the keyboard, or with nobody who could answer. */
  asPerson(attended: boolean): Person {
    const { speak, write } = this.#options;
    const person: Person = { speak, say: (text) => void write(`${terminalSafe(text)}\n`) };
    if (!attended) return person;
    return {
      ...person,
      approver: { ask: (request, signal) => this.#approve(request, signal) },
      asker: { ask: (questions, signal) => this.#ask(questions, signal) },
      trust: async (lines, details) => {
        const chat = this.#options.texts();
        const answer = await this.choose([chat.trustTitle, ...lines, details].join("\n"), [
          { label: chat.trustIgnore, value: "ignore" as const },
          { label: chat.trust, value: "trust" as const },
        ]);
        return answer ?? "ignore";
      },
      lend: (run) => run(),
    };
  }

  /** A numbered list; undefined when the person gave no number of it. */
  readonly choose = async <T>(title: string, choices: readonly Choice<T>[]): Promise<T | undefined> => {
    const number = Number(await this.#answer(title, choices));
    return Number.isInteger(number) ? choices[number - 1]?.value : undefined;
  };

  /** A line; undefined when it is empty. */
  readonly prompt = async (question: string): Promise<string | undefined> => {
    await this.#options.write(`${terminalSafe(question)} `);
    return (await this.#options.lines.next())?.trim() || undefined;
  };

  async #answer(title: string, choices: readonly Choice<unknown>[]): Promise<string> {
    const { lines, texts, write } = this.#options;
    const rows = choices.map(({ label, detail }, at) =>
      `  ${at + 1}. ${label}${detail === undefined ? "" : ` – ${detail}`}`
    );
    await write(`${terminalSafe([title, ...rows].join("\n"))}\n${texts().lineInput.number(choices.length)}`);
    return (await lines.next())?.trim() ?? "";
  }

  async #approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const { texts, stop } = this.#options;
    const { tool, subject, reason, scopes, rule, prefixRule, personOnly } = request;
    const { allowOnce, allowSession, allowAlways, deny } = texts();
    const denied: ApprovalAnswer = { allow: false, scope: "once" };
    const choices: Choice<ApprovalAnswer>[] = [
      { label: allowOnce, value: { allow: true, scope: "once" } },
      ...(scopes.includes("session")
        ? [{ label: allowSession, value: { allow: true, scope: "session" } as const }]
        : []),
      ...(scopes.includes("always") && rule === undefined && personOnly
        ? [{ label: allowAlways(tool), value: { allow: true, scope: "always" } as const }]
        : []),
      ...(scopes.includes("always") ? [rule, prefixRule] : []).filter((each) => each !== undefined).map((
        each,
      ) => ({ label: allowAlways(each), value: { allow: true, scope: "always", rule: each } as const })),
      { label: deny, value: denied },
    ];
    const answer = await this.choose(`${tool}: ${subject}\n${reason}`, choices);
    if (signal.aborted) stop();
    signal.throwIfAborted();
    return answer ?? denied;
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
      const answer = await this.#answer(`${question}\n${this.#options.texts().ownWords}`, choices);
      signal.throwIfAborted();
      if (answer === "") return undefined;
      const numbers = (multiple ? answer.split(/[\s,]+/) : [answer]).map((each) => choices[Number(each) - 1]);
      const labels = numbers.map((choice) => choice?.label);
      answers.push(labels.every((label) => label !== undefined) ? labels : [answer]);
    }
    return answers;
  }
}
