import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { animatedPng, gif, makeImage, withChunk, withSize } from "../../../support/images.ts";
import {
  COMMON_IMAGES,
  fitImage,
  type FittedImage,
  type ImageLimits,
} from "../../../../src/util/image/fit_image.ts";
import { imageInfo } from "../../../../src/util/image/image_info.ts";

const fit = (bytes: Uint8Array<ArrayBuffer>, limits: Partial<ImageLimits> = {}) =>
  fitImage(bytes, { ...COMMON_IMAGES, ...limits });

function fitted(image: FittedImage) {
  if ("problem" in image) throw new Error(image.problem);
  const { width, height } = imageInfo(image.bytes) ?? {};
  return { mime: image.mime, note: image.note, width, height, bytes: image.bytes };
}

function problem(image: FittedImage): string {
  return "problem" in image ? image.problem : "";
}

Deno.test("fitImage returns an image within the limits byte for byte", async () => {
  for (const bytes of [await makeImage(40, 30), await makeImage(40, 30, { type: "image/jpeg" }), gif(1)]) {
    const image = fitted(await fit(bytes));
    assertEquals(image.bytes, bytes);
    assertEquals(image.note, undefined);
  }
});

Deno.test("fitImage scales a larger image to the limit, keeps its ratio and reports it", async () => {
  const png = fitted(await fit(await makeImage(400, 100), { edge: 200 }));
  assertEquals([png.mime, png.width, png.height], ["image/png", 200, 50]);
  assertEquals(png.note, "scaled from 400×100 to 200×50 pixels");
  const jpeg = fitted(await fit(await makeImage(100, 400, { type: "image/jpeg" }), { edge: 200 }));
  assertEquals([jpeg.mime, jpeg.width, jpeg.height], ["image/jpeg", 50, 200]);
});

Deno.test("fitImage shrinks an image until it is within the byte limit", async () => {
  const bytes = await makeImage(300, 300, { noise: true });
  const image = fitted(await fit(bytes, { bytes: 20_000 }));
  assert(image.bytes.length <= 20_000);
  assertEquals(image.mime, "image/jpeg");
  assertEquals(problem(await fit(bytes, { bytes: 100 })), "cannot be made smaller than 100 bytes");
});

Deno.test("fitImage converts an unsupported type", async () => {
  const image = fitted(await fit(gif(1), { types: ["image/png"] }));
  assertEquals([image.mime, image.width], ["image/png", 20]);
});

Deno.test("fitImage uses the first frame of an animation", async () => {
  for (const bytes of [gif(2), animatedPng(await makeImage(20, 20))]) {
    const image = fitted(await fit(bytes));
    assertEquals(image.note, "first frame of an animation");
    assertEquals([image.mime, image.width, image.height], ["image/png", 20, 20]);
  }
});

Deno.test("fitImage enlarges an image that servers reject as too small", async () => {
  const image = fitted(await fit(await makeImage(1, 1)));
  assertEquals([image.width, image.height], [16, 16]);
  assertEquals(image.note, "scaled from 1×1 to 16×16 pixels");
});

Deno.test("fitImage explains why an image is unusable", async () => {
  const png = await makeImage(60, 60, { noise: true });
  assertStringIncludes(problem(await fit(png.slice(0, 500))), "damaged or cut off");
  assertStringIncludes(problem(await fit(png.slice(0, 20))), "its header has no size");
  assertStringIncludes(problem(await fit(withSize(png, 50_000, 50_000))), "50000×50000 pixels are too many");
  assertStringIncludes(problem(await fit(withSize(png, 0, 5))), "its header has no size");
  assertStringIncludes(problem(await fit(await makeImage(3000, 1))), "3000×1 pixels are too narrow");
  for (const bytes of [new Uint8Array(), new TextEncoder().encode("<svg/>"), new Uint8Array([0x89, 0x50])]) {
    assertStringIncludes(problem(await fit(bytes)), "not an image that can be read");
  }
});

Deno.test("fitImage detects the type from the content of any damaged image", async () => {
  const whole = await makeImage(50, 50, { type: "image/jpeg" });
  for (let at = 0; at < whole.length; at += 7) {
    const bytes = whole.slice();
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    const image = await fit(bytes);
    assert("problem" in image || image.mime.startsWith("image/"));
  }
});

Deno.test("fitImage returns a PNG with damaged metadata unchanged", async () => {
  const png = await makeImage(40, 30);
  const profile = withChunk(png, "iCCP", new Uint8Array([65, 0, 0, 1, 2, 3, 4]));
  const wrongChecksum = profile.slice();
  wrongChecksum[33 + 8 + 7] = (wrongChecksum[33 + 8 + 7] ?? 0) ^ 0xff;
  for (
    const bytes of [
      profile,
      wrongChecksum,
      withChunk(png, "pHYs", new Uint8Array(1)),
      withChunk(png, "sRGB", new Uint8Array([77])),
    ]
  ) {
    const image = fitted(await fit(bytes));
    assertEquals([image.mime, image.note], ["image/png", undefined]);
    assert(image.bytes === bytes);
    assertEquals(fitted(await fit(bytes, { edge: 32 })).width, 32);
  }
  const pixels = png.slice();
  pixels[png.length - 20] = (pixels[png.length - 20] ?? 0) ^ 0xff;
  assertStringIncludes(problem(await fit(pixels)), "damaged or cut off");
});

Deno.test("fitImage returns a complete JPEG unchanged that servers can decode and it cannot", async () => {
  const jpeg = await makeImage(100, 60, { type: "image/jpeg" });
  const frame = jpeg.findIndex((byte, at) => byte === 0xff && jpeg[at + 1] === 0xc0);
  const arithmetic = jpeg.slice();
  arithmetic[frame + 1] = 0xc9;
  assert(fitted(await fit(arithmetic)).bytes === arithmetic);
  assert(fitted(await fit(arithmetic, { edge: 50 })).bytes === arithmetic);
  for (const limits of [{ edge: 50, maxEdge: 80 }, { bytes: 100 }, { types: ["image/png"] }]) {
    assertStringIncludes(problem(await fit(arithmetic, limits)), "damaged or cut off");
  }
  assertStringIncludes(problem(await fit(arithmetic.slice(0, -50))), "damaged or cut off");
});

Deno.test("fitImage returns an image that cannot be scaled unchanged if servers accept it", async () => {
  const png = await makeImage(400, 100);
  const { convertToBlob } = OffscreenCanvas.prototype;
  OffscreenCanvas.prototype.convertToBlob = () => Promise.reject(new Error("no memory"));
  try {
    assert(fitted(await fit(png, { edge: 200 })).bytes === png);
    assertStringIncludes(
      problem(await fit(png, { edge: 200, maxEdge: 300 })),
      "cannot be converted: no memory",
    );
    assertStringIncludes(
      problem(await fit(png, { types: ["image/jpeg"] })),
      "cannot be converted: no memory",
    );
  } finally {
    OffscreenCanvas.prototype.convertToBlob = convertToBlob;
  }
});
