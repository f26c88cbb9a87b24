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
import { logReader } from "./logs.ts";
import { metricReader } from "./metrics.ts";
import type { Observed, Reader, ReaderOptions } from "./observed.ts";
import { DrawnIds, SpanReader } from "./spans.ts";

const SCOPE = "reasonix";

/** The providers of the SDK with their readers. */
export class Exporter implements Reader {
  readonly #readers: readonly Reader[];
  readonly #providers: readonly { shutdown(): Promise<void> }[];

  constructor(readers: readonly Reader[], providers: readonly { shutdown(): Promise<void> }[]) {
    this.#readers = readers;
    this.#providers = providers;
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
  }
}

interface Export<T> {
  export(items: T, done: (result: { code: number; error?: Error }) => void): void;
}

export interface ExporterOptions {
  readonly settings: Config["telemetry"];
  readonly env: EnvLookup;
  readonly redact: (text: string) => string;
  readonly batch?: BatchContext | undefined;
  /** Called after each export, with the problem where there is one. */
  readonly onExport: (problem?: string) => void;
}

/** Longest delay of a timer; a longer one would be none. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Opens the exporters of the configured signals; the SDK itself reads further `OTEL_*` variables. */
export function openExporter({ settings, env, redact, batch, onExport }: ExporterOptions): Exporter {
  const { otlp, headers, signals, names, content } = settings;
  const options: ReaderOptions = { content, redact };
  const resource = resourceOf(batch, redact);
  const isClaude = names === "claude_code";
  // Some readers of its telemetry look at the scope.
  const scope = isClaude ? "com.anthropic.claude_code" : SCOPE;
  const number = (name: string) => {
    const given = Number(env(name));
    return given > 0 ? Math.min(given, MAX_DELAY_MS) : undefined;
  };
  const target = (signal: string) => {
    const own = env(`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`);
    const url = own || otlp === "env" ? undefined : `${otlp.replace(/\/+$/, "")}/v1/${signal}`;
    return defined({ headers, url });
  };
  /** Hears of the end of each export. */
  const watched = <T, E extends Export<T>>(exporter: E): E => {
    const send = exporter.export.bind(exporter);
    exporter.export = (items, done) =>
      send(items, (result) => {
        onExport(result.code === 0 ? undefined : redact(problemOf(result.error)));
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
  const providers: { shutdown(): Promise<void> }[] = [];
  if (signals.includes("traces")) {
    const ids = new DrawnIds();
    const exporter = watched(new OTLPTraceExporter(target("traces")));
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
      exporter: watched(new OTLPMetricExporter({ ...target("metrics"), ...preference })),
      exportIntervalMillis: interval,
      exportTimeoutMillis: Math.min(interval, number("OTEL_METRIC_EXPORT_TIMEOUT") ?? 30_000),
    });
    const provider = new MeterProvider({ resource, readers: [reader] });
    providers.push(provider);
    readers.push(metricReader(names, provider.getMeter(scope, VERSION), options));
  }
  if (signals.includes("logs")) {
    const exporter = watched(new OTLPLogExporter(target("logs")));
    const often = { scheduledDelayMillis: 5000, ...batching("OTEL_BLRP") };
    const processors = [new BatchLogRecordProcessor({ exporter, ...often })];
    const provider = new LoggerProvider({ resource, processors });
    providers.push(provider);
    readers.push(
      logReader(names, provider.getLogger(isClaude ? `${scope}.events` : scope, VERSION), options),
    );
  }
  return new Exporter(readers, providers);
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
  const parts = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, redact(value)]));
  return defaultResource().merge(own).merge(detectResources({ detectors })).merge(
    resourceFromAttributes(parts),
  );
}

/** A status of HTTP, else the message of the error. */
function problemOf(error: (Error & { readonly code?: unknown }) | undefined): string {
  return typeof error?.code === "number" ? `HTTP ${error.code}` : error?.message || "no answer";
}
