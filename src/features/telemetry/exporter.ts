import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import {
  AggregationTemporalityPreference,
  OTLPMetricExporter,
} from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Config, EnvLookup } from "../../config/mod.ts";
import type { BatchContext } from "../../run/mod.ts";
import { defined } from "../../util/json.ts";
import { VERSION } from "../../util/version.ts";
import { operationRecords } from "./logs.ts";
import { operationMetrics } from "./metrics.ts";
import type { Observed, Reader, ReaderOptions } from "./observed.ts";
import { attributesOf, OperationReader, type OperationSink } from "./operations.ts";
import { DrawnIds, SpanReader } from "./spans.ts";

const SCOPE = "reasonix";

/** The providers of the SDK with their readers. */
export class Exporter implements Reader {
  readonly #readers: readonly Reader[];
  readonly #providers: readonly { shutdown(): Promise<void> }[];
  readonly #unwatch: () => void;

  constructor(
    readers: readonly Reader[],
    providers: readonly { shutdown(): Promise<void> }[],
    unwatch: () => void,
  ) {
    [this.#readers, this.#providers, this.#unwatch] = [readers, providers, unwatch];
  }

  take(observed: Observed): void {
    for (const reader of this.#readers) reader.take(observed);
  }

  end(): void {
    for (const reader of this.#readers) reader.end();
  }

  /** Sends what is left. */
  async close(): Promise<void> {
    this.end();
    await Promise.allSettled(this.#providers.map((provider) => provider.shutdown()));
    this.#unwatch();
  }
}

interface Export<T> {
  export(items: T, done: (result: { code: number; error?: Error }) => void): void;
}

/** Why nothing arrived. */
export interface ExportFailure {
  readonly signal: string;
  readonly problem: string;
  /** The SDK will try again. */
  readonly repeated: boolean;
}

export interface ExporterOptions {
  readonly settings: Config["telemetry"];
  readonly env: EnvLookup;
  readonly redact: (text: string) => string;
  readonly batch?: BatchContext | undefined;
  /** Addresses by signal. */
  readonly receivers: ReadonlyMap<string, URL>;
  /** Called after a failed attempt, and after each export, with the failure where there is one. */
  readonly onExport: (failure?: ExportFailure) => void;
}

/** Longest delay of a timer; a longer one would be none. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Opens the exporters of the configured signals; the SDK itself reads further `OTEL_*` variables. */
export function openExporter(
  { settings, env, batch, receivers, onExport, ...given }: ExporterOptions,
): Exporter {
  const { headers, signals, names, content } = settings;
  const redact = (text: string) => hideInAddresses(given.redact(text));
  const options: ReaderOptions = { content, redact };
  const resource = resourceOf(batch, redact);
  const isClaude = names === "claude_code";
  // Some readers of its telemetry look at the scope.
  const scope = isClaude ? "com.anthropic.claude_code" : SCOPE;
  const number = (name: string) => {
    const given = Number(env(name));
    return given > 0 ? Math.min(given, MAX_DELAY_MS) : undefined;
  };
  const target = (signal: string) => defined({ headers, url: receivers.get(signal)?.href });
  const attempts = new Map<string, string>();
  const unwatch = watchAttempts(receivers, (signal, problem) => {
    attempts.set(signal, redact(problem));
    onExport({ signal, problem: redact(problem), repeated: true });
  });
  /** Hears of the end of each export. */
  const watched = <T, E extends Export<T>>(signal: string, exporter: E): E => {
    const send = exporter.export.bind(exporter);
    exporter.export = (items, done) =>
      send(items, (result) => {
        const problem = attempts.get(signal) ?? redact(result.error?.message || "no answer");
        onExport(result.code === 0 ? undefined : { signal, problem, repeated: false });
        attempts.delete(signal);
        done(result);
      });
    return exporter;
  };
  const batching = (prefix: string) =>
    defined({
      scheduledDelayMillis: number(`${prefix}_SCHEDULE_DELAY`),
      exportTimeoutMillis: number(`${prefix}_EXPORT_TIMEOUT`),
      maxQueueSize: number(`${prefix}_MAX_QUEUE_SIZE`),
      maxExportBatchSize: number(`${prefix}_MAX_EXPORT_BATCH_SIZE`),
    });
  const readers: Reader[] = [];
  const sinks: OperationSink[] = [];
  const providers: { shutdown(): Promise<void> }[] = [];
  if (signals.includes("traces")) {
    const ids = new DrawnIds();
    const exporter = watched("traces", new OTLPTraceExporter(target("traces")));
    const spanProcessors = [new BatchSpanProcessor({ exporter, ...batching("OTEL_BSP") })];
    // The sampler has decided when the identifiers were drawn.
    const sampler = new AlwaysOnSampler();
    const provider = new TracerProvider({ resource, idGenerator: ids, sampler, spanProcessors });
    providers.push(provider);
    readers.push(new SpanReader(provider.getTracer(SCOPE, VERSION), ids, options));
  }
  if (signals.includes("metrics")) {
    const isChosen = Boolean(env("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"));
    const { DELTA } = AggregationTemporalityPreference;
    const preference = isClaude && !isChosen ? { temporalityPreference: DELTA } : {};
    const interval = number("OTEL_METRIC_EXPORT_INTERVAL") ?? 60_000;
    const reader = new PeriodicExportingMetricReader({
      exporter: watched("metrics", new OTLPMetricExporter({ ...target("metrics"), ...preference })),
      exportIntervalMillis: interval,
      exportTimeoutMillis: Math.min(interval, number("OTEL_METRIC_EXPORT_TIMEOUT") ?? 30_000),
    });
    const provider = new MeterProvider({ resource, readers: [reader] });
    providers.push(provider);
    sinks.push(operationMetrics(names, provider.getMeter(scope, VERSION), options));
  }
  if (signals.includes("logs")) {
    const exporter = watched("logs", new OTLPLogExporter(target("logs")));
    const often = { scheduledDelayMillis: 5000, ...batching("OTEL_BLRP") };
    const processors = [new BatchLogRecordProcessor({ exporter, ...often })];
    const provider = new LoggerProvider({ resource, processors });
    providers.push(provider);
    sinks.push(
      operationRecords(names, provider.getLogger(isClaude ? `${scope}.events` : scope, VERSION), options),
    );
  }
  if (sinks.length > 0) readers.push(new OperationReader(sinks));
  return new Exporter(readers, providers, unwatch);
}

/** The resource of all signals. It names no machine, unless `OTEL_RESOURCE_ATTRIBUTES` does. */
function resourceOf(batch: BatchContext | undefined, redact: (text: string) => string): Resource {
  const own = resourceFromAttributes({
    "service.name": "reasonix",
    "service.version": VERSION,
    // Sums of two processes are two series.
    "service.instance.id": crypto.randomUUID(),
  });
  const part = defined({
    "reasonix.batch": batch?.file,
    "reasonix.task": batch?.task,
    "reasonix.shard": batch?.shard,
  });
  const detectors = [resourceAttributesEnvDetector, serviceNameEnvDetector];
  const given = detectResources({ detectors }).merge(resourceFromAttributes(part));
  return defaultResource().merge(own).merge(resourceFromAttributes(attributesOf(given.attributes, redact)));
}

const ERROR = "http.client.request.error";
const ANSWER = "http.client.response.finish";

/**
 * Hears of attempts that fail: the SDK repeats them, and says neither when nor why. Returns a function that
 * ends it.
 */
function watchAttempts(
  receivers: ReadonlyMap<string, URL>,
  onFailure: (signal: string, problem: string) => void,
): () => void {
  const heard = (message: unknown) => {
    const { request, response, error } = message as {
      readonly request: { readonly path: string; getHeader(name: string): unknown };
      readonly response?: { readonly statusCode?: number };
      readonly error?: Error;
    };
    const address = `${request.getHeader("host")}${request.path}`;
    const [signal] =
      [...receivers].find(([, url]) => `${url.host}${url.pathname}${url.search}` === address) ??
        [];
    const { statusCode = 0 } = response ?? {};
    const problem = error?.message ?? (statusCode < 300 ? undefined : `HTTP ${statusCode}`);
    if (signal !== undefined && problem !== undefined) onFailure(signal, problem);
  };
  for (const name of [ERROR, ANSWER]) subscribe(name, heard);
  return () => {
    for (const name of [ERROR, ANSWER]) unsubscribe(name, heard);
  };
}

const USER_INFO = /\b([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#@"'`<>\\]+@/gi;
const QUERY =
  /([?&][\w.-]{0,60}(?:key|token|secret|sig|signature|auth|password|credential)=)[^\s&#"'`<>\\]+/gi;

/** Takes credentials out of the addresses in a text. */
function hideInAddresses(text: string): string {
  return text.replace(USER_INFO, "$1[redacted]@").replace(QUERY, "$1[redacted]");
}
