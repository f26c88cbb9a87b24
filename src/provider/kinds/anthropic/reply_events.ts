import { reportedFailure, statusIn } from "../../errors.ts";
import type { Endpoint, ProviderFailure } from "../../failure.ts";
import { isRecord } from "../../../util/json.ts";
import type { Channel } from "../../wire/delta_template.ts";
import type { EventReceiver } from "../../wire/events.ts";
import { ReplyBlocks } from "./reply_blocks.ts";
import { ReplyUsage } from "./usage.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Takes the events of one reply, or the whole of it in one piece, apart. */
export class ReplyEvents implements EventReceiver {
  readonly blocks: ReplyBlocks;
  readonly usage = new ReplyUsage();
  readonly #endpoint: Endpoint;
  /** The server's word for why the reply ended. */
  stop: string | undefined;
  /** What it says about a refusal. */
  details: Fields = {};
  /** True once the server has said that nothing follows. */
  stopped = false;

  constructor(endpoint: Endpoint, onCall: ((tool: string) => void) | undefined) {
    this.#endpoint = endpoint;
    this.blocks = new ReplyBlocks(onCall);
  }

  /** Reads one event. Throws a ProviderFailure when it reports an error. */
  add(event: unknown): void {
    if (!isRecord(event)) return;
    const { type, message, delta, content_block: block } = event;
    const index = typeof event.index === "number" ? event.index : -1;
    if (type === "message_start" && isRecord(message)) this.#message(message);
    else if (type === "content_block_start" && isRecord(block)) this.blocks.start(index, block);
    else if (type === "content_block_delta" && isRecord(delta)) this.blocks.delta(index, delta);
    else if (type === "content_block_stop") this.blocks.close(index);
    else if (type === "message_delta") {
      if (isRecord(delta)) this.#end(delta);
      this.usage.add(event.usage);
    } else if (type === "message_stop") this.stopped = true;
    else if (type === "message" || Array.isArray(event.content)) this.#message(event);
    if (type === "error" || isPresent(event.error)) throw this.#reported(event);
  }

  say(channel: Channel, text: string): void {
    this.blocks.say(channel, text);
  }

  /** The message that a stream begins with is empty; the one of a reply in one piece is all there is. */
  #message(message: Fields): void {
    const { content, usage } = message;
    if (Array.isArray(content)) {
      content.filter(isRecord).forEach((block, index) => this.blocks.start(index, block));
    }
    this.#end(message);
    this.usage.add(usage);
  }

  #end({ stop_reason: reason, stop_details: details }: Fields): void {
    if (typeof reason === "string" && reason !== "") this.stop = reason;
    if (isRecord(details)) this.details = details;
  }

  #reported(event: Fields): ProviderFailure {
    const error = isPresent(event.error) ? event.error : event;
    const status = isRecord(error) ? statusIn(error) : undefined;
    const { request_id: requestId } = event;
    return reportedFailure({
      status,
      text: typeof error === "string" ? error : JSON.stringify({ error }),
      requestId: typeof requestId === "string" ? requestId : undefined,
    }, this.#endpoint);
  }
}

function isPresent<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
