import type { Message } from "../../core/mod.ts";
import type { TodoItem } from "../../session/mod.ts";
import { checklist } from "../../tool/mod.ts";
import { userText } from "../../util/user_text.ts";
import { type DescribeCall, extract, extractText } from "./extract.ts";
import { middleCut } from "./transcript.ts";

export interface SummaryParts {
  /** Written by the model; absent: only what can be read off the messages. */
  readonly summary?: string;
  readonly removed: readonly Message[];
  readonly describe: DescribeCall;
  readonly todos: readonly TodoItem[];
  /** User turns up to this many characters stay verbatim. */
  readonly keepBelow: number;
  readonly archive?: string;
  /** Characters of the summary. */
  readonly maxChars: number;
}

const TAG = "compaction-summary";
const OPENING = `<${TAG}>`;

/** Reports whether a message is the result of a compaction. */
export function isSummary(message: Message): boolean {
  return message.role === "user" && message.content.startsWith(OPENING);
}

/** The message that takes the place of the removed ones. */
export function summaryMessage(parts: SummaryParts): string {
  const found = extract(parts.removed, parts.describe);
  const changed = found.changed.length > 0 && parts.summary !== undefined
    ? `Files changed: ${found.changed.join(", ")}`
    : "";
  const where = parts.archive ? ` The originals are in ${parts.archive}.` : "";
  const body = [
    "Earlier replies and tool results were replaced by this summary to make room; the user's own messages stay word for " +
    `word.${where}`,
    parts.summary === undefined
      ? middleCut(extractText(found), parts.maxChars)
      : middleCut(parts.summary, parts.maxChars),
    parts.summary === undefined ? earlierSummaries(parts) : "",
    changed,
    todoText(parts.todos),
    longMessages(parts),
  ];
  return `${OPENING}\n${body.filter((part) => part !== "").join("\n\n")}\n</${TAG}>`;
}

function todoText(todos: readonly TodoItem[]): string {
  return todos.length === 0 ? "" : `Todo list:\n${checklist(todos)}`;
}

/** A summary that nobody could merge into the new one is kept, the newest words of it at least. */
function earlierSummaries({ removed, maxChars }: SummaryParts): string {
  const texts = removed.filter(isSummary).map((message) =>
    message.content.slice(OPENING.length).replace(`</${TAG}>`, "").trim()
  );
  return texts.length === 0 ? "" : `Earlier summaries:\n${middleCut(texts.join("\n\n"), maxChars)}`;
}

/**
 * The user's own text beside the files and pastes that made a message too long to be kept: a fact in there
 * would be lost with the bulk.
 */
function longMessages({ removed, keepBelow }: SummaryParts): string {
  const words = removed.flatMap((message) => {
    if (message.role !== "user" || isSummary(message) || message.content.length <= keepBelow) return [];
    return [middleCut(userText(message.content).trim(), Math.max(keepBelow, 600))];
  });
  return words.length === 0
    ? ""
    : `Long messages of the user, without attachments:\n${
      words.map((text) => `<user>\n${text}\n</user>`).join("\n")
    }`;
}
