/**
 * GB18030 (and GBK, its two-byte part). The platform only decodes it; the reverse table is built from the
 * decoder.
 */

/**
 * Says whether bytes that are not UTF-8 are GB18030 rather than a single-byte Western encoding: they decode
 * without an error, and the two-byte pairs are mostly the everyday characters (GB 2312 level 1 and its
 * punctuation). In Western text the high bytes stand alone among ASCII letters, which gives pairs outside
 * that area.
 */
export function looksLikeGb18030(bytes: Uint8Array, complete: boolean): boolean {
  try {
    new TextDecoder("gb18030", { fatal: true }).decode(bytes, { stream: !complete });
  } catch {
    return false;
  }
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
export function encodeGb18030(text: string): Uint8Array<ArrayBuffer> | string {
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
