import type { LocalizedMessage, NewEventOf } from "../../core/mod.ts";
import { goalTexts } from "./update.ts";

/** A goal as its latest event says it. */
export type GoalRecord = Omit<NewEventOf<"goal.change">, "type">;

export type GoalState = GoalRecord["state"];

/** Bounds of a goal; 0 means none. */
export interface GoalLimits {
  readonly turns: number;
  readonly durationMs: number;
  /** In the currency of the model's price. */
  readonly cost: number;
  /** Turns in a row that follow by themselves and have no effect. */
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
  /** How the turn ended. */
  readonly reason: "done" | "failed" | "blocked" | "limit" | "provider" | "interrupted" | "terminated";
  readonly limit?: "steps" | "time" | "cost" | "repairs" | undefined;
  readonly detail?: string | undefined;
  /** The last report of the model; absent: words alone. */
  readonly report?:
    | { readonly status: "progress" | "blocked" | "complete"; readonly note: string }
    | undefined;
  /** What the calls of the turn did: something new, only read something new, or neither. */
  readonly effect: "effect" | "read" | "none";
  /** The checks, where the model said that the goal is reached. */
  readonly checks: readonly CheckResult[];
  readonly durationMs: number;
  readonly cost: number;
  /** The user has said something in it: what was counted before is of no account. */
  readonly byUser: boolean;
}

/** The reason why the goal is not reached yet, for the text of the next turn. */
export type GoOn =
  | { readonly why: "silent" | "progress" | "idle" }
  | { readonly why: "blocked"; readonly times: number }
  | { readonly why: "checks"; readonly failed: readonly CheckResult[] };

export type GoalDecision =
  | { readonly record: GoalRecord; readonly next: GoOn; readonly waitMs: number }
  | { readonly record: GoalRecord; readonly next?: undefined; readonly update: LocalizedMessage };

/** The same state this often in a row ends a goal as blocked. */
export const MOST_BLOCKED = 3;

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
  return { record, next: goOn(record, facts, failed), waitMs };
}

/** The first turn of a leg is what the user asked for; only those that follow by themselves can be idle. */
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

function goOn(record: GoalRecord, { report, effect }: TurnFacts, failed: readonly CheckResult[]): GoOn {
  if (failed.length > 0) return { why: "checks", failed };
  if (record.blocked) return { why: "blocked", times: record.blocked.times };
  if (report === undefined) return { why: "silent" };
  return { why: effect === "none" ? "idle" : "progress" };
}

/** The record of a goal that is taken up again, with bounds and counts from the beginning. */
export function takenUp(record: GoalRecord): GoalRecord {
  const { limit: _limit, blocked: _blocked, ...rest } = record;
  return { ...rest, state: "active", idle: 0, leg: { turns: 0, durationMs: 0, cost: 0 } };
}
