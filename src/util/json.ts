/** Parses JSON; undefined when the text is not that. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reports whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The text with what JSON readers and terminals stumble over replaced by U+FFFD: lone surrogates (not
 * encodable in UTF-8, RFC 8259 §8.2) and NUL.
 */
export function safeText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "\uFFFD") : whole;
}
