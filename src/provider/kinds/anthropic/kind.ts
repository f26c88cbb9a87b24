import { addUsage, type AssistantMessage, type Chunk, type Usage } from "../../../core/mod.ts";
import type { KindOptions, ProviderKind } from "../../kind.ts";
import { MessageReply } from "./messages_reply.ts";
import {
  AnthropicMessages,
  isThinkingRefused,
  MCP_BETA,
  replyLimit,
  type Thinking,
  thinkingOf,
  UNASKED,
} from "./messages_request.ts";
import type { ModelRequest, Provider } from "../../provider.ts";
import { endpointOf, endpointUrl, requestHeaders } from "../../wire/endpoint.ts";
import { extraFields } from "../../wire/message_parts.ts";
import { RequestBuffer } from "../../wire/request_buffer.ts";
import { eventsUrl, streamingProvider } from "../../wire/streaming_provider.ts";
import { isRecord } from "../../../util/json.ts";
import type { ImageLimits } from "../../../util/image/fit_image.ts";

const NOWHERE = eventsUrl(
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":' +
    '{"type":"text_delta","text":"."}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
);

const VERSION = "2023-06-01";
/** The end of a base URL that already names the version of the wire, or the path of messages. */
const NAMED = /\/v1(?:\/messages)?$|\/messages$/;

/** A longer edge than 2000 pixels is refused once there are many images, and base64 counts for the 5 MB. */
const IMAGES: ImageLimits = {
  types: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  bytes: 3_900_000,
  edge: 2000,
  maxEdge: 2000,
  count: 100,
  total: 24 * 1024 * 1024,
};

/** The Messages API of Anthropic and compatible servers. */
export const anthropic: ProviderKind = {
  streamField: true,
  images: IMAGES,
  create: createAnthropic,
  models: async (options, signal) => {
    const { listModels } = await import("../../wire/queries.ts");
    return await listModels(options, {
      url: endpointUrl(options.entry, "/v1/models", NAMED),
      headers: versionHeaders(options),
      pages: { size: ["limit", "1000"], next: "after_id" },
    }, signal);
  },
};

function createAnthropic(options: KindOptions): Provider {
  const { entry, model, effort } = options;
  const endpoint = endpointOf(options);
  const extra = extraFields(entry);
  let thinking = thinkingOf(options, extra, replyLimit(model, extra));
  let after = "";
  let asks = Object.keys(thinking.fields).some((name) => extra[name] === undefined);
  let servers = options.remote?.servers();
  const buffer = new RequestBuffer(({ prefix }) => {
    const sent = (digest: string) => after = digest;
    return new AnthropicMessages({ entry, model, extra, thinking, remote: servers ?? [], sent }, prefix);
  });
  const body = (request: ModelRequest) => {
    const now = options.remote?.servers();
    if (now !== servers) buffer.reset();
    servers = now;
    return buffer.body(request);
  };
  const headers = requestHeaders(options, { ...versionHeaders(options), ...betaHeader(options, thinking) });
  const provider = streamingProvider(options, {
    url: endpointUrl(entry, "/v1/messages", NAMED),
    headers,
    endpoint,
    nowhere: NOWHERE,
    body,
    adapt: (failure) => {
      if (!asks || !isThinkingRefused(failure)) return undefined;
      asks = false;
      thinking = { ...UNASKED, samples: thinking.samples };
      buffer.reset();
      return effort === undefined ? {} : { without: `effort = "${effort}"` };
    },
    reply: (request) =>
      new MessageReply({
        endpoint,
        model,
        callIds: buffer.callIds(request),
        callIdPrefix: `toolu_${request.messages.length}`,
        announceCalls: request.announceCalls,
      }, after),
  });
  const unsent = unsentSettings(options, thinking);
  return {
    ...provider,
    remoteMode: "runs",
    model: unsent.length > 0 ? { ...model, unsent } : model,
    stream: (request, signal) => continuePaused((next) => provider.stream(next, signal), request),
    count: async (request, signal) => {
      const { countTokens } = await import("../../wire/queries.ts");
      const url = endpointUrl(entry, "/v1/messages/count_tokens", NAMED);
      const server = { url, headers, endpoint, fetch: options.deps.fetch };
      return await countTokens(server, body(request), signal);
    },
  };
}

function versionHeaders({ apiKey, entry }: KindOptions): Record<string, string> {
  const version = { "anthropic-version": VERSION };
  if (!apiKey) return version;
  const bearer = entry.compat.key_header === "authorization";
  return { ...version, ...(bearer ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey }) };
}

function betaHeader({ remote }: KindOptions, { betas }: Thinking): Record<string, string> {
  const all = remote ? [...betas, MCP_BETA] : betas;
  return all.length > 0 ? { "anthropic-beta": all.join(",") } : {};
}

function unsentSettings({ entry }: KindOptions, { samples }: Thinking): readonly string[] {
  const refused = samples ? (["seed"] as const) : (["temperature", "top_p", "seed"] as const);
  return refused.filter((name) => entry[name] !== undefined);
}

const MOST_PAUSES = 20;

/**
 * One reply out of several where the server pauses, because its own tools took long: each part goes back to
 * it until the reply has ended. Tokens are counted together.
 */
async function* continuePaused(
  ask: (request: ModelRequest) => AsyncIterable<Chunk>,
  request: ModelRequest,
): AsyncGenerator<Chunk, void> {
  const received: Chunk[] = [];
  let usage: Usage | undefined;
  let next = request;
  for (let pauses = 0;; pauses++) {
    let done: Chunk | undefined;
    const round: Chunk[] = [];
    for await (const chunk of ask(next)) {
      if (chunk.type === "usage") usage = usage ? addUsage(usage, chunk.usage) : chunk.usage;
      else if (chunk.type === "done" || chunk.type === "error") done = chunk;
      else {
        yield chunk;
        if (chunk.type !== "retry") round.push(chunk);
        else if (chunk.discarded) {
          round.length = 0;
          yield* received;
        }
      }
    }
    if (done?.type !== "done" || !round.some(isPaused) || pauses === MOST_PAUSES) {
      if (usage) yield { type: "usage", usage };
      if (done) yield done;
      return;
    }
    received.push(...round);
    next = { ...request, messages: [...request.messages, messageOf(received)] };
  }
}

function isPaused(chunk: Chunk): boolean {
  return chunk.type === "part" && isRecord(chunk.part.data) && chunk.part.data.paused === true;
}

function messageOf(chunks: readonly Chunk[]): AssistantMessage {
  const texts = (type: "text" | "reasoning") =>
    chunks.map((chunk) => chunk.type === type && "text" in chunk ? chunk.text : "").join("");
  return {
    role: "assistant",
    content: texts("text"),
    reasoning: texts("reasoning"),
    calls: chunks.flatMap((chunk) => chunk.type === "tool_call" ? [chunk.call] : []),
    parts: chunks.flatMap((chunk) => chunk.type === "part" ? [chunk.part] : []),
  };
}
