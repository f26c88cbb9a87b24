import { type ImagePart, ReasonixError } from "../../../../src/core/mod.ts";
import { isRecord } from "../../../../src/util/json.ts";

/** A message of the user from a line of `--input-format stream-json`. */
export interface UserLine {
  readonly text: string;
  readonly images: readonly ImagePart[];
  /** The name its sender gave it. */
  readonly uuid?: string;
}

const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Reads a line of type "user". Throws a ReasonixError (usage) that names the part that cannot be used. */
export function readUserLine({ message, uuid }: Record<string, unknown>): UserLine {
  const content = isRecord(message) ? message.content : undefined;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(blocks)) throw unusable("it has no message.content, a text or a list of blocks");
  const texts: string[] = [];
  const images: ImagePart[] = [];
  for (const [index, block] of blocks.entries()) addBlock(block, `content[${index}]`, { texts, images });
  const text = texts.filter((each) => each !== "").join("\n\n");
  if (text === "" && images.length === 0) throw unusable("it says nothing");
  return { text, images, ...(typeof uuid === "string" ? { uuid } : {}) };
}

interface Read {
  readonly texts: string[];
  readonly images: ImagePart[];
}

function addBlock(block: unknown, at: string, into: Read): void {
  const { type, text, source, content, title }: Record<string, unknown> = isRecord(block) ? block : {};
  switch (type) {
    case "text":
      if (typeof text !== "string") throw unusable(`${at}.text is ${shown(text)}, not a text`);
      into.texts.push(text);
      return;
    case "image":
      into.images.push(imageOf(source, `${at}.source`));
      return;
    case "document":
      into.texts.push(documentText(source, title, `${at}.source`));
      return;
    case "tool_result":
      // The agent runs its tools itself: what a client says of one is only text here.
      if (typeof content === "string") into.texts.push(content);
      else if (Array.isArray(content)) {
        for (const [index, part] of content.entries()) addBlock(part, `${at}.content[${index}]`, into);
      }
      return;
    default:
      throw unusable(`${at} has the type ${shown(type)}; known are text, image, document and tool_result`);
  }
}

function imageOf(source: unknown, at: string): ImagePart {
  const { type, media_type, data }: Record<string, unknown> = isRecord(source) ? source : {};
  if (type !== "base64") throw unusable(`${at}.type is ${shown(type)}; images are sent as base64`);
  if (typeof media_type !== "string" || !IMAGE_TYPES.includes(media_type)) {
    throw unusable(`${at}.media_type is ${shown(media_type)}; known are ${IMAGE_TYPES.join(", ")}`);
  }
  if (typeof data !== "string" || !isBase64(data)) throw unusable(`${at}.data is not base64`);
  return { mime: media_type, data };
}

function documentText(source: unknown, title: unknown, at: string): string {
  const { type, data }: Record<string, unknown> = isRecord(source) ? source : {};
  if (type !== "text" || typeof data !== "string") {
    throw unusable(`${at}.type is ${shown(type)}; documents are sent as text`);
  }
  const name = typeof title === "string" ? ` title=${JSON.stringify(title)}` : "";
  return `<document${name}>\n${data}\n</document>`;
}

function isBase64(text: string): boolean {
  try {
    return Uint8Array.fromBase64(text).length > 0;
  } catch {
    return false;
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function unusable(why: string): ReasonixError {
  return new ReasonixError(`Cannot use a line of the user: ${why}`, {
    exit: "usage",
    remedy: "send the message again with what can be used",
  });
}
