import type { ContentBlock, ReadResourceResult } from "@modelcontextprotocol/client";
import type { ImagePart } from "../../core/mod.ts";
import { canonicalJson } from "../../util/canonical_json.ts";
import { MAX_IMAGE_FILE_BYTES } from "../../path/reference_text.ts";
import { isRecord, parseJson } from "../../util/json.ts";

/** Where content goes that is no text. */
export interface ContentPlace {
  /** The model sees images. */
  readonly vision: boolean;
  /** The path of a file for data that no model reads: the number of the file, and an ending without a dot. */
  readonly file: (number: number, ending: string) => string;
}

/** Images that one answer may bring. */
const MAX_IMAGES = 10;

/** Collects what a server answers: texts for the model, images apart, other data in files. */
export class Content {
  readonly texts: string[] = [];
  readonly images: ImagePart[] = [];
  readonly #place: ContentPlace;
  #files = 0;

  constructor(place: ContentPlace) {
    this.#place = place;
  }

  async add(block: ContentBlock): Promise<void> {
    switch (block.type) {
      case "text":
        this.texts.push(block.text);
        return;
      case "image":
        return await this.#image("image", block);
      case "audio":
        return await this.#file("audio", block.mimeType, block.data);
      case "resource_link":
        this.texts.push(`[resource ${block.uri}${block.description ? `: ${block.description}` : ""}]`);
        return;
      case "resource":
        return await this.addResource(block.resource, true);
    }
  }

  /** Adds what a resource holds; `named`: with its address around it. */
  async addResource(resource: ReadResourceResult["contents"][number], named: boolean): Promise<void> {
    const { uri, mimeType: mime = "" } = resource;
    if ("text" in resource) {
      const { text } = resource;
      this.texts.push(named ? `<resource uri="${uri}">\n${text}\n</resource>` : text);
    } else if (mime.startsWith("image/")) await this.#image(uri, { mimeType: mime, data: resource.blob });
    else await this.#file(uri, mime, resource.blob);
  }

  /** Structured content is mostly one of the texts again, as it is or as the only value of an object. */
  addStructured(value: unknown): void {
    if (value === undefined) return;
    const [only, ...others] = isRecord(value) ? Object.values(value) : [];
    const forms = others.length === 0 && only !== undefined ? [value, only] : [value];
    const again = new Set(forms.map(canonicalJson));
    const there = this.texts.some((text) => {
      const parsed = parseJson(text);
      return forms.includes(text) || (parsed !== undefined && again.has(canonicalJson(parsed)));
    });
    if (!there) this.texts.push(JSON.stringify(value));
  }

  async #image(what: string, { mimeType, data }: { mimeType: string; data: string }): Promise<void> {
    const fits = this.images.length < MAX_IMAGES && data.length <= MAX_IMAGE_FILE_BYTES * 4 / 3;
    if (this.#place.vision && fits) {
      this.images.push({ mime: mimeType, data });
      this.texts.push(`[image: ${mimeType}]`);
    } else await this.#file(what, mimeType, data);
  }

  /** Data that no model reads: kept beside the outputs, where the user and commands find it. */
  async #file(what: string, mime: string, base64: string): Promise<void> {
    const bytes = decoded(base64);
    const size = bytes ? `${Math.ceil(bytes.length / 1024)} KB` : "not base64";
    const path = this.#place.file(++this.#files, /\/(?:x-)?([a-z0-9]+)(?=$|[+;])/i.exec(mime)?.[1] ?? "bin");
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

/** Writes a file of an answer; false when that cannot be done. */
export async function saved(path: string, bytes: Uint8Array): Promise<boolean> {
  try {
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
    await Deno.writeFile(path, bytes, { mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}
