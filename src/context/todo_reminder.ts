import type { Message } from "../core/mod.ts";
import type { SessionState, TodoItem } from "../session/mod.ts";
import { fitDisplay } from "../util/display_width.ts";
import { checklistLine } from "../view/mod.ts";

export type Reminded = Pick<SessionState, "messages" | "todos" | "turns">;

/** Replies after which a list is out of mind. */
const REPLIES = 10;
/** Entries that a reminder names, and the columns of one. */
const MOST_ENTRIES = 20;
const COLUMNS = 120;

const OPENING = "<todos>\n";

const isOpen = ({ status }: TodoItem) => status !== "completed";

/**
 * Reminds the model of open entries of the todo list, in a message at the end: at the beginning of a turn,
 * when nothing has shown them for ten replies, and when another process changed the list or a compaction
 * removed it. A list is not repeated as long as the reminder with it is in the conversation. All of it
 * is read off the conversation, so a resumed session continues as if it had not ended.
 */
export class TodoReminder {
  #of: readonly Message[] | undefined;
  #at = 0;
  #items: readonly TodoItem[] = [];
  #open: readonly TodoItem[] = [];
  #text = "";
  /** Replies since the open entries were shown. */
  #age = Infinity;
  #said: string | undefined;
  #turn: number | undefined;

  /** Returns the reminder that is due before the next request; undefined: none is. */
  take(state: Reminded): string | undefined {
    this.#follow(state);
    const turn = state.turns.at(-1)?.turn;
    const begins = turn !== this.#turn;
    this.#turn = turn;
    if (this.#open.length === 0 || this.#said === this.#text) return undefined;
    return this.#age >= REPLIES || (begins && this.#age > 0) ? this.#text : undefined;
  }

  /** Takes in the messages since the last time; all of them where the conversation is another one. */
  #follow({ messages, todos }: Reminded): void {
    if (messages !== this.#of || todos !== this.#items) this.#age = Infinity;
    if (messages !== this.#of) {
      this.#of = messages;
      this.#at = 0;
      this.#said = undefined;
    }
    if (todos !== this.#items) {
      this.#items = todos;
      this.#open = todos.filter(isOpen);
      this.#text = reminder(todos, this.#open);
    }
    for (; this.#at < messages.length; this.#at++) {
      const message = messages[this.#at];
      if (message?.role === "assistant") this.#age++;
      else if (message) this.#see(message);
    }
  }

  #see(message: Message): void {
    const isReminder = message.role === "user" && message.content.startsWith(OPENING);
    if (isReminder) this.#said = message.content;
    if (isReminder ? this.#said === this.#text : shows(message, this.#open)) this.#age = 0;
  }
}

/** Reports whether each of the entries ends a line of the message, as in a checklist or a plan. */
function shows({ content }: Message, entries: readonly TodoItem[]): boolean {
  return entries.every((entry) =>
    content.includes(` ${entry.content}\n`) || content.endsWith(` ${entry.content}`)
  );
}

function reminder(items: readonly TodoItem[], open: readonly TodoItem[]): string {
  const lines = open.slice(0, MOST_ENTRIES).map((entry) => fitDisplay(checklistLine(entry), COLUMNS));
  if (open.length > MOST_ENTRIES) lines.push(`… and ${open.length - MOST_ENTRIES} more`);
  return OPENING +
    `Open on the todo list, ${open.length} of ${items.length}. Unless the user wants something else now, go ` +
    `on with it, and keep it true: complete what is done, remove what is no longer needed.\n${
      lines.join("\n")
    }\n</todos>`;
}
