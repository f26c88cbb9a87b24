import { allCommands, type CommandHost } from "../../../src/command/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import type { Locale, Texts } from "../../../src/i18n/mod.ts";
import type { LinePerson } from "./line_person.ts";

export interface LineCommandsDeps extends Pick<CommandHost, "session" | "say" | "send" | "reopen" | "quit"> {
  /** Absent: nobody can be asked. */
  readonly person: LinePerson | undefined;
  readonly language: { readonly locale: Locale; readonly chat: Texts["chat"] };
}

/** What slash commands find where lines are read and written. */
export class LineCommands implements CommandHost {
  readonly session: CommandHost["session"];
  readonly say: CommandHost["say"];
  readonly send: CommandHost["send"];
  readonly reopen: CommandHost["reopen"];
  readonly quit: CommandHost["quit"];
  readonly commands = allCommands;
  readonly #parts: LineCommandsDeps;

  constructor(parts: LineCommandsDeps) {
    this.#parts = parts;
    this.session = parts.session;
    this.say = parts.say;
    this.send = parts.send;
    this.reopen = parts.reopen;
    this.quit = parts.quit;
  }

  get locale(): Locale {
    return this.#parts.language.locale;
  }

  readonly choose: CommandHost["choose"] = (title, choices) => this.#asking(title).choose(title, choices);

  readonly prompt: CommandHost["prompt"] = (question) => this.#asking(question).prompt(question);

  readonly confirm: CommandHost["confirm"] = async (question, { text = "" } = {}) => {
    const { chat } = this.#parts.language;
    const answer = await this.choose([question, text].filter(Boolean).join("\n"), [
      { label: chat.no, value: false },
      { label: chat.yes, value: true },
    ]);
    return answer ?? false;
  };

  show(title: string, text: string): Promise<void> {
    this.say(`${title}\n\n${text}`);
    return Promise.resolve();
  }

  #asking(question: string): LinePerson {
    const { person, language: { chat } } = this.#parts;
    if (person) return person;
    throw new ReasonixError(chat.lineInput.nobodyAsked(question), {
      exit: "usage",
      remedy: chat.lineInput.onTerminal,
    });
  }
}
