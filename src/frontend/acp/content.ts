import type { TurnInput } from "../../run/mod.ts";
import { type ImagePart, message, ReasonixError, type Text, usageError } from "../../core/mod.ts";
import {
  fileUrlName,
  IMAGE_MIME_TYPES,
  referenceTo,
  resourceBlock,
  withoutReferences,
} from "../../path/reference_text.ts";
import { imagesAlone } from "../session/submissions.ts";
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

type Parts = { readonly pieces: Piece[]; readonly images: ImagePart[]; readonly references: string[] };

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
    throw imagesAlone(context.model);
  }
  return {
    text,
    ...(images.length > 0 ? { images } : {}),
    ...(references.length > 0 ? { references } : {}),
  };
}

function addBlock(given: unknown, at: string, context: PromptContext, parts: Parts): void {
  const block = new Fields(given, at);
  const type = block.text("type");
  switch (type) {
    case "text":
      parts.pieces.push({ text: block.text("text"), typed: true });
      return;
    case "image":
      return addImage(block, block.text("mimeType"), "data", parts);
    case "resource_link":
      parts.pieces.push(linkPiece(block.text("uri"), block.text("name"), context));
      return;
    case "resource":
      return addResource(new Fields(block.values.resource, `${at}.resource`), context, parts);
    case "audio":
      throw block.unusable(message`audio is not supported`, message`send the words as text`);
    default:
      throw block.unusable(
        message`the type "${oneLine(type, 40)}" is unknown`,
        message`use one of ${["text", "image", "resource_link", "resource"]}`,
      );
  }
}

function addResource(resource: Fields, context: PromptContext, parts: Parts): void {
  const uri = resource.text("uri");
  const { blob, mimeType } = resource.values;
  if (blob === undefined) {
    const text = resource.text("text");
    parts.references.push(resourceBlock(oneLine(uri, MAX_NAME).replaceAll('"', "%22"), text));
    parts.pieces.push({ text: fileUrlName(uri, context.cwd) ?? withoutReferences(oneLine(uri, MAX_NAME)) });
  } else if (typeof mimeType === "string" && IMAGE_MIME_TYPES.includes(mimeType)) {
    addImage(resource, mimeType, "blob", parts);
  } else {
    throw resource.unusable(
      message`a blob is no image of the types ${IMAGE_MIME_TYPES}`,
      message`send a link to the file, which tools can read`,
    );
  }
}

function addImage(block: Fields, mime: string, field: "data" | "blob", { pieces, images }: Parts): void {
  const data = block.text(field);
  if (!IMAGE_MIME_TYPES.includes(mime)) {
    throw block.unusable(
      message`images of the type "${oneLine(mime, 40)}" are not supported`,
      message`use one of ${IMAGE_MIME_TYPES}`,
    );
  }
  if (!attempt(() => Uint8Array.fromBase64(data).length)) {
    throw block.unusable(message`the data of the image is not base64`);
  }
  pieces.push({ text: `[image ${images.push({ mime, data })}]` });
}

const MAX_NAME = 2_000;

function linkPiece(uri: string, name: string, { cwd }: PromptContext): Piece {
  const file = fileUrlName(uri, cwd);
  const reference = file === undefined ? undefined : referenceTo(file);
  return { text: reference ?? withoutReferences(`[${oneLine(name, 200)}](${oneLine(uri, MAX_NAME)})`) };
}

function joined(pieces: readonly Piece[]): string {
  let [text, wasTyped] = ["", false];
  for (const { text: next, typed = false } of pieces.filter((piece) => piece.text !== "")) {
    text += text === "" ? next : between(text, next, typed && wasTyped) + next;
    wasTyped = typed;
  }
  return text;
}

/** An empty line parts two typed texts, a blank a name from the words around it. */
function between(before: string, after: string, areTyped: boolean): string {
  if (areTyped) return before.endsWith("\n") || after.startsWith("\n") ? "" : "\n\n";
  return /[\s(\[{]$/.test(before) || /^(?:[\s,;)\]}"'`]|[.!?:]+(?:\s|$))/.test(after) ? "" : " ";
}

/** A part of the parameters of a request; throws a ReasonixError (usage) that names it and the field. */
export class Fields {
  readonly values: Readonly<Record<string, unknown>>;
  readonly #at: string;

  constructor(values: unknown, at: string) {
    if (!isRecord(values)) throw unusable(at, message`it is not an object`);
    [this.values, this.#at] = [values, at];
  }

  text(field: string, value = this.values[field]): string {
    if (typeof value === "string") return value;
    throw this.unusable(
      value === undefined ? message`it has no ${field}` : message`its ${field} is not a text`,
    );
  }

  /** A list; one that is null is empty. */
  list(field: string): readonly unknown[] {
    const value = this.values[field] === null ? [] : this.values[field];
    if (Array.isArray(value)) return value;
    throw this.unusable(
      value === undefined ? message`it has no ${field}` : message`its ${field} is not a list`,
    );
  }

  texts(field: string): string[] {
    return this.list(field).map((value, index) => this.text(`${field}[${index}]`, value));
  }

  unusable(why: Text, remedy?: Text): ReasonixError {
    return unusable(this.#at, why, remedy);
  }
}

/** The error about a part of the parameters of a request. */
export function unusable(at: string, why: Text, remedy?: Text): ReasonixError {
  return usageError(message`Cannot use ${at}: ${why}`, remedy);
}
