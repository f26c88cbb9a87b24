import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import type { ImagePart } from "../../core/mod.ts";
import { canonicalJson } from "../../util/canonical_json.ts";
import { parseJson, safeText } from "../../util/json.ts";
import { DEFAULT_CAPS, keepEnds, spillPath, type ToolContext, type ToolResult } from "../../tool/mod.ts";

type Context = Pick<ToolContext, "callId" | "outputDir" | "settings">;

/** Images that one result may bring. */
const MAX_IMAGES = 10;

/** What the model reads of a server's answer: its texts, bounded; images apart; other data in files. */
export async function toolResult(result: CallToolResult, context: ToolContext): Promise<ToolResult> {
  const blocks = new Blocks(context);
  for (const block of result.content) await blocks.add(block);
  blocks.addStructured(result.structuredContent);
  const text = safeText(blocks.texts.join("\n"));
  const { text: content, truncated } = await bounded(text, context);
  const isError = result.isError === true;
  return {
    content: isError ? `error: ${content}` : content === "" ? "(no output)" : content,
    summary: isError ? (text.split("\n", 1)[0] ?? "failed") : summaryOf(text, blocks.images.length),
    ...(isError ? { isError } : {}),
    ...(blocks.images.length > 0 ? { images: blocks.images } : {}),
    ...(truncated ? { truncated } : {}),
  };
}

async function bounded(text: string, context: Context) {
  const cut = keepEnds(text, DEFAULT_CAPS);
  if (!cut.truncated) return cut;
  const path = spillPath(context as ToolContext);
  const kept = await saved(path, new TextEncoder().encode(text));
  return kept ? keepEnds(text, DEFAULT_CAPS, { fullText: path }) : cut;
}

function summaryOf(text: string, images: number): string {
  const lines = text === "" ? 0 : text.trimEnd().split("\n").length;
  const shown = lines === 1 ? "1 line" : `${lines} lines`;
  return images === 0 ? shown : `${shown}, ${images === 1 ? "1 image" : `${images} images`}`;
}

/** Collects the parts of an answer. */
class Blocks {
  readonly texts: string[] = [];
  readonly images: ImagePart[] = [];
  readonly #context: Context;
  #files = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  async add(block: ContentBlock): Promise<void> {
    switch (block.type) {
      case "text":
        this.texts.push(block.text);
        return;
      case "image":
        return await this.#image(block);
      case "audio":
        return await this.#file("audio", block.mimeType, block.data);
      case "resource_link":
        this.texts.push(`[resource ${block.uri}${block.description ? `: ${block.description}` : ""}]`);
        return;
      case "resource": {
        const { resource } = block;
        if ("blob" in resource) return await this.#file(resource.uri, resource.mimeType ?? "", resource.blob);
        this.texts.push(`<resource uri="${resource.uri}">\n${resource.text}\n</resource>`);
      }
    }
  }

  /** Structured content is mostly one of the texts again. */
  addStructured(value: unknown): void {
    if (value === undefined) return;
    const json = canonicalJson(value);
    const there = this.texts.some((text) => {
      const parsed = parseJson(text);
      return parsed !== undefined && canonicalJson(parsed) === json;
    });
    if (!there) this.texts.push(JSON.stringify(value));
  }

  async #image({ mimeType, data }: { readonly mimeType: string; readonly data: string }): Promise<void> {
    if (this.#context.settings.vision && this.images.length < MAX_IMAGES) {
      this.images.push({ mime: mimeType, data });
      this.texts.push(`[image: ${mimeType}]`);
    } else await this.#file("image", mimeType, data);
  }

  /** Data that no model reads: kept beside the outputs, where the user and commands find it. */
  async #file(what: string, mime: string, base64: string): Promise<void> {
    const bytes = decoded(base64);
    const size = bytes ? `${Math.ceil(bytes.length / 1024)} KB` : "not base64";
    const type = /\/([a-z0-9]+)/i.exec(mime)?.[1] ?? "bin";
    const path = spillPath(this.#context as ToolContext).replace(/\.txt$/, `_${++this.#files}.${type}`);
    const where = bytes && await saved(path, bytes) ? `, saved as ${path}` : "";
    this.texts.push(`[${what}: ${mime || "unknown type"}, ${size}${where}]`);
  }
}

function decoded(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    return undefined;
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
