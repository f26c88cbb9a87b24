/** The Messages API as its vendor describes it: events, rules, signed thoughts, and the prompt cache. */
import type { Part, ScriptedAnswer, ScriptedUsage } from "../model_wire.ts";
import { type InputCount, PromptCache, unmarked } from "./anthropic/cache.ts";
import { brokenRule } from "./anthropic/rules.ts";
import type { MessagesRequest, ThinkingStyle, WireBlock } from "./anthropic/shapes.ts";
import { redactedData, signatureFor } from "./anthropic/signatures.ts";
import type { ScriptedWire, WireRequest } from "./scripted_wire.ts";

export interface AnthropicWireOptions {
  /** The thinking style of the model; adaptive by default. */
  readonly thinking?: ThinkingStyle;
  /** Thoughts are bound to the conversation before them. */
  readonly bound?: boolean;
  /** Counts tokens as the vendor's cache would, in place of the usual small numbers. */
  readonly counts?: boolean;
  /** Tokens that a prefix needs to be cached. */
  readonly minimum?: number;
}

/** An answer whose blocks come in a separate order. */
export interface BlockAnswer extends ScriptedAnswer {
  readonly blocks?: readonly (WireBlock | "redacted")[];
  /** The vendor's own reason, with what it says next to it. */
  readonly stop?: { readonly stop_reason: string; readonly stop_details?: Readonly<Record<string, unknown>> };
}

/** The counts of the server in all. */
export interface Counted {
  input: number;
  read: number;
  written: number;
  output: number;
}

export interface AnthropicWire extends ScriptedWire {
  readonly cache: PromptCache;
  /** Tokens of all replies that went out whole. */
  readonly counted: Counted;
  /** Tokens of the input of each request, in order. */
  readonly inputs: InputCount[];
}

const STOPS: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

export function anthropicWire(options: AnthropicWireOptions = {}): AnthropicWire {
  const { thinking = "adaptive", bound = false, counts = false, minimum = 1024 } = options;
  const cache = new PromptCache(minimum);
  const counted: Counted = { input: 0, read: 0, written: 0, output: 0 };
  const inputs: InputCount[] = [];
  const usageOf = (answer: BlockAnswer, { json }: WireRequest) => {
    const input = counts ? cache.count(json) : countOf(answer.usage || {});
    const output = counts ? 20 + JSON.stringify([answer.text, answer.calls]).length : 5;
    const { output: said = output, reasoning } = answer.usage || {};
    inputs.push(input);
    return { input, output: said, reasoning };
  };
  const count = ({ input, output }: { readonly input: InputCount; readonly output: number }) => {
    counted.input += input.fresh;
    counted.read += input.read;
    counted.written += input.written;
    counted.output += output;
  };
  return {
    kind: "anthropic",
    basePath: "",
    cache,
    counted,
    inputs,
    isCompletion: (path) => path === "/v1/messages",
    models: (ids) => ({ data: ids.map((id) => ({ type: "model", id, display_name: id })), has_more: false }),
    *parts(answer, turn, request) {
      const usage = usageOf(answer, request);
      const wireUsage = answer.usage === false ? undefined : usage;
      yield* events(blocksOf(answer, turn, request.json), answer, wireUsage);
      count(usage);
    },
    json(answer, turn, request) {
      const usage = usageOf(answer, request);
      count(usage);
      return {
        ...MESSAGE,
        content: blocksOf(answer, turn, request.json),
        ...stopOf(answer),
        ...(answer.usage === false ? {} : { usage: { ...inputUsage(usage.input), ...outputUsage(usage) } }),
      };
    },
    problems: ({ json }) => alternation(json),
    refusal: ({ json, headers }) => {
      const message = json.mcp_servers && !headers.get("anthropic-beta")?.includes("mcp-client-")
        ? "mcp_servers: Extra inputs are not permitted"
        : brokenRule(json, { thinking, bound });
      if (message === undefined) return undefined;
      const error = { type: "invalid_request_error", message };
      return { status: 400, body: { type: "error", error, request_id: "req_refused" } };
    },
    list: ({ json }) =>
      (json as MessagesRequest).messages.flatMap(({ role, content }) =>
        content.map((block) => `${role} ${unmarked(block)}`)
      ).join(","),
  };
}

const MESSAGE = { id: "msg_1", type: "message", role: "assistant", model: "scripted" };

function countOf({ input = 10, cached = 0 }: ScriptedUsage): InputCount {
  return { fresh: input - cached, read: cached, written: 0 };
}

function alternation({ messages }: MessagesRequest): string[] {
  return messages.flatMap(({ role }, at) =>
    messages[at - 1]?.role === role ? [`message ${at}: another message of the ${role} in a row`] : []
  );
}

function list(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}

/** The content blocks of an answer, thoughts signed. */
function blocksOf(answer: BlockAnswer, turn: number, request: MessagesRequest): readonly WireBlock[] {
  const said = (type: string, pieces: readonly string[]) => pieces.length === 0 ? [] : [{ type, pieces }];
  const plain = [
    ...said("thinking", list(answer.reasoning)),
    ...said("text", list(answer.text)),
    ...(answer.calls ?? []).map(({ id, name, args }, at) => ({
      type: "tool_use",
      id: id ?? `toolu_${turn}_${at}`,
      name,
      input: args ?? {},
    })),
  ];
  return (answer.blocks ?? plain).map((block): WireBlock => {
    if (block === "redacted") return { type: "redacted_thinking", data: redactedData(request) };
    const { pieces, ...rest } = block as WireBlock & { readonly pieces?: readonly string[] };
    if (rest.type === "thinking") {
      const thinking = pieces?.join("") ?? rest.thinking;
      return { ...rest, thinking, signature: rest.signature ?? signatureFor(thinking, request), pieces };
    }
    return rest.type === "text" ? { ...rest, text: pieces?.join("") ?? rest.text, pieces } : rest;
  }).map(({ pieces, ...block }) =>
    Object.defineProperty(block, "pieces", { value: pieces, enumerable: false })
  );
}

interface ReplyCount {
  readonly input: InputCount;
  readonly output: number;
  readonly reasoning?: number | undefined;
}

function inputUsage({ fresh, read, written }: InputCount): Record<string, number> {
  return { input_tokens: fresh, cache_read_input_tokens: read, cache_creation_input_tokens: written };
}

function outputUsage({ output, reasoning }: ReplyCount): Record<string, unknown> {
  return {
    output_tokens: output,
    ...(reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}

function stopOf(answer: BlockAnswer): Record<string, unknown> {
  if (answer.stop) return { stop_sequence: null, stop_details: null, ...answer.stop };
  const finish = answer.finish ?? (answer.calls?.length ? "tool_calls" : "stop");
  return { stop_reason: STOPS[finish] ?? finish, stop_sequence: null, stop_details: null };
}

/** One event with its `event:` line. */
export function wireEvent(event: Readonly<Record<string, unknown>>): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function* events(
  blocks: readonly WireBlock[],
  answer: BlockAnswer,
  usage: ReplyCount | undefined,
): Generator<Part, void> {
  const started = usage && { usage: { ...inputUsage(usage.input), output_tokens: 1 } };
  yield wireEvent({
    type: "message_start",
    message: { ...MESSAGE, content: [], stop_reason: null, ...started },
  });
  for (const [index, block] of blocks.entries()) {
    yield* blockEvents(index, block);
    if (index === 0) yield wireEvent({ type: "ping" });
  }
  const ended = usage && { usage: { ...inputUsage(usage.input), ...outputUsage(usage) } };
  yield wireEvent({ type: "message_delta", delta: stopOf(answer), ...ended });
  yield wireEvent({ type: "message_stop" });
}

function* blockEvents(index: number, block: WireBlock): Generator<Part, void> {
  const delta = (fields: Record<string, unknown>) =>
    wireEvent({ type: "content_block_delta", index, delta: fields });
  const start = (content: WireBlock) =>
    wireEvent({ type: "content_block_start", index, content_block: content });
  const pieces = (text: string): readonly string[] => block.pieces ?? [text];
  switch (block.type) {
    case "text":
      yield start({ type: "text", text: "" });
      for (const text of pieces(block.text)) yield delta({ type: "text_delta", text });
      break;
    case "thinking":
      yield start({ type: "thinking", thinking: "", signature: "" });
      for (const thinking of pieces(block.thinking)) yield delta({ type: "thinking_delta", thinking });
      yield delta({ type: "signature_delta", signature: block.signature });
      break;
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use": {
      yield start({ ...block, input: {} });
      const json = typeof block.input === "string" ? block.input : JSON.stringify(block.input);
      yield delta({ type: "input_json_delta", partial_json: "" });
      const half = json.length >> 1;
      for (const partial of [json.slice(0, half), json.slice(half)]) {
        yield delta({ type: "input_json_delta", partial_json: partial });
      }
      break;
    }
    default:
      yield start(block);
  }
  yield wireEvent({ type: "content_block_stop", index });
}
