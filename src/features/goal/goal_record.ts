import {
  clausesOf,
  type Event,
  type EventOf,
  isWritten,
  type LocalizedMessage,
  message,
  type Text,
} from "../../core/mod.ts";
import type { GoalRecord } from "../../run/mod.ts";

export const goalTexts = {
  complete: (turns: number) =>
    turns === 1 ? message`Goal reached after 1 turn` : message`Goal reached after ${turns} turns`,
  blocked: (why: Text) => resumable(message`Goal blocked, needs you: ${why}`),
  turns: (turns: number) => resumable(message`Goal not reached: limit of ${turns} turns`),
  cost: (cost: number) => resumable(message`Goal not reached: cost limit of ${cost}`),
  time: (seconds: number) => resumable(message`Goal not reached: time limit of ${seconds} s`),
  idle: (turns: number) => resumable(message`Goal not reached: ${turns} turns in a row had no effect`),
  turnLimit: (detail: Text) => resumable(message`Goal not reached: ${detail}`),
  paused: () => resumable(message`Goal paused`),
  failed: (detail: Text) => resumable(message`Goal paused: ${detail}`),
  cleared: () => message`Goal cleared`,
  next: (turn: number) => message`Goal not reached yet: turn ${turn} begins`,
  waits: (turn: number, seconds: number) => message`No progress; turn ${turn} begins in ${seconds} s`,
  check: (command: string) => message`Check failed: ${command}`,
  research: (directory: string) => message`Research record: ${directory}`,
  upgraded: (directory: string) =>
    message`Handled as long research (--simple turns that off); research record: ${directory}`,
  report: (file: string) => message`Research report: ${file}`,
};

/** A goal that was not reached can be resumed. */
function resumable(what: LocalizedMessage): LocalizedMessage {
  return clausesOf([what, message`continue with /goal resume or reasonix run -c`]);
}

/** Words of a command line that only change with time and chance. */
const VARYING = /\b(?:[0-9a-f]{8,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b|\d+/gi;
const MAX_OUTPUT = 20_000;

/**
 * Tracks new effects of calls while a goal is active. A change of a file or an output of a command that was
 * there before is none, so going back and forth is no progress.
 */
export class EffectTracker {
  readonly #seen = new Set<string>();
  readonly #calls = new Map<string, { readonly reads: boolean; readonly args: string }>();
  #effect: "effect" | "read" | "none" = "none";

  event(event: Event): void {
    if (event.type === "tool.start") {
      this.#calls.set(event.call.id, { reads: event.readOnly, args: event.call.arguments });
    } else if (event.type === "tool.end") this.#end(event);
    else if (event.type === "subagent.end" && event.outcome === "ok") this.#note("effect", event.summary);
  }

  /** Something that is worth as much as reading was added. */
  added(text: string): void {
    this.#note("read", text);
  }

  take(): "effect" | "read" | "none" {
    const effect = this.#effect;
    this.#effect = "none";
    return effect;
  }

  #end({ callId, name, outcome, content, changes = [] }: EventOf<"tool.end">): void {
    const call = this.#calls.get(callId);
    this.#calls.delete(callId);
    if (!call || OWN_TOOLS.has(name)) return;
    const written = changes.filter(isWritten);
    for (const { path, change, diff, added, removed } of written) {
      this.#note("effect", `${path}\0${change}\0${diff ?? `${added} ${removed}`}`);
    }
    // A failing command may show more than one that works; a refused call shows nothing.
    if (written.length > 0 || (outcome !== "ok" && outcome !== "error")) return;
    if (call.reads) return this.#note("read", `${name}\0${call.args}\0${content.slice(0, MAX_OUTPUT)}`);
    // One that prints nothing is known by what it was called with.
    const shown = content.trim() === "" || content === "(no output)" ? call.args : content;
    this.#note("effect", `${name}\0${shown.slice(0, MAX_OUTPUT).replace(VARYING, "#").replace(/\s+/g, " ")}`);
  }

  #note(kind: "effect" | "read", text: string): void {
    const key = `${kind}\0${digest(text)}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    if (this.#effect !== "effect") this.#effect = kind;
  }
}

/** Tools whose calls are about the work, and not the work. */
const OWN_TOOLS: ReadonlySet<string> = new Set(["update_goal", "todo_write", "todo_read", "ask"]);

/** Two sums of 32 bits (FNV-1a and a multiplicative one) and the length: a clash would cost one turn. */
function digest(text: string): string {
  let [a, b] = [0x811c9dc5, 5381];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b, 33) + unit | 0;
  }
  return `${text.length}:${a}:${b}`;
}

type GoalState = GoalRecord["state"];

/** Bounds of a goal; 0 means none. */
export interface GoalLimits {
  readonly turns: number;
  readonly durationMs: number;
  /** In the currency of the model's price. */
  readonly cost: number;
  /** Consecutive automatic turns without an effect. */
  readonly idle: number;
}

/** A command that decides whether a goal is reached, and how it ended. */
export interface CheckResult {
  readonly command: string;
  readonly passed: boolean;
  /** The end of what it printed. */
  readonly text: string;
}

/** Everything that a decision about the next turn depends on. */
export interface TurnFacts {
  readonly reason: "done" | "failed" | "blocked" | "limit" | "provider" | "interrupted" | "terminated";
  readonly limit?: "steps" | "time" | "cost" | "repairs" | undefined;
  readonly detail?: string | undefined;
  /** The last report of the model; absent: words alone. */
  readonly report?:
    | { readonly status: "progress" | "blocked" | "complete"; readonly note: string }
    | undefined;
  /** The most that calls of the turn did: a new effect, reading something new, or neither. */
  readonly effect: "effect" | "read" | "none";
  /** The checks, where the model said that the goal is reached. */
  readonly checks: readonly CheckResult[];
  readonly durationMs: number;
  readonly cost: number;
  /** The user has said something in it: what was counted before is of no account. */
  readonly byUser: boolean;
}

/** The reason why the goal is not reached yet, for the text of the next turn. */
type Continuation =
  | { readonly why: "silent" | "progress" | "idle" }
  | { readonly why: "blocked"; readonly times: number }
  | { readonly why: "checks"; readonly failed: readonly CheckResult[] };

type GoalDecision =
  | { readonly record: GoalRecord; readonly next: Continuation; readonly waitMs: number }
  | { readonly record: GoalRecord; readonly next?: undefined; readonly update: LocalizedMessage };

/** The same state this often in a row ends a goal as blocked. */
const MOST_BLOCKED = 3;

const FIRST_WAIT_MS = 1000;
const MOST_WAIT_MS = 60_000;
const MAX_NOTE = 2000;

/**
 * A state in words without what changes when it is said again: case, width of letters, blanks, punctuation,
 * and numbers written apart.
 */
function normalizedState(text: string): string {
  return text.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "").slice(0, MAX_NOTE);
}

/** Takes a turn into the record of its goal, and decides whether another one follows. Pure. */
export function afterTurn(given: GoalRecord, facts: TurnFacts, limits: GoalLimits): GoalDecision {
  const { blocked: _blocked, ...fresh } = given;
  const before = facts.byUser ? { ...fresh, idle: 0 } : given;
  const { report, effect, checks } = facts;
  const leg = {
    turns: before.leg.turns + 1,
    durationMs: before.leg.durationMs + facts.durationMs,
    cost: before.leg.cost + facts.cost,
  };
  const { limit: _limit, blocked: _before, ...rest } = before;
  const record: GoalRecord = {
    ...rest,
    state: "active",
    turns: before.turns + 1,
    leg,
    idle: idleAfter(before, facts),
    ...(report?.status === "blocked" ? { blocked: blockedAfter(before, report.note) } : {}),
    ...(report ? { note: report.note.slice(0, MAX_NOTE) } : {}),
    ...(checks.length > 0 ? { results: checks.map(({ command, passed }) => ({ command, passed })) } : {}),
  };
  const failed = checks.filter(({ passed }) => !passed);
  if (facts.reason !== "done") return cutShort(record, facts);
  if (report?.status === "complete" && failed.length === 0) {
    return {
      record: { ...record, state: "complete" },
      update: goalTexts.complete(record.turns),
    };
  }
  if (record.blocked && record.blocked.times >= MOST_BLOCKED) {
    return { record: { ...record, state: "blocked" }, update: goalTexts.blocked(report?.note ?? "") };
  }
  const reached = limitOf(record, limits);
  if (reached) return { record: { ...record, state: "limit", limit: reached.limit }, update: reached.update };
  const waitMs = effect === "none" ? waitAfter(record.idle) : 0;
  return { record, next: continuation(record, facts, failed), waitMs };
}

/** The first turn of a leg is what the user asked for; only those that follow automatically can be idle. */
function idleAfter({ idle, leg }: GoalRecord, { effect, byUser }: TurnFacts): number {
  if (effect === "effect") return 0;
  return byUser || leg.turns === 0 ? idle : idle + (effect === "read" ? 0.5 : 1);
}

function blockedAfter({ blocked }: GoalRecord, note: string): NonNullable<GoalRecord["blocked"]> {
  const by = normalizedState(note);
  return { by, times: blocked?.by === by ? blocked.times + 1 : 1 };
}

/** Grows fivefold from a second on. */
function waitAfter(idle: number): number {
  return Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 5 ** Math.floor(idle));
}

function cutShort(record: GoalRecord, { reason, limit, detail = reason }: TurnFacts): GoalDecision {
  switch (reason) {
    case "limit": {
      const what = limit === "time" || limit === "cost" ? limit : "turn";
      return {
        record: { ...record, state: "limit", limit: what, note: detail },
        update: goalTexts.turnLimit(detail),
      };
    }
    case "blocked":
      return {
        record: { ...record, state: "blocked", note: detail },
        update: goalTexts.blocked(detail),
      };
    case "interrupted":
    case "terminated":
      return { record: { ...record, state: "stopped" }, update: goalTexts.paused() };
    default:
      return {
        record: { ...record, state: "stopped", note: detail },
        update: goalTexts.failed(detail),
      };
  }
}

interface Reached {
  readonly limit: NonNullable<GoalRecord["limit"]>;
  readonly update: LocalizedMessage;
}

function limitOf({ leg, idle }: GoalRecord, limits: GoalLimits): Reached | undefined {
  if (limits.turns > 0 && leg.turns >= limits.turns) {
    return { limit: "turns", update: goalTexts.turns(limits.turns) };
  }
  if (limits.cost > 0 && leg.cost >= limits.cost) {
    return { limit: "cost", update: goalTexts.cost(limits.cost) };
  }
  if (limits.durationMs > 0 && leg.durationMs >= limits.durationMs) {
    return { limit: "time", update: goalTexts.time(limits.durationMs / 1000) };
  }
  if (limits.idle > 0 && idle >= limits.idle) {
    return { limit: "progress", update: goalTexts.idle(Math.ceil(idle)) };
  }
}

function continuation(
  record: GoalRecord,
  { report, effect }: TurnFacts,
  failed: readonly CheckResult[],
): Continuation {
  if (failed.length > 0) return { why: "checks", failed };
  if (record.blocked) return { why: "blocked", times: record.blocked.times };
  if (report === undefined) return { why: "silent" };
  return { why: effect === "none" ? "idle" : "progress" };
}

/** The record of a goal that is resumed, with bounds and counts from the beginning. */
export function resumed(record: GoalRecord): GoalRecord {
  const { limit: _limit, blocked: _blocked, ...rest } = record;
  return { ...rest, state: "active", idle: 0, leg: { turns: 0, durationMs: 0, cost: 0 } };
}

/** Characters of an objective that are said again with every turn; the first message has all of it. */
const MAX_OBJECTIVE = 4000;
const MAX_CHECK_OUTPUT = 6000;

/** The research record of a goal, for its block. */
export interface ResearchStatus {
  /** Relative to the working directory. */
  readonly directory: string;
  /** Entries of each kind so far. */
  readonly entries: Readonly<Record<"hypothesis" | "experiment" | "result" | "decision", number>>;
}

export interface GoalContext {
  readonly record: GoalRecord;
  readonly limits: GoalLimits;
  readonly research?: ResearchStatus | undefined;
  /** The text of the turn is the objective itself. */
  readonly stated: boolean;
}

/** The block about the goal before the text of each of its turns, never in the prefix. */
export function goalBlock({ record, limits, research, stated }: GoalContext): string {
  const { objective, checks = [], leg } = record;
  const turn = leg.turns + 1;
  const lines = [
    "You work towards a goal, turn after turn, until it is reached.",
    stated ? "The objective is the message below." : `Objective: ${inBlock(shortened(objective))}`,
    ...(checks.length > 0
      ? [
        "These commands decide whether it is reached; the harness runs them, and each must exit with 0:",
        ...checks.map((command) => `- ${inBlock(command)}`),
      ]
      : []),
    "Only the tool update_goal ends the goal; words in an answer do not. Call it before you end a turn, with",
    'status "complete" once the whole objective is reached and you have made sure of it, "blocked" when only',
    'the user can help (say exactly what is missing), else "progress" with what is done and what is next.',
    "Do as much as you can in each turn. Do not ask the user whether to continue.",
    `Turn ${turn}${limits.turns > 0 ? ` of at most ${limits.turns}` : ""}.`,
    ...(research ? researchLines(research) : []),
  ];
  return `<goal>\n${lines.join("\n")}\n</goal>`;
}

function researchLines({ directory, entries }: ResearchStatus): string[] {
  const counts = Object.entries(entries).map(([kind, count]) => `${kind} ${count}`).join(", ");
  return [
    "",
    `This goal is worked on as research. Its record is in ${directory} (${counts} so far): read it before you`,
    "try something again. It only grows, by update_goal with `entry`: a hypothesis before you test it, an",
    "experiment with what you changed and ran, a result with its figures, also a bad one, and a decision with",
    "its reason. Change one thing at a time and measure it. The report is written from these entries.",
  ];
}

export function continueText(next: Continuation): string {
  switch (next.why) {
    case "progress":
      return "Go on with the goal.";
    case "silent":
      return "The goal is still active: your answer did not end it. Go on with it. When it is reached or you " +
        "cannot continue, say so with update_goal.";
    case "idle":
      return "The last turn had no new effect: no file changed and no command showed anything new. Do " +
        "something else towards the goal, or report what blocks it with update_goal.";
    case "blocked":
      return `You reported that you are blocked (${next.times} of ${MOST_BLOCKED} times in a row). Try another ` +
        "way. If really nothing else can be done, report the same blocked state again in the same words.";
    case "checks":
      return [
        "The goal is not reached: not every check passes. Fix the cause, not the check, then report again.",
        ...next.failed.map(failedCheck),
      ].join("\n");
  }
}

export const RESUME_TEXT =
  "Go on with the goal where it was left. What was interrupted may have taken effect: " +
  "look before you repeat it.";

function failedCheck({ command, text }: CheckResult): string {
  const tail = text.length > MAX_CHECK_OUTPUT ? `…${text.slice(-MAX_CHECK_OUTPUT).toWellFormed()}` : text;
  return `<check command="${command.replaceAll('"', "&quot;")}">\n${tail}\n</check>`;
}

function shortened(text: string): string {
  if (text.length <= MAX_OBJECTIVE) return text;
  return `${text.slice(0, MAX_OBJECTIVE).toWellFormed()}… (the first message of the goal has all of it)`;
}

/** Escapes text that could end the block. */
function inBlock(text: string): string {
  return text.replace(/<(?=\/?goal)/gi, "<\u200b");
}
