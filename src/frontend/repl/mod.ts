/** The chat: the interactive front end in the terminal. */
import type { Locale } from "../../i18n/mod.ts";
import { Chat, type ChatOptions } from "./chat.ts";
import { ChatTexts } from "./chat_texts.ts";
import { Looks, type LooksOptions } from "./looks.ts";
import { LiveSessions, type OpenFor, type SetUp } from "../session/live_session.ts";
import { defined } from "../../util/json.ts";
import { DenoTerminal } from "./terminal/deno_terminal.ts";

export type { WebPage, WebPageOptions } from "./chat.ts";
export { ChatLeft } from "../session/session_host.ts";

export interface RunChatOptions
  extends Omit<ChatOptions, "terminal" | "texts" | "looks" | "live" | "sessions">, LooksOptions {
  readonly locale: Locale;
  /** Opens a session; the user answers its questions. */
  readonly open: OpenFor;
  readonly setUp?: SetUp;
}

/** Opens the chat on the terminal of the program; resolves with the exit code when the user leaves. */
export async function runChat({ locale, open, setUp, ...options }: RunChatOptions): Promise<number> {
  const texts = await ChatTexts.load(locale);
  const looks = new Looks(options);
  const sessions = new LiveSessions({ open, texts, ...defined({ setUp }) });
  try {
    const live = sessions.begin();
    return await new Chat({ ...options, live, sessions, texts, looks, terminal: new DenoTerminal() }).run();
  } finally {
    await sessions.close();
  }
}
