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
