import type { Toolbox } from "../../agent/mod.ts";
import type { LoadedConfig } from "../../config/mod.ts";
import type { ImagePart } from "../../core/mod.ts";
import type { ModelInfo } from "../../provider/mod.ts";
import type { Admitted } from "./image_desk.ts";
import type { AdmissionParts } from "./image_describer.ts";

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

/** The way of images into a conversation. What looks at them is loaded with the first one. */
export function imageAdmission(parts: AdmissionParts): AdmitImages {
  return async (images, model, signal) => {
    if (images.length === 0) return { images, notes: [] };
    const { ImageDesk } = await import("./image_desk.ts");
    return await new ImageDesk(parts, model).admit(images, signal);
  };
}

/** Tools whose images are looked at before the model gets them. */
export function withAdmission(toolbox: Toolbox, admit: AdmitImages, model: ModelInfo): Toolbox {
  return {
    prepare: (call) => toolbox.prepare(call),
    async execute(call, signal, progress) {
      const result = await toolbox.execute(call, signal, progress);
      if (!result.images?.length) return result;
      const { images, notes } = await admit(result.images, model, signal);
      const { images: _given, ...rest } = result;
      const content = [result.content, ...notes].filter((text) => text !== "").join("\n");
      return { ...rest, content, ...(images.length > 0 ? { images } : {}) };
    },
  };
}
