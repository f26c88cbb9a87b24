import { isRecord, parseJson } from "../util/json.ts";
import { factsOf, type HookEvent } from "./events.ts";

/** How a hook's process ended. */
export type HookRun =
  | { readonly kind: "exit"; readonly code: number; readonly signal?: string | undefined } & Printed
  | { readonly kind: "timeout"; readonly seconds: number }
  | { readonly kind: "aborted" }
  /** It was not started, or could not be. */
  | { readonly kind: "unstarted"; readonly why: string };

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  /** It printed more than is kept. */
  readonly overflow?: boolean | undefined;
}

/** What a hook says about whether a call may run, the strongest first. */
export const DECISIONS = ["deny", "defer", "ask", "allow"] as const;
export type HookDecision = typeof DECISIONS[number];

/** What one run of a hook means. */
export interface HookEffect {
  readonly outcome: "ok" | "blocked" | "failed" | "timeout" | "aborted";
  /** Of a refusal of anything else than a call: `deny`. */
  readonly decision?: HookDecision;
  readonly reason?: string;
  /** For the model. */
  readonly context?: string;
  /** Plain text that guides a summary. */
  readonly guide?: string;
  readonly updatedInput?: Readonly<Record<string, unknown>>;
  /** The run is to end, and why. */
  readonly stop?: string;
  /** For the user. */
  readonly message?: string;
  /** Why it failed, for the user. */
  readonly problem?: string;
}

/** Characters of a reason and of a context that are passed on. */
const MAX_REASON = 4_000;
const MAX_CONTEXT = 10_000;

/** Reads what a hook's end and output mean at this event. */
export function readRun(event: HookEvent, run: HookRun): HookEffect {
  switch (run.kind) {
    case "aborted":
      return { outcome: "aborted" };
    case "timeout":
      return { outcome: "timeout", problem: `it was ended after ${run.seconds} s` };
    case "unstarted":
      return { outcome: "failed", problem: run.why };
    case "exit":
      break;
  }
  const errors = short(run.stderr.trim(), MAX_REASON);
  if (run.code === 2) {
    if (factsOf(event).refuses === undefined) {
      return { outcome: "failed", problem: `nothing can be refused at ${event}${behind(errors)}` };
    }
    return { outcome: "blocked", decision: "deny", reason: errors || "it gave no reason" };
  }
  if (run.signal !== undefined) return { outcome: "failed", problem: `it was ended by ${run.signal}` };
  if (run.code !== 0) return { outcome: "failed", problem: `${exitWords(run.code)}${behind(errors)}` };
  if (run.overflow) return { outcome: "failed", problem: "it printed more than 1 MiB" };
  return readOutput(event, run.stdout.trim());
}

/** A line that ends with such a code has most likely a slip of the pen in it. */
function exitWords(code: number): string {
  if (code === 127) return "its command was not found (exit code 127)";
  if (code === 126) return "its command cannot be executed (exit code 126)";
  return `it ended with exit code ${code}`;
}

function behind(text: string): string {
  return text === "" ? "" : `: ${short(text.replace(/\s+/g, " "), 300)}`;
}

function readOutput(event: HookEvent, text: string): HookEffect {
  if (text === "") return { outcome: "ok" };
  if (!text.startsWith("{")) return { outcome: "ok", ...plain(event, text) };
  const value = parseJson(text);
  if (!isRecord(value)) return { outcome: "failed", problem: "what it printed begins like JSON and is none" };
  try {
    return readAnswer(event, value);
  } catch (error) {
    if (error instanceof TypeError) return { outcome: "failed", problem: lowered(error.message) };
    throw error;
  }
}

function plain(event: HookEvent, text: string): Pick<HookEffect, "context" | "guide"> {
  const { plainText } = factsOf(event);
  if (plainText === "context") return { context: short(text, MAX_CONTEXT) };
  return plainText === "guide" ? { guide: short(text, MAX_CONTEXT) } : {};
}

/** Throws a TypeError where the answer says something that cannot be understood. */
function readAnswer(event: HookEvent, value: Readonly<Record<string, unknown>>): HookEffect {
  const specific = value.hookSpecificOutput ?? {};
  if (!isRecord(specific)) throw new TypeError("Its hookSpecificOutput is no object");
  const named = specific.hookEventName;
  if (named !== undefined && named !== event) {
    throw new TypeError(`Its hookSpecificOutput is for ${String(named)}, not for ${event}`);
  }
  const { decision, reason, updatedInput, stop } = event === "PermissionRequest"
    ? permissionAnswer(specific.decision)
    : callAnswer(value, specific);
  if (decision === "deny" && factsOf(event).refuses === undefined) {
    throw new TypeError(`Nothing can be refused at ${event}`);
  }
  const context = textOf(specific, "additionalContext") ?? textOf(value, "additionalContext");
  const message = textOf(value, "systemMessage");
  const ending = value.continue === false
    ? short(textOf(value, "stopReason") ?? reason ?? "it gave no reason", MAX_REASON)
    : stop;
  return {
    outcome: decision === "deny" || ending !== undefined ? "blocked" : "ok",
    ...(decision === undefined ? {} : { decision, reason: short(reason ?? "it gave no reason", MAX_REASON) }),
    ...(context === undefined ? {} : { context: short(context, MAX_CONTEXT) }),
    ...(updatedInput === undefined ? {} : { updatedInput }),
    ...(ending === undefined ? {} : { stop: ending }),
    ...(message === undefined ? {} : { message: short(message, MAX_REASON) }),
  };
}

interface Answer {
  readonly decision?: HookDecision | undefined;
  readonly reason?: string | undefined;
  readonly updatedInput?: Readonly<Record<string, unknown>> | undefined;
  readonly stop?: string | undefined;
}

/** The form of all events, and the older one with `decision`. */
function callAnswer(
  value: Readonly<Record<string, unknown>>,
  specific: Readonly<Record<string, unknown>>,
): Answer {
  const { permissionDecision } = specific;
  const updatedInput = inputOf(specific);
  if (permissionDecision !== undefined) {
    const decision = DECISIONS.find((each) => each === permissionDecision);
    if (!decision) {
      throw new TypeError(
        `Its permissionDecision ${JSON.stringify(permissionDecision)} is none of ${DECISIONS.join(", ")}`,
      );
    }
    return { decision, reason: textOf(specific, "permissionDecisionReason"), updatedInput };
  }
  const reason = textOf(value, "reason");
  if (value.decision === undefined) return { updatedInput, reason };
  if (value.decision === "block" || value.decision === "deny") return { decision: "deny", reason };
  if (value.decision === "approve" || value.decision === "allow") {
    return { decision: "allow", reason, updatedInput };
  }
  throw new TypeError(`Its decision ${JSON.stringify(value.decision)} is none of block, approve`);
}

/** `{ behavior: "allow", updatedInput }` or `{ behavior: "deny", message, interrupt }`. */
function permissionAnswer(decision: unknown): Answer {
  if (decision === undefined) return {};
  if (!isRecord(decision)) throw new TypeError("Its decision is no object");
  if (decision.behavior === "allow") return { decision: "allow", updatedInput: inputOf(decision) };
  if (decision.behavior !== "deny") {
    throw new TypeError(`Its behavior ${JSON.stringify(decision.behavior)} is neither allow nor deny`);
  }
  const reason = textOf(decision, "message") ?? "it gave no reason";
  return { decision: "deny", reason, ...(decision.interrupt === true ? { stop: reason } : {}) };
}

function inputOf({ updatedInput }: Readonly<Record<string, unknown>>): Answer["updatedInput"] {
  if (updatedInput === undefined || updatedInput === null) return undefined;
  if (!isRecord(updatedInput)) throw new TypeError("Its updatedInput is no object");
  return updatedInput;
}

function textOf(value: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const text = value[key];
  if (text === undefined || text === null || text === "") return undefined;
  if (typeof text !== "string") throw new TypeError(`Its ${key} is no text`);
  return text;
}

function short(text: string, max: number): string {
  return text.length > max
    ? `${text.slice(0, max).toWellFormed()}… (${text.length - max} more characters)`
    : text;
}

/** A sentence as the rest of another one. */
function lowered(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
