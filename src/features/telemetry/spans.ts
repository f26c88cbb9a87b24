import { ROOT_CONTEXT, type Span, SpanKind, trace, TraceFlags, type Tracer } from "@opentelemetry/api";
import type { IdGenerator } from "@opentelemetry/sdk-trace";
import type { Observed, Reader, ReaderOptions, SpanIds } from "./observed.ts";

/** Gives the SDK the identifiers that were drawn when the span began. */
export class DrawnIds implements IdGenerator {
  next: SpanIds | undefined;

  generateTraceId = (): string => this.next?.trace ?? "";
  generateSpanId = (): string => this.next?.id ?? "";
}

/** Makes spans of events. */
export function spanReader(tracer: Tracer, ids: DrawnIds, _options: ReaderOptions): Reader {
  const open = new Map<string, Span>();
  const start = (name: string, kind: SpanKind, { span, at }: Observed) => {
    if (!span) return;
    ids.next = span;
    const parent = span.parent && trace.setSpanContext(ROOT_CONTEXT, {
      traceId: span.trace,
      spanId: span.parent,
      traceFlags: TraceFlags.SAMPLED,
    });
    open.set(span.id, tracer.startSpan(name, { kind, startTime: at }, parent || ROOT_CONTEXT));
  };
  const end = ({ span, at }: Observed) => {
    if (!span) return;
    open.get(span.id)?.end(at);
    open.delete(span.id);
  };
  return {
    take(observed) {
      const { event } = observed;
      if (event.type === "turn.start") start("invoke_agent", SpanKind.INTERNAL, observed);
      if (event.type === "message.start") start(`chat ${event.model}`, SpanKind.CLIENT, observed);
      if (event.type === "tool.start") start(`execute_tool ${event.call.name}`, SpanKind.INTERNAL, observed);
      if (event.type === "turn.end" || event.type === "message.end" || event.type === "tool.end") {
        end(observed);
      }
    },
    end() {
      for (const span of open.values()) span.end();
    },
  };
}
