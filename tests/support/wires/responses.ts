/**
 * The Responses API as its vendor describes it: items, encrypted reasoning, stored replies, the automatic
 * prompt cache, and the refusals that follow from breaking its rules.
 */
import { rawList } from "../model_checks.ts";
import type { Part, ScriptedAnswer } from "../model_wire.ts";
import { PromptCache, tokensOf } from "./prompt_cache.ts";
import { contextOf, type Json, refusalOf } from "./responses_rules.ts";
import type { Refusal, ScriptedWire, WireRequest } from "./scripted_wire.ts";

export interface ResponsesOptions {
  /** Optional fields that the model does not take, such as `temperature`. */
  readonly refuses?: readonly string[];
  /** Counts tokens and cached tokens unless the script gives them. */
  readonly counts?: boolean;
  /** Number of the request before which all stored replies are lost, as they are after a while; or always. */
  readonly losesAt?: number | "always";
  /** Fields of the provider entry. */
  readonly entry?: Readonly<Record<string, unknown>>;
}

/** Tokens that the server has counted for a reply. */
export interface CountedReply {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

/** An answer with items of the server's own, such as calls that it made, before the rest. */
export interface ItemAnswer extends ScriptedAnswer {
  readonly items?: readonly Json[];
}

export class ResponsesWire implements ScriptedWire {
  readonly kind = "responses";
  readonly basePath = "/v1";
  readonly entry: Readonly<Record<string, unknown>>;
  /** The counts for each reply, with the number of its request. */
  readonly replies: { readonly request: number; readonly tokens: CountedReply }[] = [];
  readonly #refuses: readonly string[];
  readonly #counts: boolean;
  readonly #losesAt: ResponsesOptions["losesAt"];
  readonly #stored = new Map<string, readonly Json[]>();
  readonly #sealed = new Map<string, string>();
  readonly #cache = new PromptCache({ minimum: 1024, step: 128 });
  #ids = 0;
  #requests = 0;

  constructor({ refuses = [], counts = false, losesAt, entry = {} }: ResponsesOptions = {}) {
    this.#refuses = refuses;
    this.#counts = counts;
    this.#losesAt = losesAt;
    this.entry = entry;
  }

  isCompletion(path: string): boolean {
    return /\/responses(?:\?|$)/.test(path);
  }

  models(ids: readonly string[]): Readonly<Record<string, unknown>> {
    return { object: "list", data: ids.map((id) => ({ id, object: "model", owned_by: "scripted" })) };
  }

  refusal({ json }: WireRequest): Refusal | undefined {
    this.#requests++;
    if (this.#losesAt === "always" || this.#requests === this.#losesAt) this.#stored.clear();
    return refusalOf(json, { stored: this.#stored, sealed: this.#sealed, refuses: this.#refuses });
  }

  /** No rule applies to a request that continues from a stored reply. */
  list({ body, json }: WireRequest): string | undefined {
    return json.store ? undefined : rawList(body, "input");
  }

  json(answer: ScriptedAnswer, turn: number, request: WireRequest): Readonly<Record<string, unknown>> {
    return this.#response(answer, this.#items(answer, turn), request);
  }

  *parts(answer: ScriptedAnswer, turn: number, request: WireRequest): Generator<Part> {
    let number = 0;
    const event = (type: string, fields: Record<string, unknown>): Part => {
      const data = JSON.stringify({ type, sequence_number: number++, ...fields });
      return `event: ${type}\ndata: ${data}\n\n`;
    };
    const items = this.#items(answer, turn);
    const whole = this.#response(answer, items, request);
    const begun = { ...whole, status: "in_progress", output: [], usage: null, incomplete_details: null };
    yield event("response.created", { response: begun });
    yield event("response.in_progress", { response: begun });
    for (const [output_index, item] of items.entries()) yield* itemEvents(item, output_index, answer, event);
    yield event(`response.${whole.status}`, { response: whole });
  }

  #items(answer: ItemAnswer, turn: number): Json[] {
    const items: Json[] = [...answer.items ?? []];
    const thought = textOf(answer.reasoning);
    if (thought !== "") {
      const id = `rs_${++this.#ids}`;
      const encrypted_content = `gAAAA${btoa(`${id}:${crypto.randomUUID()}`)}`;
      this.#sealed.set(encrypted_content, id);
      const summary = thought.split("\n\n").map((text) => ({ type: "summary_text", text }));
      items.push({ id, type: "reasoning", summary, encrypted_content });
    }
    const text = textOf(answer.text);
    if (text !== "") {
      const content = [{ type: "output_text", annotations: [], logprobs: [], text }];
      const id = `msg_${++this.#ids}`;
      items.push({ id, type: "message", status: "completed", content, role: "assistant" });
    }
    (answer.calls ?? []).forEach((call, at) => {
      items.push({
        id: `fc_${++this.#ids}`,
        type: "function_call",
        status: "completed",
        arguments: typeof call.args === "string" ? call.args : JSON.stringify(call.args ?? {}),
        call_id: call.id ?? `call_${turn}_${at}`,
        name: call.name,
      });
    });
    return items;
  }

  #response(answer: ScriptedAnswer, output: readonly Json[], { json }: WireRequest): Json {
    const id = `resp_${++this.#ids}`;
    const memory = { stored: this.#stored, sealed: this.#sealed, refuses: this.#refuses };
    const context = contextOf(json, memory);
    if (json.store) this.#stored.set(id, [...context, ...output]);
    const cut = answer.finish === "length" ? "max_output_tokens" : answer.finish;
    return {
      id,
      object: "response",
      created_at: 1_760_000_000,
      status: cut === undefined ? "completed" : "incomplete",
      error: null,
      incomplete_details: cut === undefined ? null : { reason: cut },
      instructions: json.instructions ?? null,
      model: json.model,
      output,
      previous_response_id: json.previous_response_id ?? null,
      store: json.store,
      usage: answer.usage === false ? null : this.#usage(answer, context, json, output),
    };
  }

  #usage(answer: ScriptedAnswer, context: readonly Json[], json: Json, output: readonly Json[]): Json {
    const prompt = `${json.instructions ?? ""}${JSON.stringify(json.tools ?? [])}${
      context.map((item) => JSON.stringify(promptItem(item))).join()
    }`;
    const read = this.#cache.read(prompt);
    const thought = tokensOf(textOf(answer.reasoning));
    const said = tokensOf(JSON.stringify(output.map(promptItem)));
    const own = this.#counts
      ? { input: tokensOf(prompt), cached: read, output: said + thought, reasoning: thought }
      : { input: 10, cached: 0, output: 5, reasoning: 0 };
    const { input, cached, output: all, reasoning } = { ...own, ...answer.usage || {} };
    this.replies.push({ request: this.#requests, tokens: { input, cached, output: all, reasoning } });
    return {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: all,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + all,
    };
  }
}

/** An item as the model reads it: the same whether it was sent or stored. */
function promptItem({ id: _id, status: _status, summary: _summary, ...item }: Json): Json {
  if (item.type !== "message" || typeof item.content === "string") return { ...item };
  const texts = item.content.map((part: Json) => part.text);
  return texts.length === 1 && texts[0] !== undefined ? { ...item, content: texts[0] } : { ...item };
}

function* itemEvents(
  item: Json,
  output_index: number,
  answer: ScriptedAnswer,
  event: (type: string, fields: Record<string, unknown>) => Part,
): Generator<Part> {
  const at = { item_id: item.id, output_index };
  const empty = item.type === "reasoning"
    ? { summary: [], encrypted_content: item.encrypted_content.slice(0, 8) }
    : item.type === "message"
    ? { content: [], status: "in_progress" }
    : item.type !== "function_call"
    ? item.arguments === undefined ? {} : { arguments: "" }
    : { arguments: "", status: "in_progress" };
  yield event("response.output_item.added", { output_index, item: { ...item, ...empty } });
  if (item.type === "reasoning") {
    for (const [summary_index, part] of item.summary.entries()) {
      const place = { ...at, summary_index };
      yield event("response.reasoning_summary_part.added", { ...place, part: { ...part, text: "" } });
      yield event("response.reasoning_summary_text.delta", { ...place, delta: part.text });
      yield event("response.reasoning_summary_text.done", { ...place, text: part.text });
      yield event("response.reasoning_summary_part.done", { ...place, part });
    }
  } else if (item.type === "message") {
    const place = { ...at, content_index: 0 };
    const [part] = item.content;
    yield event("response.content_part.added", { ...place, part: { ...part, text: "" } });
    for (const delta of piecesOf(answer.text)) {
      yield event("response.output_text.delta", { ...place, delta, logprobs: [] });
    }
    yield event("response.output_text.done", { ...place, text: part.text, logprobs: [] });
    yield event("response.content_part.done", { ...place, part });
  } else if (item.type === "function_call") {
    const [first, second] = [item.arguments.slice(0, 7), item.arguments.slice(7)];
    for (const delta of [first, second]) {
      yield event("response.function_call_arguments.delta", { ...at, delta, obfuscation: "x7" });
    }
    yield event("response.function_call_arguments.done", { ...at, arguments: item.arguments });
  }
  yield event("response.output_item.done", { output_index, item });
}

function piecesOf(text: string | readonly string[] | undefined): readonly string[] {
  return text === undefined ? [] : typeof text === "string" ? [text] : text;
}

function textOf(text: string | readonly string[] | undefined): string {
  return piecesOf(text).join("");
}
