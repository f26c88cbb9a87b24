/** Recognising files that are not text, by their first bytes. */

export interface ImageInfo {
  readonly mime: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  readonly width?: number;
  readonly height?: number;
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

/** Walks the segments to the frame header, which holds the size (ITU T.81, B.2.2). */
function jpegInfo(view: DataView): ImageInfo {
  for (let at = 2; at + 9 < view.byteLength;) {
    if (view.getUint8(at) !== 0xff) break;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return sized("image/jpeg", view.getUint16(at + 7), view.getUint16(at + 5));
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
  return { mime: "image/jpeg" };
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

const MAGIC: readonly (readonly [string, readonly number[]])[] = [
  ["PDF document", [0x25, 0x50, 0x44, 0x46, 0x2d]],
  ["zip archive (also docx, xlsx, jar)", [0x50, 0x4b, 0x03, 0x04]],
  ["gzip data", [0x1f, 0x8b]],
  ["bzip2 data", [0x42, 0x5a, 0x68]],
  ["xz data", [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ["zstd data", [0x28, 0xb5, 0x2f, 0xfd]],
  ["7-zip archive", [0x37, 0x7a, 0xbc, 0xaf]],
  ["ELF program", [0x7f, 0x45, 0x4c, 0x46]],
  ["Mach-O program", [0xcf, 0xfa, 0xed, 0xfe]],
  ["Windows program", [0x4d, 0x5a]],
  ["Java class or Mach-O universal program", [0xca, 0xfe, 0xba, 0xbe]],
  ["WebAssembly module", [0x00, 0x61, 0x73, 0x6d]],
  ["SQLite database", [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65, 0x20, 0x66]],
  ["Ogg media", [0x4f, 0x67, 0x67, 0x53]],
  ["MP3 audio", [0x49, 0x44, 0x33]],
  ["TIFF image", [0x49, 0x49, 0x2a, 0x00]],
  ["BMP image", [0x42, 0x4d]],
  ["icon", [0x00, 0x00, 0x01, 0x00]],
  ["OpenType font", [0x4f, 0x54, 0x54, 0x4f]],
  ["WOFF font", [0x77, 0x4f, 0x46]],
];

/** Returns what kind of binary file this is, in words. */
export function binaryKind(bytes: Uint8Array): string {
  if (ascii(bytes, 257, 5) === "ustar") return "tar archive";
  if (ascii(bytes, 4, 4) === "ftyp") return "MP4 or HEIF media";
  return MAGIC.find(([, magic]) => starts(bytes, magic))?.[0] ?? "unknown kind";
}

function starts(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, index) => bytes[index] === byte);
}

function ascii(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
