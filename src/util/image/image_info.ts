import { type LocalizedMessage, message } from "../../core/mod.ts";
import { attempt } from "../lazy.ts";
import { joinBytes } from "../bytes.ts";

export interface ImageInfo {
  readonly mime: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** In pixels, as is the height; absent where the header is cut off or damaged. */
  readonly width?: number;
  readonly height?: number;
}

/** The reason why base64 data is not an image that can be sent; undefined: it is one. */
export function imageProblem(
  { mime, data }: { readonly mime: string; readonly data: string },
  maxBytes: number,
): LocalizedMessage | undefined {
  const bytes = attempt(() => Uint8Array.fromBase64(data));
  if (!bytes) return message`its data is not base64`;
  if (bytes.length > maxBytes) return message`it has more than ${maxBytes} bytes`;
  return imageInfo(bytes)?.mime === mime ? undefined : message`its data is no image of the type ${mime}`;
}

export function imageInfo(bytes: Uint8Array): ImageInfo | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (starts(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) {
    return bytes.length < 24
      ? { mime: "image/png" }
      : sized("image/png", view.getUint32(16), view.getUint32(20));
  }
  if (ascii(bytes, 0, 4) === "GIF8") {
    return bytes.length < 10
      ? { mime: "image/gif" }
      : sized("image/gif", view.getUint16(6, true), view.getUint16(8, true));
  }
  if (starts(bytes, [0xff, 0xd8, 0xff])) return jpegInfo(view);
  if (ascii(bytes, 0, 4) === "RIFF" && ascii(bytes, 8, 4) === "WEBP") return webpInfo(bytes, view);
  return undefined;
}

function sized(mime: ImageInfo["mime"], width: number, height: number): ImageInfo {
  return { mime, width, height };
}

function jpegInfo(view: DataView): ImageInfo {
  const { width, height } = jpegFrame(view) ?? {};
  return width === undefined || height === undefined
    ? { mime: "image/jpeg" }
    : sized("image/jpeg", width, height);
}

/** Walks the segments to the frame header, which holds the size (ITU T.81, B.2.2). */
function jpegFrame(view: DataView) {
  for (let at = 2; at + 9 < view.byteLength;) {
    if (view.getUint8(at) !== 0xff) break;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) {
      const [precision, height, width] = [
        view.getUint8(at + 4),
        view.getUint16(at + 5),
        view.getUint16(at + 7),
      ];
      return { precision, height, width };
    }
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
  return undefined;
}

function webpInfo(bytes: Uint8Array, view: DataView): ImageInfo {
  if (bytes.length < 30) return { mime: "image/webp" };
  switch (ascii(bytes, 12, 4)) {
    case "VP8X":
      return sized("image/webp", 1 + uint24(view, 24), 1 + uint24(view, 27));
    case "VP8L": {
      const bits = view.getUint32(21, true);
      return sized("image/webp", 1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff));
    }
    default:
      return sized("image/webp", view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff);
  }
}

function uint24(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
}

export function isAnimated(bytes: Uint8Array, mime: string): boolean {
  if (mime === "image/webp") return ascii(bytes, 12, 4) === "VP8X" && ((bytes[20] ?? 0) & 2) > 0;
  if (mime === "image/gif") return gifFrames(bytes) > 1;
  return mime === "image/png" && hasPngChunk(bytes, "acTL");
}

/** The frames of a GIF, of which no more than two are counted (GIF89a, sections 17 to 26). */
function gifFrames(bytes: Uint8Array): number {
  const table = (flags: number) => flags & 0x80 ? 3 << ((flags & 7) + 1) : 0;
  let at = 13 + table(bytes[10] ?? 0);
  let frames = 0;
  while (at < bytes.length && frames < 2) {
    const kind = bytes[at];
    if (kind === 0x2c) {
      frames++;
      at += 11 + table(bytes[at + 9] ?? 0);
    } else if (kind === 0x21) at += 2;
    else break;
    while (at < bytes.length && bytes[at] !== 0) at += 1 + (bytes[at] ?? 0);
    at++;
  }
  return frames;
}

function hasPngChunk(bytes: Uint8Array, name: string): boolean {
  for (const { kind } of pngChunks(bytes)) {
    if (kind === name) return true;
    if (kind === "IDAT") return false;
  }
  return false;
}

function* pngChunks(bytes: Uint8Array<ArrayBufferLike>) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 8, end; at + 8 <= bytes.length; at = end) {
    end = at + 12 + view.getUint32(at);
    yield { kind: ascii(bytes, at + 4, 4), at, end };
  }
}

/**
 * Keeps the pixels, palette and transparency: other chunks, whose first letter is small, are optional (PNG,
 * 5.4).
 */
export function withoutPngExtras(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const kept = [...pngChunks(bytes)].filter(({ kind }) => /^[A-Z]/.test(kind) || kind === "tRNS");
  const parts = [bytes.subarray(0, 8), ...kept.map(({ at, end }) => bytes.subarray(at, end))];
  return joinBytes(parts);
}

/** A JPEG of 8 bits a sample has its end marker. Few decoders know every coding. */
export function isWholeJpeg(bytes: Uint8Array): boolean {
  const frame = jpegFrame(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return frame?.precision === 8 && bytes.at(-2) === 0xff && bytes.at(-1) === 0xd9;
}

export function starts(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, index) => bytes[index] === byte);
}

export function ascii(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
