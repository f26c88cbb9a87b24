/** The forms of a secret that a program has encoded, alone or within other bytes. */

export interface SecretEncodings {
  /** As it is, inside JSON and in a URL: may be found anywhere. */
  readonly open: readonly string[];
  /** Encoded: without exception letters, digits and `+/-_`. */
  readonly encoded: readonly string[];
}

/** Shorter pieces are too common to be told from other encoded data. */
const SHORTEST = 10;

export function secretEncodings(value: string): SecretEncodings {
  const open = [value, JSON.stringify(value).slice(1, -1)];
  try {
    const url = encodeURIComponent(value);
    open.push(url, url.replace(/%../g, (code) => code.toLowerCase()));
  } catch {
    // Lone surrogates have no such spelling.
  }
  const bytes = new TextEncoder().encode(value);
  const base64 = [0, 1, 2].map((offset) => base64At(bytes, offset));
  // Alone it ends in a character that what follows would change.
  base64.push(bytes.toBase64({ omitPadding: true }));
  const safe = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const hex = bytes.toHex();
  const encoded = [...base64, ...safe, hex, hex.toUpperCase()];
  return {
    open: [...new Set(open)],
    encoded: [...new Set(encoded)].filter((text) => text.length >= SHORTEST),
  };
}

/**
 * The characters that are the same whatever stands before and behind, when the value begins at this place in
 * a group of three bytes.
 */
function base64At(bytes: Uint8Array, offset: number): string {
  const padded = new Uint8Array(offset + bytes.length);
  padded.set(bytes, offset);
  return padded.toBase64().slice(Math.ceil(offset * 8 / 6), Math.floor(padded.length * 8 / 6));
}

/** The characters, of the first 128, that encoded data is made of. */
const CODE = Uint8Array.from(
  { length: 128 },
  (_, code) => /[\w+/-]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/**
 * Reports whether that many characters in a row could be encoded data. Looks from the end of each stretch, so
 * that most of a text is passed over.
 */
export function hasLongRun(text: string, length: number): boolean {
  for (let end = length - 1; end < text.length;) {
    let at = end;
    while (at > end - length && CODE[text.charCodeAt(at)] === 1) at--;
    if (at === end - length) return true;
    end = at + length;
  }
  return false;
}

/** An expression for encoded texts that may be broken into lines. */
export function brokenPattern(encoded: readonly string[]): RegExp {
  const forms = encoded.map((text) =>
    [...text].map((char) => `\\x${char.charCodeAt(0).toString(16)}`).join("(?:\\r?\\n)?")
  );
  return new RegExp(forms.join("|"), "g");
}

/** Lines as programs break encoded data: long, and full of it to the end. */
const BREAKS = /(?<=[A-Za-z0-9+/_-]{40})\r?\n(?=[A-Za-z0-9+/_=-])/g;

/** The text with such lines joined; the same string when there are none. */
export function unbroken(text: string): string {
  return text.replace(BREAKS, "");
}
