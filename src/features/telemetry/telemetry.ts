import { type Event, message, newNotice, ReasonixError, type Text } from "../../core/mod.ts";
import { type AssemblyOptions, redactorOf, type RunContext, type RunTelemetry } from "../../run/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { after, atMost } from "../../util/timer.ts";
import type { Exporter } from "./exporter.ts";
import type { Observed, ObservedSession, SpanIds } from "./observed.ts";

/** The open spans of a session. */
interface SessionSpans {
  readonly session: ObservedSession;
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
  /** Spans that agents work for, by the session of the agent. */
  readonly #callers = new Map<string, SpanIds | undefined>();
  #kept: Observed[] = [];
  #exporter: Exporter | undefined;
  #notify: (text: Text) => void = () => {};
  #problem = false;
  #loads = false;
  readonly #load = lazy(() => this.#open());

  constructor(options: AssemblyOptions) {
    this.#options = options;
  }

  /** Follows the events of a run. */
  attach(run: RunContext): void {
    const session = sessionOf(run);
    const caller = this.#callers.get(session.id);
    const spans: SessionSpans = { session, calls: new Map(), ...(caller ? { caller } : {}) };
    this.#sessions.set(session.id, spans);
    run.recorder.subscribe((event) => this.#observe(spans, event));
    if (run.options.parent) return;
    this.#notify = (text) => void run.recorder.record(newNotice("warning", "telemetry", text));
    run.extensions.add({ close: () => this.#close() });
  }

  /**
   * Returns the W3C header `traceparent` that names the span of a call, else that of what the session is
   * doing. Undefined where it does nothing.
   */
  traceparent(session: string, callId?: string): string | undefined {
    const spans = this.#sessions.get(session);
    const span = (callId === undefined ? undefined : spans?.calls.get(callId)) ?? spans?.chat ?? spans?.turn;
    return span && `00-${span.trace}-${span.id}-${span.sampled ? "01" : "00"}`;
  }

  #observe(spans: SessionSpans, event: Event): void {
    const { session } = spans;
    const at = performance.timeOrigin + performance.now();
    const span = this.#spanOf(spans, event);
    const observed: Observed = { event, at, session, ...(span ? { span } : {}) };
    if (this.#exporter) this.#exporter.take(observed);
    else this.#kept.push(observed);
    if (event.type !== "message.start" || this.#loads) return;
    this.#loads = true;
    after(LOAD_AFTER_MS, () => void this.#load());
  }

  /** Draws the span that the event begins, or finds the one that it belongs to. */
  #spanOf(spans: SessionSpans, event: Event): SpanIds | undefined {
    switch (event.type) {
      case "turn.start":
        delete spans.chat;
        spans.calls.clear();
        return spans.turn = drawSpan(spans.caller);
      case "message.start":
        if (event.step === 0) spans.compaction ??= drawSpan(spans.turn);
        return spans.chat = drawSpan(event.step === 0 ? spans.compaction : spans.turn);
      case "message.retry":
        return spans.chat = drawSpan(spans.turn);
      case "message.end": {
        const { chat = spans.turn } = spans;
        delete spans.chat;
        return chat;
      }
      case "tool.start": {
        const span = drawSpan(spans.turn);
        spans.calls.set(event.call.id, span);
        return span;
      }
      case "subagent.start": {
        const span = this.#callOf(spans, event.callId);
        this.#callers.set(event.session, span);
        const agent = this.#sessions.get(event.session);
        if (agent && span) agent.caller = span;
        return span;
      }
      case "turn.end":
        return spans.turn;
      default:
        return "callId" in event ? this.#callOf(spans, event.callId) : spans.chat ?? spans.turn;
    }
  }

  #callOf(spans: SessionSpans, callId: string | undefined): SpanIds | undefined {
    return (callId === undefined ? undefined : spans.calls.get(callId)) ?? spans.turn;
  }

  async #open(): Promise<void> {
    try {
      const { openExporter } = await import("./exporter.ts");
      const { loaded, paths: { env } } = this.#options;
      const exporter = openExporter({
        settings: loaded.config.telemetry,
        env,
        redact: redactorOf(loaded),
        onProblem: (problem) => this.#report(problem),
      });
      for (const observed of this.#kept.splice(0)) exporter.take(observed);
      this.#exporter = exporter;
    } catch (error) {
      this.#report(error instanceof Error ? error.message : String(error));
    }
  }

  /** The user gets one line, whatever fails afterwards. */
  #report(problem: string): void {
    if (this.#problem) return;
    this.#problem = true;
    this.#notify(message`Telemetry does not arrive: ${problem}`);
  }

  async #close(): Promise<void> {
    await atMost(END_MS, this.#load().then(() => this.#exporter?.close()));
  }
}

function sessionOf({ options: { parent }, session, provider: { model } }: RunContext): ObservedSession {
  const { link, depth = 0 } = parent ?? {};
  return {
    id: session.id,
    ...(link ? { parent: link.session } : {}),
    ...(link?.agent === undefined ? {} : { agent: link.agent }),
    depth,
    provider: model.provider,
    model: model.id,
  };
}

function drawSpan(parent: SpanIds | undefined): SpanIds {
  const id = hex(8);
  return parent
    ? { trace: parent.trace, id, parent: parent.id, sampled: parent.sampled }
    : { trace: hex(16), id, sampled: true };
}

function hex(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex();
}

/** Adds telemetry to the options of a run. Throws a ReasonixError (config) for a wrong address. */
export function withTelemetry(options: AssemblyOptions): AssemblyOptions {
  const { otlp } = options.loaded.config.telemetry;
  if (otlp !== "env" && !/^https?:$/.test(URL.parse(otlp)?.protocol ?? "")) {
    throw new ReasonixError(
      message`Cannot export telemetry to "${otlp}": telemetry.otlp is no http address`,
      {
        exit: "config",
        remedy: message`set it to the base address of an OTLP receiver, such as http://localhost:4318`,
      },
    );
  }
  return { ...options, telemetry: new Telemetry(options) };
}

export function attach(run: RunContext): void {
  if (run.options.telemetry instanceof Telemetry) run.options.telemetry.attach(run);
}
