import type { KindOptions, ProviderKind } from "../../kind.ts";
import type { Provider } from "../../provider.ts";
import { bearer, endpointOf, endpointUrl, requestHeaders } from "../../wire/endpoint.ts";
import { RequestBuffer } from "../../wire/request_buffer.ts";
import { eventsUrl, streamingProvider } from "../../wire/streaming_provider.ts";
import { CompletionReply } from "./chat_reply.ts";
import { AlternatingMessages, ChatMessages } from "./chat_request.ts";

const NOWHERE = eventsUrl(
  'data: {"choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
);

/** Chat completions of OpenAI and compatible servers. */
export const openai: ProviderKind = {
  streamField: true,
  create: createOpenAi,
  models: async (options, signal) => {
    const { listModels } = await import("../../wire/queries.ts");
    return await listModels(options, {
      url: endpointUrl(options.entry, "/models", COMPLETIONS),
      headers: bearer(options),
    }, signal);
  },
};

/** The end of a base URL that already names the path of completions. */
const COMPLETIONS = /\/chat\/completions$/;

function createOpenAi(options: KindOptions): Provider {
  const { entry } = options;
  const endpoint = endpointOf(options);
  const buffer = new RequestBuffer(({ prefix }) =>
    entry.compat.alternate_roles
      ? new AlternatingMessages(options, prefix)
      : new ChatMessages(options, prefix)
  );
  const headers = requestHeaders(options, bearer(options));
  const provider = streamingProvider(options, {
    url: endpointUrl(entry, "/chat/completions", COMPLETIONS),
    headers,
    endpoint,
    nowhere: NOWHERE,
    body: (request) => buffer.body(request),
    reply: (request) =>
      new CompletionReply({
        endpoint,
        model: options.model,
        callIds: buffer.callIds(request),
        callIdPrefix: `call_${request.messages.length}`,
        announceCalls: request.announceCalls,
      }, entry.compat.think_tags),
  });
  const embeddings = { url: endpointUrl(entry, "/embeddings", COMPLETIONS), headers, endpoint };
  return {
    ...provider,
    embed: async (texts, model, signal) => {
      const { embedTexts } = await import("../../wire/embeddings.ts");
      return await embedTexts(options, embeddings, { texts, model, signal });
    },
  };
}
