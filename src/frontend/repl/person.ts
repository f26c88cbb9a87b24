import type { PlanReviewer } from "../../assembly/mod.ts";
import type { CommandHost } from "../../command/mod.ts";
import type { ApprovalAnswer } from "../../core/mod.ts";
import type { Locale } from "../../i18n/mod.ts";
import type { ApprovalRequest, Approver } from "../../permission/mod.ts";
import type { Asker } from "../../tool/mod.ts";
import type { ChatTexts } from "./chat_texts.ts";
import type { Dialogs } from "./overlay/dialogs.ts";

/** Thrown instead of a session: the chat ends, since it goes on in another way. */
export class ChatLeft extends Error {}

/** The person in front of the chat, as those see them who have something to ask. */
export interface Person {
  /** Absent: nobody is there to be asked. */
  readonly approver?: Approver;
  readonly asker?: Asker;
  readonly planReviewer?: PlanReviewer;
  /** Asks whether what a project brings may be used as it is now; every line says one thing. */
  readonly trust?: (lines: readonly string[], details: string) => Promise<"trust" | "ignore">;
  /** Asks whether to go on in a copy of a session that another program has open. */
  readonly copy?: (busy: { readonly pid: number | undefined }) => Promise<boolean>;
  /** Lends the terminal to a program that asks by itself. */
  readonly lend?: <T>(run: () => Promise<T>) => Promise<T>;
  /** Says something beside the conversation. */
  say(text: string): void;
  /** The language is known for sure once the configuration is. */
  speak(locale: Locale): Promise<void>;
}

export interface ChatPersonOptions extends Pick<CommandHost, "say"> {
  readonly dialogs: Dialogs;
  readonly texts: ChatTexts;
  readonly lend: NonNullable<Person["lend"]>;
  /** Stops the turn, as Esc does. */
  readonly stop: () => void;
}

/** A person who answers in overlays. */
export class ChatPerson implements Person {
  readonly approver: Approver = { ask: (request, signal) => this.#approve(request, signal) };
  readonly asker: Asker;
  readonly planReviewer: PlanReviewer;
  readonly trust: NonNullable<Person["trust"]>;
  readonly copy: NonNullable<Person["copy"]>;
  readonly lend: ChatPersonOptions["lend"];
  readonly say: Person["say"];
  readonly #options: ChatPersonOptions;

  constructor(options: ChatPersonOptions) {
    const { dialogs, lend, say, texts } = options;
    this.#options = options;
    this.asker = { ask: (questions, signal) => dialogs.ask(questions, signal) };
    this.planReviewer = { review: (proposal, signal) => dialogs.plan(proposal, signal) };
    this.trust = (lines, details) => dialogs.trust(lines, details);
    this.copy = ({ pid }) => dialogs.confirm(texts.chat.busy(pid), { text: texts.chat.busyCopy }, false);
    this.lend = lend;
    this.say = say;
  }

  speak(locale: Locale): Promise<void> {
    return this.#options.texts.use(locale);
  }

  async #approve(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const { dialogs, stop } = this.#options;
    const answer = await dialogs.approve(request, signal);
    if (!answer) stop();
    signal.throwIfAborted();
    return answer ?? { allow: false, scope: "once" };
  }
}
