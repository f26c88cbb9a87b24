/** Counts the tokens of a text. */
export type Tokenizer = (text: string) => number;

export type Encoding = "o200k_base" | "cl100k_base";

const OLD_MODELS = /^(?:.*\/)?(?:gpt-4(?![o.\d])|gpt-3\.5|gpt-35|text-embedding|text-davinci-003)/;

/**
 * The vocabulary of a model. Others than OpenAI's have their own; the newer one is the nearest and is
 * calibrated.
 */
export function encodingOf(model: string): Encoding {
  return OLD_MODELS.test(model.toLowerCase()) ? "cl100k_base" : "o200k_base";
}

/** A run without a break costs the square of its length, so such texts are counted in pieces. */
const LONG_RUN = /\S{512}|\s{512}/;
const PIECE = 256;

/** Pieces the tokenizer remembers; its own default keeps tens of megabytes. */
const REMEMBERED = 5_000;

/**
 * Loads a vocabulary: tens of megabytes and hundreds of milliseconds, so only where an estimate cannot
 * decide. The one-file program has the vocabularies in files beside it; it rejects where they are missing.
 */
export async function loadTokenizer(encoding: Encoding): Promise<Tokenizer> {
  const { countTokens, setMergeCacheSize } = await loadVocabulary(encoding);
  setMergeCacheSize(REMEMBERED);
  const options = { disallowedSpecial: new Set<string>() };
  return (text) => {
    if (!LONG_RUN.test(text)) return countTokens(text, options);
    let sum = 0;
    for (let at = 0; at < text.length; at += PIECE) sum += countTokens(text.slice(at, at + PIECE), options);
    return sum;
  };
}

function loadVocabulary(encoding: Encoding) {
  return encoding === "cl100k_base"
    ? import("gpt-tokenizer/encoding/cl100k_base")
    : import("gpt-tokenizer/encoding/o200k_base");
}

const SAMPLES = 8;
const SAMPLE = 512;

/** Tokens of a text without a vocabulary: by the share of scripts that take more tokens for a character. */
export function roughTokens(text: string): number {
  if (text.length === 0) return 0;
  let seen = 0;
  let sum = 0;
  const step = text.length <= SAMPLES * SAMPLE ? SAMPLE : Math.floor((text.length - SAMPLE) / (SAMPLES - 1));
  for (let from = 0; from < text.length; from += step) {
    const end = Math.min(text.length, from + SAMPLE);
    for (let at = from; at < end; at++) sum += weight(text.charCodeAt(at));
    seen += end - from;
  }
  return Math.ceil((sum / seen) * text.length);
}

/** Tokens per character, on average over prose, code and hashes. */
function weight(unit: number): number {
  if (unit === 0x20) return 0.1;
  if (unit >= 0x61 && unit <= 0x7a) return 0.24;
  if ((unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x5a)) return 0.6;
  if (unit < 0x80) return 0.36;
  if (unit < 0x2e80) return 0.4;
  return 0.65;
}
