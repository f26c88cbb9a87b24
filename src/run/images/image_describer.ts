import { type LoadedConfig, resolveModel } from "../../config/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import { costOf, errorMessage, type ImagePart, type Sayings, type Usage } from "../../core/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import { descriptionKey } from "../../session/mod.ts";
import { grouped } from "../../view/mod.ts";
import { providerOf } from "../provider.ts";
import prompt from "./describe.md" with { type: "text" };

export interface AdmissionParts {
  readonly loaded: LoadedConfig;
  readonly recorder: Recorder;
}

interface Heard {
  text: string;
  usage?: Usage;
  problem?: string;
}

/** Thoughts of the model count as well. */
const MAX_TOKENS = 4_000;

/** Has images described by `vision_model`: each once in a session, and what it costs is counted there. */
export class ImageDescriber {
  readonly #parts: AdmissionParts;
  readonly #reference: string;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
    this.#reference = parts.loaded.config.vision_model;
  }

  /**
   * Goes on from the name of the image: what it shows, or why nobody says. Never rejects.
   */
  async describe(image: ImagePart, number: string, signal: AbortSignal): Promise<string> {
    try {
      return await this.#described(image, number, signal);
    } catch (error) {
      if (signal.aborted) return " was not described: the turn was stopped";
      const problem = errorMessage(error);
      const said: Sayings = [["imageUndescribed", number, this.#reference, problem]];
      const text = `${named(number)} could not be described by ${this.#reference}: ${problem}`;
      await this.#parts.recorder.record({ type: "notice", level: "warning", code: "image", text, said });
      return ` could not be described by ${this.#reference}: ${problem}`;
    }
  }

  async #described(image: ImagePart, number: string, signal: AbortSignal): Promise<string> {
    const { recorder, loaded } = this.#parts;
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
    const { text, usage, problem } = await listen(provider, image, signal);
    const cost = usage && costOf(usage, provider.model.price);
    if (usage || text !== "") {
      await recorder.record({
        type: "image.described",
        ...key,
        // What broke off is paid for, and no description.
        text: problem === undefined ? text : "",
        ...(usage ? { usage } : {}),
        ...(cost ? { cost } : {}),
        durationMs: Math.round(performance.now() - started),
      });
    }
    if (problem !== undefined) throw new Error(problem);
    if (text === "") throw new Error(`The answer of ${name} was empty`);
    const tokens = grouped(usage ? usage.inputTokens + usage.outputTokens : 0);
    const money = cost ? `${Number(cost.amount.toFixed(6))} ${cost.currency}` : "";
    await recorder.record({
      type: "notice",
      level: "info",
      code: "image",
      text: `${named(number)} was described by ${name} (${tokens} tokens${money && `, ${money}`})`,
      said: [["imageDescribed", number, name, tokens, money]],
    });
    return `, described by ${name}:\n${text}`;
  }
}

async function listen(provider: Provider, image: ImagePart, signal: AbortSignal): Promise<Heard> {
  const heard: Heard = { text: "" };
  const request = {
    prefix: { system: prompt.trim(), tools: [] },
    messages: [{ role: "user" as const, content: "Describe this image.", images: [image] }],
    maxOutputTokens: Math.min(MAX_TOKENS, provider.model.maxOutputTokens ?? MAX_TOKENS),
  };
  for await (const chunk of provider.stream(request, signal)) {
    if (chunk.type === "text") heard.text += chunk.text;
    else if (chunk.type === "usage") heard.usage = chunk.usage;
    else if (chunk.type === "error") heard.problem = chunk.error.message;
    else if (chunk.type === "retry" && chunk.discarded) heard.text = "";
  }
  heard.text = heard.text.trim();
  return heard;
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** An image in a sentence; the only one has no number. */
export function named(number: string): string {
  return number === "" ? "The image" : `Image ${number}`;
}
