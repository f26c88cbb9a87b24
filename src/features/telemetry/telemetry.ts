import { errorMessage, type Event, message, newNotice, ReasonixError, type Text } from "../../core/mod.ts";
import { type AssemblyOptions, redactorOf, type RunContext, type RunTelemetry } from "../../run/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { after, atMost } from "../../util/timer.ts";
import type { Exporter } from "./exporter.ts";
import type { Observed, ObservedSession, SpanIds } from "./observed.ts";

/** A session with its open spans. */
interface SessionSpans {
  session: ObservedSession;
  readonly calls: Map<string, SpanIds>;
  /** The call, or the turn, that the agent works for. */
  caller?: SpanIds;
  turn?: SpanIds;
  compaction?: SpanIds;
  chat?: SpanIds;
}

/** The SDK takes 60 ms to load: that begins while the model thinks. */
const LOAD_AFTER_MS = 40;

/** Longest wait for the receiver at the end of a run. */
const END_MS = 1000;

/**
 * Telemetry of a run and of its agents. Nothing but this module executes before the first request was sent:
 * events are kept until the exporter is there.
 */
class Telemetry implements RunTelemetry {
  readonly #options: AssemblyOptions;
  readonly #sessions = new Map<string, SessionSpans>();
  #kept: Observed[] = [];
  #take = (observed: Observed): unknown => this.#kept.push(observed);
  #exporter: Exporter | undefined;
  #notify: (text: Text) => void = () => {};
  /** The receiver took what was sent last, or did not. */
  readonly #receiver: { failed: boolean; reported: boolean };
  #begun = false;
  #loads = false;
  readonly #load = lazy(() => this.#open());

  constructor(options: AssemblyOptions) {
    this.#options = options;
    this.#receiver = options.batch?.receiver ?? { failed: false, reported: false };
  }

  /** Follows the events of a run. */
  attach(run: RunContext): void {
    const { recorder, session: { id }, provider: { model }, options: { parent } } = run;
    const spans: SessionSpans = {
      session: {
        id,
        ...(parent ? { parent: parent.link.session } : {}),
        ...(parent?.link.agent === undefined ? {} : { agent: parent.link.agent }),
        depth: parent?.depth ?? 0,
        ...this.#modelOf(model.provider, model.id),
      },
      calls: new Map(),
    };
    this.#sessions.set(id, spans);
    recorder.subscribe((event) => this.#observe(spans, event));
    if (parent) return;
    this.#notify = (text) => void recorder.record(newNotice("warning", "telemetry", text));
    run.extensions.add({ close: () => this.#close() });
  }

  /**
   * Returns the W3C header `traceparent` that names the span of a call, else that of what the session is
   * doing. Undefined where it does nothing.
   */
  traceparent(session: string, callId?: string): string | undefined {
    const spans = this.#sessions.get(session);
    const called = callId === undefined ? undefined : spans?.calls.get(callId);
    const span = called ?? spans?.chat ?? spans?.turn ?? spans?.caller;
    return span && `00-${span.trace}-${span.id}-${span.sampled ? "01" : "00"}`;
  }

  #modelOf(provider: string, model: string): Pick<ObservedSession, "provider" | "model" | "server"> {
    const entry = this.#options.loaded.config.providers.find(({ name }) => name === provider);
    const url = URL.parse(entry?.base_url ?? "");
    const port = Number(url?.port || (url?.protocol === "http:" ? 80 : 443));
    return { provider, model, ...(url?.hostname ? { server: { address: url.hostname, port } } : {}) };
  }

  #observe(spans: SessionSpans, event: Event): void {
    if (event.type === "context.prefix" && event.provider !== undefined) {
      spans.session = { ...spans.session, ...this.#modelOf(event.provider, event.model) };
    }
    const at = performance.timeOrigin + performance.now();
    const span = this.#spanOf(spans, event);
    try {
      this.#take({ event, at, session: spans.session, ...(span ? { span } : {}) });
    } catch (error) {
      // A run does not end for what counts it.
      this.#stop(error);
    }
    if (event.type === "turn.start") this.#begun = true;
    if (event.type !== "message.start" || this.#loads) return;
    this.#loads = true;
    after(LOAD_AFTER_MS, () => void this.#load());
  }

  /** Draws the span that the event begins, or finds the one that it belongs to. */
  #spanOf(spans: SessionSpans, event: Event): SpanIds | undefined {
    switch (event.type) {
      case "turn.start":
        delete spans.chat;
        delete spans.compaction;
        spans.calls.clear();
        return spans.turn = drawSpan(spans.caller);
      case "turn.end": {
        const { turn } = spans;
        delete spans.turn;
        return turn;
      }
      case "message.start":
        if (event.step === 0) spans.compaction ??= drawSpan(spans.turn);
        else delete spans.compaction;
        return spans.chat = drawSpan(spans.compaction ?? spans.turn);
      case "message.end": {
        const span = spans.chat ?? (event.usage ? drawSpan(spans.turn) : spans.turn);
        delete spans.chat;
        return span;
      }
      case "image.described":
        return drawSpan(spans.turn);
      case "compaction": {
        const span = spans.compaction ?? drawSpan(spans.turn);
        delete spans.compaction;
        return span;
      }
      case "tool.start": {
        const span = drawSpan(spans.turn);
        spans.calls.set(event.call.id, span);
        return span;
      }
      case "subagent.start": {
        const span = this.#callOf(spans, event.callId);
        const agent = this.#sessions.get(event.session);
        if (agent && span) agent.caller = span;
        return span;
      }
      default: {
        const callId = "callId" in event && event.type !== "tool.call" ? event.callId : undefined;
        return callId === undefined ? spans.chat ?? spans.turn : this.#callOf(spans, callId);
      }
    }
  }

  #callOf(spans: SessionSpans, callId: string | undefined): SpanIds | undefined {
    return (callId === undefined ? undefined : spans.calls.get(callId)) ?? spans.turn;
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
        onExport: (problem) => {
          this.#receiver.failed = problem !== undefined;
          if (problem !== undefined) this.#report(problem);
        },
      });
      for (const observed of this.#kept.splice(0)) exporter.take(observed);
      this.#take = (observed) => exporter.take(observed);
      this.#exporter = exporter;
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
  #report(problem: Text): void {
    if (this.#receiver.reported) return;
    this.#receiver.reported = true;
    const { loaded, paths: { env } } = this.#options;
    const { otlp } = loaded.config.telemetry;
    const url = otlp === "env" ? env("OTEL_EXPORTER_OTLP_ENDPOINT") ?? "http://localhost:4318" : otlp;
    const text = message`Cannot send telemetry to ${
      URL.parse(url)?.host ?? url
    }: ${problem}; [telemetry] otlp names the receiver`;
    this.#notify(text);
  }

  async #close(): Promise<void> {
    if (!this.#begun) return;
    let isDone = false;
    const work = this.#load().then(() => this.#exporter?.close()).then(() => isDone = true);
    if (this.#receiver.failed) return;
    await atMost(END_MS, work);
    if (isDone) return;
    this.#report(message`no answer within ${END_MS / 1000} s`);
    this.#receiver.failed = true;
  }
}

function drawSpan(parent: SpanIds | undefined): SpanIds {
  const id = hex(8);
  return parent
    ? { trace: parent.trace, id, parent, sampled: parent.sampled }
    : { trace: hex(16), id, sampled: true };
}

function hex(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex();
}

const SIGNALS: readonly string[] = ["traces", "metrics", "logs"];

/** Adds telemetry to the options of a run. Throws a ReasonixError (config) for a wrong address. */
export function withTelemetry(options: AssemblyOptions): AssemblyOptions {
  const { otlp, signals } = options.loaded.config.telemetry;
  if (otlp !== "env" && !/^https?:$/.test(URL.parse(otlp)?.protocol ?? "")) {
    throw new ReasonixError(
      message`Cannot export telemetry to "${otlp}": telemetry.otlp is no http address`,
      {
        exit: "config",
        remedy: message`set it to the base address of an OTLP receiver, such as http://localhost:4318`,
      },
    );
  }
  const unknown = signals.find((signal) => !SIGNALS.includes(signal));
  if (unknown !== undefined) {
    throw new ReasonixError(message`Cannot export "${unknown}": telemetry.signals names no such signal`, {
      exit: "config",
      remedy: message`use traces, metrics and logs`,
    });
  }
  return { ...options, telemetry: new Telemetry(options) };
}

export function attach(run: RunContext): void {
  if (run.options.telemetry instanceof Telemetry) run.options.telemetry.attach(run);
}
