import { type LoadedConfig, resolveModel } from "../../config/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import {
  costOf,
  errorMessage,
  type ImagePart,
  type LocalizedMessage,
  message,
  newNotice,
} from "../../core/mod.ts";
import { collectReply, type ModelInfo, type ModelRequest } from "../../provider/mod.ts";
import { descriptionKey } from "../../session/mod.ts";
import { COMMON_IMAGES, fitImage, type ImageLimits, SAFE_IMAGES } from "../../util/image/fit_image.ts";
import { grouped } from "../../view/mod.ts";
import { type AdmitImages, type AdmittedImages, providerOf } from "../../run/mod.ts";
import prompt from "./describe.md" with { type: "text" };
import { attempt } from "../../util/lazy.ts";

/** One image as the model gets it; without `image` it is left out. */
interface Outcome {
  readonly image?: ImagePart;
  readonly note?: string;
}

/** Admits the images of a run one after the other, since calls that run together fill the same request. */
export function imageAdmission(deps: AdmissionDeps): AdmitImages {
  const { recorder } = deps;
  let last: Promise<unknown> = Promise.resolve();
  /** Admitted, and not yet in a message. */
  const waiting = new Set<ImagePart>();
  let watches = false;
  const watch = () => {
    if (watches) return;
    watches = true;
    recorder.subscribe((event) => {
      if (event.type === "turn.end") waiting.clear();
      if (event.type !== "tool.end" && event.type !== "message.user") return;
      for (const image of event.images ?? []) waiting.delete(image);
    });
  };
  return async (images, model, signal) => {
    if (images.length === 0) return { images, notes: [] };
    watch();
    const admitted = last.then(async () => {
      const result = await new ImageIntake(deps, model, [...waiting]).admit(images, signal);
      for (const image of result.images) waiting.add(image);
      return result;
    });
    last = admitted.catch(() => {});
    return await admitted;
  };
}

/**
 * Takes images into a conversation: makes them fit what the model takes, has them described for a model that
 * takes none, and says what was left out and why.
 */
class ImageIntake {
  readonly #deps: AdmissionDeps;
  readonly #limits: ImageLimits;
  readonly #describer: ImageDescriber | undefined;
  #count: number;
  #total: number;

  /** `waiting`: images that are not in the conversation yet, and will be. */
  constructor(deps: AdmissionDeps, model: ModelInfo, waiting: readonly ImagePart[]) {
    this.#deps = deps;
    const blind = !model.vision && deps.loaded.config.vision_model !== "";
    this.#limits = model.vision ? model.images ?? COMMON_IMAGES : SAFE_IMAGES;
    this.#describer = blind ? new ImageDescriber(deps) : undefined;
    const sent = deps.recorder.messages.flatMap((message) =>
      message.role === "assistant" ? [] : message.images ?? []
    );
    const earlier = [...sent, ...waiting];
    this.#count = earlier.length;
    this.#total = earlier.reduce((sum, { data }) => sum + data.length, 0);
  }

  /** Never rejects. What was stopped by the signal is left undescribed. */
  async admit(given: readonly ImagePart[], signal: AbortSignal): Promise<AdmittedImages> {
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
    const outcome = { image, ...(note === undefined ? {} : { note: `[${named(number).text}: ${note}]` }) };
    if (!this.#describer) return outcome;
    const description = await this.#describer.describe(image, number, signal);
    return { image, note: `[${named(number).text}${description}]` };
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
    const text = message`${named(number)} was not attached: ${problem}`;
    await this.#deps.recorder.record(newNotice("warning", "image", text));
    return { note: `[${text.text}]` };
  }
}

function decoded(base64: string): Uint8Array<ArrayBuffer> | undefined {
  return attempt(() => Uint8Array.fromBase64(base64));
}

interface AdmissionDeps {
  readonly loaded: LoadedConfig;
  readonly recorder: Recorder;
}

/** Thoughts of the model count as well. */
const MAX_TOKENS = 4_000;

/** Has images described by `vision_model`: each once in a session, and what it costs is counted there. */
class ImageDescriber {
  readonly #deps: AdmissionDeps;
  readonly #reference: string;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
    this.#reference = deps.loaded.config.vision_model;
  }

  /**
   * Returns the text after the name of the image: the description, or why there is none. Never rejects.
   */
  async describe(image: ImagePart, number: string, signal: AbortSignal): Promise<string> {
    try {
      return await this.#described(image, number, signal);
    } catch (error) {
      if (signal.aborted) return " was not described: the turn was stopped";
      const problem = errorMessage(error);
      const text = message`${named(number)} could not be described by ${this.#reference}: ${problem}`;
      await this.#deps.recorder.record(newNotice("warning", "image", text));
      return ` could not be described by ${this.#reference}: ${problem}`;
    }
  }

  async #described(image: ImagePart, number: string, signal: AbortSignal): Promise<string> {
    const { recorder, loaded } = this.#deps;
    const { entry, model } = resolveModel(loaded.config, this.#reference);
    const name = `${entry.name}/${model}`;
    const hash = await sha256(Uint8Array.fromBase64(image.data));
    const key = { image: hash, provider: entry.name, model };
    const known = recorder.state.descriptions.get(descriptionKey(key));
    if (known !== undefined) return `, described by ${name}:\n${known}`;
    const provider = await providerOf(loaded, name, { vision: true });
    if (!provider.model.vision) {
      throw new Error(`The entry of ${name} says vision = false; name a model that takes images`);
    }
    const started = performance.now();
    const request = descriptionRequest(image, provider.model);
    const reply = await collectReply(provider, request, signal);
    const { usage, error } = reply;
    const text = reply.text.trim();
    const cost = usage && costOf(usage, provider.model.price);
    if (usage || text !== "") {
      await recorder.record({
        type: "image.described",
        ...key,
        // What broke off is paid for, and no description.
        text: error ? "" : text,
        ...(usage ? { usage } : {}),
        ...(cost ? { cost } : {}),
        durationMs: Math.round(performance.now() - started),
      });
    }
    if (error) throw new Error(error.message);
    if (text === "") throw new Error(`The answer of ${name} was empty`);
    const tokens = grouped(usage ? usage.inputTokens + usage.outputTokens : 0);
    const money = cost ? `${Number(cost.amount.toFixed(6))} ${cost.currency}` : "";
    await recorder.record(
      newNotice(
        "info",
        "image",
        money === ""
          ? message`${named(number)} was described by ${name} (${tokens} tokens)`
          : message`${named(number)} was described by ${name} (${tokens} tokens, ${money})`,
      ),
    );
    return `, described by ${name}:\n${text}`;
  }
}

function descriptionRequest(image: ImagePart, { maxOutputTokens = MAX_TOKENS }: ModelInfo): ModelRequest {
  return {
    prefix: { system: prompt.trim(), tools: [] },
    messages: [{ role: "user", content: "Describe this image.", images: [image] }],
    maxOutputTokens: Math.min(MAX_TOKENS, maxOutputTokens),
  };
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** An image in a sentence; the only one has no number. */
function named(number: string): LocalizedMessage {
  return number === "" ? message`The image` : message`Image ${number}`;
}
