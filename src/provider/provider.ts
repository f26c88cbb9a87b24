import type { Chunk, FinishReason, Message, Prefix, Price, Usage } from "../core/mod.ts";
import { defined } from "../util/json.ts";
import type { ImageLimits } from "../util/image/fit_image.ts";
import type { RemoteMode } from "./remote/remote_server.ts";

/** The ways to request thinking from a model. Only `thinks`: the model decides. */
export interface ReasoningFacts {
  /** False: it does not think, and refuses requests for it. */
  readonly thinks: boolean;
  /** Levels that it takes by name, least first; vendors may have other names. */
  readonly levels?: readonly string[];
  /** It takes a number of tokens for thinking, within these bounds. */
  readonly budget?: { readonly min?: number; readonly max?: number };
  readonly toggle?: boolean;
}

export interface ResolvedEffort {
  /** The level to send; absent: nothing is sent. */
  readonly level?: string;
  /** The requested level, where the model does not have it. */
  readonly fellFrom?: string;
}

/** One concrete model at one vendor endpoint. */
export interface ModelInfo {
  readonly provider: string;
  /** Identifier sent on the wire. */
  readonly id: string;
  /** Tokens that a request may have; 0 when compaction is off, absent when unknown. */
  readonly contextWindow?: number;
  /** Output limit that is sent with every request. */
  readonly maxOutputTokens?: number;
  /** Most tokens of a reply; absent when unknown. */
  readonly outputLimit?: number;
  readonly price?: Price;
  readonly vision: boolean;
  /** Limits of images; absent = those of nearly all models. */
  readonly images?: ImageLimits;
  /** Absent when unknown. */
  readonly reasoning?: ReasoningFacts;
  /** The requested effort as this model has it; absent without one. */
  readonly effort?: ResolvedEffort;
  /** Settings of the entry that are not sent, because this model refuses them. */
  readonly unsent?: readonly string[];
  /** The way in which the model calls tools; absent = that of the wire. */
  readonly toolMode?: ToolMode;
}

/**
 * - "official": as the wire has it.
 * - "pseudo": the system prompt says how to write calls as text.
 * - "none": the model has no tools.
 */
export type ToolMode = "official" | "pseudo" | "none";

/**
 * One request. `messages` is the conversation itself, the same array object at every step and only ever
 * appended to: a provider may keep the serialised form of what it has seen.
 */
export interface ModelRequest {
  readonly prefix: Prefix;
  readonly messages: readonly Message[];
  /** "none" declares the tools (so that the prefix stays cached) but forbids calling them. */
  readonly toolChoice?: "auto" | "none";
  readonly maxOutputTokens?: number;
  /** Yields `call_progress` chunks while calls are written. A hint, which a provider may ignore. */
  readonly announceCalls?: true;
}

/** Texts as vectors, in the order of the texts. */
export interface Embeddings {
  /** One for each text, all of the same number of dimensions, with the length that the server gave them. */
  readonly vectors: readonly (readonly number[])[];
  /** Tokens as the server counted them; undefined when it does not report them. */
  readonly inputTokens: number | undefined;
}

/**
 * Speaks to one model.
 *
 * Contract: `stream` never throws once iteration has started; failures arrive as a chunk of type "error", an
 * abort as an error of kind "aborted". Retries happen inside and are visible as "retry" chunks. Tool calls
 * arrive complete.
 */
export interface Provider {
  readonly name: string;
  readonly model: ModelInfo;
  /** Support for MCP servers that the model's server calls. */
  readonly remoteMode?: RemoteMode | undefined;
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<Chunk>;
  /** Runs `stream` without the network, to load and compile its code before the first request. */
  warmUp?(request: ModelRequest, signal: AbortSignal): AsyncIterable<Chunk>;
  /** The context window of a server that the program manages. Rejects when there is no server. */
  askWindow?(): Promise<number | undefined>;
  /** The prefix of a conversation as it is sent, where that differs. */
  sentPrefix?(prefix: Prefix): Prefix;
  /** Input tokens of a request as the server counts them. Rejects with a ReasonixError. */
  count?(request: ModelRequest, signal: AbortSignal): Promise<number>;
  /**
   * Vectors for texts from a model of the same endpoint, which may differ from the one of `stream`. Absent
   * where the kind has none. Long lists are sent in several requests, which are repeated like others.
   *
   * Contract: all texts or none; no other server is contacted. Rejects with a ReasonixError (exit
   * "provider"), or with the reason of the signal.
   */
  embed?(texts: readonly string[], model: string, signal?: AbortSignal): Promise<Embeddings>;
}

type Optional = { [K in keyof Provider]-?: undefined extends Provider[K] ? K : never }[keyof Provider];

const OPTIONAL = [
  "remoteMode",
  "warmUp",
  "askWindow",
  "sentPrefix",
  "count",
  "embed",
] as const satisfies Optional[];

/** The optional members that a provider has, bound to it: it may be an object of a class. */
export function optionalMembers(provider: Provider): Partial<Pick<Provider, Optional>> {
  return defined(Object.fromEntries(OPTIONAL.map((name) => {
    const member = provider[name];
    return [name, typeof member === "function" ? member.bind(provider) : member];
  })));
}

/** A provider with these members, and all others of the inner one. */
export function wrapProvider(
  provider: Provider,
  own: Pick<Provider, "stream"> & Partial<Pick<Provider, Optional>>,
): Provider {
  return { name: provider.name, model: provider.model, ...optionalMembers(provider), ...own };
}

/** A reply that is not shown while it comes. */
export interface CollectedReply {
  readonly text: string;
  readonly usage?: Usage;
  readonly finish?: FinishReason;
  readonly error?: Extract<Chunk, { type: "error" }>["error"];
}

export async function collectReply(
  provider: Provider,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<CollectedReply> {
  let reply: CollectedReply = { text: "" };
  for await (const chunk of provider.stream(request, signal)) {
    if (chunk.type === "text") reply = { ...reply, text: reply.text + chunk.text };
    else if (chunk.type === "usage") reply = { ...reply, usage: chunk.usage };
    else if (chunk.type === "done") reply = { ...reply, finish: chunk.reason };
    else if (chunk.type === "error") reply = { ...reply, error: chunk.error };
    else if (chunk.type === "retry" && chunk.discarded) reply = { ...reply, text: "" };
  }
  return reply;
}
