import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import type { IdGenerator } from "@opentelemetry/sdk-trace";
import type { Cost, EventOf } from "../../core/mod.ts";
import { parseJson } from "../../util/json.ts";
import {
  agentName,
  attributesOf,
  type ContentOptions,
  modelValues,
  serverValues,
  timesOf,
  type Values,
} from "./conventions.ts";
import type { OperationOf, OperationSink, Span } from "./operations.ts";

/** Gives the SDK the identifiers that were drawn when the span began. */
export class DrawnIds implements IdGenerator {
  next: Span | undefined;

  generateTraceId = (): string => this.next?.trace ?? "";
  generateSpanId = (): string => this.next?.id ?? "";
}

type Spanned = "turn" | "request" | "call" | "compaction";

/** A span; its kind is internal unless it has another one. */
interface Described {
  readonly name: string;
  readonly kind?: SpanKind;
  readonly values: Values;
  /** Texts of the user, the model or tools. */
  readonly content?: () => Values;
}

/** Makes spans of what is over; see docs/telemetry.md. */
export function operationSpans(
  tracer: Tracer,
  ids: DrawnIds,
  { content, redact }: ContentOptions,
): OperationSink {
  const make = ({ span, session, error }: OperationOf<Spanned>, described: Described) => {
    if (!span.sampled) return;
    const { name, kind = SpanKind.INTERNAL, values } = described;
    const attributes = attributesOf({
      ...values,
      ...(content ? described.content?.() : {}),
      "gen_ai.conversation.id": session.id,
      "error.type": error,
    }, redact);
    ids.next = span;
    const { parent, from, until } = span;
    const context = parent ? contextOf(parent) : ROOT_CONTEXT;
    const made = tracer.startSpan(redact(name), { kind, startTime: from, attributes }, context);
    if (error !== undefined) made.setStatus({ code: SpanStatusCode.ERROR });
    made.end(until);
  };
  return (operation) => {
    switch (operation.kind) {
      case "turn":
        return make(operation, turnSpan(operation));
      case "request":
        return make(operation, requestSpan(operation));
      case "call":
        return make(operation, callSpan(operation));
      case "compaction":
        return make(operation, compactionSpan(operation));
    }
  };
}

/** A span as the parent of another one, or as that of a log record. */
export function contextOf({ trace: traceId, id: spanId, sampled, state }: Span): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    ...(state === undefined ? {} : { traceState: createTraceState(state) }),
  });
}

function turnSpan({ session, turn, prompts, end }: OperationOf<"turn">): Described {
  const agent = agentName(session);
  return {
    name: `invoke_agent ${agent}`,
    values: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": agent,
      "gen_ai.request.model": session.model,
      "reasonix.turn": turn,
      "reasonix.parent.session": session.parent,
      "gen_ai.usage.input_tokens": end?.usage.inputTokens,
      "gen_ai.usage.output_tokens": end?.usage.outputTokens,
      ...costValues(end?.cost),
      "reasonix.turn.reason": end?.reason,
      "reasonix.turn.steps": end?.steps,
    },
    content: () =>
      end
        ? {
          "gen_ai.input.messages": messages("user", prompts.map((content) => ({ type: "text", content }))),
          "gen_ai.output.messages": messages("assistant", [{ type: "text", content: end.answer }]),
        }
        : {},
  };
}

function requestSpan(request: OperationOf<"request">): Described {
  const { model, usage, cost, reply, attempts } = request;
  const { firstChunkMs } = timesOf(request);
  return {
    name: `chat ${model}`,
    kind: SpanKind.CLIENT,
    values: {
      ...modelValues(request),
      ...serverValues(request),
      "gen_ai.request.stream": true,
      "gen_ai.response.finish_reasons": reply?.finish === undefined ? undefined : [reply.finish],
      "gen_ai.response.time_to_first_chunk": firstChunkMs === undefined ? undefined : firstChunkMs / 1000,
      "gen_ai.usage.input_tokens": usage?.inputTokens,
      "gen_ai.usage.output_tokens": usage?.outputTokens,
      "gen_ai.usage.cache_read.input_tokens": usage?.cachedTokens,
      "gen_ai.usage.cache_write.input_tokens": usage?.cacheWriteTokens,
      "gen_ai.usage.reasoning.output_tokens": usage?.reasoningTokens,
      "reasonix.retry.count": attempts > 1 ? attempts - 1 : undefined,
      ...costValues(cost),
    },
    content: () => reply ? { "gen_ai.output.messages": messages("assistant", partsOf(reply)) } : {},
  };
}

function callSpan({ session, start: { call }, tool, end, approval }: OperationOf<"call">): Described {
  return {
    name: `execute_tool ${tool}`,
    values: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.call.id": call.id,
      "gen_ai.tool.type": "function",
      "gen_ai.agent.name": agentName(session),
      "reasonix.decision": approval?.decision,
      "reasonix.decision.source": approval?.source,
      "reasonix.tool.outcome": end?.outcome,
      "process.exit.code": end?.exitCode,
    },
    content: () => ({
      "gen_ai.tool.call.arguments": call.arguments,
      "gen_ai.tool.call.result": end?.content,
    }),
  };
}

function compactionSpan({ end }: OperationOf<"compaction">): Described {
  return {
    name: "compaction",
    values: {
      "reasonix.compaction.reason": end?.reason,
      "reasonix.compaction.action": end && (end.action === "prune" ? end.action : "summarize"),
      "reasonix.compaction.tokens_before": end?.tokensBefore,
      "reasonix.compaction.tokens_after": end?.tokensAfter,
    },
  };
}

function costValues(cost: Cost | undefined): Values {
  return { "reasonix.cost": cost?.amount, "reasonix.currency": cost?.currency };
}

type Part = Readonly<Record<string, unknown>>;

function partsOf({ reasoning, content, calls = [] }: EventOf<"message.end">): Part[] {
  return [
    ...(reasoning ? [{ type: "reasoning", content: reasoning }] : []),
    ...(content === "" ? [] : [{ type: "text", content }]),
    ...calls.map(({ id, name, arguments: args }) => ({
      type: "tool_call",
      id,
      name,
      arguments: parseJson(args) ?? args,
    })),
  ];
}

/** A list with one message, in the JSON of the conventions. */
function messages(role: "user" | "assistant", parts: readonly Part[]): string {
  return JSON.stringify([{ role, parts }]);
}
