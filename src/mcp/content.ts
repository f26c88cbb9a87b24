import type {
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  ReadResourceResult,
} from "@modelcontextprotocol/client";
import { type ImagePart, listOf, message, type Text } from "../core/mod.ts";
import { MAX_IMAGE_FILE_BYTES } from "../path/reference_text.ts";
import { DEFAULT_CAPS, keepEnds, spillPath, type ToolContext, type ToolResult } from "../tool/mod.ts";
import { canonicalJson, isRecord, parseJson, safeText } from "../util/json.ts";

const MAX_IMAGES = 10;

export class Content {
  readonly texts: string[] = [];
  readonly images: ImagePart[] = [];
  readonly #vision: boolean;
  readonly #file: (number: number, extension: string) => string;
  #files = 0;

  /** `file` returns the path of a file for binary data, by its number and an extension without a dot. */
  constructor(vision: boolean, file: (number: number, extension: string) => string) {
    this.#vision = vision;
    this.#file = file;
  }

  async add(block: ContentBlock): Promise<void> {
    switch (block.type) {
      case "text":
        this.texts.push(block.text);
        return;
      case "image":
        return await this.#image("image", block);
      case "audio":
        return await this.#save("audio", block.mimeType, block.data);
      case "resource_link":
        this.texts.push(`[resource ${block.uri}${block.description ? `: ${block.description}` : ""}]`);
        return;
      case "resource":
        return await this.addResource(block.resource, true);
    }
  }

  /** Adds the content of a resource; `named`: with its address. */
  async addResource(resource: ReadResourceResult["contents"][number], named: boolean): Promise<void> {
    const { uri, mimeType: mime = "" } = resource;
    if ("text" in resource) {
      const { text } = resource;
      this.texts.push(named ? `<resource uri="${uri}">\n${text}\n</resource>` : text);
    } else if (mime.startsWith("image/")) await this.#image(uri, { mimeType: mime, data: resource.blob });
    else await this.#save(uri, mime, resource.blob);
  }

  /** Structured content often repeats one of the texts, as it is or as the only value of an object. */
  addStructured(value: unknown): void {
    if (value === undefined) return;
    const [only, ...others] = isRecord(value) ? Object.values(value) : [];
    const forms = others.length === 0 && only !== undefined ? [value, only] : [value];
    const again = new Set(forms.map(canonicalJson));
    const isRepeated = this.texts.some((text) => {
      const parsed = parseJson(text);
      return forms.includes(text) || (parsed !== undefined && again.has(canonicalJson(parsed)));
    });
    if (!isRepeated) this.texts.push(JSON.stringify(value));
  }

  async #image(name: string, { mimeType, data }: { mimeType: string; data: string }): Promise<void> {
    const fits = this.images.length < MAX_IMAGES && data.length <= MAX_IMAGE_FILE_BYTES * 4 / 3;
    if (this.#vision && fits) {
      this.images.push({ mime: mimeType, data });
      this.texts.push(`[image: ${mimeType}]`);
    } else await this.#save(name, mimeType, data);
  }

  /** Saves binary data next to the outputs, for the user and commands. */
  async #save(name: string, mime: string, base64: string): Promise<void> {
    const extension = /\/(?:x-)?([a-z0-9]+)(?=$|[+;])/i.exec(mime)?.[1] ?? "bin";
    const path = this.#file(++this.#files, extension);
    let size = "not base64";
    let where = "";
    try {
      const bytes = Uint8Array.fromBase64(base64);
      size = `${Math.ceil(bytes.length / 1024)} KB`;
      if (await saved(path, bytes)) where = `, saved as ${path}`;
    } catch {
      // Shown as what it is.
    }
    this.texts.push(`[${name}: ${mime || "unknown type"}, ${size}${where}]`);
  }
}

async function saved(path: string, bytes: Uint8Array): Promise<boolean> {
  try {
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
    await Deno.writeFile(path, bytes, { mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

export interface AttachedContent {
  readonly text: string;
  readonly images: readonly ImagePart[];
}

export interface ContentIntake {
  readonly vision: boolean;
  /** Directory for binary data; made on first use. */
  readonly directory: string;
  readonly signal: AbortSignal;
}

const MAX_PROMPT = 1_000_000;

/** Joins the messages of a prompt, with their roles where not all are of the user. */
export async function promptContent(
  { messages }: GetPromptResult,
  server: string,
  intake: ContentIntake,
): Promise<AttachedContent> {
  const content = contentFor(server, intake);
  const dialogue = messages.some(({ role }) => role !== "user");
  const texts: string[] = [];
  for (const { role, content: block } of messages) {
    await content.add(block);
    const text = content.texts.splice(0).join("\n");
    texts.push(dialogue ? `<message role="${role}">\n${text}\n</message>` : text);
  }
  const text = safeText(texts.join("\n\n")).trim();
  const cut = text.length > MAX_PROMPT
    ? `${text.slice(0, MAX_PROMPT).toWellFormed()}\n[cut; the prompt has ${text.length} characters]`
    : text;
  return { text: cut, images: content.images };
}

export async function resourceContent(
  { contents }: ReadResourceResult,
  server: string,
  intake: ContentIntake,
): Promise<AttachedContent> {
  const content = contentFor(server, intake);
  for (const part of contents) await content.addResource(part, contents.length > 1);
  return { text: safeText(content.texts.join("\n")), images: content.images };
}

function contentFor(server: string, { vision, directory }: ContentIntake): Content {
  const name = `mcp_${server.replace(/[^\w-]/g, "_").slice(0, 40)}_${crypto.randomUUID().slice(0, 8)}`;
  return new Content(vision, (number, extension) => `${directory}/${name}_${number}.${extension}`);
}

/** The key in `_meta` of a result that says whether its text has everything that the model needs. */
const TEXT_KEY = "reasonix/text";

export async function toolResult(result: CallToolResult, context: ToolContext): Promise<ToolResult> {
  const content = resultContent(context);
  for (const block of result.content) await content.add(block);
  if (result._meta?.[TEXT_KEY] !== "complete") content.addStructured(result.structuredContent);
  return await contentResult(content, result.isError === true, context);
}

export function resultContent(context: ToolContext): Content {
  const path = (number: number, extension: string) =>
    spillPath(context).replace(/\.txt$/, `_${number}.${extension}`);
  return new Content(context.settings.vision, path);
}

export async function contentResult(
  { texts, images }: Content,
  isError: boolean,
  context: ToolContext,
): Promise<ToolResult> {
  const text = safeText(texts.join("\n"));
  let cut = keepEnds(text, DEFAULT_CAPS);
  if (cut.truncated) {
    const path = spillPath(context);
    const isSaved = await saved(path, new TextEncoder().encode(text));
    if (isSaved) cut = keepEnds(text, DEFAULT_CAPS, { fullText: path });
  }
  const { text: content, truncated } = cut;
  return {
    content: isError ? `error: ${content}` : content === "" ? "(no output)" : content,
    summary: isError ? (text.split("\n", 1)[0] ?? "failed") : summaryOf(text, images.length),
    ...(isError ? { isError } : {}),
    ...(images.length > 0 ? { images } : {}),
    ...(truncated ? { truncated } : {}),
  };
}

function summaryOf(text: string, images: number): Text {
  const lines = text === "" ? 0 : text.trimEnd().split("\n").length;
  const shown = lines === 1 ? message`1 line` : message`${lines} lines`;
  return images === 0 ? shown : listOf([shown, images === 1 ? message`1 image` : message`${images} images`]);
}
