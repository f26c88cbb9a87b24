import type { Event, EventOf } from "../../core/mod.ts";
import type { Output } from "../output.ts";
import { type Printer, resultObject, type RunResult, type RunStart } from "../result.ts";

/**
 * `stream-json`: the line shapes that SDK parsers of headless agents know (system, assistant, user, result).
 */
export class StreamJsonPrinter implements Printer {
  readonly #out: Output;
  readonly #permissionMode: string;
  #session = "";
  /** Events from before the conversation was open wait: the first line says which one it is. */
  #early: Event[] | undefined = [];

  constructor(out: Output, permissionMode: string) {
    this.#out = out;
    this.#permissionMode = permissionMode;
  }

  async begin({ session, cwd, model, tools }: RunStart): Promise<void> {
    this.#session = session;
    await this.#line({
      type: "system",
      subtype: "init",
      cwd,
      model,
      tools,
      mcp_servers: [],
      permissionMode: this.#permissionMode,
    });
    await this.#release();
  }

  event(event: Event): void | Promise<void> {
    if (this.#early) {
      this.#early.push(event);
      return;
    }
    switch (event.type) {
      case "message.retry":
        return this.#line({
          type: "system",
          subtype: "retry",
          attempt: event.attempt,
          max_attempts: event.maxAttempts,
          wait_ms: event.waitMs,
          reason: event.reason,
        });
      case "message.end":
        return event.step === 0 ? undefined : this.#line(assistantLine(event));
      case "tool.end":
        return this.#line({
          type: "user",
          message: {
            role: "user",
            content: [{
              type: "tool_result",
              tool_use_id: event.callId,
              content: event.content,
              is_error: event.outcome !== "ok",
            }],
          },
          parent_tool_use_id: null,
        });
      case "notice":
        return this.#line({ type: "system", subtype: "notice", level: event.level, text: event.text });
    }
  }

  async result(result: RunResult): Promise<void> {
    await this.#release();
    await this.#out.write(`${JSON.stringify(resultObject(result))}\n`);
    await this.#out.flush();
  }

  async #release(): Promise<void> {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const event of early) await this.event(event);
  }

  #line(value: Record<string, unknown>): void | Promise<void> {
    return this.#out.write(`${JSON.stringify({ ...value, session_id: this.#session })}\n`);
  }
}

function assistantLine(event: EventOf<"message.end">): Record<string, unknown> {
  const content: Record<string, unknown>[] = [];
  if (event.reasoning) content.push({ type: "thinking", thinking: event.reasoning });
  if (event.content !== "") content.push({ type: "text", text: event.content });
  for (const call of event.calls ?? []) {
    content.push({ type: "tool_use", id: call.id, name: call.name, input: parsed(call.arguments) });
  }
  const usage = event.usage;
  return {
    type: "assistant",
    message: {
      id: `msg_${event.seq}`,
      type: "message",
      role: "assistant",
      model: event.model,
      content,
      stop_reason: stopReason(event),
      usage: {
        input_tokens: usage ? usage.inputTokens - usage.cachedTokens : 0,
        cache_read_input_tokens: usage?.cachedTokens ?? 0,
        cache_creation_input_tokens: 0,
        output_tokens: usage?.outputTokens ?? 0,
      },
    },
    parent_tool_use_id: null,
  };
}

function stopReason({ calls, finish, interrupted }: EventOf<"message.end">): string | null {
  if (interrupted) return null;
  if (calls?.length) return "tool_use";
  return finish === "length" ? "max_tokens" : finish === "content_filter" ? "refusal" : "end_turn";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { raw: text };
  }
}
