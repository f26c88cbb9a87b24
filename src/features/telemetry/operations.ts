/** Requests, calls and prompts, put together from events, for metrics and log records. */
import type { Attributes, AttributeValue } from "@opentelemetry/api";
import type { Cost, Event, EventOf, Usage } from "../../core/mod.ts";
import { userText } from "../../util/user_text.ts";
import type { Observed, ObservedSession, Reader } from "./observed.ts";

/** A request to a model. */
interface ModelRequest {
  readonly purpose: "main" | "agent" | "compaction" | "image" | "sampling";
  /** Name of the configured provider. */
  readonly provider: string;
  readonly model: string;
  readonly durationMs: number;
}

interface Failure {
  /** A status of HTTP, or a word. */
  readonly type: string;
  readonly text: string;
}

/** A request that has ended. */
export interface RequestEnd extends ModelRequest {
  readonly kind: "request";
  readonly usage?: Usage | undefined;
  readonly cost?: Cost | undefined;
  readonly firstChunkMs?: number | undefined;
  readonly attempts: number;
  readonly failure?: Failure | undefined;
}

/** An attempt at a request that another one follows. */
export interface FailedAttempt extends ModelRequest {
  readonly kind: "retry";
  readonly attempts: number;
  readonly failure: Failure;
}

/** A call that is over. */
export interface CallEnd {
  readonly kind: "call";
  readonly call: EventOf<"tool.start">["call"];
  /** The tool's own name. */
  readonly tool: string;
  readonly paths: readonly string[];
  readonly end: EventOf<"tool.end">;
  /** False: it was refused or skipped. */
  readonly executed: boolean;
  readonly decision: CallDecision | undefined;
}

export interface CallDecision {
  readonly accepted: boolean;
  /** "config": rules, modes and earlier answers. */
  readonly source: "config" | "hook" | "user";
}

type Fact =
  | RequestEnd
  | FailedAttempt
  | CallEnd
  /** The first turn in this process. */
  | { readonly kind: "session"; readonly resumed: boolean }
  | { readonly kind: "prompt"; readonly text: string }
  | {
    readonly kind: "decision";
    readonly tool: string | undefined;
    readonly event: EventOf<"approval.decision">;
  }
  | { readonly kind: "turn"; readonly event: EventOf<"turn.end"> };

/** Something that has happened, with the user's session that it belongs to. */
export type Operation = Fact & Pick<Observed, "at" | "session" | "span"> & { readonly root: string };

/** Counts or records what happens. */
export type OperationSink = (operation: Operation) => void;

interface OpenRequest extends Pick<ModelRequest, "purpose" | "model"> {
  readonly from: number;
  /** The beginning of the latest attempt, and its first chunk. */
  sent: number;
  first?: number | undefined;
  attempts: number;
}

interface OpenCall {
  readonly start: EventOf<"tool.start">;
  /** The user was prompted about it. */
  asked?: boolean;
  decision?: CallDecision;
}

/** The open request and the open calls of a session. */
class OpenSession {
  readonly root: string;
  #begun = false;
  #request: OpenRequest | undefined;
  readonly #calls = new Map<string, OpenCall>();

  constructor(root: string) {
    this.root = root;
  }

  take(event: Event, at: number, session: ObservedSession): Fact[] {
    switch (event.type) {
      case "turn.start": {
        const isFirst = !this.#begun && session.depth === 0;
        this.#begun = true;
        this.#calls.clear();
        const begin = { kind: "session", resumed: event.turn > 1 } as const;
        return [...this.#lost(at, session), ...(isFirst ? [begin] : [])];
      }
      case "message.user":
        return session.depth === 0 && (event.origin === "user" || event.origin === "steer")
          ? [{ kind: "prompt", text: userText(event.content) }]
          : [];
      case "message.start": {
        const before = this.#lost(at, session);
        const purpose = event.step === 0 ? "compaction" : session.depth > 0 ? "agent" : "main";
        this.#request = { purpose, model: event.model, from: at, sent: at, attempts: 1 };
        return before;
      }
      case "message.delta":
      case "tool.call":
        if (this.#request) this.#request.first ??= at;
        return [];
      case "message.retry":
        return this.#retried(event, at, session);
      case "message.end":
        return this.#replied(event, at, session);
      case "image.described":
        return [{ kind: "request", purpose: "image", attempts: 1, ...event }];
      case "error":
        return this.#lost(at, session, failureOf(event.text, event.code));
      case "tool.start":
        this.#calls.set(event.call.id, { start: event });
        return [];
      case "approval.request": {
        const call = this.#calls.get(event.callId);
        if (call) call.asked = true;
        return [];
      }
      case "approval.decision":
        return this.#decided(event);
      case "tool.end":
        return this.#called(event);
      case "turn.end":
        return [...this.#lost(at, session), { kind: "turn", event }];
      default:
        return [];
    }
  }

  #retried(event: EventOf<"message.retry">, at: number, session: ObservedSession): FailedAttempt[] {
    const request = this.#request;
    if (!request) return [];
    const { attempts, sent } = request;
    Object.assign(request, { attempts: attempts + 1, sent: at + event.waitMs, first: undefined });
    const facts = requestOf({ ...request, from: sent }, at, session);
    return [{ kind: "retry", ...facts, attempts, failure: failureOf(event.reason) }];
  }

  /** The request that is open has come to nothing. */
  #lost(at: number, session: ObservedSession, failure = failureOf("")): RequestEnd[] {
    const request = this.#request;
    if (!request) return [];
    this.#request = undefined;
    return [{ kind: "request", ...requestOf(request, at, session), attempts: request.attempts, failure }];
  }

  #replied(event: EventOf<"message.end">, at: number, session: ObservedSession): RequestEnd[] {
    const { step, model, usage, cost, durationMs, interrupted } = event;
    const open = this.#request;
    const isOpen = open && (step === 0) === (open.purpose === "compaction");
    // A request of an MCP server is reported once it was answered; without usage there was none.
    if (!isOpen && !usage) return [];
    const from = at - durationMs;
    const request: OpenRequest = isOpen
      ? open
      : { purpose: "sampling", model, from, sent: from, attempts: 1 };
    if (isOpen) this.#request = undefined;
    const { first, sent, attempts } = request;
    return [{
      kind: "request",
      ...requestOf(request, at, session),
      model,
      usage,
      cost,
      attempts,
      firstChunkMs: first === undefined ? undefined : Math.max(0, first - sent),
      failure: interrupted ? { type: "interrupted", text: "The reply broke off" } : undefined,
    }];
  }

  #decided(event: EventOf<"approval.decision">): Fact[] {
    const call = this.#calls.get(event.callId);
    const { decision, source } = event;
    if (call) {
      const byOther = source === "hook" || (source === "user" && call.asked);
      call.decision = { accepted: decision === "allow", source: byOther ? source : "config" };
    }
    return [{ kind: "decision", tool: call && toolOf(call.start), event }];
  }

  #called(end: EventOf<"tool.end">): Fact[] {
    const call = this.#calls.get(end.callId);
    if (!call) return [];
    this.#calls.delete(end.callId);
    const { start, decision } = call;
    const executed = end.outcome === "ok" || end.outcome === "error" || end.durationMs > 0;
    const isJudged = executed || end.outcome === "blocked";
    return [{
      kind: "call",
      call: start.call,
      tool: toolOf(start),
      paths: start.paths ?? [],
      end,
      executed,
      decision: decision ?? (isJudged ? { accepted: executed, source: "config" } : undefined),
    }];
  }
}

function requestOf(
  { purpose, model, from }: OpenRequest,
  at: number,
  session: ObservedSession,
): ModelRequest {
  return { purpose, provider: session.provider, model, durationMs: Math.max(0, at - from) };
}

/** Ends of turns that are no errors. */
export const WANTED: readonly string[] = ["done", "interrupted"];

/** A failure has the status of HTTP as its type where the text names one. */
export function failureOf(text: string, otherwise = "_OTHER"): Failure {
  return { type: /\bstatus (\d{3})\b/.exec(text)?.[1] ?? otherwise, text };
}

function toolOf({ tool, call }: EventOf<"tool.start">): string {
  return tool ?? call.name;
}

/** Follows the sessions of a run, and gives what ends or happens with an event to its sinks. */
export class OperationReader implements Reader {
  readonly #sessions = new Map<string, OpenSession>();
  readonly #sinks: readonly OperationSink[];

  constructor(sinks: readonly OperationSink[]) {
    this.#sinks = sinks;
  }

  take({ event, at, session, span }: Observed): void {
    const { id, parent } = session;
    let open = this.#sessions.get(id);
    if (!open) {
      const root = parent === undefined ? id : this.#sessions.get(parent)?.root ?? parent;
      this.#sessions.set(id, open = new OpenSession(root));
    }
    const common = { at, session, root: open.root, ...(span ? { span } : {}) };
    for (const fact of open.take(event, at, session)) {
      for (const sink of this.#sinks) sink({ ...fact, ...common });
    }
  }

  end(): void {}
}

/** Values of attributes; undefined: not known. */
export type Values = Readonly<Record<string, AttributeValue | undefined>>;

/** The known values, their texts redacted. */
export function attributesOf(values: Values, redact: (text: string) => string): Attributes {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "string" ? redact(value) : value]]
    ),
  );
}
