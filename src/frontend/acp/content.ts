import type { TurnInput } from "../../run/mod.ts";
import { type ImagePart, message, ReasonixError, type Text, usageError } from "../../core/mod.ts";
import { normalize, relativeTo } from "../../path/lexical.ts";
import { existingRealPath } from "../../path/real_path.ts";
import { fileUrlPath, IMAGE_MIME_TYPES, referenceTo, resourceBlock } from "../../path/reference_text.ts";
import { isRecord } from "../../util/json.ts";
import { attempt } from "../../util/lazy.ts";
import { oneLine } from "../../util/terminal_text.ts";

/** The session that a prompt is for. */
interface PromptContext {
  /** Its directory: absolute and real. */
  readonly cwd: string;
  readonly model: string;
  /** The model reads images, or another one describes them. */
  readonly vision: boolean;
}

type PromptInput = Pick<TurnInput, "text" | "images" | "references">;

/** A part of the text: what the user typed, or the name of what is attached there. */
interface Piece {
  readonly text: string;
  readonly typed?: true;
}

interface Parts {
  readonly pieces: Piece[];
  readonly images: ImagePart[];
  readonly references: string[];
}

/**
 * Reads the content blocks of a prompt. A link to a file of the directory becomes an `@file` reference, the
 * text of a resource a block before the message. Throws a ReasonixError (usage) that names the block and the
 * field that cannot be used.
 */
export function promptInput(blocks: unknown, context: PromptContext): PromptInput {
  if (!Array.isArray(blocks)) throw unusable("prompt", message`it is not a list of content blocks`);
  const parts: Parts = { pieces: [], images: [], references: [] };
  for (const [index, block] of blocks.entries()) addBlock(block, `prompt[${index}]`, context, parts);
  const { pieces, images, references } = parts;
  const text = joined(pieces);
  if (text.trim() === "") throw usageError(message`Cannot send an empty prompt`, message`write what to do`);
  if (images.length > 0 && !context.vision && pieces.length === images.length) {
    throw usageError(
      message`Cannot send images alone: ${context.model} takes none`,
      message`add a text, choose a model that takes images, or set vision_model to one that describes them`,
    );
  }
  return {
    text,
    ...(images.length > 0 ? { images } : {}),
    ...(references.length > 0 ? { references } : {}),
  };
}

function addBlock(block: unknown, at: string, context: PromptContext, parts: Parts): void {
  if (!isRecord(block)) throw unusable(at, message`it is not an object`);
  const type = textField(block, "type", at);
  switch (type) {
    case "text":
      parts.pieces.push({ text: textField(block, "text", at), typed: true });
      return;
    case "image":
      addImage(textField(block, "mimeType", at), textField(block, "data", at), at, parts);
      return;
    case "resource_link":
      parts.pieces.push(linkPiece(textField(block, "uri", at), textField(block, "name", at), context));
      return;
    case "resource":
      addResource(block.resource, `${at}.resource`, context, parts);
      return;
    case "audio":
      throw unusable(at, message`audio is not supported`, message`send the words as text`);
    default:
      throw unusable(
        at,
        message`the type "${oneLine(type, 40)}" is unknown`,
        message`use one of ${["text", "image", "resource_link", "resource"]}`,
      );
  }
}

function addResource(resource: unknown, at: string, context: PromptContext, parts: Parts): void {
  if (!isRecord(resource)) throw unusable(at, message`it is not an object`);
  const uri = textField(resource, "uri", at);
  if (resource.blob === undefined) {
    const text = textField(resource, "text", at);
    parts.references.push(resourceBlock(oneLine(uri, MAX_NAME).replaceAll('"', "%22"), text));
    parts.pieces.push({ text: fileOf(uri, context) ?? withoutReferences(oneLine(uri, MAX_NAME)) });
    return;
  }
  const { mimeType } = resource;
  if (typeof mimeType === "string" && IMAGE_MIME_TYPES.includes(mimeType)) {
    return addImage(mimeType, textField(resource, "blob", at), at, parts);
  }
  throw unusable(
    at,
    message`a blob is no image of the types ${IMAGE_MIME_TYPES}`,
    message`send a link to the file, which tools can read`,
  );
}

function addImage(mime: string, data: string, at: string, { pieces, images }: Parts): void {
  if (!IMAGE_MIME_TYPES.includes(mime)) {
    throw unusable(
      at,
      message`images of the type "${oneLine(mime, 40)}" are not supported`,
      message`use one of ${IMAGE_MIME_TYPES}`,
    );
  }
  if (!attempt(() => Uint8Array.fromBase64(data).length)) {
    throw unusable(at, message`the data of the image is not base64`);
  }
  pieces.push({ text: `[image ${images.push({ mime, data })}]` });
}

const MAX_NAME = 2_000;

function linkPiece(uri: string, name: string, context: PromptContext): Piece {
  const file = fileOf(uri, context);
  const reference = file === undefined ? undefined : referenceTo(file);
  if (reference !== undefined) return { text: reference };
  return { text: withoutReferences(`[${oneLine(name, 200)}](${oneLine(uri, MAX_NAME)})`) };
}

/** The path of a `file:` address, relative to the directory that contains it, with its lines. */
function fileOf(uri: string, { cwd }: PromptContext): string | undefined {
  const path = fileUrlPath(uri);
  if (path === undefined || normalize(path) !== path.replace(/(?<=.)\/$/, "")) return undefined;
  const inside = relativeTo(path, cwd) ?? relativeTo(existingRealPath(path) ?? "", cwd);
  if (inside === undefined || /[\n"]/.test(inside)) return undefined;
  const [, first, last = first] = /^#L(\d+)(?:[:-]L?(\d+))?$/.exec(URL.parse(uri)?.hash ?? "") ?? [];
  const name = inside.startsWith("@") ? `./${inside}` : inside;
  return first === undefined ? name : `${name}:${first}-${last}`;
}

/** A name without references: it must attach nothing. */
function withoutReferences(text: string): string {
  return text.replace(/(?<!\w)@/g, "");
}

/** The pieces as one text: blanks part a name from the words around it, an empty line two typed texts. */
function joined(pieces: readonly Piece[]): string {
  let [text, wasTyped] = ["", false];
  for (const { text: next, typed = false } of pieces.filter((piece) => piece.text !== "")) {
    if (text !== "") text += typed && wasTyped ? gap(text, next) : blank(text, next);
    text += next;
    wasTyped = typed;
  }
  return text;
}

function gap(before: string, after: string): string {
  return before.endsWith("\n") || after.startsWith("\n") ? "" : "\n\n";
}

function blank(before: string, after: string): string {
  return /[\s(\[{]$/.test(before) || /^(?:[\s,;)\]}"'`]|[.!?:]+(?:\s|$))/.test(after) ? "" : " ";
}

export function textField(from: Record<string, unknown>, field: string, at: string): string {
  const value = from[field];
  if (typeof value === "string") return value;
  throw unusable(at, value === undefined ? message`it has no ${field}` : message`its ${field} is not a text`);
}

/** The error about a part of the parameters of a request. */
export function unusable(at: string, why: Text, remedy?: Text): ReasonixError {
  return usageError(message`Cannot use ${at}: ${why}`, remedy);
}
