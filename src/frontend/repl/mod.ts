/** The chat: the interactive front end in the terminal. */
import type { Locale } from "../../i18n/mod.ts";
import { Chat, type ChatOptions } from "./chat.ts";
import { ChatTexts } from "./chat_texts.ts";
import { Looks, type LooksOptions } from "./looks.ts";
import { DenoTerminal } from "./terminal/deno_terminal.ts";

export { ChatLeft } from "../session/session_host.ts";

export interface RunChatOptions extends Omit<ChatOptions, "terminal" | "texts" | "looks">, LooksOptions {
  readonly locale: Locale;
}

/** Opens the chat on the terminal of the program; resolves with the exit code when the user leaves. */
export async function runChat({ locale, ...options }: RunChatOptions): Promise<number> {
  const texts = await ChatTexts.load(locale);
  const looks = new Looks(options);
  return await new Chat({ ...options, texts, looks, terminal: new DenoTerminal() }).run();
}
