import type {
  AssistantMessage,
  ImagePart,
  Message,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "../../../core/mod.ts";
import type { ProviderEntry } from "../../../config/mod.ts";
import { isRecord, parseJson, safeText } from "../../../util/json.ts";

type Compat = ProviderEntry["compat"];

/** The wire form of one conversation's messages. */
export interface WireStyle {
  readonly compat: Compat;
  readonly vision: boolean;
}

/** The messages as JSON texts, one per wire message, in order. */
export class MessageWriter {
  readonly #style: WireStyle;
  #pendingImages: ImagePart[] = [];

  constructor(style: WireStyle) {
    this.#style = style;
  }

  system(text: string): string[] {
    return text === ""
      ? []
      : [JSON.stringify({ role: this.#style.compat.system_role, content: safeText(text) })];
  }

  /** A result of a tool cannot carry images on this wire; they follow the last result of the group. */
  write(message: Message): string[] {
    if (message.role === "tool") {
      if (this.#style.vision) this.#pendingImages.push(...message.images ?? []);
      return [JSON.stringify(toolMessage(message, this.#style))];
    }
    const images = this.flush();
    const wire = message.role === "user"
      ? userMessage(message, this.#style)
      : assistantMessage(message, this.#style.compat);
    return [...images, JSON.stringify(wire)];
  }

  /** Returns what has to follow the messages written so far before the request can go out. */
  flush(): string[] {
    if (this.#pendingImages.length === 0) return [];
    const images = this.#pendingImages;
    this.#pendingImages = [];
    const label = { type: "text", text: "Images from the tool results above:" };
    return [JSON.stringify({ role: "user", content: [label, ...images.map(imagePart)] })];
  }
}

function imagePart(image: ImagePart): unknown {
  return { type: "image_url", image_url: { url: `data:${image.mime};base64,${image.data}` } };
}

/** The text with a note in place of images the model cannot see. */
function blindText(text: string, images: readonly ImagePart[] | undefined, style: WireStyle): string {
  const safe = safeText(text);
  if (style.vision || !images?.length) return safe;
  const what = images.length === 1 ? "1 image" : `${images.length} images`;
  return `${safe}${safe === "" ? "" : "\n"}[${what} left out: this model takes no images]`;
}

function userMessage(message: UserMessage, style: WireStyle): unknown {
  const text = blindText(message.content, message.images, style);
  if (!style.vision || !message.images?.length) return { role: "user", content: text };
  const parts = text === "" ? [] : [{ type: "text", text }];
  return { role: "user", content: [...parts, ...message.images.map(imagePart)] };
}

function toolMessage(message: ToolMessage, style: WireStyle): unknown {
  return {
    role: "tool",
    tool_call_id: message.callId,
    ...(style.compat.tool_name ? { name: wireName(message.name) } : {}),
    content: blindText(message.content, message.images, style),
  };
}

function assistantMessage(message: AssistantMessage, compat: Compat): unknown {
  const calls = message.calls ?? [];
  const content = safeText(message.content);
  const field = compat.reasoning_field;
  const reasoned = field !== undefined && message.reasoning !== undefined &&
    (calls.length > 0 || compat.reasoning_scope === "all");
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 && compat.null_content ? null : content,
    ...(reasoned ? { [field]: safeText(message.reasoning) } : {}),
    ...(calls.length > 0 ? { tool_calls: calls.map(wireCall) } : {}),
  };
}

function wireCall(call: ToolCall): unknown {
  return {
    id: call.id,
    type: "function",
    function: { name: wireName(call.name), arguments: wireArguments(call.arguments) },
  };
}

/** Servers refuse a history whose function names they would not have allowed. */
function wireName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_") || "_";
}

/**
 * Servers parse the arguments of earlier calls and refuse what is not an object, so unreadable text travels
 * inside one.
 */
function wireArguments(text: string): string {
  return isRecord(parseJson(text)) ? text : JSON.stringify({ invalid_json: safeText(text) });
}
