/** The chat: a terminal front end that one lives in. */
import type { Locale } from "../../i18n/mod.ts";
import { Chat, type ChatOptions } from "./chat.ts";
import { ChatTexts } from "./chat_texts.ts";
import { Looks, type LooksOptions } from "./looks.ts";
import { DenoTerminal } from "./terminal/deno_terminal.ts";

export { carryOut } from "./carry_out.ts";
export { ChatTexts } from "./chat_texts.ts";
export { SessionHost } from "./session_host.ts";
export { ChatLeft, type Person } from "./person.ts";

export interface RunChatOptions extends Omit<ChatOptions, "terminal" | "texts" | "looks">, LooksOptions {
  /** The language to begin with. */
  readonly locale: Locale;
}

/** Opens the chat on the terminal of the program; resolves with the exit code when the user leaves. */
export async function runChat({ locale, ...options }: RunChatOptions): Promise<number> {
  const texts = await ChatTexts.load(locale);
  const looks = new Looks(options);
  return await new Chat({ ...options, texts, looks, terminal: new DenoTerminal() }).run();
}
