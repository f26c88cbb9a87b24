/**
 * The text with what JSON readers and terminals stumble over replaced by U+FFFD: lone surrogates (not
 * encodable in UTF-8, RFC 8259 §8.2) and NUL.
 */
export function safeText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "\uFFFD") : whole;
}
