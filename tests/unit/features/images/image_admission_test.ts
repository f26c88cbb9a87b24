import { imageAdmission } from "../../../../src/features/images/image_intake.ts";
import { withAdmission } from "../../../../src/run/tools/toolbox.ts";
import { Recorder } from "../../../../src/control/mod.ts";
import { MemoryStore } from "../../../../src/control/memory_store.ts";
import type { ImagePart } from "../../../../src/core/mod.ts";
import type { ModelInfo } from "../../../../src/provider/mod.ts";
import { COMMON_IMAGES } from "../../../../src/util/image/fit_image.ts";
import { gif, makeImage, paddedPng } from "../../../support/images.ts";
import { assertEquals, assertStringIncludes } from "../../../support/assert.ts";

const signal = new AbortController().signal;

/** An admission to a conversation with a model whose requests hold two of these images. */
async function stage() {
  const data = paddedPng(await makeImage(20, 20), 10_000).toBase64();
  const images = { ...COMMON_IMAGES, total: Math.round(data.length * 2.5) };
  const model: ModelInfo = { provider: "p", id: "m", vision: true, contextWindow: 0, images };
  const recorder = new Recorder(new MemoryStore());
  const loaded = { config: { vision_model: "" } } as never;
  const admit = imageAdmission({ recorder, loaded });
  return {
    recorder,
    image: (): ImagePart => ({ mime: "image/png", data }),
    admit: async (...given: ImagePart[]) => await admit(given, model, signal),
  };
}

Deno.test("images of concurrent calls share the limit of a request", async () => {
  const { admit, image } = await stage();
  const admitted = await Promise.all([admit(image()), admit(image()), admit(image())]);
  // Which of them is looked at last is not said.
  const [left, ...taken] = admitted.toSorted((a, b) => a.images.length - b.images.length);
  assertEquals([left?.images.length, ...taken.map(({ images }) => images.length)], [0, 1, 1]);
  assertStringIncludes(left?.notes[0] ?? "", "together too large for a request");
});

Deno.test("an image counts once, pending or in the conversation, and not after a turn without it", async () => {
  const { admit, image, recorder } = await stage();
  const [first] = (await admit(image())).images;
  if (!first) throw new Error("the image was left out");
  await recorder.record({ type: "turn.start", turn: 1 });
  await recorder.record({ type: "message.user", content: "look", images: [first], origin: "user" });
  assertEquals((await admit(image())).images.length, 1);
  assertEquals((await admit(image())).images.length, 0);
  const usage = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  const end = { turn: 1, reason: "interrupted", answer: "", steps: 0, usage, durationMs: 0 } as const;
  await recorder.record({ type: "turn.end", ...end });
  assertEquals((await admit(image())).images.length, 1);
});

Deno.test("images of tools fit the model that is active when they arrive", async () => {
  const recorder = new Recorder(new MemoryStore());
  const loaded = { config: { vision_model: "" } } as never;
  const image: ImagePart = { mime: "image/gif", data: gif(1).toBase64() };
  const result = { content: "", isError: false, summary: "", images: [image] };
  const plain = { prepare: () => "", execute: () => Promise.resolve(result) };
  const provider: { model: ModelInfo } = {
    model: { provider: "p", id: "m", vision: true, contextWindow: 0, images: COMMON_IMAGES },
  };
  const toolbox = withAdmission(plain, imageAdmission({ recorder, loaded }), provider);
  const mime = async () => (await toolbox.execute({} as never, signal, () => {})).images?.[0]?.mime;
  assertEquals(await mime(), "image/gif");
  provider.model = { ...provider.model, id: "other", images: { ...COMMON_IMAGES, types: ["image/png"] } };
  assertEquals(await mime(), "image/png");
});
