import { allCommands, type CommandHost, type OpenRequest, type SlashCommand } from "../../command/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import { loadTexts, type Locale } from "../../i18n/mod.ts";
import type { ChatTexts } from "./chat_texts.ts";
import { keyHelp } from "./composer/keymap.ts";
import type { Dialogs } from "./overlay/dialogs.ts";
import type { OpenSession, SessionHost } from "./session_host.ts";

export interface ChatCommandsOptions
  extends Required<Pick<CommandHost, "say" | "send" | "quit" | "draft" | "control" | "settingSaved">> {
  readonly host: SessionHost;
  readonly dialogs: Dialogs;
  readonly texts: ChatTexts;
}

/** What slash commands find in the chat. */
export class ChatCommands implements CommandHost {
  readonly showsEvents = true;
  readonly say: CommandHost["say"];
  readonly send: CommandHost["send"];
  readonly quit: CommandHost["quit"];
  readonly draft: NonNullable<CommandHost["draft"]>;
  readonly control: NonNullable<CommandHost["control"]>;
  readonly settingSaved: NonNullable<CommandHost["settingSaved"]>;
  readonly choose: CommandHost["choose"];
  readonly confirm: CommandHost["confirm"];
  readonly prompt: CommandHost["prompt"];
  readonly show: CommandHost["show"];
  readonly lookAt: NonNullable<CommandHost["lookAt"]>;
  readonly #host: SessionHost;
  readonly #texts: ChatTexts;

  constructor({ host, dialogs, texts, ...own }: ChatCommandsOptions) {
    this.say = own.say;
    this.send = own.send;
    this.quit = own.quit;
    this.draft = own.draft;
    this.control = own.control;
    this.settingSaved = own.settingSaved;
    this.#host = host;
    this.#texts = texts;
    this.choose = (title, choices, options) => dialogs.choose(title, choices, options);
    this.confirm = (question, options) => dialogs.confirm(question, options);
    this.prompt = (question, initial) => dialogs.prompt(question, initial);
    this.show = (title, text) => dialogs.show(title, text);
    this.lookAt = (title, files) => dialogs.changes(title, files);
  }

  get locale(): Locale {
    return this.#texts.locale;
  }

  get opening(): boolean {
    return this.#host.opening;
  }

  session(): ReturnType<OpenSession> {
    return this.#host.current();
  }

  /** Keys as a list in Markdown. */
  keys(): string {
    const help = keyHelp(this.#texts.composer);
    return help.map(({ keys, what }) => `- ${keys.map((key) => `\`${key}\``).join(" · ")} ${what}`).join(
      "\n",
    );
  }

  commands(): Promise<readonly SlashCommand[]> {
    return allCommands({ locale: this.locale, session: () => this.#host.ifOpen() });
  }

  async reopen(request: OpenRequest): Promise<void> {
    await this.#beforeLeaving(request);
    await this.#host.replace(request);
  }

  /** What no disk has taken is gone with its session: that needs the user's word. */
  async #beforeLeaving({ resume }: OpenRequest): Promise<void> {
    if (!this.opening) return;
    const { session } = await this.session().catch(() => ({ session: undefined }));
    if (session?.problem === undefined) return;
    const texts = await loadTexts("session_commands", this.locale);
    const [question = "", text = ""] = texts.reallyLose(session.problem).split("\n");
    const leaves = resume !== session.id && await this.confirm(question, { text, danger: true });
    if (!leaves) throw new ReasonixError(texts.notSaved(session.problem), { remedy: texts.saveFirst });
  }
}
