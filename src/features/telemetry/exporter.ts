import { parseKeyPairsIntoRecord } from "@opentelemetry/core";
import {
  createOtlpNetworkExportDelegate,
  ExporterMetrics,
  getSharedConfigurationDefaults,
  type IExporterTransport,
  OTLPExporterBase,
} from "@opentelemetry/otlp-exporter-base";
import {
  type IExporterMetricsHelper,
  type ISerializer,
  JsonLogsSerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
  LogsExporterMetricsHelper,
  MetricsExporterMetricsHelper,
  TraceExporterMetricsHelper,
} from "@opentelemetry/otlp-transformer";
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Config, EnvLookup } from "../../config/mod.ts";
import { message, ReasonixError, type Text } from "../../core/mod.ts";
import { networkFetch, retryAfter } from "../../provider/mod.ts";
import type { BatchContext } from "../../run/mod.ts";
import { defined, mapTexts } from "../../util/json.ts";
import { lazy } from "../../util/lazy.ts";
import { type Fetch, networkFailure, programFetch, RedirectError } from "../../util/network/fetch.ts";
import { after, unlessAborted } from "../../util/timer.ts";
import { VERSION } from "../../util/version.ts";
import { attributesOf, type ContentOptions } from "./conventions.ts";
import { operationRecords } from "./logs.ts";
import { operationMetrics } from "./metrics.ts";
import type { Operation, OperationSink } from "./operations.ts";
import { DrawnIds, operationSpans } from "./spans.ts";

const SCOPE = "reasonix";

/** The providers of the SDK, with what writes to them. */
export interface Exporter {
  take(operation: Operation): void;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** The end of an attempt to send something. */
export interface Attempt {
  readonly signal: string;
  /** Why it did not arrive. */
  readonly problem?: Text;
  /** Another attempt follows. */
  readonly repeated: boolean;
}

export interface ExporterOptions {
  readonly settings: Config["telemetry"];
  readonly env: EnvLookup;
  readonly redact: (text: string) => string;
  readonly batch?: BatchContext | undefined;
  /** Addresses by signal. */
  readonly receivers: ReadonlyMap<string, URL>;
  readonly onAttempt: (attempt: Attempt) => void;
}

/** Longest delay of a timer; a longer one would be none. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Opens the exporters of the configured signals. */
export function openExporter({ settings, receivers, batch, onAttempt, ...given }: ExporterOptions): Exporter {
  const { signals, names, content } = settings;
  const redact = (text: string) => hideInAddresses(given.redact(text));
  // An empty variable is one that is not set.
  const env = (name: string) => given.env(name) || undefined;
  const number = (name: string) => {
    const value = Number(env(name));
    return value > 0 ? Math.min(value, MAX_DELAY_MS) : undefined;
  };
  const options: ContentOptions = { content, redact };
  const resource = resourceOf(batch, redact);
  const isClaude = names === "claude_code";
  // Some readers of its telemetry look at the scope.
  const scope = isClaude ? "com.anthropic.claude_code" : SCOPE;
  const closing = new AbortController();
  const exporterOf = <Items, Answer>(
    signal: string,
    serializer: ISerializer<Items, Answer>,
    metricsHelper: IExporterMetricsHelper<Items>,
  ) => {
    const url = receivers.get(signal);
    if (!url) throw new Error(`There is no receiver of ${signal}`);
    const transport = transportTo(url, signal, {
      ...{ headers: settings.headers, env, closing: closing.signal },
      onAttempt: ({ problem, ...rest }) =>
        onAttempt({
          ...rest,
          ...defined({ problem: typeof problem === "string" ? redact(problem) : problem }),
        }),
    });
    const unused = { componentType: "", url: undefined, meterProvider: undefined };
    const metrics = new ExporterMetrics({
      ...unused,
      metricsHelper,
      responseAttributesFromError: () => ({}),
    });
    const { timeoutMillis: usual, ...rest } = getSharedConfigurationDefaults();
    const timeoutMillis = number(variableOf(signal, "TIMEOUT", env)) ?? usual;
    const config = { ...rest, timeoutMillis };
    return new OTLPExporterBase(createOtlpNetworkExportDelegate(config, serializer, metrics, transport));
  };
  const batching = (prefix: string) =>
    defined({
      scheduledDelayMillis: number(`${prefix}_SCHEDULE_DELAY`),
      exportTimeoutMillis: number(`${prefix}_EXPORT_TIMEOUT`),
      maxQueueSize: number(`${prefix}_MAX_QUEUE_SIZE`),
      maxExportBatchSize: number(`${prefix}_MAX_EXPORT_BATCH_SIZE`),
    });
  const sinks: OperationSink[] = [];
  const providers: { shutdown(): Promise<void> }[] = [];
  if (signals.includes("traces")) {
    const ids = new DrawnIds();
    const exporter = exporterOf("traces", JsonTraceSerializer, TraceExporterMetricsHelper);
    const spanProcessors = [new BatchSpanProcessor({ exporter, ...batching("OTEL_BSP") })];
    // The sampler has decided when the identifiers were drawn.
    const sampler = new AlwaysOnSampler();
    const provider = new TracerProvider({ resource, idGenerator: ids, sampler, spanProcessors });
    providers.push(provider);
    sinks.push(operationSpans(provider.getTracer(SCOPE, VERSION), ids, options));
  }
  if (signals.includes("metrics")) {
    const exporter = exporterOf("metrics", JsonMetricsSerializer, MetricsExporterMetricsHelper);
    const preference = env("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE") ?? (isClaude ? "delta" : "");
    // There are only counters and histograms.
    const isDelta = /^(?:delta|lowmemory)$/i.test(preference);
    const temporality = isDelta ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE;
    const interval = number("OTEL_METRIC_EXPORT_INTERVAL") ?? 60_000;
    const reader = new PeriodicExportingMetricReader({
      exporter: Object.assign(exporter, { selectAggregationTemporality: () => temporality }),
      exportIntervalMillis: interval,
      exportTimeoutMillis: Math.min(interval, number("OTEL_METRIC_EXPORT_TIMEOUT") ?? 30_000),
    });
    const provider = new MeterProvider({ resource, readers: [reader] });
    providers.push(provider);
    sinks.push(operationMetrics(names, provider.getMeter(scope, VERSION), options));
  }
  if (signals.includes("logs")) {
    const exporter = exporterOf("logs", JsonLogsSerializer, LogsExporterMetricsHelper);
    const often = { scheduledDelayMillis: 5000, ...batching("OTEL_BLRP") };
    const processors = [new BatchLogRecordProcessor({ exporter, ...often })];
    const provider = new LoggerProvider({ resource, processors });
    providers.push(provider);
    const logger = provider.getLogger(isClaude ? `${scope}.events` : scope, VERSION);
    sinks.push(operationRecords(names, logger, options));
  }
  return {
    take(operation) {
      for (const sink of sinks) sink(operation);
    },
    async close() {
      closing.abort();
      await Promise.allSettled(providers.map((provider) => provider.shutdown()));
    },
  };
}

/** The variable of a signal, else that of all. */
function variableOf(signal: string, name: string, env: EnvLookup): string {
  const own = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_${name}`;
  return env(own) ? own : `OTEL_EXPORTER_OTLP_${name}`;
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

interface TransportOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly env: EnvLookup;
  /** Aborted: nothing more is repeated. */
  readonly closing: AbortSignal;
  readonly onAttempt: (attempt: Attempt) => void;
}

/** Waits between attempts: the first one, and the longest. */
const BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 5000;

/** Answers after which the same can be sent again (the specification of OTLP/HTTP). */
const TEMPORARY: readonly number[] = [429, 502, 503, 504];

/** Sends what the SDK has written as requests to models are sent: proxies and redirects are those of them. */
function transportTo(
  url: URL,
  signal: string,
  { headers, env, closing, onAttempt }: TransportOptions,
): IExporterTransport {
  const all = new Headers();
  const given = ["OTEL_EXPORTER_OTLP_HEADERS", variableOf(signal, "HEADERS", env)];
  for (const values of [...given.map((name) => parseKeyPairsIntoRecord(env(name))), headers]) {
    for (const [name, value] of Object.entries(values)) all.set(name, value);
  }
  all.set("content-type", "application/json");
  all.set("user-agent", `reasonix/${VERSION}`);
  const isCompressed = env(variableOf(signal, "COMPRESSION", env)) === "gzip";
  if (isCompressed) all.set("content-encoding", "gzip");

  const connect = lazy(() => {
    const variables = {
      ca_file: variableOf(signal, "CERTIFICATE", env),
      client_cert_file: variableOf(signal, "CLIENT_CERTIFICATE", env),
      client_key_file: variableOf(signal, "CLIENT_KEY", env),
    };
    const files = mapTexts(variables, (name) => env(name) ?? "");
    return networkFetch({ base_url: url.href, proxy: "", ...files, variables }, programFetch);
  });

  const attempt = async (body: Uint8Array<ArrayBuffer>, late: AbortSignal) => {
    try {
      const send: Fetch = await connect();
      const response = await send(url, { method: "POST", headers: all, body, signal: late });
      await response.body?.cancel();
      if (response.ok) return {};
      const { status } = response;
      const waitMs = retryAfter(response.headers, Date.now());
      return { problem: `HTTP ${status}`, waitMs, isTemporary: TEMPORARY.includes(status) };
    } catch (error) {
      if (late.aborted) return { problem: message`no answer` };
      if (error instanceof ReasonixError) return { problem: error.texts.message };
      return {
        problem: networkFailure(error, "otlp").detail,
        isTemporary: !(error instanceof RedirectError),
      };
    }
  };

  return {
    async send(data: Uint8Array<ArrayBuffer>, timeoutMs) {
      const body = isCompressed ? await compressed(data) : data;
      const late = AbortSignal.timeout(timeoutMs);
      for (let backoff = BACKOFF_MS;; backoff = Math.min(backoff * 1.5, MAX_BACKOFF_MS)) {
        const { problem, waitMs = backoff, isTemporary } = await attempt(body, late);
        const repeated = isTemporary === true && !late.aborted && !closing.aborted;
        onAttempt({ signal, repeated, ...defined({ problem }) });
        if (problem === undefined) return { status: "success" };
        if (!repeated) return { status: "failure", error: new Error("The receiver did not get it") };
        const waited = new Promise<void>((resolve) => void after(waitMs, resolve));
        await unlessAborted(waited, closing).catch(() => {});
      }
    },
    shutdown() {},
  };
}

async function compressed(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([data]).stream().pipeThrough(new CompressionStream("gzip"));
  return await new Response(stream).bytes();
}

const USER_INFO = /\b([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/?#@"'`<>\\]+@/gi;
const QUERY =
  /([?&][\w.-]{0,60}(?:key|token|secret|sig|signature|auth|password|credential)=)[^\s&#"'`<>\\]+/gi;

/** Takes credentials out of the addresses in a text. */
function hideInAddresses(text: string): string {
  return text.replace(USER_INFO, "$1[redacted]@").replace(QUERY, "$1[redacted]");
}
