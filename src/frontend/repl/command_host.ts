import {
  allCommands,
  type Choice,
  type CommandHost,
  type OpenRequest,
  type SlashCommand,
} from "../../command/mod.ts";
import type { ChatPerson } from "./person.ts";
import type { OpenSession, SessionHost } from "./session_host.ts";

export interface ChatCommandsOptions extends Pick<CommandHost, "say" | "send" | "quit"> {
  readonly host: SessionHost;
  readonly person: ChatPerson;
}

/** What slash commands find in the chat. */
export class ChatCommands implements CommandHost {
  readonly say: CommandHost["say"];
  readonly send: CommandHost["send"];
  readonly quit: CommandHost["quit"];
  readonly #host: SessionHost;
  readonly #person: ChatPerson;

  constructor({ host, person, say, send, quit }: ChatCommandsOptions) {
    this.say = say;
    this.send = send;
    this.quit = quit;
    this.#host = host;
    this.#person = person;
  }

  session(): ReturnType<OpenSession> {
    return this.#host.current();
  }

  commands(): Promise<readonly SlashCommand[]> {
    return allCommands();
  }

  choose<T>(title: string, choices: readonly Choice<T>[]): Promise<T | undefined> {
    return this.#person.choose([title], choices);
  }

  async reopen(request: OpenRequest): Promise<void> {
    await this.#host.replace(request);
  }
}
