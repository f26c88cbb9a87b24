/** What happened, put together from events: the requests, calls and prompts that metrics and logs are about. */
import type { Cost, Event, EventOf, Usage } from "../../core/mod.ts";
import { userText } from "../../util/user_text.ts";
import type { Observed, ObservedSession, SpanIds } from "./observed.ts";

/** An attempt at a request to a model that has ended. */
interface RequestEnd {
  readonly kind: "request";
  readonly purpose: "main" | "agent" | "compaction" | "image";
  /** Name of the configured provider. */
  readonly provider: string;
  readonly model: string;
  readonly usage?: Usage | undefined;
  readonly cost?: Cost | undefined;
  readonly durationMs: number;
  readonly firstChunkMs?: number;
  /** 1: the first one. */
  readonly attempt: number;
  readonly failure?: Failure;
}

interface Failure {
  /** A status of HTTP, or a word. */
  readonly type: string;
  readonly text: string;
}

interface CallDecision {
  readonly accepted: boolean;
  /** "config": rules, modes and earlier answers. */
  readonly source: "config" | "hook" | "user";
}

/** A call that is over. */
interface CallEnd {
  readonly kind: "call";
  readonly call: EventOf<"tool.start">["call"];
  /** The tool's own name. */
  readonly tool: string;
  readonly paths: readonly string[];
  readonly end: EventOf<"tool.end">;
  /** False: it was refused or skipped. */
  readonly executed: boolean;
  readonly decision?: CallDecision;
}

type Fact =
  | RequestEnd
  | CallEnd
  /** The first turn in this process. */
  | { readonly kind: "session"; readonly resumed: boolean }
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "decision"; readonly tool: string; readonly event: EventOf<"approval.decision"> }
  | { readonly kind: "turn"; readonly event: EventOf<"turn.end"> };

export type Operation = Fact & {
  readonly at: number;
  readonly session: ObservedSession;
  /** The user's session that it belongs to. */
  readonly root: string;
  readonly span?: SpanIds;
};

/** The attempt that is under way. */
interface Attempt {
  readonly step: number;
  readonly model: string;
  readonly number: number;
  readonly at: number;
  first?: number;
}

interface OpenCall {
  readonly start: EventOf<"tool.start">;
  /** The user was prompted about it. */
  asked?: boolean;
  decision?: CallDecision;
}

interface Open {
  readonly root: string;
  provider: string;
  begun: boolean;
  attempt?: Attempt | undefined;
  readonly calls: Map<string, OpenCall>;
}

type Values = Readonly<Record<string, string | number | undefined>>;

/** Attributes without what is not known, their texts redacted. */
export function attributes(
  values: Values,
  redact: (text: string) => string,
): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "string" ? redact(value) : value]]
    ),
  );
}

/** Follows the sessions of a run. */
export class Operations {
  readonly #sessions = new Map<string, Open>();

  /** Returns what ends or happens with an event. */
  take({ event, at, session, span }: Observed): Operation[] {
    const open = this.#open(session);
    return facts(open, event, { at, session }).map((fact) => ({
      ...fact,
      at,
      session,
      root: open.root,
      ...(span ? { span } : {}),
    }));
  }

  #open({ id, parent, provider }: ObservedSession): Open {
    let open = this.#sessions.get(id);
    if (!open) {
      const root = parent === undefined ? id : this.#sessions.get(parent)?.root ?? parent;
      this.#sessions.set(id, open = { root, provider, begun: false, calls: new Map() });
    }
    return open;
  }
}

interface Moment {
  readonly at: number;
  readonly session: ObservedSession;
}

function facts(open: Open, event: Event, moment: Moment): Fact[] {
  const { at, session: { depth } } = moment;
  switch (event.type) {
    case "context.prefix":
      open.provider = event.provider ?? open.provider;
      return [];
    case "turn.start": {
      open.calls.clear();
      const first = !open.begun && depth === 0;
      open.begun = true;
      return [
        ...lost(open, moment),
        ...(first ? [{ kind: "session", resumed: event.turn > 1 } as const] : []),
      ];
    }
    case "message.user":
      return depth === 0 && (event.origin === "user" || event.origin === "steer")
        ? [{ kind: "prompt", text: userText(event.content) }]
        : [];
    case "message.start": {
      const before = lost(open, moment);
      open.attempt = { step: event.step, model: event.model, number: 1, at };
      return before;
    }
    case "message.delta":
    case "tool.call":
      if (open.attempt) open.attempt.first ??= at;
      return [];
    case "message.retry": {
      const failed = lost(open, moment, failureOf(event.reason));
      const { step = 1, model = moment.session.model } = open.attempt ?? {};
      open.attempt = { step, model, number: event.attempt, at: at + event.waitMs };
      return failed;
    }
    case "message.end":
      return [replied(open, event, moment)];
    case "image.described":
      return [{ kind: "request", purpose: "image", attempt: 1, ...event }];
    case "error":
      return lost(open, moment, failureOf(event.text, event.code));
    case "tool.start":
      open.calls.set(event.call.id, { start: event });
      return [];
    case "approval.request": {
      const call = open.calls.get(event.callId);
      if (call) call.asked = true;
      return [];
    }
    case "approval.decision":
      return decided(open, event);
    case "tool.end":
      return called(open, event);
    case "turn.end":
      return [...lost(open, moment), { kind: "turn", event }];
    default:
      return [];
  }
}

/** The attempt that is under way has come to nothing. */
function lost(open: Open, { at, session }: Moment, failure = failureOf("")): RequestEnd[] {
  const { attempt } = open;
  if (!attempt) return [];
  open.attempt = undefined;
  return [{ ...attemptFacts(attempt, open, { at, session }), failure }];
}

function replied(open: Open, event: EventOf<"message.end">, { at, session }: Moment): RequestEnd {
  const attempt = open.attempt ??
    { step: event.step, model: event.model, number: 1, at: at - event.durationMs };
  open.attempt = undefined;
  const { model, usage, cost } = event;
  return {
    ...attemptFacts(attempt, open, { at, session }),
    model,
    usage,
    cost,
    ...(event.interrupted ? { failure: { type: "interrupted", text: "The reply broke off" } } : {}),
  };
}

function attemptFacts(
  { step, model, number, at: began, first }: Attempt,
  { provider }: Open,
  { at, session: { depth } }: Moment,
): RequestEnd {
  return {
    kind: "request",
    purpose: step === 0 ? "compaction" : depth > 0 ? "agent" : "main",
    provider,
    model,
    durationMs: Math.max(0, at - began),
    ...(first === undefined ? {} : { firstChunkMs: Math.max(0, first - began) }),
    attempt: number,
  };
}

function failureOf(text: string, otherwise = "_OTHER"): Failure {
  return { type: /\bstatus (\d{3})\b/.exec(text)?.[1] ?? otherwise, text };
}

function decided(open: Open, event: EventOf<"approval.decision">): Fact[] {
  const call = open.calls.get(event.callId);
  const { decision, source } = event;
  if (call) {
    const byWhom = source === "hook" || (source === "user" && call.asked) ? source : "config";
    call.decision = { accepted: decision === "allow", source: byWhom };
  }
  return [{ kind: "decision", tool: call ? toolOf(call.start) : "", event }];
}

function called({ calls }: Open, end: EventOf<"tool.end">): Fact[] {
  const call = calls.get(end.callId);
  if (!call) return [];
  calls.delete(end.callId);
  const { start, decision } = call;
  const executed = end.outcome === "ok" || end.outcome === "error" || end.durationMs > 0;
  const known = decision ??
    (executed || end.outcome === "blocked" ? { accepted: executed, source: "config" } as const : undefined);
  return [{
    kind: "call",
    call: start.call,
    tool: toolOf(start),
    paths: start.paths ?? [],
    end,
    executed,
    ...(known ? { decision: known } : {}),
  }];
}

function toolOf({ tool, call }: EventOf<"tool.start">): string {
  return tool ?? call.name;
}
