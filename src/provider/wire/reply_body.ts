import { type Endpoint, htmlText, protocolFailure, quote } from "../errors.ts";
import type { DeltaShape } from "./delta_template.ts";
import { EventReader, type EventReceiver } from "./events.ts";

type Form = "unknown" | "events" | "json" | "html";

/** How the events of a wire look. */
export interface EventLook {
  readonly shape: DeltaShape;
  /** Finds the events that are about tool calls, also in broken JSON. */
  readonly callMark: RegExp;
}

/**
 * Reads the text of one successful response, whatever form it turns out to have: a stream of events, or one
 * JSON value, which the target gets like an event.
 */
export class ReplyBody {
  readonly #target: EventReceiver;
  readonly #events: EventReader;
  readonly #endpoint: Endpoint;
  #form: Form = "unknown";
  /** All of a JSON or HTML body; of an event stream the beginning, for messages. */
  #raw = "";

  constructor(target: EventReceiver, { shape, callMark }: EventLook, endpoint: Endpoint) {
    this.#target = target;
    this.#events = new EventReader(target, shape, callMark);
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
      const said = quote(this.#raw.replace(/^:.*$/gm, ""), endpoint);
      throw protocolFailure(said === "" ? "sent an empty reply" : `sent no model reply: ${said}`, endpoint);
    }
    if (this.#raw.trim() === "") throw protocolFailure("sent an empty reply", endpoint);
    if (this.#form === "html") {
      const page = quote(htmlText(this.#raw), endpoint);
      throw protocolFailure(`sent a web page instead of a reply: ${page}; check base_url`, endpoint, false);
    }
    let value: unknown;
    try {
      value = JSON.parse(this.#raw);
    } catch {
      throw protocolFailure(`sent broken JSON: ${quote(this.#raw, endpoint)}`, endpoint);
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
      throw protocolFailure("sent a broken event", this.#endpoint);
    }
  }
}

function formOf(text: string): Form {
  const first = text.replace(/^\uFEFF/, "").trimStart()[0];
  if (first === undefined) return "unknown";
  if (first === "{" || first === "[") return "json";
  return first === "<" ? "html" : "events";
}
