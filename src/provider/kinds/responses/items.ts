import type {
  AssistantMessage,
  ImagePart,
  Message,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "../../../core/mod.ts";
import { safeText } from "../../../util/json.ts";
import type { ModelInfo } from "../../provider.ts";
import { dataUrl, IMAGES_ABOVE, visibleText, wireArguments, wireName } from "../../wire/message_parts.ts";
import { type LayoutItem, layoutOf, splitText } from "./layout.ts";
import { answerItem } from "./remote_calls.ts";

type Item = Readonly<Record<string, unknown>>;

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
    for (const item of layoutOf(message, this.#style.model)?.items ?? []) {
      const call = "asks" in item ? message.calls?.[item.call] : undefined;
      if (call) this.#asking.add(call.id);
    }
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

function textPart(text: string): Item {
  return { type: "input_text", text };
}

function imagePart(image: ImagePart): Item {
  return { type: "input_image", detail: "auto", image_url: dataUrl(image) };
}

function userItem(message: UserMessage, { vision }: ModelInfo): Item {
  return { type: "message", role: "user", content: contentOf(message, vision) };
}

function resultItem(message: ToolMessage, { model, toolImages }: ItemStyle): Item {
  const output = toolImages ? contentOf(message, model.vision) : visibleText(message, model.vision);
  return { type: "function_call_output", call_id: message.callId, output };
}

function contentOf(message: UserMessage | ToolMessage, vision: boolean): string | Item[] {
  const text = visibleText(message, vision);
  if (!vision || !message.images?.length) return text;
  return [...(text === "" ? [] : [textPart(text)]), ...message.images.map(imagePart)];
}

/** A reply as the model gave it; from another model, or cut, its text and then its calls. */
function replyItems(message: AssistantMessage, model: ModelInfo): Item[] {
  const layout = layoutOf(message, model);
  const calls = message.calls ?? [];
  const items = layout && laidOut(message, layout.items);
  if (items) return items;
  return [
    ...(message.content === "" ? [] : [textItem(message.content)]),
    ...calls.map((call) => callItem(call)),
  ];
}

/** Undefined when message and layout do not belong together: something has changed one of them. */
function laidOut(message: AssistantMessage, layout: readonly LayoutItem[]): Item[] | undefined {
  const calls = message.calls ?? [];
  const texts = splitText(message.content, layout.flatMap((item) => "text" in item ? [item.text] : []));
  const thoughts = splitText(
    message.reasoning ?? "",
    layout.flatMap((item) => "reasoning" in item ? item.texts.map(([, length]) => length) : []),
  );
  const places = layout.flatMap((item) => "call" in item ? [item.call] : []);
  if (!texts || places.length !== calls.length) return undefined;
  const [said, thought] = [[...texts], [...thoughts ?? []]];
  const items: Item[] = [];
  let pending: Item[] = [];
  for (const item of layout) {
    if ("reasoning" in item) {
      const parts = item.texts.map(([field]) => ({ field, text: safeText(thought.shift() ?? "") }));
      pending.push(...reasoningItem(item.reasoning, parts));
      continue;
    }
    // Reasoning is only taken with what it led to.
    items.push(...pending);
    pending = [];
    if ("text" in item) items.push(textItem(said.shift() ?? "", item.phase));
    else if ("item" in item) items.push(item.item);
    else {
      const call = calls[item.call];
      if (call === undefined) return undefined;
      items.push(item.asks ?? callItem(call, item.arguments));
    }
  }
  return items;
}

interface Said {
  readonly field: "summary" | "content";
  readonly text: string;
}

/**
 * The item as it came. Without encrypted content a server that keeps nothing could only look for it by its
 * id: then its text goes without one, and an item that has none stays away.
 */
function reasoningItem(reasoning: Item, parts: readonly Said[]): Item[] {
  const texts = (field: Said["field"], type: string) =>
    parts.filter((part) => part.field === field).map(({ text }) => ({ type, text }));
  const [summary, content] = [texts("summary", "summary_text"), texts("content", "reasoning_text")];
  const { id, ...rest } = reasoning;
  const sealed = typeof reasoning.encrypted_content === "string";
  if (!sealed && content.length === 0) return [];
  return [{
    type: "reasoning",
    ...(sealed && id !== undefined ? { id } : {}),
    ...rest,
    summary,
    ...(content.length > 0 ? { content } : {}),
  }];
}

function textItem(text: string, phase?: string): Item {
  return {
    type: "message",
    role: "assistant",
    content: safeText(text),
    ...(phase === undefined ? {} : { phase }),
  };
}

function callItem(call: ToolCall, written = call.arguments): Item {
  return {
    type: "function_call",
    call_id: call.id,
    name: wireName(call.name),
    arguments: wireArguments(written),
  };
}
