import {
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import type { IdGenerator } from "@opentelemetry/sdk-trace";
import type { Cost, EventOf, Usage } from "../../core/mod.ts";
import { parseJson } from "../../util/json.ts";
import { attributesOf, failureOf, type Values, WANTED } from "./operations.ts";
import { type Observed, providerName, type Reader, type ReaderOptions, type SpanIds } from "./observed.ts";

/** Gives the SDK the identifiers that were drawn when the span began. */
export class DrawnIds implements IdGenerator {
  next: SpanIds | undefined;

  generateTraceId = (): string => this.next?.trace ?? "";
  generateSpanId = (): string => this.next?.id ?? "";
}

interface OpenSpan {
  readonly kind: "turn" | "chat" | "call" | "compaction";
  readonly span: Span;
  readonly session: string;
  readonly parent: string | undefined;
  /** Milliseconds since 1970: the beginning, that of the latest attempt or execution, the last end below. */
  readonly from: number;
  began: number;
  until: number;
  /** The agent below it continues without it. */
  detached?: boolean;
  retries: number;
  answered?: boolean;
  readonly prompts: string[];
}

/** Makes spans of events; see docs/telemetry.md. */
export class SpanReader implements Reader {
  readonly #tracer: Tracer;
  readonly #ids: DrawnIds;
  readonly #options: ReaderOptions;
  /** By their identifiers. */
  readonly #open = new Map<string, OpenSpan>();

  constructor(tracer: Tracer, ids: DrawnIds, options: ReaderOptions) {
    [this.#tracer, this.#ids, this.#options] = [tracer, ids, options];
  }

  take(observed: Observed): void {
    const { event, at, session, span } = observed;
    if (!span?.sampled) return;
    const open = this.#open.get(span.id);
    switch (event.type) {
      case "turn.start":
        this.#beginTurn(observed, span, event);
        break;
      case "message.user":
        if (open?.kind === "turn" && (event.origin === "user" || event.origin === "steer")) {
          open.prompts.push(event.content);
        }
        break;
      case "message.start":
        this.#failChat(session.id, at);
        if (event.step === 0 && span.parent && !this.#open.has(span.parent.id)) {
          this.#begin("compaction", observed, span.parent, {});
        }
        this.#beginChat(observed, span, event.model);
        break;
      case "message.delta":
      case "tool.call":
        if (open && !open.answered) {
          open.answered = true;
          this.#set(open, { "gen_ai.response.time_to_first_chunk": Math.max(0, at - open.began) / 1000 });
        }
        break;
      case "message.retry":
        if (!open) break;
        open.began = at + event.waitMs;
        open.answered = false;
        this.#set(open, { "reasonix.retry.count": ++open.retries });
        break;
      case "message.end":
        this.#endChat(observed, span, event);
        break;
      case "image.described": {
        const from = { ...observed, at: at - event.durationMs };
        const chat = this.#beginChat(from, span, event.model, event.provider);
        this.#set(chat, spendingOf(event));
        this.#end(span.id, at);
        break;
      }
      case "error":
        this.#failChat(session.id, at, failureOf(event.text, event.code).type);
        break;
      case "tool.start":
        this.#beginCall(observed, span, event);
        break;
      case "approval.decision":
        if (open?.kind !== "call") break;
        open.began = at;
        this.#set(open, { "reasonix.decision": event.decision, "reasonix.decision.source": event.source });
        break;
      case "subagent.start":
        if (open?.kind === "call" && event.background) open.detached = true;
        break;
      case "tool.end":
        this.#endCall(span, at, event);
        break;
      case "compaction":
        this.#endCompaction(observed, span, event);
        break;
      case "turn.end":
        this.#failChat(session.id, at);
        this.#endTurn(span, at, event);
        break;
    }
  }

  end(): void {
    const now = Date.now();
    for (const id of [...this.#open.keys()].reverse()) this.#end(id, now, "unfinished");
  }

  #begin(
    kind: OpenSpan["kind"],
    { at, session }: Pick<Observed, "at" | "session">,
    ids: SpanIds,
    { name = kind, values = {} }: { readonly name?: string; readonly values?: Values },
  ): OpenSpan {
    const { redact } = this.#options;
    this.#ids.next = ids;
    const parent = ids.parent && trace.setSpanContext(ROOT_CONTEXT, {
      traceId: ids.trace,
      spanId: ids.parent.id,
      traceFlags: TraceFlags.SAMPLED,
      ...(ids.state === undefined ? {} : { traceState: createTraceState(ids.state) }),
    });
    const attributes = attributesOf({ ...values, "gen_ai.conversation.id": session.id }, redact);
    const options = {
      kind: kind === "chat" ? SpanKind.CLIENT : SpanKind.INTERNAL,
      startTime: at,
      attributes,
    };
    const span = this.#tracer.startSpan(redact(name), options, parent ?? ROOT_CONTEXT);
    const times = { from: at, began: at, until: at };
    const open: OpenSpan = {
      kind,
      span,
      session: session.id,
      parent: ids.parent?.id,
      ...times,
      retries: 0,
      prompts: [],
    };
    this.#open.set(ids.id, open);
    return open;
  }

  #end(id: string, at: number, error?: string): void {
    const open = this.#open.get(id);
    if (!open) return;
    this.#open.delete(id);
    if (error !== undefined) {
      this.#set(open, { "error.type": error });
      open.span.setStatus({ code: SpanStatusCode.ERROR });
    }
    const end = Math.max(at, open.until);
    open.span.end(end);
    const parent = this.#open.get(open.parent ?? "");
    if (parent && !parent.detached) parent.until = Math.max(parent.until, end);
  }

  #set({ span }: OpenSpan, values: Values): void {
    span.setAttributes(attributesOf(values, this.#options.redact));
  }

  /** Sets attributes with texts of the user, the model or tools, where they are wanted. */
  #setContent(open: OpenSpan, values: () => Values): void {
    if (this.#options.content) this.#set(open, values());
  }

  /** Ends a request that has no reply. */
  #failChat(session: string, at: number, error = "_OTHER"): void {
    for (const [id, open] of [...this.#open].reverse()) {
      if (open.session === session && open.kind === "chat") this.#end(id, at, error);
    }
  }

  #beginTurn(observed: Observed, ids: SpanIds, { turn }: EventOf<"turn.start">): void {
    const { session: { agent = "reasonix", parent, model } } = observed;
    this.#begin("turn", observed, ids, {
      name: `invoke_agent ${agent}`,
      values: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        "gen_ai.request.model": model,
        "reasonix.turn": turn,
        "reasonix.parent.session": parent,
      },
    });
  }

  #endTurn({ id }: SpanIds, at: number, event: EventOf<"turn.end">): void {
    for (const [other, { kind, session }] of this.#open) {
      if (kind === "compaction" && session === this.#open.get(id)?.session) this.#end(other, at, "_OTHER");
    }
    const open = this.#open.get(id);
    if (!open) return;
    const { usage: { inputTokens, outputTokens }, reason, steps, answer } = event;
    this.#set(open, {
      "gen_ai.usage.input_tokens": inputTokens,
      "gen_ai.usage.output_tokens": outputTokens,
      ...costOf(event.cost),
      "reasonix.turn.reason": reason,
      "reasonix.turn.steps": steps,
    });
    this.#setContent(open, () => ({
      "gen_ai.input.messages": messages("user", open.prompts.map((content) => ({ type: "text", content }))),
      "gen_ai.output.messages": messages("assistant", [{ type: "text", content: answer }]),
    }));
    this.#end(id, at, WANTED.includes(reason) ? undefined : reason);
  }

  #beginChat(observed: Observed, ids: SpanIds, model: string, provider?: string): OpenSpan {
    const { session } = observed;
    const isOwn = provider === undefined || provider === session.provider;
    return this.#begin("chat", observed, ids, {
      name: `chat ${model}`,
      values: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": providerName(provider ?? session.provider),
        "gen_ai.request.model": model,
        "gen_ai.request.stream": true,
        "server.address": isOwn ? session.server?.address : undefined,
        "server.port": isOwn ? session.server?.port : undefined,
      },
    });
  }

  #endChat(observed: Observed, ids: SpanIds, event: EventOf<"message.end">): void {
    const { at } = observed;
    // A request of an MCP server is reported once it was answered.
    const open = this.#open.get(ids.id) ?? (event.usage && this.#beginChat(
      { ...observed, at: at - event.durationMs },
      ids,
      event.model,
    ));
    if (open?.kind !== "chat") return;
    const { content, reasoning, calls = [], finish, interrupted } = event;
    this.#set(open, {
      ...spendingOf(event),
      "gen_ai.response.finish_reasons": finish === undefined ? undefined : [finish],
    });
    this.#setContent(open, () => ({
      "gen_ai.output.messages": messages("assistant", [
        ...(reasoning ? [{ type: "reasoning", content: reasoning }] : []),
        ...(content === "" ? [] : [{ type: "text", content }]),
        ...calls.map(({ id, name, arguments: args }) => ({
          type: "tool_call",
          id,
          name,
          arguments: parseJson(args) ?? args,
        })),
      ]),
    }));
    this.#end(ids.id, at, interrupted ? "interrupted" : undefined);
  }

  #beginCall(observed: Observed, ids: SpanIds, { call, tool = call.name }: EventOf<"tool.start">): void {
    const open = this.#begin("call", observed, ids, {
      name: `execute_tool ${tool}`,
      values: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": observed.session.agent ?? "reasonix",
      },
    });
    this.#setContent(open, () => ({ "gen_ai.tool.call.arguments": call.arguments }));
  }

  #endCall({ id }: SpanIds, at: number, event: EventOf<"tool.end">): void {
    const { outcome, content, exitCode, durationMs } = event;
    const open = this.#open.get(id);
    if (open?.kind !== "call") return;
    this.#set(open, { "reasonix.tool.outcome": outcome, "process.exit.code": exitCode });
    this.#setContent(open, () => ({ "gen_ai.tool.call.result": content }));
    // The ends of calls side by side are recorded in their order. The duration is rounded.
    this.#end(id, Math.min(at, open.began + durationMs + 1), outcome === "ok" ? undefined : outcome);
  }

  #endCompaction(observed: Observed, ids: SpanIds, event: EventOf<"compaction">): void {
    const open = this.#open.get(ids.id) ?? this.#begin("compaction", observed, ids, {});
    const { reason, action, tokensBefore, tokensAfter } = event;
    this.#set(open, {
      "reasonix.compaction.reason": reason,
      "reasonix.compaction.action": action === "prune" ? action : "summarize",
      "reasonix.compaction.tokens_before": tokensBefore,
      "reasonix.compaction.tokens_after": tokensAfter,
    });
    this.#end(ids.id, observed.at);
  }
}

function costOf(cost: Cost | undefined): Values {
  return { "reasonix.cost": cost?.amount, "reasonix.currency": cost?.currency };
}

function spendingOf(
  { usage, cost }: { readonly usage?: Usage | undefined; readonly cost?: Cost | undefined },
) {
  return {
    ...costOf(cost),
    "gen_ai.usage.input_tokens": usage?.inputTokens,
    "gen_ai.usage.output_tokens": usage?.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage?.cachedTokens,
    "gen_ai.usage.cache_write.input_tokens": usage?.cacheWriteTokens,
    "gen_ai.usage.reasoning.output_tokens": usage?.reasoningTokens,
  };
}

/** A list with one message, in the JSON of the conventions. */
function messages(role: "user" | "assistant", parts: readonly Readonly<Record<string, unknown>>[]): string {
  return JSON.stringify([{ role, parts }]);
}
