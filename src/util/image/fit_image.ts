import { imageInfo, isAnimated, isWholeJpeg, withoutPngExtras } from "./image_info.ts";

/** The limits of a model's images, which depend on the kind of provider. */
export interface ImageLimits {
  readonly types: readonly string[];
  /** Bytes of one image, before base64. */
  readonly bytes: number;
  /** Pixels of the longer edge; larger images are scaled down. */
  readonly edge: number;
  /** Pixels of the longer edge that servers still take, where an image cannot be scaled down. */
  readonly maxEdge: number;
  /** Images of one request. */
  readonly count: number;
  /** Characters of base64 of all images of one request. */
  readonly total: number;
}

export const COMMON_IMAGES: ImageLimits = {
  types: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  bytes: 5 * 1024 * 1024,
  edge: 2048,
  maxEdge: 8000,
  count: 100,
  total: 30 * 1024 * 1024,
};

/** The limits of all kinds, for images whose model is not known yet. */
export const SAFE_IMAGES: ImageLimits = {
  ...COMMON_IMAGES,
  types: ["image/png", "image/jpeg", "image/webp"],
  bytes: 3_900_000,
  edge: 2000,
  maxEdge: 2000,
};

/** An image that a model can take, or the reason why it can take none. */
export type FittedImage =
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly mime: string; readonly note?: string }
  | { readonly problem: string };

/** More pixels are not decoded: a small file can hold any number, and each takes four bytes of memory. */
const MAX_PIXELS = 100_000_000;
/** Some servers refuse images with a shorter edge, and with it every later request of the conversation. */
const MIN_EDGE = 16;
/** A picture with all its details as PNG becomes large; a screenshot does not. */
const LARGE_PNG = 2 * 1024 * 1024;
const JPEG_QUALITY = 0.85;

/**
 * Fits an image to the limits: type, size, whole, not animated. One that needs no change is returned byte for
 * byte, as is one that cannot be scaled but that servers accept. Contract: never rejects; the result was
 * decoded or is known to be whole.
 */
export async function fitImage(bytes: Uint8Array<ArrayBuffer>, limits: ImageLimits): Promise<FittedImage> {
  const info = imageInfo(bytes);
  if (!info) return { problem: "not an image that can be read (PNG, JPEG, GIF or WebP)" };
  const { mime, width = 0, height = 0 } = info;
  if (width * height === 0) return { problem: "damaged or cut off: its header has no size" };
  if (width * height > MAX_PIXELS) {
    return { problem: `${width}×${height} pixels are too many to decode (at most ${MAX_PIXELS})` };
  }
  const animated = isAnimated(bytes, mime);
  const isTaken = limits.types.includes(mime) && !animated && bytes.length <= limits.bytes;
  const original = isTaken && isServed({ width, height }, limits) ? { bytes, mime } : undefined;
  let picture: ImageBitmap;
  try {
    picture = await decodedImage(bytes, mime);
  } catch (error) {
    if (original && mime === "image/jpeg" && isWholeJpeg(bytes)) return original;
    return { problem: `damaged or cut off: ${reasonOf(error)}` };
  }
  const size = { width: picture.width, height: picture.height };
  const wanted = fittingSize(size, limits.edge);
  if (!wanted) {
    picture.close();
    return { problem: `${sizeText(size)} pixels are too narrow to be shown` };
  }
  if (isTaken && sizeText(wanted) === sizeText(size)) {
    picture.close();
    return { bytes, mime };
  }
  const still = animated ? ["first frame of an animation"] : [];
  const fitted = await encoded(picture, { wanted, limits, jpeg: mime === "image/jpeg", notes: still });
  return "problem" in fitted && original ? original : fitted;
}

/** Decodes an image. Servers ignore damaged extras of a PNG, such as a wrong checksum of a color profile. */
async function decodedImage(bytes: Uint8Array<ArrayBuffer>, mime: string): Promise<ImageBitmap> {
  const decode = (data: Uint8Array<ArrayBuffer>) => createImageBitmap(new Blob([data], { type: mime }));
  try {
    return await decode(bytes);
  } catch (error) {
    if (mime !== "image/png") throw error;
    return await decode(withoutPngExtras(bytes));
  }
}

function isServed({ width, height }: Size, { maxEdge }: ImageLimits): boolean {
  return Math.min(width, height) >= MIN_EDGE && Math.max(width, height) <= maxEdge;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

interface Encoding {
  readonly wanted: Size;
  readonly limits: ImageLimits;
  readonly jpeg: boolean;
  readonly notes: readonly string[];
}

/** The size to show an image in; undefined when no size has edges that are long and short enough. */
function fittingSize({ width, height }: Size, edge: number): Size | undefined {
  const shorter = Math.min(width, height);
  const longer = Math.max(width, height);
  const grown = Math.ceil(MIN_EDGE / shorter);
  const factor = shorter < MIN_EDGE ? grown : Math.min(1, edge / longer);
  if (longer * factor > edge || Math.round(shorter * factor) < MIN_EDGE) return undefined;
  return { width: Math.round(width * factor), height: Math.round(height * factor) };
}

/** Encodes a picture in the wanted size, and in smaller ones until the bytes are few enough. */
async function encoded(
  picture: ImageBitmap,
  { wanted, limits, jpeg, notes }: Encoding,
): Promise<FittedImage> {
  const from = { width: picture.width, height: picture.height };
  try {
    for (let factor = 1; factor > 0.1; factor *= 0.7) {
      const size = factor === 1 ? wanted : {
        width: Math.max(1, Math.round(wanted.width * factor)),
        height: Math.max(1, Math.round(wanted.height * factor)),
      };
      const blob = await smallest(await scaled(picture, size), { jpeg, limit: limits.bytes });
      if (blob.size > limits.bytes) continue;
      const changed = sizeText(size) === sizeText(from)
        ? []
        : [`scaled from ${sizeText(from)} to ${sizeText(size)} pixels`];
      const note = [...notes, ...changed].join(", ");
      const bytes = new Uint8Array(await blob.arrayBuffer());
      return { bytes, mime: blob.type, ...(note === "" ? {} : { note }) };
    }
    return { problem: `cannot be made smaller than ${limits.bytes} bytes` };
  } catch (error) {
    return { problem: `cannot be converted: ${reasonOf(error)}` };
  } finally {
    picture.close();
  }
}

async function scaled(picture: ImageBitmap, { width, height }: Size): Promise<OffscreenCanvas> {
  const grows = width > picture.width;
  const options: ImageBitmapOptions = {
    resizeWidth: width,
    resizeHeight: height,
    resizeQuality: grows ? "pixelated" : "medium",
  };
  const canvas = new OffscreenCanvas(width, height);
  const bitmap = await createImageBitmap(picture, options);
  canvas.getContext("bitmaprenderer")?.transferFromImageBitmap(bitmap);
  return canvas;
}

/** PNG keeps letters sharp; a photograph is many times smaller as JPEG. */
async function smallest(
  canvas: OffscreenCanvas,
  { jpeg, limit }: { readonly jpeg: boolean; readonly limit: number },
): Promise<Blob> {
  const asJpeg = () => canvas.convertToBlob({ type: "image/jpeg", quality: JPEG_QUALITY });
  if (jpeg) return await asJpeg();
  const png = await canvas.convertToBlob({ type: "image/png" });
  return png.size <= Math.min(limit, LARGE_PNG) ? png : await asJpeg();
}

function sizeText({ width, height }: Size): string {
  return `${width}×${height}`;
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return /'(.*)'/s.exec(text)?.[1]?.slice(0, 200) ?? text.slice(0, 200);
}
