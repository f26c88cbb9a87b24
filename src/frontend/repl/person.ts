import { type Choice, type CommandHost } from "../../command/mod.ts";
import type { ApprovalAnswer } from "../../core/mod.ts";
import type { Locale } from "../../i18n/mod.ts";
import type { ApprovalRequest, Approver } from "../../permission/mod.ts";
import type { Asker, Question } from "../../tool/mod.ts";
import type { Palette } from "../../view/mod.ts";
import type { OverlayQueue } from "./overlay/overlay.ts";
import { Select } from "./overlay/select.ts";
import type { ChatTexts } from "./chat_texts.ts";

/** The person in front of the chat, as those see them who have something to ask. */
export interface Person {
  readonly approver: Approver;
  readonly asker: Asker;
  /** Asks whether what a project brings may be used; every line says one thing. */
  trust(lines: readonly string[], details: string): Promise<"trust" | "ignore">;
  /** Lends the terminal to a program that asks by itself. */
  lend<T>(run: () => Promise<T>): Promise<T>;
  /** Says something beside the conversation. */
  say(text: string): void;
  /** The language is known for sure once the configuration is. */
  speak(locale: Locale): Promise<void>;
}

export interface ChatPersonOptions extends Pick<CommandHost, "say"> {
  readonly overlays: OverlayQueue;
  readonly palette: Palette;
  readonly texts: ChatTexts;
  readonly lend: Person["lend"];
  /** Stops the turn, as Esc does. */
  readonly stop: () => void;
}

/** A person who answers in overlays. */
export class ChatPerson implements Person {
  readonly approver: Approver = { ask: (request, signal) => this.#approve(request, signal) };
  readonly asker: Asker = { ask: (questions, signal) => this.#ask(questions, signal) };
  readonly #options: ChatPersonOptions;

  constructor(options: ChatPersonOptions) {
    this.#options = options;
  }

  async trust(lines: readonly string[], details: string): Promise<"trust" | "ignore"> {
    const { chat } = this.#options.texts;
    const choices: Choice<"trust" | "ignore" | "look">[] = [
      { label: chat.trustIgnore, key: "n", value: "ignore" },
      { label: chat.trust, key: "t", value: "trust" },
      { label: chat.trustLook, key: "l", value: "look" },
    ];
    while (true) {
      const answer = await this.choose([chat.trustTitle, ...lines.map((line) => `  ${line}`)], choices);
      if (answer !== "look") return answer ?? "ignore";
      this.say(details);
    }
  }

  lend<T>(run: () => Promise<T>): Promise<T> {
    return this.#options.lend(run);
  }

  say(text: string): void {
    this.#options.say(text);
  }

  speak(locale: Locale): Promise<void> {
    return this.#options.texts.use(locale);
  }

  /** Lets the person choose one of several things; undefined when they left without. */
  async choose<T>(
    title: readonly string[],
    choices: readonly Choice<T>[],
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    const { overlays, palette, texts } = this.#options;
    return await overlays.show(new Select({ title, choices, palette, hint: texts.chat.choiceHint }), signal);
  }

  async #approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const { palette, texts: { chat } } = this.#options;
    const choices: readonly Choice<ApprovalAnswer>[] = [
      { label: chat.allowOnce, key: "y", value: { allow: true, scope: "once" } },
      { label: chat.deny, key: "n", value: { allow: false, scope: "once" } },
    ];
    const title = [`${request.tool} ${request.subject}`.slice(0, 200), palette.dim(request.reason)];
    const answer = await this.choose(title, choices, signal);
    if (!answer) this.#options.stop();
    signal.throwIfAborted();
    return answer ?? { allow: false, scope: "once" };
  }

  async #ask(
    questions: readonly Question[],
    signal: AbortSignal,
  ): Promise<readonly (readonly string[])[] | undefined> {
    const answers: (readonly string[])[] = [];
    for (const { question, options } of questions) {
      const choices = options.map(({ label, description }): Choice<string> => ({
        label,
        value: label,
        ...(description === undefined ? {} : { detail: description }),
      }));
      const answer = await this.choose([question], choices, signal);
      if (answer === undefined) return undefined;
      answers.push([answer]);
    }
    return answers;
  }
}
