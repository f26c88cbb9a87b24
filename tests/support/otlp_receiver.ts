/** A receiver of OTLP over HTTP that keeps what arrives, decoded: JSON, as the SDK's exporters send it. */
import { isRecord } from "../../src/util/json.ts";

type Attributes = Readonly<Record<string, unknown>>;

interface Origin {
  /** Attributes of the resource. */
  readonly resource: Attributes;
  readonly scope: { readonly name: string; readonly version: string };
}

export interface ReceivedSpan extends Origin {
  readonly name: string;
  readonly trace: string;
  readonly id: string;
  /** Absent: the first span of the trace. */
  readonly parent: string | undefined;
  readonly kind: "internal" | "server" | "client" | "producer" | "consumer";
  /** Milliseconds since 1970. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Attributes;
  readonly status: "unset" | "ok" | "error";
  readonly statusText: string;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
}

export interface ReceivedPoint {
  readonly attributes: Attributes;
  /** The sum of a counter, or the sum of all values of a histogram. */
  readonly value: number;
  /** Of a histogram. */
  readonly count: number | undefined;
  readonly bounds: readonly number[];
}

export interface ReceivedMetric extends Origin {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly kind: "sum" | "histogram" | "gauge";
  readonly monotonic: boolean;
  readonly temporality: "delta" | "cumulative" | undefined;
  readonly points: readonly ReceivedPoint[];
}

export interface ReceivedLog extends Origin {
  readonly name: string;
  readonly body: unknown;
  readonly severity: string;
  readonly time: number;
  readonly attributes: Attributes;
  readonly trace: string | undefined;
  readonly span: string | undefined;
}

/** The behaviour of a receiver: answers, an HTTP status, or no answer at all. */
export type ReceiverMode = "ok" | "hang" | number;

const SPAN_KINDS = ["internal", "internal", "server", "client", "producer", "consumer"] as const;
const STATUS = ["unset", "ok", "error"] as const;
const TEMPORALITY = [undefined, "delta", "cumulative"] as const;

export class OtlpReceiver implements AsyncDisposable {
  mode: ReceiverMode = "ok";
  readonly spans: ReceivedSpan[] = [];
  /** Every export of a metric, in order: cumulative sums come again and again. */
  readonly metrics: ReceivedMetric[] = [];
  readonly logs: ReceivedLog[] = [];
  /** Everything that arrived, byte for byte, for a search: request lines, headers and bodies. */
  readonly raw: string[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #released = Promise.withResolvers<void>();
  #connections = 0;

  constructor() {
    this.#server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      (request) => this.#take(request),
    );
  }

  /** The value of `telemetry.otlp`. */
  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  get requests(): number {
    return this.#connections;
  }

  /** The latest export of a metric. */
  metric(name: string): ReceivedMetric | undefined {
    return this.metrics.findLast((metric) => metric.name === name);
  }

  /** The sum of the points of the latest export of a metric whose attributes have these values. */
  total(name: string, wanted: Attributes = {}): number {
    const points = this.metric(name)?.points ?? [];
    return points.filter(({ attributes }) =>
      Object.entries(wanted).every(([key, value]) => attributes[key] === value)
    ).reduce((sum, { value }) => sum + value, 0);
  }

  /** The spans below one, in the order of their beginning. */
  childrenOf({ id }: ReceivedSpan): readonly ReceivedSpan[] {
    return this.spans.filter(({ parent }) => parent === id).sort((a, b) => a.start - b.start);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#released.resolve();
    await this.#server.shutdown();
  }

  async #take(request: Request): Promise<Response> {
    this.#connections += 1;
    const body = await request.text();
    const headers = [...request.headers].map(([name, value]) => `${name}: ${value}`);
    this.raw.push([`${request.method} ${request.url}`, ...headers, "", body].join("\n"));
    if (this.mode === "hang") await this.#released.promise;
    if (typeof this.mode === "number") return new Response("no", { status: this.mode });
    if (request.headers.get("content-type") !== "application/json") return new Response("", { status: 415 });
    const message: unknown = JSON.parse(body);
    switch (new URL(request.url).pathname) {
      case "/v1/traces":
        this.spans.push(...decodeSpans(message));
        break;
      case "/v1/metrics":
        this.metrics.push(...decodeMetrics(message));
        break;
      case "/v1/logs":
        this.logs.push(...decodeLogs(message));
        break;
      default:
        return new Response("", { status: 404 });
    }
    return Response.json({ partialSuccess: {} });
  }
}

/** The entries of a message with their resource and scope. */
function entries(
  message: unknown,
  [resources, scopes, items]: readonly [string, string, string],
): [Record<string, unknown>, Origin][] {
  return listOf(message, resources).flatMap((group) =>
    listOf(group, scopes).flatMap((scoped) =>
      listOf(scoped, items).map((item): [Record<string, unknown>, Origin] => [item, {
        resource: attributesOf(recordOf(group.resource)),
        scope: {
          name: textOf(recordOf(scoped.scope).name),
          version: textOf(recordOf(scoped.scope).version),
        },
      }])
    )
  );
}

function decodeSpans(message: unknown): ReceivedSpan[] {
  return entries(message, ["resourceSpans", "scopeSpans", "spans"]).map(([span, origin]) => {
    const status = recordOf(span.status);
    return {
      ...origin,
      name: textOf(span.name),
      trace: textOf(span.traceId),
      id: textOf(span.spanId),
      parent: idOf(span.parentSpanId),
      kind: SPAN_KINDS[Number(span.kind)] ?? "internal",
      start: millis(span.startTimeUnixNano),
      end: millis(span.endTimeUnixNano),
      attributes: attributesOf(span),
      status: STATUS[Number(status.code ?? 0)] ?? "unset",
      statusText: textOf(status.message),
      events: listOf(span, "events").map((event) => ({
        name: textOf(event.name),
        attributes: attributesOf(event),
      })),
    };
  });
}

function decodeMetrics(message: unknown): ReceivedMetric[] {
  return entries(message, ["resourceMetrics", "scopeMetrics", "metrics"]).map(([metric, origin]) => {
    const kind = (["sum", "histogram", "gauge"] as const).find((name) => isRecord(metric[name])) ?? "gauge";
    const data = recordOf(metric[kind]);
    return {
      ...origin,
      name: textOf(metric.name),
      unit: textOf(metric.unit),
      description: textOf(metric.description),
      kind,
      monotonic: data.isMonotonic === true,
      temporality: TEMPORALITY[Number(data.aggregationTemporality ?? 0)],
      points: listOf(data, "dataPoints").map((point) => ({
        attributes: attributesOf(point),
        value: Number(kind === "histogram" ? point.sum ?? 0 : point.asDouble ?? point.asInt ?? 0),
        count: kind === "histogram" ? Number(point.count) : undefined,
        bounds: Array.isArray(point.explicitBounds) ? point.explicitBounds.map(Number) : [],
      })),
    };
  });
}

function decodeLogs(message: unknown): ReceivedLog[] {
  return entries(message, ["resourceLogs", "scopeLogs", "logRecords"]).map(([record, origin]) => ({
    ...origin,
    name: textOf(record.eventName),
    body: valueOf(record.body),
    severity: textOf(record.severityText),
    time: millis(record.timeUnixNano),
    attributes: attributesOf(record),
    trace: idOf(record.traceId),
    span: idOf(record.spanId),
  }));
}

function attributesOf(holder: Record<string, unknown>): Attributes {
  return Object.fromEntries(
    listOf(holder, "attributes").map(({ key, value }) => [textOf(key), valueOf(value)]),
  );
}

function valueOf(value: unknown): unknown {
  if (!isRecord(value)) return undefined;
  if ("intValue" in value) return Number(value.intValue);
  if ("arrayValue" in value) return listOf(value.arrayValue, "values").map(valueOf);
  if ("kvlistValue" in value) {
    const list = listOf(value.kvlistValue, "values");
    return Object.fromEntries(list.map(({ key, value }) => [textOf(key), valueOf(value)]));
  }
  return value.stringValue ?? value.boolValue ?? value.doubleValue;
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function listOf(holder: unknown, name: string): Record<string, unknown>[] {
  const list = recordOf(holder)[name];
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function idOf(value: unknown): string | undefined {
  return textOf(value) || undefined;
}

function millis(nanos: unknown): number {
  return Number(BigInt(String(nanos ?? 0)) / 1000n) / 1000;
}
