/** Turns, requests, calls and compactions, put together from events: the data of all telemetry. */
import type { Cost, Event, EventOf, Usage } from "../../core/mod.ts";
import { userText } from "../../util/user_text.ts";

/** The session that an event belongs to: the user's own one, or that of an agent. */
export interface ObservedSession {
  readonly id: string;
  /** The session that an agent works for. */
  readonly parent?: string;
  /** Name of the agent. */
  readonly agent?: string;
  /** Number of agents above this one; 0 for the user's session. */
  readonly depth: number;
  /** Name of the configured provider, and its model. */
  readonly provider: string;
  readonly model: string;
  /** Host and port of the model's server. */
  readonly server?: { readonly address: string; readonly port: number };
}

/** Identifiers of a span (W3C Trace Context). They are drawn when it begins, before the SDK is loaded. */
export interface SpanIds {
  readonly trace: string;
  readonly id: string;
  readonly sampled: boolean;
  /** `tracestate` of the process that started the program. */
  readonly state?: string;
}

/** Times are milliseconds since 1970. */
export interface SpanTimes extends SpanIds {
  /** Absent: the first span of its trace. */
  readonly parent?: SpanIds & Partial<SpanTimes>;
  readonly from: number;
  /** The latest end of a span below it, at last its own one. */
  until: number;
  /** The agent below it continues without it. */
  detached?: boolean;
}

/** Something that has happened. */
interface Happened {
  readonly at: number;
  readonly session: ObservedSession;
  /** The user's session. */
  readonly root: string;
  /** The span that it belongs to; absent: nothing is open. */
  readonly span?: SpanIds | undefined;
}

/** Something that has a span, and is over. */
export interface Ended extends Happened {
  readonly span: SpanTimes;
  /** The value of `error.type`: an HTTP status, or a word. */
  readonly error?: string | undefined;
}

export interface ModelRequest {
  readonly purpose: "main" | "agent" | "compaction" | "image" | "sampling";
  /** Name of the configured provider. */
  readonly provider: string;
  readonly model: string;
  readonly durationMs: number;
  /** The number of the latest attempt. */
  readonly attempts: number;
  /** The text of the error. */
  readonly problem?: string | undefined;
}

/** A request that has ended. */
export interface RequestEnd extends Ended, ModelRequest {
  readonly kind: "request";
  readonly usage?: Usage | undefined;
  readonly cost?: Cost | undefined;
  readonly firstChunkMs?: number | undefined;
  readonly reply?: EventOf<"message.end">;
}

/** An attempt at a request that another one follows. */
export interface FailedAttempt extends Happened, ModelRequest {
  readonly kind: "retry";
  readonly error: string;
}

/** A call that is over. */
export interface CallEnd extends Ended {
  readonly kind: "call";
  readonly start: EventOf<"tool.start">;
  /** The tool's own name. */
  readonly tool: string;
  /** Absent: unfinished. */
  readonly end?: EventOf<"tool.end">;
  /** False: it was refused or skipped. */
  readonly executed: boolean;
  readonly approval?: EventOf<"approval.decision"> | undefined;
  readonly decision: CallDecision | undefined;
}

export interface CallDecision {
  readonly accepted: boolean;
  /** "config": rules, modes and earlier answers. */
  readonly source: "config" | "hook" | "user";
}

export interface TurnEnd extends Ended {
  readonly kind: "turn";
  readonly turn: number;
  readonly prompts: readonly string[];
  /** Absent: unfinished. */
  readonly end?: EventOf<"turn.end">;
}

export interface CompactionEnd extends Ended {
  readonly kind: "compaction";
  /** Absent: it failed. */
  readonly end?: EventOf<"compaction">;
}

export type Operation =
  | RequestEnd
  | FailedAttempt
  | CallEnd
  | TurnEnd
  | CompactionEnd
  /** The first turn in this process. */
  | Happened & { readonly kind: "session"; readonly resumed: boolean }
  | Happened & { readonly kind: "prompt"; readonly text: string }
  | Happened & {
    readonly kind: "decision";
    readonly tool: string | undefined;
    readonly event: EventOf<"approval.decision">;
  };

/**
 * Makes spans, metrics or log records of what happens.
 *
 * Contract: gives no text out that was not redacted.
 */
export type OperationSink = (operation: Operation) => void;

interface OpenRequest extends Pick<ModelRequest, "purpose" | "model"> {
  readonly span: SpanTimes;
  /** The beginning of the latest attempt, and its first chunk. */
  sent: number;
  first?: number | undefined;
  attempts: number;
}

interface OpenCall {
  readonly span: SpanTimes;
  readonly start: EventOf<"tool.start">;
  /** It was executed from here on. */
  began: number;
  /** The user was prompted about it. */
  asked?: boolean;
  approval?: EventOf<"approval.decision">;
  /** It is over, and work that belongs to it may follow. */
  ended?: boolean;
}

interface OpenTurn extends Pick<TurnEnd, "turn"> {
  readonly span: SpanTimes;
  readonly prompts: string[];
}

interface Failure {
  readonly error: string;
  readonly problem?: string;
}

const LOST: Failure = { error: "_OTHER" };
const UNFINISHED: Failure = { error: "unfinished" };

/** What a session has open: at most a turn, a compaction and a request, and calls. */
class OpenSession {
  session: ObservedSession;
  readonly root: string;
  /** The span that the session works for. */
  caller: SpanIds | undefined;
  readonly #sink: OperationSink;
  readonly #isSampled: (trace: string) => boolean;
  #begun = false;
  #turn: OpenTurn | undefined;
  #compaction: SpanTimes | undefined;
  #request: OpenRequest | undefined;
  readonly #calls = new Map<string, OpenCall>();

  constructor(session: ObservedSession, root: string, { sink, isSampled }: OperationsOptions) {
    [this.session, this.root] = [session, root];
    [this.#sink, this.#isSampled] = [sink, isSampled];
  }

  /** The span of a call, else of what the session is doing. */
  spanOf(callId?: string): SpanIds | undefined {
    const call = callId === undefined ? undefined : this.#calls.get(callId);
    return call?.span ?? this.#request?.span ?? this.#turn?.span ?? this.caller;
  }

  take(event: Event, at: number): void {
    const { depth } = this.session;
    switch (event.type) {
      case "turn.start":
        this.#endAll(at, LOST, UNFINISHED);
        this.#calls.clear();
        this.#turn = { span: this.#begin(at, this.caller), turn: event.turn, prompts: [] };
        if (!this.#begun && depth === 0) {
          this.#sink({ kind: "session", resumed: event.turn > 1, ...this.#now(at) });
        }
        this.#begun = true;
        return;
      case "message.user":
        if (event.origin !== "user" && event.origin !== "steer") return;
        this.#turn?.prompts.push(event.content);
        if (depth === 0) this.#sink({ kind: "prompt", text: userText(event.content), ...this.#now(at) });
        return;
      case "message.start":
        return this.#requested(event, at);
      case "message.delta":
      case "tool.call":
        if (this.#request) this.#request.first ??= at;
        return;
      case "message.retry":
        return this.#retried(event, at);
      case "message.end":
        return this.#replied(event, at);
      case "image.described": {
        const span = this.#begin(at - event.durationMs);
        const { provider, model, usage, cost, durationMs } = event;
        const facts = { purpose: "image", provider, model, usage, cost, durationMs, attempts: 1 } as const;
        return this.#sink({ kind: "request", ...facts, ...this.#ended(span, at) });
      }
      case "error":
        return this.#endRequest(at, failureOf(event.text, event.code));
      case "tool.start":
        this.#calls.set(event.call.id, { span: this.#begin(at), start: event, began: at });
        return;
      case "approval.request": {
        const call = this.#calls.get(event.callId);
        if (call) call.asked = true;
        return;
      }
      case "approval.decision": {
        const call = this.#calls.get(event.callId);
        if (call) Object.assign(call, { began: at, approval: event });
        const tool = call && toolOf(call.start);
        return this.#sink({ kind: "decision", tool, event, ...this.#now(at, call?.span) });
      }
      case "subagent.start": {
        const call = this.#calls.get(event.callId ?? "");
        if (call && event.background) call.span.detached = true;
        return;
      }
      case "tool.end": {
        const call = this.#calls.get(event.callId);
        if (call && !call.ended) this.#endCall(call, at, event);
        return;
      }
      case "compaction": {
        const span = this.#compaction ?? this.#begin(at);
        this.#compaction = undefined;
        return this.#sink({ kind: "compaction", end: event, ...this.#ended(span, at) });
      }
      case "turn.end":
        this.#endRequest(at);
        this.#endCompaction(at);
        return this.#endTurn(at, WANTED.includes(event.reason) ? undefined : event.reason, event);
    }
  }

  /** Nothing follows. */
  end(at: number): void {
    this.#endAll(at, UNFINISHED, UNFINISHED);
  }

  #endAll(at: number, request: Failure, other: Failure): void {
    this.#endRequest(at, request);
    for (const call of this.#calls.values()) {
      if (!call.ended) this.#endCall(call, at);
    }
    this.#endCompaction(at, other);
    this.#endTurn(at, other.error);
  }

  #begin(from: number, parent: SpanIds | undefined = this.#turn?.span ?? this.caller): SpanTimes {
    const trace = parent?.trace ?? hex(16);
    const sampled = parent?.sampled ?? this.#isSampled(trace);
    const { state } = parent ?? {};
    return {
      ...{ trace, id: hex(8), sampled, from, until: from },
      ...(parent ? { parent } : {}),
      ...(state === undefined ? {} : { state }),
    };
  }

  #now(at: number, span: SpanIds | undefined = this.#request?.span ?? this.#turn?.span): Happened {
    return { at, session: this.session, root: this.root, span };
  }

  #ended(span: SpanTimes, at: number, until = at): Ended {
    span.until = Math.max(span.until, until);
    const { parent } = span;
    if (parent?.until !== undefined && !parent.detached) parent.until = Math.max(parent.until, span.until);
    return { at, session: this.session, root: this.root, span };
  }

  #requested({ step, model }: EventOf<"message.start">, at: number): void {
    this.#endRequest(at);
    if (step === 0) this.#compaction ??= this.#begin(at);
    else this.#endCompaction(at);
    const purpose = step === 0 ? "compaction" : this.session.depth > 0 ? "agent" : "main";
    this.#request = { purpose, model, span: this.#begin(at, this.#compaction), sent: at, attempts: 1 };
  }

  #retried({ reason, waitMs }: EventOf<"message.retry">, at: number): void {
    const request = this.#request;
    if (!request) return;
    this.#sink({
      kind: "retry",
      ...this.#facts(request, request.sent, at),
      ...failureOf(reason),
      ...this.#now(at),
    });
    Object.assign(request, { attempts: request.attempts + 1, sent: at + waitMs, first: undefined });
  }

  #replied(event: EventOf<"message.end">, at: number): void {
    const { step, model, usage, cost, durationMs, interrupted } = event;
    const open = this.#request;
    const isOpen = open && (step === 0) === (open.purpose === "compaction");
    // A request of an MCP server is reported once it was answered; without usage there was none.
    if (!isOpen && !usage) return;
    if (isOpen) this.#request = undefined;
    const from = at - durationMs;
    const request: OpenRequest = isOpen
      ? open
      : { purpose: "sampling", model, span: this.#begin(from), sent: from, attempts: 1 };
    const { first, sent, span } = request;
    this.#sink({
      kind: "request",
      ...this.#facts(request, span.from, at),
      ...{ model, usage, cost, reply: event },
      firstChunkMs: first === undefined ? undefined : Math.max(0, first - sent),
      ...(interrupted ? { error: "interrupted", problem: "The reply broke off" } : {}),
      ...this.#ended(span, at),
    });
  }

  /** The request that is open has come to nothing. */
  #endRequest(at: number, failure = LOST): void {
    const request = this.#request;
    if (!request) return;
    this.#request = undefined;
    const { span } = request;
    this.#sink({
      kind: "request",
      ...this.#facts(request, span.from, at),
      ...failure,
      ...this.#ended(span, at),
    });
  }

  #facts({ purpose, model, attempts }: OpenRequest, from: number, at: number): ModelRequest {
    const { provider } = this.session;
    return { purpose, provider, model, attempts, durationMs: Math.max(0, at - from) };
  }

  #endCall(call: OpenCall, at: number, end?: EventOf<"tool.end">): void {
    const { span, start, began, approval } = call;
    call.ended = true;
    const outcome = end?.outcome ?? UNFINISHED.error;
    // The ends of calls side by side are recorded in their order. The duration is rounded.
    const until = Math.min(at, began + (end?.durationMs ?? Infinity) + 1);
    const executed = outcome === "ok" || outcome === "error" || (end?.durationMs ?? 0) > 0;
    const isJudged = executed || outcome === "blocked";
    this.#sink({
      ...{ kind: "call", start, tool: toolOf(start), executed, approval },
      ...(end ? { end } : {}),
      decision: decisionOf(call) ?? (isJudged ? { accepted: executed, source: "config" } : undefined),
      error: outcome === "ok" ? undefined : outcome,
      ...this.#ended(span, at, until),
    });
  }

  #endCompaction(at: number, { error }: Failure = LOST): void {
    const span = this.#compaction;
    this.#compaction = undefined;
    if (span) this.#sink({ kind: "compaction", error, ...this.#ended(span, at) });
  }

  #endTurn(at: number, error: string | undefined, end?: EventOf<"turn.end">): void {
    const turn = this.#turn;
    if (!turn) return;
    this.#turn = undefined;
    const { span, ...facts } = turn;
    this.#sink({ kind: "turn", ...facts, ...(end ? { end } : {}), error, ...this.#ended(span, at) });
  }
}

/** Ends of turns that are no errors. */
const WANTED: readonly string[] = ["done", "interrupted"];

/** The type of an error is the status of HTTP where its text names one. */
function failureOf(problem: string, otherwise = LOST.error): Failure {
  return { error: /\bstatus (\d{3})\b/.exec(problem)?.[1] ?? otherwise, problem };
}

function toolOf({ tool, call }: EventOf<"tool.start">): string {
  return tool ?? call.name;
}

function decisionOf({ approval, asked }: OpenCall): CallDecision | undefined {
  if (!approval) return undefined;
  const { decision, source } = approval;
  const byOther = source === "hook" || (source === "user" && asked);
  return { accepted: decision === "allow", source: byOther ? source : "config" };
}

function hex(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex();
}

interface OperationsOptions {
  readonly sink: OperationSink;
  /** Decides about a trace that begins here. */
  readonly isSampled: (trace: string) => boolean;
}

/** Follows the sessions of a run, and gives what ends or happens with an event to the sink. */
export class Operations {
  readonly #options: OperationsOptions;
  readonly #sessions = new Map<string, OpenSession>();

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  /** A session begins; `caller` is the span that it works for. That of an agent is the call. */
  open(session: ObservedSession, caller?: SpanIds): void {
    const { id, parent } = session;
    const root = parent === undefined ? id : this.#sessions.get(parent)?.root ?? parent;
    const open = new OpenSession(session, root, this.#options);
    open.caller = caller;
    this.#sessions.set(id, open);
  }

  /** Another model answers in a session from here on. */
  change(id: string, model: Pick<ObservedSession, "provider" | "model" | "server">): void {
    const open = this.#sessions.get(id);
    if (open) open.session = { ...open.session, ...model };
  }

  take(id: string, event: Event, at: number): void {
    const open = this.#sessions.get(id);
    open?.take(event, at);
    if (event.type !== "subagent.start") return;
    const agent = this.#sessions.get(event.session);
    if (agent) agent.caller = open?.spanOf(event.callId);
  }

  /** The span of a call of a session, else of what the session is doing; undefined: nothing. */
  spanOf(id: string, callId?: string): SpanIds | undefined {
    return this.#sessions.get(id)?.spanOf(callId);
  }

  /** Nothing follows: ends what is open. */
  end(at: number): void {
    for (const open of [...this.#sessions.values()].reverse()) open.end(at);
  }
}
