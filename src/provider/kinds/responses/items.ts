import type {
  AssistantMessage,
  ImagePart,
  Message,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "../../../core/mod.ts";
import { isRecord, safeText } from "../../../util/json.ts";
import type { ModelInfo } from "../../provider.ts";
import {
  consistsOf,
  dataUrl,
  type Fields,
  IMAGES_ABOVE,
  isFieldsList,
  partsFor,
  visibleText,
  wireArguments,
  wireName,
} from "../../wire/message_parts.ts";
import { oldResponsesItems } from "../../wire/old_parts.ts";
import { answerItem, ASKS } from "./remote_calls.ts";

/** The kind of the parts of this wire. */
export const KIND = "responses";

/** The data of the part that a reply leaves behind. */
export interface ReplyPart {
  /**
   * Its items as they came, in their order. One of type "function_call" has only the arguments, where the
   * tool got others: the calls of the message are the calls of its items in order.
   */
  readonly items: readonly Fields[];
  /** The place where the server keeps the conversation up to this reply. */
  readonly stored?: StoredReply;
}

export interface StoredReply {
  readonly id: string;
  /** Digest of the conversation before the reply. */
  readonly after: string;
}

/** The part that this model left with a message; undefined where there is none, or it is not readable. */
export function replyPartOf(message: AssistantMessage, model: ModelInfo): ReplyPart | undefined {
  const data = partsFor(message, KIND, model)[0]?.data;
  return isRecord(data) && isFieldsList(data.items) ? { ...data, items: data.items } : undefined;
}

/** The items of a reply of this model; undefined where they do not fit the message as it is now. */
function itemsOf(message: AssistantMessage, model: ModelInfo): readonly Fields[] | undefined {
  const part = replyPartOf(message, model);
  const items = part && oldResponsesItems(message, part.items);
  const texts = items?.filter(({ type }) => type === "message").map(({ content }) => String(content));
  const fits = texts && items?.filter(isCall).length === (message.calls?.length ?? 0);
  return fits && consistsOf(message.content, texts) ? items : undefined;
}

function isCall({ type }: Fields): boolean {
  return type === "function_call" || type === ASKS;
}

interface ItemStyle {
  readonly model: ModelInfo;
  /** True where results of tools may hold images. */
  readonly toolImages: boolean;
  /** Messages whose reasoning the server has refused. */
  readonly unreadable: WeakSet<Message>;
}

/** Writes the messages of a conversation as input items, in order. */
export class InputItems {
  readonly #style: ItemStyle;
  #pendingImages: ImagePart[] = [];
  /** Ids of calls that ask whether an MCP server may be called. */
  readonly #asking = new Set<string>();

  constructor(style: ItemStyle) {
    this.#style = style;
  }

  /** Takes note of a reply that the server has, without writing it. */
  heard(message: Message | undefined): void {
    if (message?.role !== "assistant") return;
    itemsOf(message, this.#style.model)?.filter(isCall).forEach(({ type }, at) => {
      const call = type === ASKS ? message.calls?.[at] : undefined;
      if (call) this.#asking.add(call.id);
    });
  }

  /** The items of a message, as JSON texts. */
  write(message: Message): string[] {
    const { model, toolImages, unreadable } = this.#style;
    this.heard(message);
    if (message.role === "tool" && this.#asking.has(message.callId)) {
      return [JSON.stringify(answerItem(message))];
    }
    if (message.role === "tool") {
      if (!toolImages && model.vision) this.#pendingImages.push(...message.images ?? []);
      return [JSON.stringify(resultItem(message, this.#style))];
    }
    const items = message.role === "user" ? [userItem(message, model)] : replyItems(message, model);
    const kept = unreadable.has(message) ? items.filter(({ type }) => type !== "reasoning") : items;
    return [...this.flush(), ...kept.map((item) => JSON.stringify(item))];
  }

  /** Images of the results so far, where results cannot hold them. */
  flush(): string[] {
    if (this.#pendingImages.length === 0) return [];
    const images = this.#pendingImages;
    this.#pendingImages = [];
    const content = [textPart(IMAGES_ABOVE), ...images.map(imagePart)];
    return [JSON.stringify({ type: "message", role: "user", content })];
  }
}

function textPart(text: string): Fields {
  return { type: "input_text", text };
}

function imagePart(image: ImagePart): Fields {
  return { type: "input_image", detail: "auto", image_url: dataUrl(image) };
}

function userItem(message: UserMessage, { vision }: ModelInfo): Fields {
  return { type: "message", role: "user", content: contentOf(message, vision) };
}

function resultItem(message: ToolMessage, { model, toolImages }: ItemStyle): Fields {
  const output = toolImages ? contentOf(message, model.vision) : visibleText(message, model.vision);
  return { type: "function_call_output", call_id: message.callId, output };
}

function contentOf(message: UserMessage | ToolMessage, vision: boolean): string | Fields[] {
  const text = visibleText(message, vision);
  if (!vision || !message.images?.length) return text;
  return [...(text === "" ? [] : [textPart(text)]), ...message.images.map(imagePart)];
}

/** A reply as the model gave it; from another model, or changed, its text and then its calls. */
function replyItems(message: AssistantMessage, model: ModelInfo): readonly Fields[] {
  const { content, calls = [] } = message;
  const items = itemsOf(message, model);
  if (!items) return [...(content === "" ? [] : [textItem(content)]), ...calls.map((call) => callItem(call))];
  const left = calls.values();
  const sent: Fields[] = [];
  let pending: Fields[] = [];
  for (const item of items) {
    if (item.type === "reasoning") {
      pending.push(...reasoningItem(item));
      continue;
    }
    // Reasoning is only taken with what it led to.
    sent.push(...pending);
    pending = [];
    const call = isCall(item) ? left.next().value : undefined;
    if (item.type === "message") sent.push(textItem(String(item.content), item.phase));
    else if (!call || item.type === ASKS) sent.push(item);
    else sent.push(callItem(call, typeof item.arguments === "string" ? item.arguments : undefined));
  }
  return sent;
}

/**
 * The item as it came. Without encrypted content a server that keeps nothing could only look for it by its
 * id: then its text goes without one, and an item that has none stays away.
 */
function reasoningItem(item: Fields): readonly Fields[] {
  if (typeof item.encrypted_content === "string") return [item];
  const { id: _, ...rest } = item;
  return item.content === undefined ? [] : [rest];
}

function textItem(text: string, phase?: unknown): Fields {
  return {
    type: "message",
    role: "assistant",
    content: safeText(text),
    ...(phase === undefined ? {} : { phase }),
  };
}

function callItem(call: ToolCall, written = call.arguments): Fields {
  return {
    type: "function_call",
    call_id: call.id,
    name: wireName(call.name),
    arguments: wireArguments(written),
  };
}
