/** The facts that a scripted model server needs of the wire that it speaks. */
import type { Part, ScriptedAnswer } from "../model_wire.ts";

/** The request that an answer is for. */
export interface WireRequest {
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
  // deno-lint-ignore no-explicit-any
  readonly json: any;
}

/** The answer of a server in place of its script, because the request breaks the vendor's rules. */
export interface Refusal {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** True if an agent cannot know the rule; it is no violation then. */
  readonly expected?: boolean;
}

/**
 * One wire as its vendor's server speaks it. An object may have state (stored items, signatures, its cache),
 * so each server has a separate one.
 */
export interface ScriptedWire {
  /** The provider kind that speaks it. */
  readonly kind: string;
  /** Fields of a provider entry, next to `kind` and `base_url`. */
  readonly entry?: Readonly<Record<string, unknown>>;
  /** Text after host and port in a base URL. */
  readonly basePath: string;
  /** Reports whether a POST to this path asks for a reply. */
  isCompletion(path: string): boolean;
  /** The body of a list of models. */
  models(ids: readonly string[]): Readonly<Record<string, unknown>>;
  /** The well-formed event stream of an answer, its end included. */
  parts(answer: ScriptedAnswer, turn: number, request: WireRequest): Iterable<Part>;
  /** The same answer without streaming, if the wire supports it. */
  json?(answer: ScriptedAnswer, turn: number, request: WireRequest): Readonly<Record<string, unknown>>;
  /** Violations by a request of the rules for every agent. */
  problems?(request: WireRequest): readonly string[];
  /** The vendor's own answer to a request that breaks its rules; kept as a violation, too. */
  refusal?(request: WireRequest): Refusal | undefined;
  /** Raw text of the list that only grows from request to request; undefined without such a rule. */
  list(request: WireRequest): string | undefined;
}
