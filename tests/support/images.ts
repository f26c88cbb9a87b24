/** Images for tests, made by the runtime, also broken ones. */

/** An image with a gradient; `noise` makes it hard to compress. */
export async function makeImage(
  width: number,
  height: number,
  { type = "image/png", noise = false }: {
    readonly type?: "image/png" | "image/jpeg";
    readonly noise?: boolean;
  } = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const pixels = new Uint8ClampedArray(width * height * 4);
  let seed = 1;
  for (let at = 0; at < width * height; at++) {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    const grain = noise ? (seed >> 16) & 255 : 0;
    pixels.set([(at % width) ^ grain, at / width ^ grain, grain, 255], at * 4);
  }
  const canvas = new OffscreenCanvas(width, height);
  const picture = await createImageBitmap(new ImageData(pixels, width, height));
  canvas.getContext("bitmaprenderer")?.transferFromImageBitmap(picture);
  return new Uint8Array(await (await canvas.convertToBlob({ type })).arrayBuffer());
}

/** A PNG with another size in its header and a correct checksum. */
export function withSize(png: Uint8Array, width: number, height: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(png);
  const view = new DataView(bytes.buffer);
  view.setUint32(16, width);
  view.setUint32(20, height);
  view.setUint32(29, crc32(bytes.subarray(12, 29)));
  return bytes;
}

/** A PNG that declares an animation of an extra frame. */
export function animatedPng(png: Uint8Array): Uint8Array<ArrayBuffer> {
  return withChunk(png, "acTL", new Uint8Array([0, 0, 0, 1, 0, 0, 0, 0]));
}

/** A PNG with this many extra bytes, in a chunk that decoders skip. */
export function paddedPng(png: Uint8Array, bytes: number): Uint8Array<ArrayBuffer> {
  return withChunk(png, "paDd", new Uint8Array(bytes));
}

/** A PNG with an extra chunk after its header. */
export function withChunk(png: Uint8Array, type: string, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const chunk = new Uint8Array(data.length + 12);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, data.length);
  chunk.set(new TextEncoder().encode(type), 4);
  chunk.set(data, 8);
  view.setUint32(data.length + 8, crc32(chunk.subarray(4, data.length + 8)));
  const bytes = new Uint8Array(png.length + chunk.length);
  bytes.set(png.subarray(0, 33));
  bytes.set(chunk, 33);
  bytes.set(png.subarray(33), 33 + chunk.length);
  return bytes;
}

/** A black GIF of 20×20 pixels with this many frames. */
export function gif(frames: number): Uint8Array<ArrayBuffer> {
  const head = [...new TextEncoder().encode("GIF89a"), 20, 0, 20, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255];
  // A clear code before every pixel keeps all codes three bits wide: 4, 0, 4, 0, …, 5.
  const codes = [...Array(400).fill([4, 0]).flat(), 5];
  const data: number[] = [];
  let bits = 0, held = 0;
  for (const code of codes) {
    held |= code << bits;
    for (bits += 3; bits >= 8; bits -= 8, held >>= 8) data.push(held & 255);
  }
  data.push(held & 255);
  const blocks: number[] = [];
  for (let at = 0; at < data.length; at += 255) {
    const block = data.slice(at, at + 255);
    blocks.push(block.length, ...block);
  }
  const frame = [0x21, 0xf9, 4, 0, 10, 0, 0, 0, 0x2c, 0, 0, 0, 0, 20, 0, 20, 0, 0, 2, ...blocks, 0];
  return new Uint8Array([...head, ...Array(frames).fill(frame).flat(), 0x3b]);
}

function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
