import type { Toolbox } from "../../agent/mod.ts";
import type { LoadedConfig } from "../../config/mod.ts";
import type { ImagePart } from "../../core/mod.ts";
import type { ModelInfo } from "../../provider/mod.ts";
import type { AdmissionDeps, Admitted } from "./image_intake.ts";

/** Looks at images before a message takes them in; `model` will read them. */
export type AdmitImages = (
  images: readonly ImagePart[],
  model: ModelInfo,
  signal: AbortSignal,
) => Promise<Admitted>;

/** The model sees images, or has somebody who describes them. */
export function takesImages({ vision }: ModelInfo, { config }: Pick<LoadedConfig, "config">): boolean {
  return vision || config.vision_model !== "";
}

/**
 * The way of images into a conversation, one after the other: calls that run together fill the same request.
 * What looks at images is loaded with the first one.
 */
export function imageAdmission(parts: AdmissionDeps): AdmitImages {
  const { recorder } = parts;
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
    const { ImageIntake } = await import("./image_intake.ts");
    watch();
    const admitted = last.then(async () => {
      const result = await new ImageIntake(parts, model, [...waiting]).admit(images, signal);
      for (const image of result.images) waiting.add(image);
      return result;
    });
    last = admitted.catch(() => {});
    return await admitted;
  };
}

/** Tools whose images are looked at before the model gets them, which may be another one by then. */
export function withAdmission(
  toolbox: Toolbox,
  admit: AdmitImages,
  provider: { readonly model: ModelInfo },
): Toolbox {
  return {
    prepare: (call, signal) => toolbox.prepare(call, signal),
    async execute(call, signal, progress) {
      const result = await toolbox.execute(call, signal, progress);
      if (!result.images?.length) return result;
      const { images, notes } = await admit(result.images, provider.model, signal);
      const { images: _given, ...rest } = result;
      const content = [result.content, ...notes].filter((text) => text !== "").join("\n");
      return { ...rest, content, ...(images.length > 0 ? { images } : {}) };
    },
  };
}
