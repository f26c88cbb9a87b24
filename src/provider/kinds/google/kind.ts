import type { ImageLimits } from "../../../util/image/fit_image.ts";
import { message, ReasonixError } from "../../../core/mod.ts";
import type { KindOptions, ProviderKind } from "../../kind.ts";
import type { Provider } from "../../provider.ts";
import { endpointOf, endpointUrl, requestHeaders } from "../../wire/endpoint.ts";
import { RequestBuffer } from "../../wire/request_buffer.ts";
import { eventsUrl, streamingProvider } from "../../wire/streaming_provider.ts";
import { GeneratedReply, understood } from "./gemini_reply.ts";
import { Contents, generationOf, RefusedFields } from "./gemini_request.ts";

const NOWHERE = eventsUrl(
  'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"."}]},"finishReason":"STOP"}]}\n\n',
);

/** The end of a base URL that already names the path of models, or the vendor's other wire. */
const NAMED = /\/(?:models|openai)$/;
/** Hosts of Vertex AI, where a command prints tokens, not keys. */
const VERTEX = /(?:^|[.-])aiplatform\.googleapis\.com$/;

/** A request may have 20 MB of inline data; GIF is not among the types. */
const IMAGES: ImageLimits = {
  types: ["image/png", "image/jpeg", "image/webp"],
  bytes: 7 * 1024 * 1024,
  edge: 3072,
  maxEdge: 8000,
  count: 3000,
  total: 15 * 1024 * 1024,
};

/** `streamGenerateContent` of the Gemini API and Vertex AI. */
export const google: ProviderKind = {
  images: IMAGES,
  create: createGoogle,
  models: async (options, signal) => {
    if (isVertex(options)) return [];
    const { listModels } = await import("../../wire/queries.ts");
    return await listModels(options, {
      url: pathUrl(options, "models").href,
      headers: keyHeader(options),
      pages: { size: ["pageSize", "1000"], next: "pageToken" },
      reported: understood,
      name: ({ name, supportedGenerationMethods: methods }) =>
        typeof name !== "string" || Array.isArray(methods) && !methods.includes("generateContent")
          ? undefined
          : name.replace(/^models\//, ""),
    }, signal);
  },
};

function createGoogle(options: KindOptions): Provider {
  const { entry, model, effort } = options;
  const endpoint = endpointOf(options);
  const generation = generationOf(model);
  const refused = new RefusedFields();
  const body = { entry, model, generation, effort, refused };
  const buffer = new RequestBuffer(({ prefix }) => new Contents(body, prefix));
  return streamingProvider(options, {
    url: replyUrl(options),
    headers: requestHeaders(options, keyHeader(options)),
    endpoint,
    nowhere: NOWHERE,
    reported: understood,
    body: (request) => buffer.body(request),
    adapt: (failure, request) => {
      const change = refused.learn(failure, request, effort);
      if (change) buffer.reset();
      return change;
    },
    reply: (request) =>
      new GeneratedReply({
        endpoint,
        model,
        callIds: buffer.callIds(request),
        callIdPrefix: `call_${request.messages.length}`,
        announceCalls: request.announceCalls,
      }, request.prefix.tools),
  });
}

function replyUrl(options: KindOptions): string {
  const { id } = options.model;
  const url = pathUrl(options, `${id.includes("/") ? id : `models/${id}`}:streamGenerateContent`);
  // A project may name models, and another path of the same host could belong to another account.
  if (!url.pathname.startsWith(pathUrl(options, "").pathname)) throw notAModel(id);
  url.searchParams.set("alt", "sse");
  return url.href;
}

function notAModel(id: string): ReasonixError {
  return new ReasonixError(
    message`Cannot use the model ${JSON.stringify(id)}: it leads out of the path of models`,
    {
      exit: "config",
      remedy: message`write the name of a model`,
    },
  );
}

/** A base URL that is only a host lacks the version of the wire. */
function pathUrl({ entry }: KindOptions, path: string): URL {
  const version = URL.parse(entry.base_url)?.pathname === "/" ? "/v1beta" : "";
  return new URL(endpointUrl(entry, `${version}/${path}`, NAMED));
}

function isVertex({ entry }: KindOptions): boolean {
  return VERTEX.test(URL.parse(entry.base_url)?.hostname ?? "");
}

function keyHeader(options: KindOptions): Record<string, string> {
  const { apiKey, entry } = options;
  if (!apiKey) return {};
  const token = isVertex(options) && entry.api_key_command !== undefined || apiKey.startsWith("ya29.");
  const bearer = entry.compat.key_header === undefined ? token : entry.compat.key_header === "authorization";
  return bearer ? { authorization: `Bearer ${apiKey}` } : { "x-goog-api-key": apiKey };
}
