import type { AssistantMessage, ProviderPart } from "../../../core/mod.ts";
import { isRecord } from "../../../util/json.ts";
import type { ModelInfo } from "../../provider.ts";
import { partsFor } from "../../wire/message_parts.ts";

/** The kind of the parts of this wire. */
const KIND = "responses";

/** Stands between texts of a reply that are apart on the wire. */
export const SEPARATOR = "\n\n";

/** A piece of a reasoning item's text, by its length. */
export type ReasoningText = readonly [field: "summary" | "content", length: number];

/** One item of a reply, in the order in which they came. What its message says is not repeated. */
export type LayoutItem =
  | {
    /** The item as it came, without its texts. */
    readonly reasoning: Readonly<Record<string, unknown>>;
    readonly texts: readonly ReasoningText[];
  }
  | { readonly text: number; readonly phase?: string }
  /** An item that is the server's own affair, such as a search that it made. */
  | { readonly item: Readonly<Record<string, unknown>> }
  | {
    /** Place of the call in the message. */
    readonly call: number;
    /** What the model wrote, where the tool got something else. */
    readonly arguments?: string;
    /** The item as it came that asks whether an MCP server may be called. */
    readonly asks?: Readonly<Record<string, unknown>>;
  };

/** What a part of this wire holds. */
export interface ReplyLayout {
  readonly items: readonly LayoutItem[];
  /** Where the server keeps the conversation up to this reply. */
  readonly stored?: StoredReply;
}

export interface StoredReply {
  readonly id: string;
  /** Digest of the conversation before the reply. */
  readonly after: string;
}

export function layoutPart(layout: ReplyLayout, model: ModelInfo): ProviderPart {
  return { kind: KIND, provider: model.provider, model: model.id, data: layout };
}

/** The layout of a message that came from this model; undefined when it did not, or is not readable. */
export function layoutOf(message: AssistantMessage, model: ModelInfo): ReplyLayout | undefined {
  const data = partsFor(message, KIND, model)[0]?.data;
  return isLayout(data) ? data : undefined;
}

function isLayout(data: unknown): data is ReplyLayout {
  if (!isRecord(data) || !Array.isArray(data.items)) return false;
  return data.items.every((item) =>
    isRecord(item) && (typeof item.text === "number" || typeof item.call === "number" ||
      isRecord(item.item) ||
      (isRecord(item.reasoning) && Array.isArray(item.texts)))
  );
}

/** The texts with these lengths that a joined text consists of; undefined when it does not. */
export function splitText(joined: string, lengths: readonly number[]): readonly string[] | undefined {
  const texts: string[] = [];
  let at = 0;
  for (const length of lengths) {
    if (texts.length > 0) at += SEPARATOR.length;
    texts.push(joined.slice(at, at + length));
    at += length;
  }
  return at === joined.length ? texts : undefined;
}
