import { createParser } from "eventsource-parser";
import { type Channel, TextShape } from "./text_shape.ts";

/** Receives what a stream says, in order. */
export interface EventReceiver {
  /** A text delta whose event says nothing else. */
  say(channel: Channel, text: string): void;
  /** Any other event. */
  add(event: unknown): void;
}

/**
 * Turns the text of a stream into events. Broken events are counted, not thrown: one bad event among good ones is
 * tolerable as long as no tool call was in it.
 */
export class EventReader {
  readonly #target: EventReceiver;
  readonly #shape = new TextShape();
  readonly #parser = createParser({ onEvent: ({ data, event }) => this.#read(data, event) });
  /** Events that could be read. */
  good = 0;
  /** Events that could not be read. */
  broken = 0;
  /** Whether one of the broken events was about a tool call. */
  brokenCall = false;
  /** Whether the server has said that it is done. */
  done = false;

  constructor(target: EventReceiver) {
    this.#target = target;
  }

  feed(text: string): void {
    this.#parser.feed(text);
  }

  /** Reads an event that lacks its final blank line. */
  end(): void {
    this.#parser.feed("\n\n");
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
      if (data.includes("tool_call")) this.brokenCall = true;
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
 * The JSON of an event: as it stands, else with line breaks taken out (a value cut in two by a `data:` line), else line by
 * line (events without a blank line between them).
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
