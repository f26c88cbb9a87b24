/** A provider of kind "openai" for a test's server, and its output. */
import { parseProvider, type ProviderEntry } from "../../src/config/mod.ts";
import type {
  AssistantMessage,
  Chunk,
  Message,
  Prefix,
  ProviderError,
  ToolCall,
  Usage,
} from "../../src/core/mod.ts";
import { type Clock, type CreateOptions, createProvider, type Provider } from "../../src/provider/mod.ts";
import { assertEquals } from "./assert.ts";
import { type Part, startModelServer } from "./model_server.ts";
import type { ScriptedWire } from "./wires/scripted_wire.ts";

/** A provider entry as configuration would give it, defaults included. */
export function providerEntry(fields: Record<string, unknown>): ProviderEntry {
  return parseProvider({ name: "test", ...fields });
}

/** A clock whose waits pass at once and are kept for inspection; limits of a request never expire. */
export class InstantClock implements Clock {
  readonly waits: number[] = [];
  time = 1_700_000_000_000;

  now(): number {
    return this.time;
  }

  after(_ms: number, _task: () => void): () => void {
    return () => {};
  }

  sleep(ms: number): Promise<void> {
    this.waits.push(ms);
    this.time += ms;
    return Promise.resolve();
  }
}

export interface ClientOptions {
  readonly entry?: Record<string, unknown>;
  readonly apiKey?: string;
  readonly clock?: Clock;
  readonly effort?: string;
  readonly record?: CreateOptions["record"];
  readonly values?: CreateOptions["values"];
}

export function openClient(
  server: { readonly url: string; readonly wire?: ScriptedWire },
  options: ClientOptions = {},
): Promise<Provider> {
  return createProvider({
    entry: providerEntry({
      base_url: server.url,
      ...(server.wire ? { kind: server.wire.kind } : {}),
      ...server.wire?.entry,
      ...options.entry,
    }),
    model: "m",
    version: "1.2.3",
    ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
    ...(options.effort === undefined ? {} : { effort: options.effort }),
    ...(options.record === undefined ? {} : { record: options.record }),
    ...(options.values === undefined ? {} : { values: options.values }),
    deps: { random: () => 0.5, ...(options.clock ? { clock: options.clock } : {}) },
  });
}

export const HELLO: readonly Message[] = [{ role: "user", content: "Hello" }];

/** Everything one request gave, sorted. */
export interface Outcome {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly usage: Usage | undefined;
  readonly reason: string | undefined;
  readonly error: ProviderError | undefined;
  readonly retries: readonly Extract<Chunk, { type: "retry" }>[];
}

/** Runs one request to its end. Text that a retry discarded is left out. */
export async function collect(
  provider: Provider,
  messages: readonly Message[] = HELLO,
  signal: AbortSignal = new AbortController().signal,
  prefix: Prefix = PREFIX,
): Promise<Outcome> {
  const chunks: Chunk[] = [];
  for await (const chunk of provider.stream({ prefix, messages }, signal)) chunks.push(chunk);
  return sortOut(chunks);
}

/** The message that an agent keeps of a reply. */
export function messageOf({ text, reasoning, calls, chunks }: Outcome): AssistantMessage {
  const parts = chunks.flatMap((chunk) => chunk.type === "part" ? [chunk.part] : []);
  return { role: "assistant", content: text, reasoning, calls, parts };
}

/** Runs one request, and appends its reply and a result for each call; the reply may not fail. */
export async function takeStep(
  provider: Provider,
  messages: Message[],
  { prefix = PREFIX, result = () => "ok" }: {
    readonly prefix?: Prefix;
    readonly result?: (call: ToolCall) => string;
  } = {},
): Promise<Outcome> {
  const outcome = await collect(provider, messages, undefined, prefix);
  assertEquals(outcome.error, undefined);
  messages.push(messageOf(outcome));
  for (const call of outcome.calls) {
    messages.push({ role: "tool", callId: call.id, name: call.name, content: result(call) });
  }
  return outcome;
}

export const PREFIX = { system: "Be brief", tools: [] };

function sortOut(chunks: readonly Chunk[]): Outcome {
  const last = chunks.findLastIndex((chunk) => chunk.type === "retry" && chunk.discarded);
  const counted = chunks.slice(last + 1);
  const texts = (type: "text" | "reasoning") =>
    counted.map((chunk) => chunk.type === type && "text" in chunk ? chunk.text : "").join("");
  return {
    chunks,
    text: texts("text"),
    reasoning: texts("reasoning"),
    calls: counted.flatMap((chunk) => chunk.type === "tool_call" ? [chunk.call] : []),
    usage: counted.flatMap((chunk) => chunk.type === "usage" ? [chunk.usage] : [])[0],
    reason: counted.flatMap((chunk) => chunk.type === "done" ? [chunk.reason] : [])[0],
    error: counted.flatMap((chunk) => chunk.type === "error" ? [chunk.error] : [])[0],
    retries: chunks.flatMap((chunk) => chunk.type === "retry" ? [chunk] : []),
  };
}

/** The outcome of one scripted stream, without retries. */
export async function outcomeOf(
  stream: readonly Part[],
  entry: Record<string, unknown> = {},
): Promise<Outcome> {
  await using server = startModelServer([{ stream }]);
  return await collect(await openClient(server, { entry: { max_attempts: 1, ...entry } }));
}
