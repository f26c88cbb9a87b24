import { type Context, type Logger, ROOT_CONTEXT, trace, TraceFlags } from "@opentelemetry/api";
import { freshTokens } from "../../core/mod.ts";
import { claudeToolName } from "../../tool/mod.ts";
import { byteLength } from "../../util/bytes.ts";
import { claudeDecision } from "./metrics.ts";
import type { ReaderOptions, SpanIds } from "./observed.ts";
import {
  attributesOf,
  type FailedAttempt,
  type Operation,
  type OperationSink,
  type RequestEnd,
  type Values,
} from "./operations.ts";

/** Characters of a prompt, of arguments and of an error. */
const MAX_CONTENT = 60_000;

/** Makes log records of prompts, requests and calls: those of Claude Code, under its names or our own. */
export function operationRecords(
  names: "gen_ai" | "claude_code",
  logger: Logger,
  { content, redact }: ReaderOptions,
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
  const errorValues = (request: Request): Values => {
    const { failure, attempts } = request;
    const status = Number(failure?.type);
    return {
      ...common(request),
      error: shown(failure?.text ?? "") || failure?.type,
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
        if (operation.failure) emit(operation, "api_error", errorValues(operation));
        if (operation.usage || !operation.failure) {
          emit(operation, "api_request", requestValues(operation));
        }
        break;
      case "call": {
        const { call, tool, end, decision } = operation;
        const named = {
          tool_name: names === "claude_code" ? claudeToolName(tool) : tool,
          tool_use_id: call.id,
        };
        if (decision) emit(operation, "tool_decision", { ...named, ...claudeDecision(decision) });
        if (!operation.executed) break;
        const { decision: type, source } = decision ? claudeDecision(decision) : {};
        emit(operation, "tool_result", {
          ...named,
          success: String(end.outcome === "ok"),
          duration_ms: String(end.durationMs),
          error_type: end.outcome === "ok" ? undefined : end.outcome,
          error: end.outcome === "ok" ? undefined : shown(end.content),
          decision_type: type,
          decision_source: source,
          tool_input_size_bytes: String(byteLength(call.arguments)),
          tool_result_size_bytes: String(byteLength(end.content)),
          tool_input: shown(call.arguments),
        });
      }
    }
  };
}

function contextOf({ trace: traceId, id: spanId, sampled }: SpanIds): Context {
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags });
}

/** Requests that agents have made are known by the name of the agent. */
const QUERY_SOURCES: Readonly<Record<string, string>> = { main: "repl_main_thread", compaction: "compact" };

type Request = (RequestEnd | FailedAttempt) & Operation;

function common({ model, durationMs, purpose, session: { agent } }: Request): Values {
  return {
    model,
    duration_ms: Math.round(durationMs),
    query_source: QUERY_SOURCES[purpose] ?? (purpose === "agent" ? agent : undefined) ?? purpose,
    "agent.name": agent,
  };
}

function requestValues(request: RequestEnd & Operation): Values {
  const { usage, cost, firstChunkMs } = request;
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
