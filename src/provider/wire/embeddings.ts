import { type Chunk, message, ReasonixError } from "../../core/mod.ts";
import {
  type Endpoint,
  errorOf,
  nameOf,
  protocolFailure,
  providerError,
  ProviderFailure,
  quote,
  reportedFailure,
  requestFailure,
} from "../errors.ts";
import type { KindOptions } from "../kind.ts";
import type { Embeddings } from "../provider.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { boundedText } from "./bounded_text.ts";
import { retryAfter } from "./http_stream.ts";
import { withRetry } from "./streaming_provider.ts";

/** Most texts of one request: the smallest of the usual limits. */
const MOST_TEXTS = 64;
/** Most UTF-16 units of one request, unless a single text is longer. */
const MOST_UNITS = 200_000;
const LONGEST_REPLY = 64 * 1024 * 1024;

interface EmbeddingWire {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly endpoint: Endpoint;
}

interface EmbeddingRequest {
  readonly texts: readonly string[];
  readonly model: string;
  readonly signal?: AbortSignal | undefined;
}

type Options = Pick<KindOptions, "entry" | "deps">;

/**
 * Vectors for texts over `POST …/embeddings` (OpenAI's API reference, "Create embeddings"), which llama.cpp,
 * vLLM, Ollama and others speak, too. See the contract of `Provider.embed`.
 */
export async function embedTexts(
  options: Options,
  wire: EmbeddingWire,
  { texts, model, signal = new AbortController().signal }: EmbeddingRequest,
): Promise<Embeddings> {
  signal.throwIfAborted();
  const endpoint = { ...wire.endpoint, model };
  checkTexts(texts, endpoint);
  const vectors: (readonly number[])[] = [];
  let inputTokens: number | undefined = 0;
  for (const batch of batchesOf(texts)) {
    const reply = await withAttempts(options, { ...wire, endpoint }, { texts: batch, model, signal });
    for (const vector of reply.vectors) {
      const wanted = vectors[0]?.length ?? vector.length;
      if (vector.length !== wanted) {
        const what =
          message`sent vectors of ${wanted} and of ${vector.length} dimensions for one list of texts`;
        throw errorOf(protocolFailure(what, endpoint));
      }
      vectors.push(vector);
    }
    inputTokens = reply.inputTokens === undefined || inputTokens === undefined
      ? undefined
      : inputTokens + reply.inputTokens;
  }
  return { vectors, inputTokens };
}

function checkTexts(texts: readonly string[], { provider }: Endpoint): void {
  const at = texts.findIndex((text) => text.trim() === "");
  if (at < 0) return;
  throw new ReasonixError(message`Cannot embed text ${at} with provider "${provider}": it is empty`, {
    exit: "usage",
    remedy: message`omit empty texts`,
  });
}

function* batchesOf(texts: readonly string[]): Generator<readonly string[]> {
  let batch: string[] = [];
  let units = 0;
  for (const text of texts) {
    if (batch.length > 0 && (batch.length === MOST_TEXTS || units + text.length > MOST_UNITS)) {
      yield batch;
      batch = [];
      units = 0;
    }
    batch.push(text);
    units += text.length;
  }
  if (batch.length > 0) yield batch;
}

type Batch = Required<EmbeddingRequest> & { readonly signal: AbortSignal };

/** One request, repeated under the same policy as those of conversations. */
async function withAttempts(
  { entry, deps }: Options,
  wire: EmbeddingWire,
  batch: Batch,
): Promise<Embeddings> {
  let reply: Embeddings | undefined;
  async function* attempt(): AsyncGenerator<Chunk, void> {
    reply = await post({ entry, deps }, wire, batch);
    yield { type: "done", reason: "stop" };
  }
  const policy = { maxAttempts: entry.max_attempts, maxWaitMs: entry.max_wait_seconds * 1000 };
  for await (const chunk of withRetry({ attempt, adapt: () => undefined }, policy, deps, batch.signal)) {
    if (chunk.type !== "error") continue;
    batch.signal.throwIfAborted();
    throw errorOf(new ProviderFailure(chunk.error, false));
  }
  if (reply === undefined) throw errorOf(protocolFailure(message`sent no vectors`, wire.endpoint));
  return reply;
}

async function post({ entry, deps }: Options, wire: EmbeddingWire, batch: Batch): Promise<Embeddings> {
  const { url, headers, endpoint } = wire;
  const late = new AbortController();
  const seconds = entry.first_byte_timeout_seconds;
  const cancel = seconds > 0 ? deps.clock.after(seconds * 1000, () => late.abort()) : () => {};
  try {
    const response = await deps.fetch(url, {
      method: "POST",
      headers: { ...headers, accept: "application/json" },
      body: JSON.stringify({ model: batch.model, input: batch.texts }),
      signal: AbortSignal.any([batch.signal, late.signal]),
    });
    const text = await boundedText(response, LONGEST_REPLY);
    if (!response.ok) {
      const retryAfterMs = retryAfter(response.headers, deps.clock.now());
      throw reportedFailure({ status: response.status, text: text ?? "", retryAfterMs }, endpoint);
    }
    if (text === undefined) {
      throw protocolFailure(message`sent more than 64 MB of vectors`, endpoint, false);
    }
    return readReply(text, batch.texts.length, endpoint);
  } catch (error) {
    if (error instanceof ProviderFailure || !late.signal.aborted) throw requestFailure(error, endpoint);
    const text = message`${
      nameOf(endpoint)
    } sent no vectors within ${seconds} s; raise ${"first_byte_timeout_seconds"} of this provider`;
    throw new ProviderFailure(providerError("timeout", text), true);
  } finally {
    cancel();
  }
}

/** Reads a reply; every part is required, because a vector in the wrong position is a wrong answer. */
function readReply(text: string, count: number, endpoint: Endpoint): Embeddings {
  const body = parseJson(text);
  const broken = (what: Parameters<typeof protocolFailure>[0]) => protocolFailure(what, endpoint, false);
  if (!isRecord(body) || !Array.isArray(body.data)) {
    throw broken(message`did not answer with vectors: ${quote(text.slice(0, 1000), endpoint)}`);
  }
  const { data, usage } = body;
  if (data.length !== count) throw broken(message`sent ${data.length} vectors for ${count} texts`);
  const vectors: (readonly number[])[] = new Array(count);
  for (const item of data) {
    const { index, embedding } = isRecord(item) ? item : {};
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= count) {
      throw broken(message`sent a vector with the index ${String(index)} for ${count} texts`);
    }
    if (vectors[index] !== undefined) throw broken(message`sent two vectors with the index ${index}`);
    if (!isVector(embedding)) throw broken(message`sent no vector of numbers with the index ${index}`);
    vectors[index] = embedding;
  }
  return { vectors, inputTokens: tokensOf(usage) };
}

function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => Number.isFinite(each));
}

function tokensOf(usage: unknown): number | undefined {
  if (!isRecord(usage)) return undefined;
  const tokens = usage.prompt_tokens ?? usage.total_tokens;
  return typeof tokens === "number" && Number.isFinite(tokens) ? tokens : undefined;
}
