import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Config, EnvLookup } from "../../config/mod.ts";
import { VERSION } from "../../util/version.ts";
import type { Logger, Meter } from "@opentelemetry/api";
import { DrawnIds, spanReader } from "./spans.ts";
import type { Observed, Reader, ReaderOptions } from "./observed.ts";

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

/** Hears of exports that fail. */
function watched<T, E extends Export<T>>(exporter: E, onProblem: (problem: string) => void): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) =>
    send(items, (result) => {
      if (result.code !== 0) onProblem(result.error?.message ?? "no answer");
      done(result);
    });
  return exporter;
}

type Names = Config["telemetry"]["names"];

export interface ExporterOptions {
  readonly settings: Config["telemetry"];
  readonly env: EnvLookup;
  readonly redact: (text: string) => string;
  /** May be called often. */
  readonly onProblem: (problem: string) => void;
}

/** Opens the exporters of the configured signals. */
export function openExporter({ settings, env, redact, onProblem }: ExporterOptions): Exporter {
  const { otlp, headers, signals, names, content } = settings;
  const resource = resourceFromAttributes({ "service.name": "reasonix", "service.version": VERSION });
  const options: ReaderOptions = { content, redact };
  const target = (signal: string) => {
    const own = env(`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`);
    const url = own === undefined && otlp !== "env" ? `${otlp.replace(/\/+$/, "")}/v1/${signal}` : undefined;
    return { headers, ...(url === undefined ? {} : { url }) };
  };
  const readers: Reader[] = [];
  const providers: { shutdown(): Promise<void> }[] = [];
  if (signals.includes("traces")) {
    const ids = new DrawnIds();
    const exporter = watched(new OTLPTraceExporter(target("traces")), onProblem);
    const provider = new TracerProvider({
      resource,
      idGenerator: ids,
      spanProcessors: [new BatchSpanProcessor({ exporter })],
    });
    providers.push(provider);
    readers.push(spanReader(provider.getTracer(SCOPE, VERSION), ids, options));
  }
  if (signals.includes("metrics")) {
    const exporter = watched(new OTLPMetricExporter(target("metrics")), onProblem);
    const provider = new MeterProvider({
      resource,
      readers: [new PeriodicExportingMetricReader({ exporter })],
    });
    providers.push(provider);
    readers.push(metricReader(names, provider.getMeter(SCOPE, VERSION), options));
  }
  if (signals.includes("logs")) {
    const exporter = watched(new OTLPLogExporter(target("logs")), onProblem);
    const provider = new LoggerProvider({
      resource,
      processors: [new BatchLogRecordProcessor({ exporter })],
    });
    providers.push(provider);
    readers.push(logReader(names, provider.getLogger(SCOPE, VERSION), options));
  }
  return new Exporter(readers, providers);
}

/** Counts what happens. */
function metricReader(
  names: Names,
  meter: Meter,
  _options: ReaderOptions,
): Reader {
  const calls = meter.createCounter(names === "gen_ai" ? "reasonix.tool.count" : "claude_code.tool.count");
  return {
    take({ event }) {
      if (event.type === "tool.end") calls.add(1);
    },
    end() {},
  };
}

/** Makes log records of events. */
function logReader(
  names: Names,
  logger: Logger,
  _options: ReaderOptions,
): Reader {
  return {
    take({ event }) {
      if (event.type === "tool.end") logger.emit({ eventName: `${names}.tool_result` });
    },
    end() {},
  };
}
