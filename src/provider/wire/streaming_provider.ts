import { type Chunk, message } from "../../core/mod.ts";
import { type Endpoint, messageOf, ProviderFailure, type Reported } from "../errors.ts";
import type { KindOptions } from "../kind.ts";
import type { ModelRequest, Provider } from "../provider.ts";
import { withRetry } from "../retry.ts";
import { type ReplyReader, streamReply } from "./http_stream.ts";

/** The wire of a kind that streams over HTTP. */
export interface Wire {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly endpoint: Endpoint;
  /** A reply of the wire as a `data:` URL, for warm-ups. */
  readonly nowhere: string;
  /** Reads more out of a refusal than its status and words say. */
  reported?(reported: Reported): Reported;
  /** The body of an attempt, valid until the next one. */
  body(request: ModelRequest): Uint8Array<ArrayBuffer>;
  /** Reads the reply to the body that was written last. */
  reply(request: ModelRequest): ReplyReader;
  /** Handles a failure; a result means that the next body is another one, to be sent at once. */
  adapt?(failure: ProviderFailure, request: ModelRequest): Adaptation | undefined;
}

/** Another way to send a request that was refused. */
export interface Adaptation {
  /** A field that the user asked for and that is left out from now on. */
  readonly without?: string;
}

/** A provider over HTTP: a wire with time limits and retries. */
export function streamingProvider({ entry, model, deps }: KindOptions, wire: Wire): Provider {
  const policy = { maxAttempts: entry.max_attempts, maxWaitMs: entry.max_wait_seconds * 1000 };
  const { headers, endpoint } = wire;
  const limits = {
    firstByteMs: entry.first_byte_timeout_seconds * 1000,
    idleMs: entry.idle_timeout_seconds * 1000,
  };
  const streamTo =
    (url: string) => (request: ModelRequest, signal: AbortSignal): AsyncGenerator<Chunk, void> => {
      const attempt = () => {
        const body = wire.body(request);
        const reply = wire.reply(request);
        const { reported } = wire;
        return streamReply({ url, headers, body, endpoint, reply, reported, ...limits }, deps, signal);
      };
      const adapt = (failure: ProviderFailure) => wire.adapt?.(failure, request);
      return withRetry(() => adapting(attempt, adapt, policy.maxAttempts), policy, deps, signal);
    };
  return { name: entry.name, model, stream: streamTo(wire.url), rehearse: streamTo(wire.nowhere) };
}

/** Repeats an attempt as long as its wire finds another way to send it. */
async function* adapting(
  attempt: () => AsyncIterable<Chunk>,
  adapt: (failure: ProviderFailure) => Adaptation | undefined,
  maxAttempts: number,
): AsyncGenerator<Chunk, void> {
  for (;;) {
    try {
      return yield* attempt();
    } catch (error) {
      const change = error instanceof ProviderFailure ? adapt(error) : undefined;
      if (change === undefined || !(error instanceof ProviderFailure)) throw error;
      const { without } = change;
      if (without === undefined) continue;
      const localized = message`${messageOf(error.error)}; from now on the request omits ${without}`;
      const reason = localized.text;
      yield { type: "retry", attempt: 2, maxAttempts, waitMs: 0, reason, localized, discarded: false };
    }
  }
}
