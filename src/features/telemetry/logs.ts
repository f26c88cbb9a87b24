import type { Logger } from "@opentelemetry/api";
import { freshTokens } from "../../core/mod.ts";
import { claudeToolName } from "../../tool/mod.ts";
import { byteLength } from "../../util/bytes.ts";
import {
  attributesOf,
  type ContentOptions,
  isExecuted,
  type ModelRequest,
  timesOf,
  type Values,
} from "./conventions.ts";
import { claudeDecision } from "./metrics.ts";
import type { Operation, OperationOf, OperationSink } from "./operations.ts";
import { contextOf } from "./spans.ts";

/** Characters of a prompt, of arguments and of an error. */
const MAX_CONTENT = 60_000;

/** Makes log records of prompts, requests and calls: those of Claude Code, under its names or our own. */
export function operationRecords(
  names: "gen_ai" | "claude_code",
  logger: Logger,
  { content, redact }: ContentOptions,
): OperationSink {
  const prefix = names === "claude_code" ? "claude_code" : "reasonix";
  /** Number of records and the latest prompt, by session of the user. */
  const sessions = new Map<string, { records: number; prompt: string }>();
  const emit = (operation: Operation, name: string, values: Values) => {
    const { at, root, span } = operation;
    const session = sessions.get(root) ?? { records: 0, prompt: crypto.randomUUID() };
    if (operation.kind === "prompt") session.prompt = crypto.randomUUID();
    sessions.set(root, session);
    logger.emit({
      eventName: `${prefix}.${name}`,
      body: `${prefix}.${name}`,
      timestamp: at,
      ...(span ? { context: contextOf(span) } : {}),
      attributes: attributesOf({
        "session.id": root,
        "prompt.id": session.prompt,
        "event.name": name,
        "event.timestamp": new Date(at).toISOString(),
        "event.sequence": session.records++,
        ...values,
      }, redact),
    });
  };
  // Half a secret is no secret that can be redacted.
  const shown = (text: string) => content ? redact(text).slice(0, MAX_CONTENT).toWellFormed() : undefined;
  // A server can repeat the prompt in what it says about an error.
  const errorValues = (request: ModelRequest): Values => {
    const { error, problem = "", attempts } = request;
    const status = Number(error);
    return {
      ...common(request),
      error: shown(problem) || error,
      status_code: Number.isInteger(status) ? status : undefined,
      attempt: attempts,
    };
  };
  return (operation) => {
    switch (operation.kind) {
      case "prompt": {
        const { text } = operation;
        emit(operation, "user_prompt", { prompt_length: String(text.length), prompt: shown(text) });
        break;
      }
      case "retry":
        emit(operation, "api_error", errorValues(operation));
        break;
      case "request":
        if (operation.error !== undefined) emit(operation, "api_error", errorValues(operation));
        if (operation.usage || operation.error === undefined) {
          emit(operation, "api_request", requestValues(operation));
        }
        break;
      case "call": {
        const { start: { call }, tool, end, error } = operation;
        const decision = claudeDecision(operation);
        const named = {
          tool_name: names === "claude_code" ? claudeToolName(tool) : tool,
          tool_use_id: call.id,
        };
        if (decision) emit(operation, "tool_decision", { ...named, ...decision });
        if (!end || !isExecuted(operation)) break;
        emit(operation, "tool_result", {
          ...named,
          success: String(error === undefined),
          duration_ms: String(end.durationMs),
          error_type: error,
          error: error === undefined ? undefined : shown(end.content),
          decision_type: decision?.decision,
          decision_source: decision?.source,
          tool_input_size_bytes: String(byteLength(call.arguments)),
          tool_result_size_bytes: String(byteLength(end.content)),
          tool_input: shown(call.arguments),
        });
      }
    }
  };
}

/** Requests that agents have made are known by the name of the agent. */
const QUERY_SOURCES: Readonly<Record<string, string>> = { main: "repl_main_thread", compaction: "compact" };

function common(request: ModelRequest): Values {
  const { model, purpose, session: { agent } } = request;
  return {
    model,
    duration_ms: Math.round(timesOf(request).durationMs),
    query_source: QUERY_SOURCES[purpose] ?? (purpose === "agent" ? agent : undefined) ?? purpose,
    "agent.name": agent,
  };
}

function requestValues(request: OperationOf<"request">): Values {
  const { usage, cost } = request;
  const { firstChunkMs } = timesOf(request);
  return {
    ...common(request),
    input_tokens: usage && freshTokens(usage),
    output_tokens: usage?.outputTokens,
    cache_read_tokens: usage?.cachedTokens,
    cache_creation_tokens: usage && (usage.cacheWriteTokens ?? 0),
    cost_usd: cost?.currency === "USD" ? cost.amount : undefined,
    ttft_ms: firstChunkMs === undefined ? undefined : Math.round(firstChunkMs),
  };
}
