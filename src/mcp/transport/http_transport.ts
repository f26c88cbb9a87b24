import type {
  AuthProvider,
  OAuthClientProvider,
  StreamableHTTPClientTransport,
  Transport,
} from "@modelcontextprotocol/client";
import { ReasonixError } from "../../core/mod.ts";
import { loadSdk } from "../connection/sdk.ts";
import type { McpServerSpec } from "../server_spec.ts";
import { mendMessage } from "./mend_message.ts";
import { MAX_MESSAGE_BYTES } from "./message_lines.ts";

export interface HttpTransportOptions {
  readonly spec: McpServerSpec;
  /** Headers of the moment, of the helper program for example. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  readonly auth: AuthProvider | OAuthClientProvider | undefined;
  /** Hears of what had to be mended in an answer. */
  readonly tell: (problem: string) => void;
}

const MEGABYTE = 1024 * 1024;
const NEWLINE = 10;

/** Talks to a server over streamable HTTP; answers are bounded. Throws a ReasonixError for a wrong URL. */
export async function httpTransport(options: HttpTransportOptions): Promise<StreamableHTTPClientTransport> {
  const { spec, headers, auth, tell } = options;
  const { StreamableHTTPClientTransport } = await loadSdk();
  const url = addressOf(spec.url);
  const transport = new StreamableHTTPClientTransport(url, {
    async fetch(input, init) {
      const own = new Headers(init?.headers);
      // Credentials go to the server itself; its authorization server gets none of them.
      if (new URL(String(input)).origin === url.origin) {
        for (const [name, value] of Object.entries({ ...spec.headers, ...await headers() })) {
          if (!own.has(name)) own.set(name, value);
        }
      }
      return bounded(await fetch(input, { ...init, headers: own }));
    },
    ...(auth ? { authProvider: auth } : {}),
  });
  let receiver: Transport["onmessage"];
  return Object.defineProperty(transport, "onmessage", {
    get: () => receiver,
    set(receive: Transport["onmessage"]) {
      receiver = receive && ((message, extra) => receive(mendMessage(message, tell), extra));
    },
  });
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw new ReasonixError(`"${text}" is no address of a server`, {
    remedy: "give an http:// or https:// address as its url",
  });
}

/** Ends a body when one message of it is too large; an event stream may go on for ever. */
function bounded(response: Response): Response {
  if (!response.body) return response;
  const streams = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
  let size = 0;
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const end = streams ? chunk.lastIndexOf(NEWLINE) : -1;
        size = end >= 0 ? chunk.length - end : size + chunk.length;
        if (size <= MAX_MESSAGE_BYTES) return controller.enqueue(chunk);
        const limit = MAX_MESSAGE_BYTES / MEGABYTE;
        controller.error(new ReasonixError(`Too large: the answer has over ${limit} MB`));
      },
    }),
  );
  return new Response(body, response);
}
