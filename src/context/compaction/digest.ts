import type { Message } from "../../core/mod.ts";
import type { TodoItem } from "../../session/mod.ts";
import { checklist } from "../../tool/mod.ts";
import { ownWords } from "../../util/own_words.ts";
import { extract, extractText } from "./extract.ts";
import { middleCut } from "./transcript.ts";

export interface DigestParts {
  /** Written by the model; absent: only what can be read off the messages. */
  readonly summary?: string;
  readonly folded: readonly Message[];
  readonly todos: readonly TodoItem[];
  /** User turns up to this many characters stay verbatim. */
  readonly keepBelow: number;
  readonly archive?: string;
  /** Characters of the summary. */
  readonly maxChars: number;
}

const TAG = "compaction-summary";
const OPENING = `<${TAG}>`;

/** Whether a message is the result of a fold. */
export function isDigest(message: Message): boolean {
  return message.role === "user" && message.content.startsWith(OPENING);
}

/** The message that takes the place of the folded ones. */
export function digestText(parts: DigestParts): string {
  const found = extract(parts.folded);
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
    parts.summary === undefined ? earlierDigests(parts) : "",
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
function earlierDigests({ folded, maxChars }: DigestParts): string {
  const texts = folded.filter(isDigest).map((message) =>
    message.content.slice(OPENING.length).replace(`</${TAG}>`, "").trim()
  );
  return texts.length === 0 ? "" : `Earlier summaries:\n${middleCut(texts.join("\n\n"), maxChars)}`;
}

/**
 * What the user wrote beside the files and pastes that made a message too long to be kept: a fact in there would be lost with
 * the bulk.
 */
function longMessages({ folded, keepBelow }: DigestParts): string {
  const words = folded.flatMap((message) => {
    if (message.role !== "user" || isDigest(message) || message.content.length <= keepBelow) return [];
    return [middleCut(ownWords(message.content).trim(), Math.max(keepBelow, 600))];
  });
  return words.length === 0
    ? ""
    : `Long messages of the user, without attachments:\n${
      words.map((text) => `<user>\n${text}\n</user>`).join("\n")
    }`;
}
