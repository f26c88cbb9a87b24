/** Where the text of a delta goes. */
export type Channel = "text" | "reasoning";

const FIELDS: readonly (readonly [field: string, channel: Channel])[] = [
  ["content", "text"],
  ["reasoning_content", "reasoning"],
  ["reasoning", "reasoning"],
];
/** After this many events in a row that fit no learned shape the stream is one whose events all differ. */
const PATIENCE = 16;
const PROBE = "?";

/**
 * Reads text deltas without parsing them: nearly all events of a stream are the same JSON around a different string, so the
 * first one is parsed and its surroundings are remembered. Parsing every event is most of the cost of a long answer.
 *
 * Contract: `read` gives what JSON.parse would, or undefined; then the event has to be parsed.
 */
export class TextShape {
  channel: Channel = "text";
  #before = "";
  #after = "";
  #misses = 0;

  read(data: string): string | undefined {
    const before = this.#before;
    const after = this.#after;
    const end = data.length - after.length;
    if (before === "" || end < before.length) return undefined;
    // Slices compare four times faster than startsWith and endsWith do.
    if (data.slice(0, before.length) !== before || data.slice(end) !== after) return undefined;
    const inner = data.slice(before.length, end);
    // A quote ends the string early, unless it is escaped: not worth finding out.
    if (inner.includes('"')) return undefined;
    this.#misses = 0;
    if (!inner.includes("\\")) return inner;
    // Line breaks are most of all escapes. A backslash that is left over was another escape, or escaped the one before "n".
    const lines = inner.replaceAll("\\n", "\n");
    if (!lines.includes("\\")) return lines;
    try {
      return JSON.parse(`"${inner}"`);
    } catch {
      return undefined;
    }
  }

  /** Remembers the surroundings of a parsed event when its only content is one text. */
  learn(data: string, event: unknown): void {
    if (this.#misses > PATIENCE) return;
    const found = onlyText(event);
    if (found === undefined) return;
    this.#misses++;
    const key = `"${found.field}":"`;
    const start = data.indexOf(key) + key.length;
    const written = JSON.stringify(found.text).slice(1, -1);
    if (start < key.length || !data.startsWith(`${written}"`, start)) return;
    const before = data.slice(0, start);
    const after = data.slice(start + written.length);
    if (onlyText(JSON.parse(before + PROBE + after))?.text !== PROBE) return;
    this.#before = before;
    this.#after = after;
    this.channel = found.channel;
  }
}

interface Found {
  readonly field: string;
  readonly channel: Channel;
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** The one text of an event that says nothing else, with its field. */
function onlyText(event: unknown): Found | undefined {
  if (typeof event !== "object" || event === null) return undefined;
  const { choices, usage, x_groq, error } = event as Fields;
  if (!Array.isArray(choices) || choices.length !== 1 || [usage, x_groq, error].some(isPresent)) {
    return undefined;
  }
  const choice: Fields = choices[0] ?? {};
  const delta = choice.delta as Fields | null | undefined;
  if (!isPresent(delta) || [choice.finish_reason, choice.usage].some(isPresent)) return undefined;
  if ([delta.tool_calls, delta.function_call, delta.refusal].some(isPresent)) return undefined;
  const said = FIELDS.flatMap(([field, channel]) => {
    const text = delta[field];
    return text === undefined || text === null || text === "" ? [] : [{ field, channel, text }];
  });
  const [first] = said;
  return said.length === 1 && typeof first?.text === "string" ? { ...first, text: first.text } : undefined;
}

function isPresent<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
