import type { ProviderEntry } from "../../config/mod.ts";
import type { Fetch } from "../../util/network/fetch.ts";

/** The entry with requests for replies that do not stream. */
export function inOnePiece(entry: ProviderEntry): ProviderEntry {
  return {
    ...entry,
    extra: { ...entry.extra, stream: false },
    // Servers refuse options of a stream that is none.
    compat: { ...entry.compat, stream_usage: false },
  };
}

/** Tells the body of each reply as far as it has come, whenever more of it does. */
export function overhear(fetch: Fetch, tell: (body: string) => void): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.ok || !response.body) return response;
    const decoder = new TextDecoder();
    let body = "";
    const passing = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        body += decoder.decode(chunk, { stream: true });
        tell(body);
        controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(passing), { status, statusText, headers });
  };
}
