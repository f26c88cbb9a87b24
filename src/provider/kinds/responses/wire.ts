import type { Message, Prefix } from "../../../core/mod.ts";
import type { Endpoint, ProviderFailure } from "../../failure.ts";
import type { KindOptions } from "../../kind.ts";
import type { ModelRequest } from "../../provider.ts";
import type { RemoteServer } from "../../remote/remote_server.ts";
import { endpointOf } from "../../wire/endpoint.ts";
import { type MessageWriter, RequestBuffer } from "../../wire/request_buffer.ts";
import type { Adaptation } from "../../wire/streaming_provider.ts";
import { InputItems, replyPartOf } from "./items.ts";
import { isAskedFor, isPreviousLost, isReasoningRefused, refusedField } from "./refusals.ts";
import { ResponseReply } from "./reply.ts";
import { head, tail, type WireTools, wireTools } from "./request_fields.ts";
import { StoredReplies } from "./stored_replies.ts";

const encoder = new TextEncoder();
/** So many in a row: the server keeps nothing, whatever it was asked, and every attempt is a request more. */
const MOST_LOST = 2;

/** Bodies and replies of one provider, and what it has learned of the server. */
export class ResponsesWire {
  readonly endpoint: Endpoint;
  readonly #options: KindOptions;
  /** Fields that the server has refused; they are left out from then on. */
  readonly #refused = new Set<string>();
  /** Messages whose reasoning the server has refused. */
  readonly #unreadable = new WeakSet<Message>();
  /** Absent where the server keeps no replies. */
  #stored: StoredReplies | undefined;
  /** Replies in a row that the server did not have when it was to go on from them. */
  #lost = 0;
  #goesOn = false;
  readonly #strictTools = new WeakMap<Prefix, WireTools["strict"]>();
  #heads = new WeakMap<Prefix, string>();
  /** MCP servers as the last body declared them. */
  #servers: readonly RemoteServer[] | undefined;
  #buffer: RequestBuffer;

  constructor(options: KindOptions) {
    this.#options = options;
    this.endpoint = endpointOf(options);
    this.#stored = options.entry.store ? new StoredReplies(options.model) : undefined;
    this.#buffer = this.#newBuffer();
  }

  body(request: ModelRequest): Uint8Array<ArrayBuffer> {
    this.#declareServers();
    const last = this.#stored?.last(request);
    // The reply that the body before went on from was there.
    if (this.#goesOn) this.#lost = 0;
    this.#goesOn = last !== undefined;
    if (last === undefined) return this.#buffer.body(request);
    const items = this.#items();
    // What the reply asked to be allowed is answered among what follows it.
    items.heard(request.messages[last.messages - 1]);
    const fresh = request.messages.slice(last.messages).flatMap((message) => items.write(message));
    const list = [...fresh, ...items.flush()].join(",");
    const end = tail(this.#options, request, this.#refused, last.id);
    return encoder.encode(`${this.#head(request.prefix)}${list}]${end}}`);
  }

  reply(request: ModelRequest): ResponseReply {
    return new ResponseReply({
      endpoint: this.endpoint,
      model: this.#options.model,
      callIds: this.#stored?.callIds(request) ?? this.#buffer.callIds(request),
      callIdPrefix: `call_${request.messages.length}`,
      onCall: request.onCall,
      strictTools: this.#strict(request.prefix),
      storedAfter: this.#stored?.digest(request),
      remote: this.#options.remote,
    });
  }

  /** What can be done about a refusal: send everything, or leave out what the request can do without. */
  adapt(failure: ProviderFailure, request: ModelRequest): Adaptation | undefined {
    if (isPreviousLost(failure) && this.#stored?.last(request)) {
      this.#stored.forget(request);
      this.#goesOn = false;
      if (++this.#lost >= MOST_LOST) this.#stored = undefined;
      return {};
    }
    if (isReasoningRefused(failure) && this.#dropReasoning(request)) {
      return { without: "reasoning.encrypted_content" };
    }
    const field = refusedField(failure);
    if (field === undefined || this.#refused.has(field)) return undefined;
    this.#refused.add(field);
    if (field === "store") this.#stored = undefined;
    this.#beginAnew();
    return isAskedFor(field, this.#options) ? { without: field } : {};
  }

  /** What the MCP servers may do stands in the head of a body, which is another one when that changes. */
  #declareServers(): void {
    const servers = this.#options.remote?.servers();
    if (servers === this.#servers) return;
    this.#servers = servers;
    this.#beginAnew();
  }

  #beginAnew(): void {
    this.#heads = new WeakMap();
    this.#buffer = this.#newBuffer();
  }

  /** Leaves the reasoning of all replies so far out; false where there is none to leave out. */
  #dropReasoning({ messages }: ModelRequest): boolean {
    const sent = messages.filter((message) =>
      message.role === "assistant" && !this.#unreadable.has(message) &&
      replyPartOf(message, this.#options.model)?.items.some((item) =>
        item.type === "reasoning" || "reasoning" in item
      )
    );
    for (const message of sent) this.#unreadable.add(message);
    this.#buffer = this.#newBuffer();
    return sent.length > 0;
  }

  #newBuffer(): RequestBuffer {
    return new RequestBuffer((request) => this.#writer(request.prefix));
  }

  #writer(prefix: Prefix): MessageWriter {
    const items = this.#items();
    return {
      head: this.#head(prefix),
      first: [],
      write: (message) => items.write(message),
      flush: () => items.flush(),
      end: (request) => `]${tail(this.#options, request, this.#refused)}}`,
    };
  }

  #head(prefix: Prefix): string {
    const known = this.#heads.get(prefix) ?? head(this.#options, prefix, this.#refused);
    this.#heads.set(prefix, known);
    return known;
  }

  #items(): InputItems {
    const { entry, model } = this.#options;
    return new InputItems({ model, toolImages: entry.compat.tool_images, unreadable: this.#unreadable });
  }

  #strict(prefix: Prefix): WireTools["strict"] {
    const known = this.#strictTools.get(prefix);
    if (known) return known;
    const { strict } = wireTools(prefix.tools, this.#options.entry.strict);
    this.#strictTools.set(prefix, strict);
    return strict;
  }
}
