import type { AssistantMessage, ImagePart, ToolCall, ToolMessage, UserMessage } from "../../../core/mod.ts";
import { safeText } from "../../../util/json.ts";
import { visibleText, wireArguments, wireName } from "../../wire/message_parts.ts";
import type { PlacedPart, ReplyBlock } from "./reply_part.ts";

/** The server wants something in every message. */
const EMPTY = textBlock("(empty message)");

/** Gives each call the id that the server takes for it: letters, digits, `_` and `-`, each once. */
export class WireIds {
  readonly #ids = new Map<string, string>();
  readonly #taken = new Set<string>();

  of(id: string): string {
    const known = this.#ids.get(id);
    if (known !== undefined) return known;
    const plain = id.replace(/[^A-Za-z0-9_-]/g, "_") || "_";
    let wire = plain;
    for (let n = 2; this.#taken.has(wire); n++) wire = `${plain}_${n}`;
    this.#ids.set(id, wire);
    this.#taken.add(wire);
    return wire;
  }
}

/** The content blocks of a user's message as JSON texts. */
export function userBlocks(message: UserMessage, vision: boolean): readonly string[] {
  const blocks = contentBlocks(message, vision);
  return blocks.length > 0 ? blocks : [EMPTY];
}

export function resultBlock(message: ToolMessage, vision: boolean, ids: WireIds): string {
  const content = contentBlocks(message, vision);
  const id = JSON.stringify(ids.of(message.callId));
  return `{"type":"tool_result","tool_use_id":${id}${
    content.length > 0 ? `,"content":[${content.join(",")}]` : ""
  }}`;
}

/** The content blocks of an assistant's message: as the parts have them, else its text, then its calls. */
export function assistantBlocks(
  { content, calls = [] }: AssistantMessage,
  parts: readonly PlacedPart[] | undefined,
  ids: WireIds,
): readonly string[] {
  if (parts) return parts.flatMap((part) => part.blocks.flatMap((block) => storedBlock(block, part, ids)));
  return [...texts(content), ...calls.map((call) => callBlock(call, ids))];
}

function storedBlock(block: ReplyBlock, part: PlacedPart, ids: WireIds): readonly string[] {
  switch (block.type) {
    case "text":
      return texts(part.text.slice(...block.at));
    case "thinking": {
      const thinking = safeText(part.reasoning.slice(...block.at));
      return [JSON.stringify({ type: "thinking", thinking, signature: block.signature })];
    }
    case "redacted_thinking":
      return [JSON.stringify(block)];
    case "tool_use": {
      const call = part.calls[block.call];
      return call ? [callBlock(call, ids)] : [];
    }
    case "other":
      return [JSON.stringify(block.block)];
  }
}

/** The arguments go back as the text that came, so that no number changes its form. */
function callBlock(call: ToolCall, ids: WireIds): string {
  const id = JSON.stringify(ids.of(call.id));
  const name = JSON.stringify(wireName(call.name));
  return `{"type":"tool_use","id":${id},"name":${name},"input":${wireArguments(call.arguments)}}`;
}

function contentBlocks(message: UserMessage | ToolMessage, vision: boolean): readonly string[] {
  const images = vision ? message.images ?? [] : [];
  return [...texts(visibleText(message, vision)), ...images.map(imageBlock)];
}

/** A block of this text; none where the server would refuse it because nothing can be seen in it. */
function texts(text: string): readonly string[] {
  return text.trim() === "" ? [] : [textBlock(safeText(text))];
}

export function textBlock(text: string): string {
  return JSON.stringify({ type: "text", text });
}

function imageBlock({ mime, data }: ImagePart): string {
  return JSON.stringify({ type: "image", source: { type: "base64", media_type: mime, data } });
}
