/** Bytes of a page → text: byte order mark, header, meta element, and a guess where they are wrong. */
import { analyse } from "chardet";

export interface Decoded {
  readonly text: string;
  readonly charset: string;
  /** No label fits: the charset is the most likely one for these bytes. */
  readonly guessed: boolean;
  /** Characters that could not be read. */
  readonly replaced: number;
}

const SAMPLE = 65_536;
/** With more than this share of unreadable characters a label is wrong. */
const MAX_REPLACED = 1 / 50;

export function decodePage(bytes: Uint8Array, contentType = ""): Decoded {
  const mark = byteOrder(bytes);
  const header = knownLabel(/charset\s*=\s*["']?([^\s"';,]+)/i.exec(contentType)?.[1]);
  const meta = knownLabel(metaCharset(bytes));
  // Latin 1 is what many servers say of every page.
  const named = mark ?? (header === "windows-1252" ? meta ?? header : header ?? meta);
  if (mark === undefined && !named?.startsWith("utf-")) {
    const text = asUtf8(bytes);
    if (text !== undefined) return { text, charset: "utf-8", guessed: false, replaced: 0 };
  }
  if (named !== undefined && named !== "windows-1252") {
    const first = decoded(bytes, named);
    if (mark || first.replaced <= MAX_REPLACED * first.foreign) return { ...first, guessed: false };
  }
  const best = bestGuess(bytes, named === "windows-1252" ? 50 : 0) ?? named ?? "windows-1252";
  return { ...decoded(bytes, best), guessed: best !== named };
}

function byteOrder([first, second, third, fourth]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  // Markup begins with ASCII.
  if (first === 0x3c && second === 0 && fourth === 0) return "utf-16le";
  return first === 0 && second === 0x3c && third === 0 ? "utf-16be" : undefined;
}

/** Bytes that are valid UTF-8 with characters beyond ASCII are UTF-8, also where a server says otherwise. */
function asUtf8(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\x1b$") ? undefined : text;
  } catch {
    return undefined;
  }
}

function knownLabel(label: string | undefined): string | undefined {
  try {
    return label === undefined ? undefined : new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

function metaCharset(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 4096));
  const found = /<meta\b[^>]{0,300}?charset\s*=\s*["']?\s*([\w:-]+)/i.exec(start)?.[1] ??
    /^\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([\w:-]+)/.exec(start)?.[1];
  // The bytes of the element itself were read as ASCII.
  return found?.replace(/^utf-?16(?:le|be)?$/i, "utf-8");
}

function decoded(bytes: Uint8Array, charset: string) {
  const text = new TextDecoder(charset).decode(bytes);
  const replaced = text.match(/\ufffd/g)?.length ?? 0;
  // deno-lint-ignore no-control-regex
  const foreign = replaced === 0 ? 1 : text.match(/[^\x00-\x7f]/g)?.length ?? 1;
  return { text, charset, replaced, foreign };
}

/** The label Latin 1 fits any bytes, so that only a guess with some confidence (of 100) is better. */
function bestGuess(bytes: Uint8Array, confidence: number): string | undefined {
  const found = analyse(bytes.subarray(0, SAMPLE)).find((each) => knownLabel(each.name) !== undefined);
  return found && found.confidence >= confidence ? knownLabel(found.name) : undefined;
}
