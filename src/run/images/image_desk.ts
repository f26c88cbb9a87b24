import type { ImagePart, Sayings } from "../../core/mod.ts";
import type { ModelInfo } from "../../provider/mod.ts";
import { COMMON_IMAGES, fitImage, type ImageLimits, SAFE_IMAGES } from "../../util/image/fit_image.ts";
import { type AdmissionParts, ImageDescriber, named } from "./image_describer.ts";

/** Images that may enter the conversation, and what is said of them and of the others. */
export interface Admitted {
  readonly images: readonly ImagePart[];
  /** For the model, one line or block for each image of which there is something to say. */
  readonly notes: readonly string[];
}

/** What comes of one image; without an image it is left out. */
interface Outcome {
  readonly image?: ImagePart;
  readonly note?: string;
}

/**
 * Takes images into a conversation: makes them fit what the model takes, has them described for a model that
 * takes none, and says what was left out and why.
 */
export class ImageDesk {
  readonly #parts: AdmissionParts;
  readonly #limits: ImageLimits;
  readonly #describer: ImageDescriber | undefined;
  #count: number;
  #total: number;

  /** `waiting`: images that are not in the conversation yet, and will be. */
  constructor(parts: AdmissionParts, model: ModelInfo, waiting: readonly ImagePart[]) {
    this.#parts = parts;
    const blind = !model.vision && parts.loaded.config.vision_model !== "";
    this.#limits = model.vision ? model.images ?? COMMON_IMAGES : SAFE_IMAGES;
    this.#describer = blind ? new ImageDescriber(parts) : undefined;
    const said = parts.recorder.messages.flatMap((message) =>
      message.role === "assistant" ? [] : message.images ?? []
    );
    const earlier = [...said, ...waiting];
    this.#count = earlier.length;
    this.#total = earlier.reduce((sum, { data }) => sum + data.length, 0);
  }

  /** Never rejects. What was stopped by the signal is left undescribed. */
  async admit(given: readonly ImagePart[], signal: AbortSignal): Promise<Admitted> {
    const images: ImagePart[] = [];
    const notes: string[] = [];
    for (const [index, each] of given.entries()) {
      const number = given.length === 1 ? "" : `${index + 1}`;
      const { image, note } = await this.#one(each, number, signal);
      if (image) images.push(image);
      if (note !== undefined) notes.push(note);
    }
    return { images, notes };
  }

  async #one(given: ImagePart, number: string, signal: AbortSignal): Promise<Outcome> {
    const fitted = await this.#fitted(given);
    if ("problem" in fitted) return await this.#leftOut(number, fitted.problem);
    const { image, note } = fitted;
    const outcome = { image, ...(note === undefined ? {} : { note: `[${named(number)}: ${note}]` }) };
    if (!this.#describer) return outcome;
    const description = await this.#describer.describe(image, number, signal);
    return { image, note: `[${named(number)}${description}]` };
  }

  async #fitted(
    { mime, data }: ImagePart,
  ): Promise<
    { readonly image: ImagePart; readonly note?: string | undefined } | { readonly problem: string }
  > {
    const { count, total } = this.#limits;
    if (this.#count >= count) {
      return { problem: `the conversation has ${this.#count} images, and a request takes at most ${count}` };
    }
    const bytes = decoded(data);
    if (!bytes) return { problem: "its data is not base64" };
    const fitted = await fitImage(bytes, this.#limits);
    if ("problem" in fitted) return fitted;
    const isSame = fitted.bytes === bytes && fitted.mime === mime;
    const image = isSame ? { mime, data } : { mime: fitted.mime, data: fitted.bytes.toBase64() };
    if (this.#total + image.data.length > total) {
      return { problem: "the images of the conversation are together too large for a request" };
    }
    this.#count++;
    this.#total += image.data.length;
    return { image, note: fitted.note };
  }

  async #leftOut(number: string, problem: string): Promise<Outcome> {
    const said: Sayings = [["imageLeftOut", number, problem]];
    const text = `${named(number)} was not attached: ${problem}`;
    await this.#parts.recorder.record({ type: "notice", level: "warning", code: "image", text, said });
    return { note: `[${text}]` };
  }
}

function decoded(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    return undefined;
  }
}
