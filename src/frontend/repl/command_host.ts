import { allCommands, type CommandHost, type OpenRequest, type SlashCommand } from "../../command/mod.ts";
import type { Locale } from "../../i18n/mod.ts";
import type { ChatTexts } from "./chat_texts.ts";
import type { Dialogs } from "./overlay/dialogs.ts";
import type { OpenSession, SessionHost } from "./session_host.ts";

export interface ChatCommandsOptions extends Pick<CommandHost, "say" | "send" | "quit"> {
  readonly host: SessionHost;
  readonly dialogs: Dialogs;
  readonly texts: ChatTexts;
}

/** What slash commands find in the chat. */
export class ChatCommands implements CommandHost {
  readonly say: CommandHost["say"];
  readonly send: CommandHost["send"];
  readonly quit: CommandHost["quit"];
  readonly choose: CommandHost["choose"];
  readonly confirm: CommandHost["confirm"];
  readonly prompt: CommandHost["prompt"];
  readonly show: CommandHost["show"];
  readonly #host: SessionHost;
  readonly #texts: ChatTexts;

  constructor({ host, dialogs, texts, say, send, quit }: ChatCommandsOptions) {
    this.say = say;
    this.send = send;
    this.quit = quit;
    this.#host = host;
    this.#texts = texts;
    this.choose = (title, choices, options) => dialogs.choose(title, choices, options);
    this.confirm = (question, options) => dialogs.confirm(question, options);
    this.prompt = (question, initial) => dialogs.prompt(question, initial);
    this.show = (title, text) => dialogs.show(title, text);
  }

  get locale(): Locale {
    return this.#texts.locale;
  }

  session(): ReturnType<OpenSession> {
    return this.#host.current();
  }

  commands(): Promise<readonly SlashCommand[]> {
    return allCommands();
  }

  async reopen(request: OpenRequest): Promise<void> {
    await this.#host.replace(request);
  }
}
