import type { Message, Prefix } from "../../../core/mod.ts";
import type { ImageLimits } from "../../../util/image/fit_image.ts";
import type { Endpoint, ProviderFailure } from "../../errors.ts";
import type { KindOptions, ProviderKind } from "../../kind.ts";
import type { ModelInfo, ModelRequest, Provider } from "../../provider.ts";
import type { RemoteServer } from "../../remote/remote_server.ts";
import { ConversationStates } from "../../wire/request_buffer.ts";
import { bearer, endpointOf, endpointUrl, requestHeaders } from "../../wire/endpoint.ts";
import { Fingerprint } from "../../wire/fingerprint.ts";
import type { ReplyReader } from "../../wire/http_stream.ts";
import { type MessageWriter, RequestBuffer } from "../../wire/request_buffer.ts";
import { type Adaptation, eventsUrl, streamingProvider } from "../../wire/streaming_provider.ts";
import { ResponseReply } from "./responses_reply.ts";
import {
  head,
  InputItems,
  replyPartOf,
  type StoredReply,
  tail,
  type WireTools,
  wireTools,
} from "./responses_request.ts";

const NOWHERE = eventsUrl(
  'event: response.completed\ndata: {"type":"response.completed","response":{"id":"r","status":"completed",' +
    '"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"."}]}]}}\n\n',
);

/** The end of a base URL that already names the path of responses. */
const RESPONSES = /\/responses$/;

/** Larger images are scaled down by the server. */
const IMAGES: ImageLimits = {
  types: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  bytes: 15 * 1024 * 1024,
  edge: 2048,
  maxEdge: 8000,
  count: 500,
  total: 40 * 1024 * 1024,
};

/** The Responses API of OpenAI, Azure, OpenRouter and local servers. */
export const responses: ProviderKind = {
  streamField: true,
  images: IMAGES,
  create: createResponses,
  models: async (options, signal) => {
    const { listModels } = await import("../../wire/queries.ts");
    return await listModels(options, {
      url: endpointUrl(options.entry, "/models", RESPONSES),
      headers: bearer(options),
    }, signal);
  },
};

function createResponses(options: KindOptions): Provider {
  const wire = new ResponsesWire(options);
  const provider = streamingProvider(options, {
    url: endpointUrl(options.entry, "/responses", RESPONSES),
    headers: requestHeaders(options, bearer(options)),
    endpoint: wire.endpoint,
    nowhere: NOWHERE,
    body: (request) => wire.body(request),
    reply: (request) => wire.reply(request),
    adapt: (failure, request) => wire.adapt(failure, request),
  });
  return { ...provider, remoteMode: "asks" };
}

const encoder = new TextEncoder();
/** Consecutive lost replies after which the server is assumed to keep none. */
const MOST_LOST = 2;

/** Bodies and replies of one provider, and its knowledge of the server. */
class ResponsesWire {
  readonly endpoint: Endpoint;
  readonly #options: KindOptions;
  readonly #refused = new Set<string>();
  readonly #unreadable = new WeakSet<Message>();
  #stored: StoredReplies | undefined;
  /** Consecutive replies that the server no longer had. */
  #lost = 0;
  #continues = false;
  readonly #tools = new WeakMap<Prefix, WireTools>();
  #servers: readonly RemoteServer[] | undefined;
  readonly #buffer: RequestBuffer;

  constructor(options: KindOptions) {
    this.#options = options;
    this.endpoint = endpointOf(options);
    this.#stored = options.entry.store ? new StoredReplies(options.model) : undefined;
    this.#buffer = new RequestBuffer(({ prefix }) => this.#writer(prefix));
  }

  body(request: ModelRequest): Uint8Array<ArrayBuffer> {
    // The permissions of the MCP servers are declared before the messages.
    const servers = this.#options.remote?.servers();
    if (servers !== this.#servers) this.#buffer.reset();
    this.#servers = servers;
    const last = this.#stored?.last(request);
    // The server had the reply that the previous body continued.
    if (this.#continues) this.#lost = 0;
    this.#continues = last !== undefined;
    if (last === undefined) return this.#buffer.body(request);
    const items = this.#items();
    // What the reply asked to be allowed is answered among what follows it.
    items.register(request.messages[last.messages - 1]);
    const fresh = request.messages.slice(last.messages).flatMap((message) => items.write(message));
    const list = [...fresh, ...items.flush()].join(",");
    const end = tail(this.#options, request, this.#refused, last.id);
    return encoder.encode(`${this.#head(request.prefix)}${list}]${end}}`);
  }

  reply(request: ModelRequest): ReplyReader {
    return new ResponseReply({
      endpoint: this.endpoint,
      model: this.#options.model,
      callIds: this.#stored?.callIds(request) ?? this.#buffer.callIds(request),
      callIdPrefix: `call_${request.messages.length}`,
      announceCalls: request.announceCalls,
      strictTools: this.#toolsOf(request.prefix).strict,
      storedAfter: this.#stored?.digest(request),
      remote: this.#options.remote,
    });
  }

  /** Handles a refusal: sends the whole conversation, or leaves out an optional field. */
  adapt(failure: ProviderFailure, request: ModelRequest): Adaptation | undefined {
    if (isPreviousLost(failure) && this.#stored?.last(request)) {
      this.#stored.forget(request);
      this.#continues = false;
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
    this.#buffer.reset();
    return isAskedFor(field, this.#options) ? { without: field } : {};
  }

  /** Leaves the reasoning of all earlier replies out; false where there is none to leave out. */
  #dropReasoning({ messages }: ModelRequest): boolean {
    const sent = messages.filter((message) =>
      message.role === "assistant" && !this.#unreadable.has(message) &&
      replyPartOf(message, this.#options.model)?.items.some((item) =>
        item.type === "reasoning" || "reasoning" in item
      )
    );
    for (const message of sent) this.#unreadable.add(message);
    this.#buffer.reset();
    return sent.length > 0;
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
    return head(this.#options, prefix, this.#toolsOf(prefix), this.#refused);
  }

  #items(): InputItems {
    const { entry, model } = this.#options;
    return new InputItems({ model, toolImages: entry.compat.tool_images, unreadable: this.#unreadable });
  }

  #toolsOf(prefix: Prefix): WireTools {
    const known = this.#tools.get(prefix) ?? wireTools(prefix.tools, this.#options.entry.strict);
    this.#tools.set(prefix, known);
    return known;
  }
}

/** A stored reply that a request can continue from, and the number of messages up to it. */
interface Continuation {
  readonly id: string;
  readonly messages: number;
}

interface Known {
  readonly digest: Fingerprint;
  readonly callIds: Set<string>;
  continuation: Continuation | undefined;
}

/**
 * Replies that the server keeps, so that a request sends only what came after the last of them.
 *
 * A reply counts when the conversation before it is the one it was given in, message by message: not after a
 * compaction, but after a resume, in a fork, and when turns were taken back.
 */
class StoredReplies {
  readonly #model: ModelInfo;
  readonly #conversations = new ConversationStates<Known>();

  constructor(model: ModelInfo) {
    this.#model = model;
  }

  /** The last stored reply of a conversation; undefined when all of it has to be sent. */
  last(request: ModelRequest): Continuation | undefined {
    return this.#read(request).continuation;
  }

  digest(request: ModelRequest): string {
    return this.#read(request).digest.value;
  }

  callIds(request: ModelRequest): ReadonlySet<string> {
    return this.#read(request).callIds;
  }

  /** Forgets the stored replies: the server no longer has the last one, and older ones neither. */
  forget(request: ModelRequest): void {
    this.#read(request).continuation = undefined;
  }

  #read({ messages }: ModelRequest): Known {
    const { state, added } = this.#conversations.read(messages, () => ({
      digest: new Fingerprint(),
      callIds: new Set(),
      continuation: undefined,
    }));
    for (const [at, message] of added.entries()) {
      const stored = this.#stored(message);
      if (stored?.after === state.digest.value) {
        state.continuation = { id: stored.id, messages: messages.length - added.length + at + 1 };
      }
      if (message.role === "assistant") message.calls?.forEach(({ id }) => state.callIds.add(id));
      for (const text of textsOf(message)) state.digest.add(`${text}\0`);
    }
    return state;
  }

  #stored(message: Message): StoredReply | undefined {
    return message.role === "assistant" ? replyPartOf(message, this.#model)?.stored : undefined;
  }
}

function textsOf(message: Message): readonly string[] {
  const { role, content } = message;
  if (role === "assistant") return [role, content, ...message.calls?.map((call) => call.id) ?? []];
  const images = message.images?.map(({ data }) => data) ?? [];
  return role === "tool" ? [role, message.callId, content, ...images] : [role, content, ...images];
}

/** Matches the refusal of a field, or of its value. */
const REFUSED_FIELD =
  /(?:unsupported|unknown|unrecognized|invalid|unexpected) (?:parameter|value|field|request argument)[^'"`]{0,60}['"`]([\w.]+)['"`]/i;
const NOT_SUPPORTED = /['"`]([\w.]+)['"`](?: parameter)? is not (?:supported|allowed|permitted)/i;
/** OpenAI shows summaries only to verified organizations. */
const UNVERIFIED = /verified to (?:generate|stream) reasoning summar/i;
/** Models that do not reason have nothing to encrypt. */
const NOTHING_SEALED = /encrypted content is not supported/i;

/** Fields that a request may leave out. */
const OPTIONAL = new Set([
  "temperature",
  "top_p",
  "text.verbosity",
  "reasoning.summary",
  "reasoning.effort",
  "reasoning",
  "prompt_cache_key",
  "include",
  "parallel_tool_calls",
  "store",
]);

const PREVIOUS_LOST = /previous[_ ]response/i;

const SEAL_REFUSED =
  /encrypted[_ ]content\b.{0,80}\b(?:verified|decrypted|parsed)|invalid_encrypted_content/i;
const ITEM_LOST = /item with id '?rs_\w+'? not found/i;

/** Reports whether the server cannot read this reasoning: another server or account made it. */
function isReasoningRefused({ error }: ProviderFailure): boolean {
  return (error.status === 400 || error.status === 404) &&
    (SEAL_REFUSED.test(error.message) || ITEM_LOST.test(error.message));
}

/** Reports whether the server no longer has the reply that a request continues. */
export function isPreviousLost({ error }: ProviderFailure): boolean {
  return (error.status === 400 || error.status === 404) && PREVIOUS_LOST.test(error.message);
}

/** The optional field that a failure is about; undefined where there is none. */
export function refusedField({ error }: ProviderFailure): string | undefined {
  if (error.status !== 400 && error.status !== 422) return undefined;
  if (UNVERIFIED.test(error.message)) return "reasoning.summary";
  if (NOTHING_SEALED.test(error.message)) return "include";
  const name = (REFUSED_FIELD.exec(error.message) ?? NOT_SUPPORTED.exec(error.message))?.[1];
  if (name === undefined) return undefined;
  if (name === "verbosity" || name === "summary") {
    return name === "summary" ? "reasoning.summary" : "text.verbosity";
  }
  return OPTIONAL.has(name) ? name : undefined;
}

/** Reports whether the user set a field and is notified when it is left out. */
function isAskedFor(field: string, { entry, effort }: Pick<KindOptions, "entry" | "effort">): boolean {
  const { temperature, top_p, store } = entry;
  const set: Readonly<Record<string, unknown>> = {
    temperature,
    top_p,
    store,
    "text.verbosity": entry.verbosity,
    reasoning: effort,
    "reasoning.effort": effort,
  };
  return Boolean(set[field]);
}
