import { type Event, type EventOf, freshTokens, isMessage } from "../../core/mod.ts";
import { VERSION } from "../../util/version.ts";
import type { Output } from "../output.ts";
import { argumentsOf, type Printer, resultObject, type RunResult, type RunStart } from "../result.ts";
import { SDK_SERVER_STATES } from "../claude_names.ts";
import { PartialMessage } from "./partial_message.ts";

export interface StreamJsonOptions {
  /** Answers to permission questions, by the name that the readers of this format know. */
  readonly permissionMode: string;
  /** Writes the pieces of a message too, as they come. */
  readonly partialMessages: boolean;
}

type Line = Readonly<Record<string, unknown>>;

/**
 * `stream-json`: the line shapes that the SDKs of Claude Code read (system, assistant, user, stream_event,
 * result). One `init` and one result for each turn.
 */
export class StreamJsonPrinter implements Printer {
  readonly #out: Output;
  readonly #options: StreamJsonOptions;
  readonly #partial: PartialMessage | undefined;
  #session = "";
  #stopReason: string | null = null;
  /** Events from before the conversation was open wait: the first line says which one it is. */
  #early: Event[] | undefined = [];

  constructor(out: Output, options: StreamJsonOptions) {
    this.#out = out;
    this.#options = options;
    this.#partial = options.partialMessages ? new PartialMessage() : undefined;
  }

  async begin(start: RunStart): Promise<void> {
    const { session, cwd, model, tools, skills, agents, servers, commands, keyed, permissionMode } = start;
    this.#session = session;
    const init = {
      type: "system",
      subtype: "init",
      cwd,
      model,
      tools,
      mcp_servers: servers.map(({ name, state }) => ({ name, status: SDK_SERVER_STATES[state] })),
      permissionMode: permissionMode ?? this.#options.permissionMode,
      apiKeySource: keyed ? "user" : "none",
      slash_commands: await commands(),
      skills,
      agents: await agents(),
      plugins: [],
      output_style: "default",
      claude_code_version: VERSION,
    };
    await this.#write([init, ...this.#released()]);
  }

  event(event: Event): void | Promise<void> {
    if (!this.#early) return this.#write(this.#linesOf(event));
    this.#early.push(event);
  }

  async result(result: RunResult): Promise<void> {
    const line = sdkResult(result);
    this.#session = result.session ?? (this.#session || String(line.session_id));
    await this.#write([...this.#released(), { ...line, stop_reason: this.#stopReason }]);
    await this.#out.flush();
  }

  #released(): readonly Line[] {
    const early = this.#early ?? [];
    this.#early = undefined;
    return early.flatMap((event) => this.#linesOf(event));
  }

  #linesOf(event: Event): readonly Line[] {
    const pieces = this.#partial?.pieces(event) ?? [];
    const line = lineOf(event);
    if (event.type === "message.end" && event.step > 0 && isMessage(event)) {
      this.#stopReason = stopReason(event);
    }
    return [
      ...pieces.map((piece) => ({ type: "stream_event", event: piece, parent_tool_use_id: null })),
      ...(line ? [line] : []),
    ];
  }

  #write(lines: readonly Line[]): void | Promise<void> {
    const session_id = this.#session;
    return this.#out.write(
      lines.map((line) => `${JSON.stringify({ ...line, session_id, uuid: crypto.randomUUID() })}\n`).join(""),
    );
  }
}

function lineOf(event: Event): Line | undefined {
  switch (event.type) {
    case "turn.state":
      // The SDKs know of one state, and pass on the rest.
      return {
        type: "system",
        subtype: "status",
        status: event.to === "compacting" ? event.to : null,
        turn_state: event.to,
      };
    case "message.retry":
      return {
        type: "system",
        subtype: "api_retry",
        attempt: event.attempt - 1,
        max_retries: event.maxAttempts - 1,
        retry_delay_ms: event.waitMs,
        error_status: null,
        error: "unknown",
        reason: event.reason,
      };
    case "message.end":
      return event.step === 0 || !isMessage(event) ? undefined : assistantLine(event);
    case "tool.end":
      return toolResultLine(event);
    case "compaction":
      return event.action === "prune" ? undefined : {
        type: "system",
        subtype: "compact_boundary",
        compact_metadata: {
          trigger: event.reason === "manual" ? "manual" : "auto",
          pre_tokens: event.tokensBefore,
          post_tokens: event.tokensAfter,
        },
      };
    case "subagent.start":
      return {
        type: "system",
        subtype: "task_started",
        task_id: event.id,
        tool_use_id: event.callId,
        description: event.description ?? event.prompt,
        task_type: "local_agent",
        subagent_type: event.agent,
      };
    case "subagent.progress":
      return {
        type: "system",
        subtype: "task_progress",
        task_id: event.id,
        tool_use_id: event.callId,
        description: event.text,
        usage: { total_tokens: 0, tool_uses: event.calls, duration_ms: 0 },
      };
    case "subagent.end":
      return agentEndLine(event);
    case "notice":
      return { type: "system", subtype: "informational", level: event.level, content: event.text };
  }
}

const TASK_ENDS = { ok: "completed", error: "failed", aborted: "stopped" } as const;

function agentEndLine(
  { id, callId, outcome, summary, usage, calls, durationMs }: EventOf<"subagent.end">,
): Line {
  return {
    type: "system",
    subtype: "task_notification",
    task_id: id,
    tool_use_id: callId,
    status: TASK_ENDS[outcome],
    output_file: "",
    summary,
    usage: {
      total_tokens: usage ? usage.inputTokens + usage.outputTokens : 0,
      tool_uses: calls ?? 0,
      duration_ms: durationMs,
    },
  };
}

function assistantLine(event: EventOf<"message.end">): Line {
  const content: Line[] = [];
  if (event.reasoning) content.push({ type: "thinking", thinking: event.reasoning, signature: "" });
  if (event.content !== "") content.push({ type: "text", text: event.content });
  for (const call of event.calls ?? []) {
    content.push({ type: "tool_use", id: call.id, name: call.name, input: argumentsOf(call) });
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
      stop_sequence: null,
      usage: {
        input_tokens: usage ? freshTokens(usage) : 0,
        cache_read_input_tokens: usage?.cachedTokens ?? 0,
        cache_creation_input_tokens: usage?.cacheWriteTokens ?? 0,
        output_tokens: usage?.outputTokens ?? 0,
      },
    },
    parent_tool_use_id: null,
  };
}

function toolResultLine({ callId, content, outcome, summary }: EventOf<"tool.end">): Line {
  const block = { type: "tool_result", tool_use_id: callId, content, is_error: outcome !== "ok" };
  return {
    type: "user",
    message: { role: "user", content: [block] },
    parent_tool_use_id: null,
    tool_use_result: { outcome, summary },
  };
}

function stopReason({ calls, finish, interrupted }: EventOf<"message.end">): string | null {
  if (interrupted) return null;
  if (calls?.length) return "tool_use";
  return finish === "length" ? "max_tokens" : finish === "content_filter" ? "refusal" : "end_turn";
}

const SDK_SUBTYPES = [
  "success",
  "error_max_turns",
  "error_max_budget_usd",
  "error_max_structured_output_retries",
];

/** The result object with the further fields of the SDKs: subtypes, a list of errors, usage by model. */
function sdkResult(result: RunResult): Line {
  const object = resultObject(result);
  const { usage, model } = result;
  const usd = result.cost?.currency === "USD" ? result.cost.amount : 0;
  const used = {
    inputTokens: freshTokens(usage),
    outputTokens: usage.outputTokens,
    thinkingTokens: usage.reasoningTokens,
    cacheReadInputTokens: usage.cachedTokens,
    cacheCreationInputTokens: usage.cacheWriteTokens ?? 0,
    webSearchRequests: 0,
    costUSD: usd,
    contextWindow: result.window ?? 0,
    maxOutputTokens: result.maxOutput ?? 0,
  };
  return {
    ...object,
    ...(SDK_SUBTYPES.includes(String(object.subtype))
      ? {}
      : { subtype: "error_during_execution", reason: object.subtype }),
    ...(result.exit === "done" ? {} : { errors: [result.detail ?? String(object.subtype)] }),
    total_cost_usd: usd,
    modelUsage: model === undefined ? {} : { [model]: used },
  };
}
