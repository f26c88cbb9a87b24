/** Builders for the bytes a chat-completions server streams. */

/**
 * One piece of a scripted body: an event (object), text or bytes sent as they are, or something to wait for
 * first.
 */
export type Part = string | Uint8Array | Promise<unknown> | Readonly<Record<string, unknown>>;

export interface ScriptedCall {
  readonly id?: string;
  readonly name: string;
  /** An object is sent as its JSON text. */
  readonly args?: unknown;
}

export interface ScriptedUsage {
  readonly input?: number;
  readonly cached?: number;
  readonly output?: number;
  readonly reasoning?: number;
}

/** The content of one well-formed turn of a model. */
export interface ScriptedAnswer {
  readonly reasoning?: string | readonly string[];
  readonly text?: string | readonly string[];
  readonly calls?: readonly ScriptedCall[];
  /** False leaves the usage out. */
  readonly usage?: ScriptedUsage | false;
  readonly finish?: string;
}

export const DONE = "data: [DONE]\n\n";

const HEAD = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1700000000, model: "scripted" };

/** A stream event with the given delta in its only choice. */
export function deltaEvent(delta: Record<string, unknown>, finish: string | null = null): Part {
  return { ...HEAD, choices: [{ index: 0, delta, finish_reason: finish }] };
}

export function textEvent(text: string): Part {
  return deltaEvent({ content: text });
}

/** A stream event with tool-call deltas exactly as given. */
export function callEvent(...toolCalls: readonly unknown[]): Part {
  return deltaEvent({ tool_calls: toolCalls });
}

export function finishEvent(reason = "stop"): Part {
  return deltaEvent({}, reason);
}

function wireUsage(usage: ScriptedUsage = {}): Record<string, unknown> {
  const input = usage.input ?? 10;
  const output = usage.output ?? 5;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: usage.cached ?? 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  };
}

export function usageEvent(usage: ScriptedUsage = {}): Part {
  return { ...HEAD, choices: [], usage: wireUsage(usage) };
}

/** The text of one server-sent event. */
export function sse(event: unknown): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

function list(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
}

function callText(call: ScriptedCall): string {
  return typeof call.args === "string" ? call.args : JSON.stringify(call.args ?? {});
}

/** The well-formed event stream of an answer, `[DONE]` included. */
export function answerParts(answer: ScriptedAnswer, turn: number): Part[] {
  const parts: Part[] = [deltaEvent({ role: "assistant", content: "" })];
  for (const piece of list(answer.reasoning)) parts.push(deltaEvent({ reasoning_content: piece }));
  for (const piece of list(answer.text)) parts.push(textEvent(piece));
  (answer.calls ?? []).forEach((call, index) => {
    const id = call.id ?? `call_${turn}_${index}`;
    parts.push(callEvent({ index, id, type: "function", function: { name: call.name, arguments: "" } }));
    parts.push(callEvent({ index, function: { arguments: callText(call) } }));
  });
  parts.push(finishEvent(answer.finish ?? (answer.calls?.length ? "tool_calls" : "stop")));
  if (answer.usage !== false) parts.push(usageEvent(answer.usage));
  parts.push(DONE);
  return parts;
}

/** The same answer as a completion that is not streamed. */
export function answerJson(answer: ScriptedAnswer, turn: number): Record<string, unknown> {
  const calls = (answer.calls ?? []).map((call, index) => ({
    id: call.id ?? `call_${turn}_${index}`,
    type: "function",
    function: { name: call.name, arguments: callText(call) },
  }));
  const reasoning = list(answer.reasoning).join("");
  return {
    ...HEAD,
    object: "chat.completion",
    choices: [{
      index: 0,
      message: {
        role: "assistant",
        content: list(answer.text).join("") || null,
        ...(reasoning ? { reasoning_content: reasoning } : {}),
        ...(calls.length ? { tool_calls: calls } : {}),
      },
      finish_reason: answer.finish ?? (calls.length ? "tool_calls" : "stop"),
    }],
    ...(answer.usage === false ? {} : { usage: wireUsage(answer.usage) }),
  };
}
