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
  /** Prints a warning that came while the session was closed, when the screen had gone. */
  readonly late: (text: string) => void;
}

/** The keys of the full-screen view, which nothing else needs at the start. */
export const loadFullKeys = () => import("./overlay/full_keys.ts");

/** Opens the chat on the terminal of the program; resolves with the exit code when the user leaves. */
export async function runChat({ locale, open, setUp, late, ...options }: RunChatOptions): Promise<number> {
  const texts = await ChatTexts.load(locale);
  const looks = new Looks(options);
  let isGone = false;
  let chat: Chat | undefined;
  const opened: OpenFor = async (request, person) => {
    const assembly = await open(request, person);
    await chat?.configure(assembly.loaded.config.ui);
    assembly.controller.subscribe((event) => {
      if (isGone && event.type === "notice" && event.level === "warning") {
        late(texts.transcript.written(event.said, event.text));
      }
    });
    return assembly;
  };
  const sessions = new LiveSessions({ open: opened, texts, ...defined({ setUp }) });
  try {
    const live = sessions.begin();
    chat = new Chat({ ...options, live, sessions, texts, looks, terminal: new DenoTerminal() });
    return await chat.run();
  } finally {
    isGone = true;
    await sessions.close();
  }
}
