import { message } from "../../core/mod.ts";
import { createParser } from "eventsource-parser";
import { type Endpoint, htmlText, protocolFailure, quote } from "../errors.ts";

type Form = "unknown" | "events" | "json" | "html";

/** Receives the events of a stream, in order. */
export interface EventReceiver {
  add(event: unknown): void;
}

/**
 * Turns the text of a stream into events. Broken events are counted, not thrown: one bad event among good
 * ones is tolerable as long as no tool call was in it.
 */
export class EventReader {
  readonly #target: EventReceiver;
  readonly #callMark: RegExp;
  readonly #parser = createParser({ onEvent: ({ data, event }) => this.#read(data, event) });
  /** Events that could be read. */
  good = 0;
  /** Events that could not be read. */
  broken = 0;
  /** True when one of the broken events was about a tool call. */
  brokenCall = false;
  /** True once the server has said that it is done. */
  done = false;

  constructor(target: EventReceiver, callMark: RegExp) {
    this.#target = target;
    this.#callMark = callMark;
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
  }
}

/**
 * Reads the text of one successful response, whatever form it turns out to have: a stream of events, or one
 * JSON value, which the target gets like an event. `callMark` finds the events that are about tool calls,
 * also in broken JSON.
 */
export class ReplyBody {
  readonly #target: EventReceiver;
  readonly #events: EventReader;
  readonly #endpoint: Endpoint;
  #form: Form = "unknown";
  /** All of a JSON or HTML body; of an event stream the beginning, for messages. */
  #raw = "";

  constructor(target: EventReceiver, callMark: RegExp, endpoint: Endpoint) {
    this.#target = target;
    this.#events = new EventReader(target, callMark);
    this.#endpoint = endpoint;
  }

  get streams(): boolean {
    return this.#form === "events";
  }

  /** True once the server has said `[DONE]`. */
  get done(): boolean {
    return this.#events.done;
  }

  feed(text: string): void {
    if (this.#form === "events") return this.#events.feed(text);
    this.#raw += text;
    if (this.#form !== "unknown") return;
    this.#form = formOf(this.#raw);
    if (this.#form !== "events") return;
    const all = this.#raw;
    this.#raw = all.slice(0, 1000);
    this.#events.feed(all);
  }

  /** Reads what the end of the body completes. Throws a ProviderFailure when there was no reply in it. */
  end(): void {
    const endpoint = this.#endpoint;
    if (this.#form === "events") {
      this.#events.end();
      if (this.#events.good > 0 || this.done) return;
      const text = quote(this.#raw.replace(/^:.*$/gm, ""), endpoint);
      throw protocolFailure(
        text === "" ? message`sent an empty reply` : message`sent no model reply: ${text}`,
        endpoint,
      );
    }
    if (this.#raw.trim() === "") throw protocolFailure(message`sent an empty reply`, endpoint);
    if (this.#form === "html") {
      const page = quote(htmlText(this.#raw), endpoint);
      throw protocolFailure(
        message`sent a web page instead of a reply: ${page}; check base_url`,
        endpoint,
        false,
      );
    }
    let value: unknown;
    try {
      value = JSON.parse(this.#raw);
    } catch {
      throw protocolFailure(message`sent broken JSON: ${quote(this.#raw, endpoint)}`, endpoint);
    }
    for (const each of Array.isArray(value) ? value : [value]) this.#target.add(each);
  }

  /**
   * Throws a ProviderFailure when broken events may have carried what matters: a call, or anything at all
   * where `precious` says that the reply is nothing without them.
   */
  checkEvents(precious: boolean): void {
    const { broken, brokenCall } = this.#events;
    if (brokenCall || (broken > 0 && precious)) {
      throw protocolFailure(message`sent a broken event`, this.#endpoint);
    }
  }
}

function formOf(text: string): Form {
  const first = text.replace(/^\uFEFF/, "").trimStart()[0];
  if (first === undefined) return "unknown";
  if (first === "{" || first === "[") return "json";
  return first === "<" ? "html" : "events";
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
