/** The chat: a terminal front end that one lives in. */
import { Chat, type ChatOptions } from "./chat.ts";
import { DenoTerminal } from "./terminal/deno_terminal.ts";

export type { Person } from "./chat.ts";

/** Opens the chat on the terminal of the program; resolves with the exit code when the user leaves. */
export function runChat(options: Omit<ChatOptions, "terminal">): Promise<number> {
  return new Chat({ ...options, terminal: new DenoTerminal() }).run();
}
