/** Gemini's `streamGenerateContent` as its vendor describes it: events, rules, signatures, implicit cache. */
import { rawList } from "../model_checks.ts";
import type { Part, ScriptedAnswer } from "../model_wire.ts";
import { brokenRule } from "./google/rules.ts";
import type { GenerateRequest, WirePart } from "./google/shapes.ts";
import { Signatures } from "./google/signatures.ts";
import { PromptCache, tokensOf } from "./prompt_cache.ts";
import type { ScriptedWire, WireRequest } from "./scripted_wire.ts";

export interface GoogleWireOptions {
  /** Generation of the model: 3 by default. */
  readonly generation?: number;
  /** Counts tokens as the vendor's cache would, in place of the usual small numbers. */
  readonly counts?: boolean;
  /** Tokens that a prefix needs to be cached. */
  readonly minimum?: number;
}

/** An answer whose parts come in a separate order. */
export interface PartsAnswer extends ScriptedAnswer {
  /** `signed` marks the parts that get a signature. */
  readonly parts?: readonly (WirePart & { readonly signed?: boolean })[];
  /** The vendor's own reason, with what it says next to it. */
  readonly ending?: { readonly finishReason: string; readonly finishMessage?: string };
}

/** The counts of the server in all. */
export interface Counted {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

export interface GoogleWire extends ScriptedWire {
  readonly cache: PromptCache;
  readonly signatures: Signatures;
  /** Tokens of all replies that went out whole. */
  readonly counted: Counted;
  /** Tokens of each request, in order. */
  readonly inputs: { readonly input: number; readonly cached: number }[];
}

const FINISH: Readonly<Record<string, string>> = {
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
};
const PATH = /^\/v1beta\/models\/[^/:]+:streamGenerateContent\?alt=sse$/;

export function googleWire(options: GoogleWireOptions = {}): GoogleWire {
  const { generation = 3, counts = false, minimum = 2048 } = options;
  const signatures = new Signatures();
  const cache = new PromptCache({ minimum, step: 1 });
  const counted: Counted = { input: 0, cached: 0, output: 0, reasoning: 0 };
  const inputs: GoogleWire["inputs"] = [];
  const usageOf = (answer: PartsAnswer, { body, json }: WireRequest): Counted => {
    const given = answer.usage || {};
    const prompt = counts ? promptOf(body, json) : "";
    const input = counts ? tokensOf(prompt) : given.input ?? 10;
    const cached = counts ? cache.read(prompt) : given.cached ?? 0;
    inputs.push({ input, cached });
    const output = counts ? 20 + tokensOf(JSON.stringify([answer.text, answer.calls])) : 5;
    return { input, cached, output: given.output ?? output, reasoning: given.reasoning ?? (counts ? 7 : 0) };
  };
  const count = (usage: Counted) => {
    counted.input += usage.input;
    counted.cached += usage.cached;
    counted.output += usage.output;
    counted.reasoning += usage.reasoning;
  };
  return {
    kind: "google",
    basePath: "/v1beta",
    cache,
    signatures,
    counted,
    inputs,
    isCompletion: (path) => PATH.test(path),
    models: (ids) => ({
      models: ids.map((id) => ({ name: `models/${id}`, supportedGenerationMethods: ["generateContent"] })),
    }),
    *parts(answer, _turn, request) {
      const usage = usageOf(answer, request);
      yield* events(partsOf(answer, signatures, generation), answer, usage);
      count(usage);
    },
    json(answer, _turn, request) {
      const usage = usageOf(answer, request);
      count(usage);
      const parts = partsOf(answer, signatures, generation);
      return answerEvent(parts, answer.usage === false ? undefined : usage, endingOf(answer));
    },
    refusal: ({ json }) => {
      const message = brokenRule(json, { generation, signatures });
      if (message === undefined) return undefined;
      return { status: 400, body: { error: { code: 400, message, status: "INVALID_ARGUMENT" } } };
    },
    list: ({ json }) =>
      (json as GenerateRequest).contents.flatMap(({ role, parts }) =>
        parts.map((part) => `${role} ${JSON.stringify(part)}`)
      ).join(","),
  };
}

/** All that the cache sees, in the order in which the vendor puts it together. */
function promptOf(body: string, { systemInstruction, tools }: GenerateRequest): string {
  return `${JSON.stringify([tools, systemInstruction])}${rawList(body, "contents")}`;
}

function list(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}

/** The parts of an answer: signed on the first call, or behind the last text. */
function partsOf(
  { parts, reasoning, text, calls = [] }: PartsAnswer,
  signatures: Signatures,
  generation: number,
): readonly WirePart[] {
  if (parts) {
    return parts.map(({ signed, ...part }) => signed ? signatures.signed(part) : part);
  }
  const thoughts = list(reasoning).map((thought) => ({ text: thought, thought: true }));
  const said = list(text).map((text) => ({ text }));
  const called = calls.map(({ id, name, args = {} }) => ({
    functionCall: { ...(id === undefined ? {} : { id }), name, args },
  }));
  const signs = generation >= 3 || thoughts.length > 0;
  if (!signs) return [...thoughts, ...said, ...called];
  if (called.length > 0) {
    return [...thoughts, ...said, ...called.map((call, at) => at === 0 ? signatures.signed(call) : call)];
  }
  return [...thoughts, ...said, signatures.signed({ text: "" })];
}

function endingOf(answer: PartsAnswer): WirePart {
  return answer.ending ?? { finishReason: FINISH[answer.finish ?? ""] ?? "STOP" };
}

function usageMetadata({ input, cached, output, reasoning }: Counted): WirePart {
  return {
    promptTokenCount: input,
    ...(output > reasoning ? { candidatesTokenCount: output - reasoning } : {}),
    totalTokenCount: input + output,
    ...(cached > 0 ? { cachedContentTokenCount: cached } : {}),
    promptTokensDetails: [{ modality: "TEXT", tokenCount: input }],
    ...(reasoning > 0 ? { thoughtsTokenCount: reasoning } : {}),
  };
}

function answerEvent(
  parts: readonly WirePart[],
  usage: Counted | undefined,
  ending: WirePart = {},
): WirePart {
  return {
    candidates: [{ content: { parts, role: "model" }, ...ending, index: 0 }],
    ...(usage === undefined ? {} : { usageMetadata: usageMetadata(usage) }),
    modelVersion: "scripted",
    responseId: "r1",
  };
}

/** One event as the vendor writes it. */
export function wireEvent(event: WirePart): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

/** Counts grow from event to event; the last ones have the reason of the end and the totals. */
function* events(parts: readonly WirePart[], answer: PartsAnswer, usage: Counted): Generator<Part, void> {
  const counts = answer.usage === false ? undefined : usage;
  for (const [at, part] of parts.entries()) {
    const soFar = counts &&
      { ...counts, output: Math.min(at, counts.output - counts.reasoning), reasoning: 0 };
    yield wireEvent(answerEvent([part], soFar));
  }
  yield wireEvent(answerEvent([{ text: "" }], undefined, endingOf(answer)));
  if (counts) yield wireEvent({ usageMetadata: usageMetadata(counts), modelVersion: "scripted" });
}
