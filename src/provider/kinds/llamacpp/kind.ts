import { isLoopback } from "../../../config/mod.ts";
import {
  type Chunk,
  clauses,
  errorMessage,
  type LocalizedMessage,
  message,
  ReasonixError,
} from "../../../core/mod.ts";
import { unlessAborted } from "../../../util/timer.ts";
import { abortedError, messageOf, providerError, ProviderFailure } from "../../errors.ts";
import type { KindOptions, ProviderKind } from "../../kind.ts";
import { connect } from "../../wire/endpoint.ts";
import type { ModelRequest, Provider } from "../../provider.ts";
import { retryChunk } from "../../wire/streaming_provider.ts";
import { type ManagedServer, managedServer, type ReadyServer } from "../../managed/managed_server.ts";
import { modelSize, type ServerPlan, serverPlan } from "../../managed/server_plan.ts";

/** Chat completions of a llama-server that the program starts, shares and stops. */
export const llamacpp: ProviderKind = {
  streamField: true,
  create: async (options) => {
    const plan = await serverPlan(options);
    return new LlamaCpp(options, { plan, warmUpClient: await clientAt(options, NO_ADDRESS) }).provider();
  },
  // Asking the server would start it.
  models: ({ entry }) => Promise.resolve(entry.models ?? (entry.model === undefined ? [] : [entry.model])),
};

/** An address without a server, for warm-ups, which send nothing. */
const NO_ADDRESS = "http://127.0.0.1:9/v1";
/** Seconds of loading at which a notice is shown; later every half minute. */
const NOTICE_AT = [0.3, 5, 10, 20, 30];
const THEN_EVERY = 30;

class LlamaCpp {
  readonly #options: KindOptions;
  readonly #plan: ServerPlan;
  readonly #server: ManagedServer;
  readonly #warmUpClient: Provider;
  #client: { readonly server: ReadyServer; readonly provider: Provider } | undefined;
  #isWarned = false;

  constructor(options: KindOptions, { plan, warmUpClient }: { plan: ServerPlan; warmUpClient: Provider }) {
    this.#options = options;
    this.#plan = plan;
    this.#server = managedServer(plan);
    this.#warmUpClient = warmUpClient;
  }

  provider(): Provider {
    const { entry, model } = this.#options;
    return {
      name: entry.name,
      model,
      stream: (request, signal) => this.#stream(request, signal),
      warmUp: (request, signal) => {
        // Loading takes longer than typing: the request that needs the server reports a failure.
        this.#ready().catch(() => {});
        const { warmUp, stream } = this.#warmUpClient;
        return (warmUp ?? stream)(request, signal);
      },
      askWindow: async () => (await this.#ready()).window,
    };
  }

  /** Sends a request; a server that ends meanwhile is started again once. */
  async *#stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<Chunk, void> {
    for (let attempt = 1;; attempt++) {
      try {
        const server = yield* this.#loaded(signal);
        const client = await this.#clientOf(server);
        const crash = yield* this.#attempt(client, server, { request, signal });
        if (crash === undefined) return;
        if (attempt > 1) return yield { type: "error", error: crash.failure.error };
        const reason = message`${messageOf(crash.failure.error)}; it is started again`;
        yield retryChunk(attempt + 1, 2, { waitMs: 0, reason, discarded: crash.shown });
      } catch (error) {
        return yield { type: "error", error: signal.aborted ? abortedError() : failureOf(error).error };
      }
    }
  }

  /** Forwards a reply; returns the failure instead when the server has ended. */
  async *#attempt(
    client: Provider,
    server: ReadyServer,
    { request, signal }: { readonly request: ModelRequest; readonly signal: AbortSignal },
  ): AsyncGenerator<Chunk, { readonly failure: ProviderFailure; readonly shown: boolean } | undefined> {
    let shown = false;
    for await (const chunk of client.stream(request, signal)) {
      const isBroken = chunk.type === "retry" || (chunk.type === "error" && chunk.error.kind !== "aborted");
      const failure = isBroken ? await this.#server.failureOf(server) : undefined;
      if (failure) return { failure, shown };
      if (chunk.type === "text" || chunk.type === "reasoning") shown = true;
      if (chunk.type === "retry" && chunk.discarded) shown = false;
      yield chunk;
    }
    return undefined;
  }

  /** Waits for the server with notices of the time. Rejects when the signal aborts. */
  async *#loaded(signal: AbortSignal): AsyncGenerator<Chunk, ReadyServer> {
    signal.throwIfAborted();
    yield* this.#warning();
    const { current } = this.#server;
    if (current) return await this.#ready();
    const ready = this.#ready();
    const began = performance.now();
    let notices = 0;
    for (;;) {
      const server = await within(ready, began + noticeAt(notices) * 1000 - performance.now(), signal);
      const seconds = String(Math.round((performance.now() - began) / 1000));
      const { modelName, modelBytes } = this.#plan;
      if (server) {
        if (notices > 0) yield notice(message`${modelName} is loaded after ${seconds} s`);
        return server;
      }
      const size = modelSize(modelBytes);
      yield notice(message`loading model … ${seconds} s (${modelName}, ${size})`);
      notices++;
    }
  }

  *#warning(): Generator<Chunk, void> {
    const { host, provider } = this.#plan;
    if (this.#isWarned || isLoopback(`http://${host.includes(":") ? `[${host}]` : host}`)) return;
    this.#isWarned = true;
    yield notice(
      message`The server of provider "${provider}" listens on ${host}: other machines can reach it, and only its key keeps them out`,
      "warning",
    );
  }

  #ready(): Promise<ReadyServer> {
    return this.#server.ready(this.#options.deps.fetch);
  }

  /** The client of this server; after a restart it has another address and key. */
  async #clientOf(server: ReadyServer): Promise<Provider> {
    if (this.#client?.server === server) return this.#client.provider;
    const { deps } = this.#options;
    const base_url = `${server.origin}/v1`;
    const entry = { ...this.#options.entry, base_url };
    const { fetch } = await connect(entry, deps);
    const provider = await clientAt(
      { ...this.#options, deps: { ...deps, fetch }, apiKey: server.key },
      base_url,
    );
    this.#client = { server, provider };
    return provider;
  }
}

async function clientAt(options: KindOptions, base_url: string): Promise<Provider> {
  const { entry } = options;
  const extra = { cache_prompt: entry.server?.cache_prompt ?? true, ...entry.extra };
  const openai = await options.kind("openai");
  return await openai.create({ ...options, entry: { ...entry, base_url, extra } });
}

function notice(localized: LocalizedMessage, level: "info" | "warning" = "info"): Chunk {
  return { type: "notice", level, code: "server", text: localized.text, localized };
}

function failureOf(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  if (error instanceof ReasonixError) {
    return new ProviderFailure(providerError("connection", clauses(error.texts)), false);
  }
  return new ProviderFailure(providerError("connection", errorMessage(error)), false);
}

/** Second of loading at which the next notice is shown. */
function noticeAt(times: number): number {
  const last = NOTICE_AT.length - 1;
  return NOTICE_AT[times] ?? (NOTICE_AT[last] ?? 0) + (times - last) * THEN_EVERY;
}

/** The value, or undefined when it takes longer. Rejects when the signal aborts. */
async function within<T>(value: Promise<T>, ms: number, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), Math.max(ms, 0));
  try {
    return await unlessAborted(Promise.race([value, promise]), signal);
  } finally {
    clearTimeout(timer);
  }
}
