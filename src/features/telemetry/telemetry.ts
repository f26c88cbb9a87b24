import { type Config, type EnvLookup, hideSecrets } from "../../config/mod.ts";
import { errorMessage, type Event, message, newNotice, ReasonixError, type Text } from "../../core/mod.ts";
import { type AssemblyOptions, redactorOf, type RunContext, type RunTelemetry } from "../../run/mod.ts";
import { defined } from "../../util/json.ts";
import { lazy } from "../../util/lazy.ts";
import { after, atMost } from "../../util/timer.ts";
import type { Attempt, Exporter } from "./exporter.ts";
import { type ObservedSession, type Operation, Operations, type Span } from "./operations.ts";

/** The SDK takes 25 ms to load: that begins while the first reply comes. */
const LOAD_AFTER_MS = 10;

/** Events that only a request brings which was sent. */
const ANSWERS: ReadonlySet<string> = new Set(["message.delta", "tool.call", "message.retry", "message.end"]);

/** Longest wait for the receiver at the end of a run. */
const END_MS = 1000;

/**
 * Telemetry of a run and of its agents. Only this module and the operations execute before the first request
 * was sent: what has happened is kept until the exporter is there.
 */
class Telemetry implements RunTelemetry {
  readonly tracestate: string | undefined;
  readonly #options: AssemblyOptions;
  /** The span that the program was started in. */
  readonly #inherited: Span | undefined;
  readonly #operations = new Operations({
    sink: (operation) => this.#take(operation),
    isSampled: (trace) => isSampled(trace, this.#options.paths.env),
  });
  #kept: Operation[] = [];
  #take = (operation: Operation): unknown => this.#kept.push(operation);
  #exporter: Exporter | undefined;
  #notify: (text: Text) => void = () => {};
  /** The receiver took what was sent last, or did not. */
  readonly #receiver: { failed: boolean; reported: boolean };
  readonly #receivers: ReadonlyMap<string, Receiver>;
  /** The latest attempt to send something, where it failed. */
  #latest: Attempt | undefined;
  #loads = false;
  readonly #load = lazy(() => this.#open());

  constructor(options: AssemblyOptions, receivers: ReadonlyMap<string, Receiver>) {
    [this.#options, this.#receivers] = [options, receivers];
    const { env } = options.paths;
    this.#inherited = inheritedSpan(env);
    // One that does not belong to the trace must not reach commands.
    this.tracestate = this.#inherited?.state ?? (env("TRACESTATE") === undefined ? undefined : "");
    this.#receiver = options.batch?.receiver ?? { failed: false, reported: false };
  }

  /** Follows the events of a run. */
  attach(run: RunContext): void {
    const { recorder, session: { id }, provider: { model }, options: { parent } } = run;
    this.#operations.open({
      id,
      ...defined({ parent: parent?.link.session, agent: parent?.link.agent }),
      depth: parent?.depth ?? 0,
      ...this.#modelOf(model.provider, model.id),
    }, parent ? undefined : this.#inherited);
    recorder.subscribe((event) => this.#observe(id, event));
    if (parent) return;
    this.#notify = (text) => void recorder.record(newNotice("warning", "telemetry", text));
    run.extensions.add({ close: () => this.#close() });
  }

  /**
   * Returns the W3C header `traceparent` that names the span of a call, else that of what the session is
   * doing. Undefined where it does nothing.
   */
  traceparent(session: string, callId?: string): string | undefined {
    const span = this.#operations.get(session)?.spanOf(callId);
    return span && `00-${span.trace}-${span.id}-${span.sampled ? "01" : "00"}`;
  }

  #modelOf(provider: string, model: string): Pick<ObservedSession, "provider" | "model" | "server"> {
    const entry = this.#options.loaded.config.providers.find(({ name }) => name === provider);
    const url = URL.parse(entry?.base_url ?? "");
    const port = Number(url?.port || (url?.protocol === "http:" ? 80 : 443));
    return { provider, model, ...(url?.hostname ? { server: { address: url.hostname, port } } : {}) };
  }

  #observe(session: string, event: Event): void {
    const open = this.#operations.get(session);
    if (open && event.type === "context.prefix" && event.provider !== undefined) {
      open.session = { ...open.session, ...this.#modelOf(event.provider, event.model) };
    }
    this.#safely(() => this.#operations.take(session, event, now()));
    if (this.#loads || !ANSWERS.has(event.type)) return;
    this.#loads = true;
    after(LOAD_AFTER_MS, () => void this.#load());
  }

  async #open(): Promise<void> {
    const { loaded, paths: { env }, batch } = this.#options;
    try {
      const { openExporter } = await import("./exporter.ts");
      const exporter = openExporter({
        settings: loaded.config.telemetry,
        env,
        redact: redactorOf(loaded),
        batch,
        receivers: new Map([...this.#receivers].map(([signal, { url }]) => [signal, url])),
        onAttempt: (attempt) => {
          const { problem, signal, repeated } = attempt;
          this.#latest = problem === undefined ? undefined : attempt;
          if (repeated) return;
          this.#receiver.failed = problem !== undefined;
          if (problem !== undefined) this.#report(problem, signal);
        },
      });
      for (const operation of this.#kept.splice(0)) exporter.take(operation);
      this.#take = (operation) => exporter.take(operation);
      this.#exporter = exporter;
    } catch (error) {
      this.#stop(error);
    }
  }

  /** A run does not end for what counts it. */
  #safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#stop(error);
    }
  }

  #stop(error: unknown): void {
    this.#take = () => {};
    this.#kept = [];
    this.#report(errorMessage(error));
  }

  /** The user gets one line, whatever fails afterwards. */
  #report(problem: Text, signal?: string): void {
    const receiver = this.#receivers.get(signal ?? "") ?? [...this.#receivers.values()][0];
    if (this.#receiver.reported || !receiver) return;
    this.#receiver.reported = true;
    const { url: { host }, from } = receiver;
    this.#notify(message`Cannot send telemetry to ${host}: ${problem}; ${from} names the receiver`);
  }

  async #close(): Promise<void> {
    this.#safely(() => this.#operations.end(now()));
    if (!this.#exporter && this.#kept.length === 0) return;
    let isDone = false;
    const work = this.#load().then(() => this.#exporter?.close()).then(() => isDone = true);
    if (this.#receiver.failed) return;
    await atMost(END_MS, work);
    if (isDone) return;
    const { problem = message`no answer within ${END_MS / 1000} s`, signal } = this.#latest ?? {};
    this.#report(problem, signal);
    this.#receiver.failed = true;
  }
}

/** Milliseconds since 1970, with fractions. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

/** Decides about a trace that begins here, as the `OTEL_*` variables say. */
function isSampled(trace: string, env: EnvLookup): boolean {
  const sampler = env("OTEL_TRACES_SAMPLER") ?? "";
  if (!sampler.endsWith("traceidratio")) return !sampler.endsWith("always_off");
  const ratio = Number(env("OTEL_TRACES_SAMPLER_ARG") ?? 1);
  return !(Number.parseInt(trace.slice(-13), 16) >= ratio * 2 ** 52);
}

const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const STATE_MEMBER = /^[a-z\d][a-z\d_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}(?<! )$/;
const MAX_STATE_MEMBERS = 32;

/** Reads the span that the environment names (W3C Trace Context); undefined where it names none. */
function inheritedSpan(env: EnvLookup): Span | undefined {
  const [, version, trace, id, flags = "", more] = TRACEPARENT.exec(env("TRACEPARENT") ?? "") ?? [];
  // Only later versions may have more fields.
  if (trace === undefined || id === undefined || (version === "00" && more !== undefined)) return undefined;
  const members = (env("TRACESTATE") ?? "").split(",").map((member) => member.trim()).filter(Boolean);
  const isValid = members.length <= MAX_STATE_MEMBERS && members.every((member) => STATE_MEMBER.test(member));
  const state = isValid && members.length > 0 ? members.join(",") : undefined;
  const decidesItself = /^(?:always|traceidratio)/.test(env("OTEL_TRACES_SAMPLER") ?? "");
  const sampled = decidesItself ? isSampled(trace, env) : (Number.parseInt(flags, 16) & 1) === 1;
  return { trace, id, sampled, ...defined({ state }), from: 0, until: 0 };
}

const SIGNALS: readonly string[] = ["traces", "metrics", "logs"];

interface Receiver {
  readonly url: URL;
  /** The setting or variable that names it. */
  readonly from: string;
}

/** The address of the receiver of a signal as it is written; `isOwn`: it is for this signal alone. */
export function addressOf(signal: string, { otlp }: Pick<Config["telemetry"], "otlp">, env: EnvLookup) {
  const variable = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`;
  const own = env(variable);
  if (own) return { address: own, from: variable, isOwn: true };
  if (otlp !== "env") return { address: otlp, from: "[telemetry] otlp", isOwn: false };
  const from = "OTEL_EXPORTER_OTLP_ENDPOINT";
  return { address: env(from) || "http://localhost:4318", from, isOwn: false };
}

/** Returns the receiver of a signal. Throws a ReasonixError (config) for a wrong address. */
function receiverOf(signal: string, settings: Config["telemetry"], env: EnvLookup): Receiver {
  const { address, from, isOwn } = addressOf(signal, settings, env);
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ReasonixError(
      message`Cannot export telemetry to "${String(hideSecrets(address))}": ${from} is no http address`,
      {
        exit: "config",
        remedy: message`set it to the base address of an OTLP receiver, such as http://localhost:4318`,
      },
    );
  }
  if (!isOwn) url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/${signal}`;
  return { url, from };
}

/** Adds telemetry to the options of a run. Throws a ReasonixError (config) for a wrong address or signal. */
export function withTelemetry(options: AssemblyOptions): AssemblyOptions {
  const { loaded: { config: { telemetry } }, paths: { env } } = options;
  const { signals } = telemetry;
  if (env("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return options;
  const unknown = signals.find((signal) => !SIGNALS.includes(signal));
  if (unknown !== undefined) {
    throw new ReasonixError(message`Cannot export "${unknown}": telemetry.signals names no such signal`, {
      exit: "config",
      remedy: message`use traces, metrics and logs`,
    });
  }
  const receivers = new Map(signals.map((signal) => [signal, receiverOf(signal, telemetry, env)]));
  return { ...options, telemetry: new Telemetry(options, receivers) };
}

export function attach(run: RunContext): void {
  if (run.options.telemetry instanceof Telemetry) run.options.telemetry.attach(run);
}
