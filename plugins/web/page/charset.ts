/** Bytes of a page → text: byte order mark, header, meta element, and a guess where they are wrong. */

export interface Decoded {
  readonly text: string;
  readonly charset: string;
  /** The charset is a guess, since no label fits. */
  readonly guessed: boolean;
  /** Characters that could not be read. */
  readonly replaced: number;
}

const SAMPLE = 65_536;
/** The guesses in the order in which equal scores are settled, each with the signs of its languages. */
const GUESSES: readonly (readonly [string, RegExp])[] = [
  ["shift_jis", /[\u3041-\u3093\u30a1-\u30f6\u3001\u3002]/g],
  ["euc-jp", /[\u3041-\u3093\u30a1-\u30f6\u3001\u3002]/g],
  ["euc-kr", /[가-힣]/g],
  [
    "gb18030",
    /[的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实，。、]/g,
  ],
  [
    "big5",
    /[的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實，。、]/g,
  ],
  ["windows-1251", /[оеаинтсрвлкмдпуяыьгзбчйхжшю]/g],
  ["koi8-r", /[оеаинтсрвлкмдпуяыьгзбчйхжшю]/g],
  ["windows-1252", /[àâäáãåæçéèêëíìîïñóòôöõøœúùûüßÿ“”‘’–—…€£©®°«»·]/gi],
];

export function decodePage(bytes: Uint8Array, contentType = ""): Decoded {
  const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
    ? "utf-8"
    : bytes[0] === 0xff && bytes[1] === 0xfe
    ? "utf-16le"
    : bytes[0] === 0xfe && bytes[1] === 0xff
    ? "utf-16be"
    : undefined;
  const header = /charset\s*=\s*["']?([^\s"';,]+)/i.exec(contentType)?.[1];
  const named = [mark, header, metaCharset(bytes)].map(knownLabel).find((label) => label !== undefined);
  if (mark === undefined && named !== "utf-8" && !named?.startsWith("utf-16")) {
    // Bytes that are valid UTF-8 are UTF-8, also where a server says otherwise.
    const text = isUtf8(bytes, named);
    if (text !== undefined) return { text, charset: "utf-8", guessed: false, replaced: 0 };
  }
  const first = decoded(bytes, named ?? "utf-8");
  if (named !== undefined && first.replaced * 50 <= first.foreign) return { ...first, guessed: false };
  const best = bestGuess(bytes);
  if (best === undefined || best === first.charset) return { ...first, guessed: named === undefined };
  const second = decoded(bytes, best);
  return second.replaced < first.replaced ? { ...second, guessed: true } : { ...first, guessed: false };
}

function isUtf8(bytes: Uint8Array, named: string | undefined): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // ISO-2022-JP, UTF-7 and their like are ASCII on the surface.
    return named !== undefined && text.length === bytes.length ? undefined : text;
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

/** The charset whose text has the largest share of signs that its languages use most. */
function bestGuess(bytes: Uint8Array): string | undefined {
  const sample = bytes.subarray(0, SAMPLE);
  let best: string | undefined;
  let most = 0;
  for (const [charset, usual] of GUESSES) {
    const text = new TextDecoder(charset).decode(sample);
    // deno-lint-ignore no-control-regex
    const foreign = text.match(/[^\x00-\x7f]/g) ?? [];
    const bad = text.match(/[\ufffd\x80-\x9f\ue000-\uf8ff]/g)?.length ?? 0;
    const score = foreign.length === 0 ? 0 : ((text.match(usual)?.length ?? 0) - 5 * bad) / foreign.length;
    if (score > most + 0.02) [best, most] = [charset, score];
  }
  return best;
}
