import { joinBytes } from "../../util/bytes.ts";
import { attempt } from "../../util/lazy.ts";

/**
 * The way a file's bytes represent text. `utf-8-escaped` is UTF-8 with stray bytes, which are carried through
 * as lone surrogates U+DC80…U+DCFF so that they are written back as they were.
 */
export type Encoding = "utf-8" | "utf-8-escaped" | "utf-16le" | "utf-16be" | "gb18030" | "windows-1252";

export interface Decoded {
  readonly text: string;
  readonly encoding: Encoding;
  readonly bom: boolean;
}

const NAMES: Readonly<Record<Encoding, string>> = {
  "utf-8": "UTF-8",
  "utf-8-escaped": "UTF-8 with invalid bytes",
  "utf-16le": "UTF-16 LE",
  "utf-16be": "UTF-16 BE",
  "gb18030": "GB18030 (GBK)",
  "windows-1252": "Latin-1 (windows-1252)",
};

export function encodingName(encoding: Encoding, bom: boolean): string {
  return bom ? `${NAMES[encoding]} with BOM` : NAMES[encoding];
}

/** Detects the encoding from the whole content and decodes; undefined for binary data. */
export function decodeText(bytes: Uint8Array): Decoded | undefined {
  const plain = plainUtf8(bytes);
  if (plain !== undefined) return { text: plain, encoding: "utf-8", bom: false };
  const found = detectEncoding(bytes, true);
  if (!found) return undefined;
  return {
    ...found,
    text: decodeAs(found.bom ? bytes.subarray(bomLength(found.encoding)) : bytes, found.encoding),
  };
}

function plainUtf8(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0) || hasManyControls(bytes)) return undefined;
  const text = attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  return text?.startsWith("\ufeff") ? undefined : text;
}

/** Encoding of a file, or undefined for binary. With `complete` false, `bytes` is only its beginning. */
export function detectEncoding(
  bytes: Uint8Array,
  complete: boolean,
): { readonly encoding: Encoding; readonly bom: boolean } | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    const body = bytes.subarray(3);
    if (body.includes(0)) return undefined;
    return { encoding: isIn("utf-8", body, complete) ? "utf-8" : "utf-8-escaped", bom: true };
  }
  if (complete ? bytes.length % 2 === 0 : true) {
    if (bytes[0] === 0xff && bytes[1] === 0xfe && !(bytes[2] === 0 && bytes[3] === 0)) {
      return { encoding: "utf-16le", bom: true };
    }
    if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf-16be", bom: true };
  }
  if (bytes.includes(0)) {
    const encoding = bareUtf16(bytes, complete);
    return encoding && { encoding, bom: false };
  }
  if (isIn("utf-8", bytes, complete)) {
    return hasManyControls(bytes) ? undefined : { encoding: "utf-8", bom: false };
  }
  if (hasManyControls(bytes)) return undefined;
  if (isMostlyUtf8(bytes)) return { encoding: "utf-8-escaped", bom: false };
  return { encoding: looksLikeGb18030(bytes, complete) ? "gb18030" : "windows-1252", bom: false };
}

function bomLength(encoding: Encoding): number {
  return encoding.startsWith("utf-16") ? 2 : 3;
}

export function decodeAs(bytes: Uint8Array, encoding: Encoding): string {
  if (encoding === "utf-8-escaped") return decodeEscaped(bytes);
  if (encoding === "utf-16le" || encoding === "utf-16be") return decodeUtf16(bytes, encoding);
  return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
}

/** The bytes of a text; as a string, a character that the encoding lacks. */
export function encodeText(text: string, encoding: Encoding, bom: boolean): Uint8Array<ArrayBuffer> | string {
  const body = encodeBody(text, encoding);
  if (!bom || typeof body === "string") return body;
  const mark = encoding === "utf-16le"
    ? [0xff, 0xfe]
    : encoding === "utf-16be"
    ? [0xfe, 0xff]
    : [0xef, 0xbb, 0xbf];
  return joinBytes([new Uint8Array(mark), body]);
}

function encodeBody(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> | string {
  switch (encoding) {
    case "utf-8":
      return new TextEncoder().encode(text);
    case "utf-8-escaped":
      return encodeEscaped(text);
    case "utf-16le":
    case "utf-16be":
      return encodeUtf16(text, encoding);
    case "gb18030":
      return encodeGb18030(text);
    case "windows-1252":
      return encodeLatin(text);
  }
}

/** Reports whether bytes decode without an error. */
function isIn(encoding: string, bytes: Uint8Array, complete: boolean): boolean {
  const decoder = new TextDecoder(encoding, { fatal: true });
  return attempt(() => decoder.decode(bytes, { stream: !complete })) !== undefined;
}

/** Control characters that no text editor writes, beyond a few. */
function hasManyControls(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, 8192);
  let count = 0;
  for (const byte of sample) {
    if (byte < 0x20 && (byte < 0x07 || byte > 0x0d) && byte !== 0x1b) count++;
  }
  return count > 4 && count * 10 > sample.length;
}

/** Length of the valid UTF-8 sequence at `at`, or 0 for a stray byte. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead >= 0xc2 && lead < 0xe0
    ? 2
    : lead >= 0xe0 && lead < 0xf0
    ? 3
    : lead >= 0xf0 && lead < 0xf5
    ? 4
    : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  for (let index = 1; index < length; index++) if (((bytes[at + index] ?? 0) & 0xc0) !== 0x80) return 0;
  const second = bytes[at + 1] ?? 0;
  const outside = (lead === 0xe0 && second < 0xa0) || (lead === 0xed && second > 0x9f) ||
    (lead === 0xf0 && second < 0x90) || (lead === 0xf4 && second > 0x8f);
  return outside ? 0 : length;
}

function isMostlyUtf8(bytes: Uint8Array): boolean {
  let good = 0;
  let stray = 0;
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    if (length > 1) good++;
    else if (length === 0) stray++;
    at += length || 1;
  }
  return good > stray * 4;
}

function decodeEscaped(bytes: Uint8Array): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    if (length === 0) {
      parts.push(decoder.decode(bytes.subarray(start, at)), String.fromCharCode(0xdc00 + (bytes[at] ?? 0)));
      start = at + 1;
    }
    at += length || 1;
  }
  parts.push(decoder.decode(bytes.subarray(start)));
  return parts.join("");
}

function encodeEscaped(text: string): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let start = 0;
  for (const stray of text.matchAll(/(?<![\ud800-\udbff])[\udc80-\udcff]/g)) {
    parts.push(
      encoder.encode(text.slice(start, stray.index)),
      new Uint8Array([stray[0].charCodeAt(0) - 0xdc00]),
    );
    start = stray.index + 1;
  }
  parts.push(encoder.encode(text.slice(start)));
  return joinBytes(parts);
}

function decodeUtf16(bytes: Uint8Array, encoding: "utf-16le" | "utf-16be"): string {
  const text = new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
  if (!text.includes("\ufffd")) return text;
  // Unpaired surrogates have to survive.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const units: string[] = [];
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    units.push(String.fromCharCode(view.getUint16(at, encoding === "utf-16le")));
  }
  return units.join("");
}

function encodeUtf16(text: string, encoding: "utf-16le" | "utf-16be"): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(text.length * 2);
  const low = encoding === "utf-16le" ? 0 : 1;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    out[index * 2 + low] = unit & 0xff;
    out[index * 2 + 1 - low] = unit >> 8;
  }
  return out;
}

/** UTF-16 without a mark: the reading that has no characters which text does not contain. */
function bareUtf16(bytes: Uint8Array, complete: boolean): "utf-16le" | "utf-16be" | undefined {
  if (complete && bytes.length % 2 !== 0) return undefined;
  const sample = bytes.subarray(0, Math.min(bytes.length & ~1, 65_536));
  const little = isPlausibleUtf16(sample, true);
  const big = isPlausibleUtf16(sample, false);
  if (little !== big) return little ? "utf-16le" : "utf-16be";
  if (!little) return undefined;
  // The zero bytes of ASCII stand where the high byte is.
  let odd = 0;
  for (let at = 0; at < sample.length; at++) if (sample[at] === 0) odd += (at & 1) === 1 ? 1 : -1;
  return odd >= 0 ? "utf-16le" : "utf-16be";
}

const WIDE = [[0x2000, 0x2070], [0x3000, 0xa000], [0xac00, 0xd7b0], [0xd83c, 0xd83f], [0xdc00, 0xe000], [
  0xff00,
  0xfff0,
]] as const;

function isPlausibleUtf16(sample: Uint8Array, little: boolean): boolean {
  const view = new DataView(sample.buffer, sample.byteOffset, sample.byteLength);
  let odd = 0;
  let latin = 0;
  let wide = 0;
  for (let at = 0; at + 1 < sample.length; at += 2) {
    const unit = view.getUint16(at, little);
    if (unit < 0x20 && unit !== 9 && unit !== 10 && unit !== 13 && unit !== 12) return false;
    if (unit === 0x7f || (unit >= 0xfff0 && unit !== 0xfffd) || (unit >= 0xe000 && unit < 0xf900)) odd++;
    else if (unit < 0x80) latin++;
    else if (unit < 0x600 || WIDE.some(([from, to]) => unit >= from && unit < to)) wide++;
  }
  return latin > 0 && (latin + wide) * 10 >= (sample.length / 2) * 9 && odd * 100 <= sample.length;
}

const LATIN_EXTRA: ReadonlyMap<number, number> = new Map(
  Array.from({ length: 32 }, (_, index) => {
    const byte = 0x80 + index;
    return [new TextDecoder("windows-1252").decode(new Uint8Array([byte])).charCodeAt(0), byte];
  }),
);

function encodeLatin(text: string): Uint8Array<ArrayBuffer> | string {
  const out = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    const byte = unit < 0x80 || (unit >= 0xa0 && unit <= 0xff) ? unit : LATIN_EXTRA.get(unit);
    if (byte === undefined) return String.fromCodePoint(text.codePointAt(index) ?? unit);
    out[index] = byte;
  }
  return out;
}

/**
 * Says whether bytes that are not UTF-8 are GB18030 rather than a single-byte Western encoding: they decode
 * without an error, and the two-byte pairs are mostly the everyday characters (GB 2312 level 1 and its
 * punctuation). In Western text the high bytes stand alone among ASCII letters, which gives pairs outside
 * that area.
 */
function looksLikeGb18030(bytes: Uint8Array, complete: boolean): boolean {
  if (!isIn("gb18030", bytes, complete)) return false;
  let pairs = 0;
  let common = 0;
  for (let at = 0; at < bytes.length; at++) {
    const lead = bytes[at] ?? 0;
    if (lead < 0x81) continue;
    const trail = bytes[at + 1] ?? 0;
    if (trail >= 0x30 && trail <= 0x39) {
      at += 3;
      continue;
    }
    pairs++;
    if (trail >= 0xa1 && ((lead >= 0xb0 && lead <= 0xd7) || (lead >= 0xa1 && lead <= 0xa3))) common++;
    at++;
  }
  return common * 5 >= pairs * 2;
}

let table: ReadonlyMap<number, number> | undefined;

/** Code point → bytes as one number (two bytes, or four with the top bit set), for the basic plane. */
function reverseTable(): ReadonlyMap<number, number> {
  const built = new Map<number, number>();
  const four = new Uint8Array(4);
  const fourByteCodes = Array.from({ length: 39_420 }, (_, pointer) => {
    fourBytes(pointer, four);
    return new DataView(four.buffer).getUint32(0);
  });
  const twoByteCodes: number[] = [];
  for (let lead = 0x81; lead <= 0xfe; lead++) {
    for (let trail = 0x40; trail <= 0xfe; trail++) if (trail !== 0x7f) twoByteCodes.push((lead << 8) | trail);
  }
  // Two-byte codes come last, so that they win where a character has both.
  addCodes(built, fourByteCodes, 4);
  addCodes(built, twoByteCodes, 2);
  return built;
}

/** Decodes all codes in one go, a line each: a code without a character cannot swallow the next one then. */
function addCodes(built: Map<number, number>, codes: readonly number[], width: 2 | 4): void {
  const bytes = new Uint8Array(codes.length * (width + 1));
  const view = new DataView(bytes.buffer);
  for (const [index, code] of codes.entries()) {
    const at = index * (width + 1);
    if (width === 4) view.setUint32(at, code);
    else view.setUint16(at, code);
    bytes[at + width] = 10;
  }
  const characters = new TextDecoder("gb18030", { ignoreBOM: true }).decode(bytes).split("\n");
  for (const [index, code] of codes.entries()) {
    const character = characters[index] ?? "";
    if (character.length === 1 && (character !== "\ufffd" || width === 4)) {
      built.set(character.charCodeAt(0), code);
    }
  }
}

function fourBytes(pointer: number, out: Uint8Array): void {
  out[0] = 0x81 + Math.floor(pointer / 12_600);
  out[1] = 0x30 + Math.floor(pointer / 1260) % 10;
  out[2] = 0x81 + Math.floor(pointer / 10) % 126;
  out[3] = 0x30 + pointer % 10;
}

/** The bytes of a text; a lone surrogate, which has none, is returned instead. */
function encodeGb18030(text: string): Uint8Array<ArrayBuffer> | string {
  const codes = table ??= reverseTable();
  const out = new Uint8Array(text.length * 4);
  const view = new DataView(out.buffer);
  const four = new Uint8Array(4);
  let at = 0;
  for (let index = 0; index < text.length; index++) {
    const point = text.codePointAt(index) ?? 0;
    if (point < 0x80) {
      out[at++] = point;
    } else if (point > 0xffff) {
      fourBytes(189_000 + point - 0x10000, four);
      out.set(four, at);
      at += 4;
      index++;
    } else {
      const code = codes.get(point);
      if (code === undefined) return String.fromCodePoint(point);
      if (code > 0xffff) view.setUint32(at, code);
      else view.setUint16(at, code);
      at += code > 0xffff ? 4 : 2;
    }
  }
  return out.slice(0, at);
}
