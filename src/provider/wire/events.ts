import { createParser } from "eventsource-parser";
import { BLANK, type Channel, type DeltaShape, DeltaTemplate } from "./delta_template.ts";

/** Receives what a stream says, in order. */
export interface EventReceiver {
  /** The text of deltas whose events say nothing else. */
  say(channel: Channel, text: string): void;
  /** Any other event. */
  add(event: unknown): void;
}

/** After this many events in a row that need the parser it gets all there are: one by one takes longer. */
const PATIENCE = 4;

/**
 * Turns the text of a stream into events. Broken events are counted, not thrown: one bad event among good
 * ones is tolerable as long as no tool call was in it.
 */
export class EventReader {
  readonly #target: EventReceiver;
  readonly #shape: DeltaTemplate;
  readonly #callMark: RegExp;
  readonly #parser = createParser({ onEvent: ({ data, event }) => this.#read(data, event) });
  /** True when every event so far is over, so that the parser holds nothing back. */
  #between = false;
  /** Events that could be read. */
  good = 0;
  /** Events that could not be read. */
  broken = 0;
  /** True when one of the broken events was about a tool call. */
  brokenCall = false;
  /** True once the server has said that it is done. */
  done = false;

  /** `callMark` finds the events that are about tool calls, also in broken JSON. */
  constructor(target: EventReceiver, shape: DeltaShape, callMark: RegExp) {
    this.#target = target;
    this.#shape = new DeltaTemplate(shape);
    this.#callMark = callMark;
  }

  feed(text: string): void {
    let odd = 0;
    for (let at = 0; at < text.length;) {
      const start = at;
      if (this.#between && !this.done) at = this.#readRun(text, at);
      if (at === text.length) return;
      odd = at > start ? 0 : odd + 1;
      const blank = odd > PATIENCE ? text.lastIndexOf(BLANK) : text.indexOf(BLANK, at);
      this.#between = blank >= at;
      const end = this.#between ? blank + BLANK.length : text.length;
      this.#parser.feed(text.slice(at, end));
      at = end;
    }
  }

  /** Reads an event that lacks its final blank line. */
  end(): void {
    this.#parser.feed("\n\n");
  }

  /** Reads the events from `at` on that need no parser; returns where the first other one begins. */
  #readRun(text: string, at: number): number {
    const { texts: said, end } = this.#shape.readRun(text, at);
    if (said.length === 0) return end;
    this.good += said.length;
    // A part of a string keeps the whole of it in memory, a joined one does not.
    this.#target.say(this.#shape.channel, said.join(""));
    return end;
  }

  #read(data: string, type: string | undefined): void {
    if (this.done) return;
    const text = this.#shape.read(data);
    if (text !== undefined && type !== "error") {
      this.good++;
      return this.#target.say(this.#shape.channel, text);
    }
    if (data.length < 20 && data.trim() === "[DONE]") {
      this.done = true;
      return;
    }
    if (data === "") return;
    const events = parseData(data);
    if (events === undefined) {
      if (type === "error") return this.#target.add({ error: data });
      this.broken++;
      if (this.#callMark.test(data)) this.brokenCall = true;
      return;
    }
    for (const event of events) {
      this.good++;
      this.#target.add(type === "error" && !hasError(event) ? { error: event } : event);
    }
    if (events.length === 1) this.#shape.learn(data, events[0]);
  }
}

function hasError(event: unknown): boolean {
  return typeof event === "object" && event !== null && "error" in event;
}

/**
 * The JSON of an event: as it stands, else with line breaks taken out (a value cut in two by a `data:` line),
 * else line by line (events without a blank line between them).
 */
function parseData(data: string): readonly unknown[] | undefined {
  try {
    return [JSON.parse(data)];
  } catch {
    if (!data.includes("\n")) return undefined;
  }
  try {
    return [JSON.parse(data.replaceAll("\n", ""))];
  } catch { /* several events, perhaps */ }
  try {
    return data.split("\n").filter((line) => line.trim() !== "" && line !== "[DONE]").map((line) =>
      JSON.parse(line)
    );
  } catch {
    return undefined;
  }
}
