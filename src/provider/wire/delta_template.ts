/** The channel that the text of a delta belongs to. */
export type Channel = "text" | "reasoning";

/** After this many events in a row that fit no learned shape the stream is one whose events all differ. */
const PATIENCE = 16;
const PROBE = "?";
/** The end of an event where lines end in line feeds. */
export const BLANK = "\n\n";

/** The one text of an event that says nothing else, with the name of its field. */
export interface OnlyText {
  readonly field: string;
  readonly channel: Channel;
  readonly text: string;
}

/** The look of the text deltas of a wire. */
export interface DeltaShape {
  /** What stands before the JSON of an event: `data: `, after an `event:` line where a wire has one. */
  readonly start: string;
  onlyText(event: unknown): OnlyText | undefined;
}

/** Texts of events that follow each other, and where the first event begins that is not one of them. */
interface Run {
  readonly texts: readonly string[];
  readonly end: number;
}

/**
 * Reads text deltas without parsing them: nearly all events of a stream are the same JSON around a different
 * string, so the first one is parsed and its surroundings are remembered. Parsing every event is most of the
 * cost of a long answer.
 *
 * Contract: `read` gives what JSON.parse would, or undefined; then the event has to be parsed. `readRun` does
 * the same for the events of a stream as they stand, as far as they go without a gap.
 */
export class DeltaTemplate {
  channel: Channel = "text";
  readonly #shape: DeltaShape;
  #before = "";
  #after = "";
  #misses = 0;

  constructor(shape: DeltaShape) {
    this.#shape = shape;
  }

  read(data: string): string | undefined {
    const before = this.#before;
    const after = this.#after;
    const end = data.length - after.length;
    if (before === "" || end < before.length) return undefined;
    // Slices compare four times faster than startsWith and endsWith do.
    if (data.slice(0, before.length) !== before || data.slice(end) !== after) return undefined;
    const text = unescaped(data.slice(before.length, end));
    if (text !== undefined) this.#misses = 0;
    return text;
  }

  /** `at` is the beginning of an event. One that is cut off at the end of the text is not of the run. */
  readRun(text: string, at: number): Run {
    const said: string[] = [];
    const head = `${this.#shape.start}${this.#before}`;
    if (this.#before === "" || !text.startsWith(head, at)) return { texts: said, end: at };
    const tail = `${this.#after}${BLANK}`;
    const seam = tail + head;
    let end = at;
    for (let more = true; more;) {
      const from = end + head.length;
      const quote = text.indexOf("\n", from) - this.#after.length;
      if (quote < from) break;
      more = text.slice(quote, quote + seam.length) === seam;
      if (!more && !text.startsWith(tail, quote)) break;
      const read = unescaped(text.slice(from, quote));
      if (read === undefined) break;
      said.push(read);
      end = quote + tail.length;
    }
    if (said.length > 0) this.#misses = 0;
    return { texts: said, end };
  }

  /** Remembers the surroundings of a parsed event when its only content is one text. */
  learn(data: string, event: unknown): void {
    if (this.#misses > PATIENCE) return;
    const found = this.#shape.onlyText(event);
    if (found === undefined) return;
    this.#misses++;
    const key = `"${found.field}":"`;
    const start = data.indexOf(key) + key.length;
    const written = JSON.stringify(found.text).slice(1, -1);
    if (start < key.length || !data.startsWith(`${written}"`, start)) return;
    const before = data.slice(0, start);
    const after = data.slice(start + written.length);
    if (this.#shape.onlyText(JSON.parse(before + PROBE + after))?.text !== PROBE) return;
    this.#before = before;
    this.#after = after;
    this.channel = found.channel;
  }
}

/**
 * A JSON string without its quotes, read; undefined when it is none, because a quote or a line ends inside
 * it.
 */
function unescaped(inner: string): string | undefined {
  if (!inner.includes("\\")) return inner.includes('"') || inner.includes("\r") ? undefined : inner;
  try {
    return JSON.parse(`"${inner}"`);
  } catch {
    return undefined;
  }
}
