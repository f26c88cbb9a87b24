const SAMPLES = 8;
const SAMPLE = 512;

/** Estimates the tokens of a text by the share of scripts that take more tokens for a character. */
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
  if (unit >= 0x30 && unit <= 0x39) return 0.7;
  if (unit >= 0x41 && unit <= 0x5a) return 0.6;
  if (unit < 0x80) return 0.36;
  if (unit < 0x2e80) return 0.4;
  return 0.65;
}
