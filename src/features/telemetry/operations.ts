/** Turns, requests, calls and compactions, put together from events: the data of all telemetry. */
import type { Cost, Event, EventOf, Usage } from "../../core/mod.ts";
import { defined } from "../../util/json.ts";
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

/** A span: identifiers (W3C Trace Context), drawn before the SDK is loaded, and times in ms since 1970. */
export interface Span {
  readonly trace: string;
  readonly id: string;
  readonly sampled: boolean;
  /** `tracestate` of the process that started the program. */
  readonly state?: string;
  /** Absent: the first span of its trace. */
  readonly parent?: Span;
  readonly from: number;
  /** The latest end of a span below it, at last its own one. */
  until: number;
  /** The agent below it continues without it. */
  detached?: boolean;
}

/** The time and the session of an operation, and the error of one that failed. */
interface Happened {
  readonly at: number;
  readonly session: ObservedSession;
  /** The user's session. */
  readonly root: string;
  /** The value of `error.type`: an HTTP status, or a word. */
  readonly error?: string | undefined;
}

interface Request {
  readonly kind: "request";
  readonly span: Span;
  readonly purpose: "main" | "agent" | "compaction" | "image" | "sampling";
  /** Name of the configured provider. */
  readonly provider: string;
  readonly model: string;
  /** The beginning of the latest attempt, and its first chunk. */
  sent: number;
  first?: number | undefined;
  /** The number of the latest attempt. */
  attempts: number;
  readonly usage?: Usage | undefined;
  readonly cost?: Cost | undefined;
  readonly reply?: EventOf<"message.end">;
  /** The text of the error. */
  readonly problem?: string;
}

interface Call {
  readonly kind: "call";
  readonly span: Span;
  readonly start: EventOf<"tool.start">;
  /** The tool's own name. */
  readonly tool: string;
  /** It was executed from here on. */
  began: number;
  /** The user was prompted about it. */
  asked?: boolean;
  approval?: EventOf<"approval.decision">;
  /** Absent: unfinished. */
  end?: EventOf<"tool.end">;
}

interface Turn {
  readonly kind: "turn";
  readonly span: Span;
  readonly turn: number;
  readonly prompts: string[];
  /** Absent: unfinished. */
  readonly end?: EventOf<"turn.end"> | undefined;
}

interface Compaction {
  readonly kind: "compaction";
  readonly span: Span;
  /** Absent: it failed. */
  readonly end?: EventOf<"compaction">;
}

type Fact =
  | Request
  | Call
  | Turn
  | Compaction
  /** An attempt at a request that another one follows. */
  | Omit<Request, "kind"> & { readonly kind: "retry" }
  /** The first turn in this process. */
  | { readonly kind: "session"; readonly span?: Span | undefined; readonly resumed: boolean }
  | { readonly kind: "prompt"; readonly span?: Span | undefined; readonly text: string }
  | {
    readonly kind: "decision";
    readonly span?: Span | undefined;
    readonly tool: string | undefined;
    readonly event: EventOf<"approval.decision">;
  };

/** Something that has happened, or is over; the span is the one that it belongs to. */
export type Operation = Fact & Happened;

/** An operation of these kinds. */
export type OperationOf<K extends Operation["kind"]> = Extract<Operation, { readonly kind: K }>;

/**
 * Makes spans, metrics or log records of what happens.
 *
 * Contract: gives no text out that was not redacted.
 */
export type OperationSink = (operation: Operation) => void;

/** Errors of what has no other one: there is no reply, the program ends. */
const LOST = "_OTHER";
const UNFINISHED = "unfinished";

/** Ends of turns that are no errors. */
const WANTED: readonly string[] = ["done", "interrupted"];

/** The open operations of a session: at most a turn, a compaction and a request, and calls. */
class OpenSession {
  session: ObservedSession;
  readonly root: string;
  /** The span that the session works for. */
  caller: Span | undefined;
  readonly #options: OperationsOptions;
  #begun = false;
  #turn: Turn | undefined;
  #compaction: Compaction | undefined;
  #request: Request | undefined;
  /** Those of the turn; work that belongs to one may follow its end. */
  readonly #calls = new Map<string, Call>();

  constructor(session: ObservedSession, root: string, options: OperationsOptions) {
    [this.session, this.root, this.#options] = [session, root, options];
  }

  /** The span of a call, else of what the session is doing; undefined: nothing. */
  spanOf(callId = ""): Span | undefined {
    const open = this.#calls.get(callId) ?? this.#request ?? this.#turn;
    return open?.span ?? this.caller;
  }

  take(event: Event, at: number): void {
    const { depth } = this.session;
    const span = (this.#request ?? this.#turn)?.span;
    switch (event.type) {
      case "turn.start": {
        const { turn } = event;
        this.end(at, LOST);
        this.#turn = { kind: "turn", turn, prompts: [], span: this.#begin(at, this.caller) };
        if (!this.#begun && depth === 0) this.#emit({ kind: "session", resumed: turn > 1 }, at);
        this.#begun = true;
        return;
      }
      case "message.user":
        if (event.origin !== "user" && event.origin !== "steer") return;
        this.#turn?.prompts.push(event.content);
        if (depth === 0) this.#emit({ kind: "prompt", span, text: userText(event.content) }, at);
        return;
      case "message.start": {
        const isSummary = event.step === 0;
        this.#endRequest(at);
        if (isSummary) this.#compaction ??= { kind: "compaction", span: this.#begin(at) };
        else this.#endCompaction(at);
        const purpose = isSummary ? "compaction" : depth > 0 ? "agent" : "main";
        this.#request = this.#newRequest(purpose, event.model, this.#begin(at, this.#compaction?.span));
        return;
      }
      case "message.delta":
      case "tool.call":
        if (this.#request) this.#request.first ??= at;
        return;
      case "message.retry": {
        const request = this.#request;
        if (!request) return;
        const [error, problem] = failureOf(event.reason);
        this.#emit({ ...request, kind: "retry", problem }, at, error);
        return void Object.assign(request, {
          attempts: request.attempts + 1,
          sent: at + event.waitMs,
          first: undefined,
        });
      }
      case "message.end":
        return this.#replied(event, at);
      case "image.described": {
        const { model, usage, cost, durationMs } = event;
        const request = this.#newRequest("image", model, this.#begin(at - durationMs));
        return this.#end({ ...request, provider: event.provider, usage, cost }, at);
      }
      case "error":
        return this.#endRequest(at, ...failureOf(event.text, event.code));
      case "tool.start": {
        const tool = event.tool ?? event.call.name;
        this.#calls.set(event.call.id, {
          kind: "call",
          start: event,
          tool,
          span: this.#begin(at),
          began: at,
        });
        return;
      }
      case "approval.request": {
        const call = this.#calls.get(event.callId);
        if (call) call.asked = true;
        return;
      }
      case "approval.decision": {
        const call = this.#calls.get(event.callId);
        if (call) Object.assign(call, { began: at, approval: event });
        return this.#emit({ kind: "decision", span: call?.span ?? span, tool: call?.tool, event }, at);
      }
      case "subagent.start": {
        const call = this.#calls.get(event.callId ?? "");
        if (call && event.background) call.span.detached = true;
        return;
      }
      case "tool.end": {
        const call = this.#calls.get(event.callId);
        if (!call || call.end) return;
        call.end = event;
        const { outcome, durationMs } = event;
        // The ends of calls side by side are recorded in their order. The duration is rounded.
        const until = Math.min(at, call.began + durationMs + 1);
        return this.#end(call, at, outcome === "ok" ? undefined : outcome, until);
      }
      case "compaction": {
        const open = this.#compaction ?? { kind: "compaction", span: this.#begin(at) };
        this.#compaction = undefined;
        return this.#end({ ...open, end: event }, at);
      }
      case "turn.end":
        this.#endRequest(at);
        this.#endCompaction(at);
        return this.#endTurn(at, WANTED.includes(event.reason) ? undefined : event.reason, event);
    }
  }

  /** Ends what is open; `error` is that of a request. */
  end(at: number, error = UNFINISHED): void {
    this.#endRequest(at, error);
    for (const call of this.#calls.values()) {
      if (!call.end) this.#end(call, at, UNFINISHED);
    }
    this.#calls.clear();
    this.#endCompaction(at, UNFINISHED);
    this.#endTurn(at, UNFINISHED);
  }

  #replied(event: EventOf<"message.end">, at: number): void {
    const { step, model, usage, cost, durationMs, interrupted } = event;
    const open = this.#request;
    const isOpen = open && (step === 0) === (open.purpose === "compaction");
    // A request of an MCP server is reported once it was answered; without usage there was none.
    if (!isOpen && !usage) return;
    if (isOpen) this.#request = undefined;
    const request = isOpen ? open : this.#newRequest("sampling", model, this.#begin(at - durationMs));
    const problem = interrupted ? { problem: "The reply broke off" } : {};
    const error = interrupted ? "interrupted" : undefined;
    this.#end({ ...request, model, usage, cost, reply: event, ...problem }, at, error);
  }

  #newRequest(purpose: Request["purpose"], model: string, span: Span): Request {
    const { provider } = this.session;
    return { kind: "request", purpose, provider, model, span, sent: span.from, attempts: 1 };
  }

  /** The request that is open has come to nothing. */
  #endRequest(at: number, error = LOST, problem = ""): void {
    const request = this.#request;
    this.#request = undefined;
    if (request) this.#end({ ...request, problem }, at, error);
  }

  #endCompaction(at: number, error = LOST): void {
    const compaction = this.#compaction;
    this.#compaction = undefined;
    if (compaction) this.#end(compaction, at, error);
  }

  #endTurn(at: number, error: string | undefined, end?: EventOf<"turn.end">): void {
    const turn = this.#turn;
    this.#turn = undefined;
    if (turn) this.#end({ ...turn, end }, at, error);
  }

  #begin(from: number, parent = this.#turn?.span ?? this.caller): Span {
    const id = hex(8);
    if (parent) {
      const { trace, sampled, state } = parent;
      return { trace, id, sampled, ...defined({ state }), parent, from, until: from };
    }
    const trace = hex(16);
    return { trace, id, sampled: this.#options.isSampled(trace), from, until: from };
  }

  #end(fact: Request | Call | Turn | Compaction, at: number, error?: string, until = at): void {
    const { span } = fact;
    const { parent } = span;
    span.until = Math.max(span.until, until);
    if (parent && !parent.detached) parent.until = Math.max(parent.until, span.until);
    this.#emit(fact, at, error);
  }

  #emit(fact: Fact, at: number, error?: string): void {
    this.#options.sink({ ...fact, at, session: this.session, root: this.root, error });
  }
}

/** The type of an error is the status of HTTP where its text names one. */
function failureOf(problem: string, otherwise = LOST): [error: string, problem: string] {
  return [/\bstatus (\d{3})\b/.exec(problem)?.[1] ?? otherwise, problem];
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
  open(session: ObservedSession, caller?: Span): void {
    const { id, parent } = session;
    const root = parent === undefined ? id : this.get(parent)?.root ?? parent;
    const open = new OpenSession(session, root, this.#options);
    open.caller = caller;
    this.#sessions.set(id, open);
  }

  get(id: string): OpenSession | undefined {
    return this.#sessions.get(id);
  }

  take(id: string, event: Event, at: number): void {
    const open = this.get(id);
    open?.take(event, at);
    if (event.type !== "subagent.start") return;
    const agent = this.get(event.session);
    if (agent) agent.caller = open?.spanOf(event.callId);
  }

  /** Nothing follows: ends what is open. */
  end(at: number): void {
    for (const open of [...this.#sessions.values()].reverse()) open.end(at);
  }
}
