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

/**
 * JSON with sorted keys: equal for values that differ only in the order of their keys. Trust decisions hash
 * it.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null || value instanceof Date) {
    return JSON.stringify(value) ?? "null";
  }
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined)
    .sort(([a], [b]) => a < b ? -1 : 1);
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonicalJson(entry)}`).join(",")}}`;
}

/**
 * A JSON value with every text in it mapped, names of fields excepted. The same object comes back when no
 * text changes.
 */
export function mapTexts<T>(value: T, map: (text: string) => string): T;
export function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapTexts(item, map));
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  let changed: Record<string, unknown> | undefined;
  for (const [name, item] of Object.entries(value)) {
    const mapped: unknown = mapTexts(item, map);
    if (mapped !== item) (changed ??= { ...value })[name] = mapped;
  }
  return changed ?? value;
}
