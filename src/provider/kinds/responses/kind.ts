import type { ImageLimits } from "../../../util/image/fit_image.ts";
import type { KindOptions, ProviderKind } from "../../kind.ts";
import type { Provider } from "../../provider.ts";
import { endpointOf, endpointUrl, requestHeaders } from "../../wire/endpoint.ts";
import { streamingProvider } from "../../wire/streaming_provider.ts";
import { ResponsesWire } from "./wire.ts";

/** A reply that comes from no server. The runtime makes its HTTP client for it as for any other. */
const NOWHERE = `data:text/event-stream,${
  encodeURIComponent(
    'event: response.completed\ndata: {"type":"response.completed","response":{"id":"r","status":"completed",' +
      '"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"."}]}]}}\n\n',
  )
}`;

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

/** OpenAI's Responses API, as spoken by OpenAI, Azure, OpenRouter and local servers. */
export const responses: ProviderKind = {
  streamField: true,
  images: IMAGES,
  create: createResponses,
  models: async (options, signal) => {
    const { listModels } = await import("../../wire/model_list.ts");
    return await listModels({
      url: endpointUrl(options.entry, "/models", RESPONSES),
      headers: requestHeaders(options, bearer(options)),
      endpoint: endpointOf(options),
      fetch: options.deps.fetch,
    }, signal);
  },
};

function bearer({ apiKey }: KindOptions): Record<string, string> {
  return apiKey ? { authorization: `Bearer ${apiKey}` } : {};
}

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
