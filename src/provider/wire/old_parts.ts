/**
 * Reads the parts of replies in sessions of earlier versions. Their blocks point into the text of their
 * message: a range of it in UTF-16 units, or the index of a call. A digest of the text shows whether it was
 * changed since.
 */
import type { AssistantMessage } from "../../core/mod.ts";
import { isRecord, safeText } from "../../util/json.ts";
import { digestOf, Fingerprint } from "./fingerprint.ts";
import { type Fields, isFieldsList } from "./message_parts.ts";

type ReplyMessage = Pick<AssistantMessage, "content" | "reasoning" | "calls">;

export function oldAnthropicParts(
  { content, reasoning = "", calls = [] }: ReplyMessage,
  data: readonly unknown[],
): readonly unknown[] | undefined {
  if (!data.some((part) => isRecord(part) && "of" in part)) return undefined;
  let [text, thought, call] = [0, 0, 0];
  const parts = data.map((part) => {
    if (!isRecord(part) || !isNumbers(part.size, 3) || !isFieldsList(part.blocks)) return undefined;
    const [texts = 0, thoughts = 0, count = 0] = part.size;
    const shown = content.slice(text, text += texts);
    const thinking = reasoning.slice(thought, thought += thoughts);
    call += count;
    const blocks = part.blocks.map(({ type, at, block, ...rest }): Fields => {
      if (type === "other" && isRecord(block)) return block;
      const span = isNumbers(at, 2) ? at : [];
      if (type === "text") return { type, text: shown.slice(...span) };
      if (type === "thinking") {
        return { type, thinking: safeText(thinking.slice(...span)), signature: rest.signature };
      }
      return type === "tool_use" ? { type } : { type, ...rest };
    });
    return nameOf(shown, thinking) === part.of ? { ...part, blocks, digest: digestOf(blocks) } : undefined;
  });
  const whole = text === content.length && thought === reasoning.length && call === calls.length;
  return whole ? parts : [undefined];
}

/** The parts of a google message in the current form. */
export function oldGoogleParts(
  { content, reasoning = "", calls = [] }: ReplyMessage,
  data: unknown,
): unknown {
  if (!isRecord(data) || !("of" in data)) return data;
  if (!isFieldsList(data.parts) || data.of !== nameOf(content, reasoning) || data.calls !== calls.length) {
    return {};
  }
  const parts = data.parts.map(({ type, at, part, id, signature: thoughtSignature }): Fields => {
    const signed = thoughtSignature === undefined ? {} : { thoughtSignature };
    if (type === "call") return { functionCall: id === undefined ? {} : { id }, ...signed };
    if (type === "other" && isRecord(part)) return part;
    const thought = type === "thought";
    const text = safeText((thought ? reasoning : content).slice(...(isNumbers(at, 2) ? at : [])));
    return { text, ...(thought ? { thought } : {}), ...signed };
  });
  return { parts, digest: digestOf(parts) };
}

/** Separates texts of a reply that are separate on the wire. */
const SEPARATOR = "\n\n";

/** The items of a responses message; undefined where they do not fit it. */
export function oldResponsesItems(
  { content, reasoning = "", calls = [] }: ReplyMessage,
  items: readonly Fields[],
): readonly Fields[] | undefined {
  if (items.every((item) => "type" in item)) return items;
  const lengths = ({ texts }: Fields) =>
    Array.isArray(texts) ? texts.map(([, length]) => Number(length)) : [];
  const shown = splitText(content, items.flatMap(({ text }) => typeof text === "number" ? [text] : []));
  const thoughts = splitText(reasoning, items.flatMap(lengths))?.values();
  const texts = shown?.values();
  if (!texts || items.filter((item) => "call" in item).length !== calls.length) return undefined;
  return items.map((item): Fields => {
    if (isRecord(item.item)) return item.item;
    if (isRecord(item.asks)) return item.asks;
    if ("call" in item) return { type: "function_call", arguments: item.arguments };
    if (!isRecord(item.reasoning)) {
      return { type: "message", role: "assistant", content: texts.next().value, phase: item.phase };
    }
    const { id, ...rest } = item.reasoning;
    const pieces = (Array.isArray(item.texts) ? item.texts : []).map(([field]) => ({
      field,
      text: safeText(thoughts?.next().value ?? ""),
    }));
    const of = (wanted: string, type: string) =>
      pieces.flatMap(({ field, text }) => field === wanted ? [{ type, text }] : []);
    const thought = of("content", "reasoning_text");
    return {
      type: "reasoning",
      id,
      ...rest,
      summary: of("summary", "summary_text"),
      ...(thought.length > 0 ? { content: thought } : {}),
    };
  });
}

/** The texts with these lengths that a joined text consists of; undefined when it does not. */
function splitText(joined: string, lengths: readonly number[]): readonly string[] | undefined {
  const texts: string[] = [];
  let at = 0;
  for (const length of lengths) {
    if (texts.length > 0) at += SEPARATOR.length;
    texts.push(joined.slice(at, at + length));
    at += length;
  }
  return at === joined.length ? texts : undefined;
}

function nameOf(text: string, reasoning: string): string {
  return new Fingerprint().add(text).add("\n").add(reasoning).value;
}

function isNumbers(value: unknown, count: number): value is readonly number[] {
  return Array.isArray(value) && value.length === count && value.every(Number.isSafeInteger);
}
