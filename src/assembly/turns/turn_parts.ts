import type { Limits, Stop, TurnOutcome } from "../../agent/mod.ts";
import type { Spending } from "../../core/mod.ts";
import type { TurnInput } from "../context/turn_input.ts";
import type { VerifyResult } from "../verify/verify_command.ts";

/**
 * What takes part in the turns of a run beside its model, such as a goal, a planner or hooks. Every function
 * is asked in the order of the parts.
 *
 * Contract: rejects only when the signal aborts, or with a `ReasonixError` that keeps the turn from
 * beginning.
 */
export interface TurnPart {
  /** Returns the input as the turn shall have it. */
  readonly before?: (input: TurnInput, signal: AbortSignal) => Promise<TurnInput>;
  /** As `reviewAnswer` of the agent: the first part that says something is heard. */
  readonly reviewAnswer?: (answer: string, signal: AbortSignal) => Promise<string | Stop | undefined>;
  /** The turn has ended: the input of one that follows by itself, from the first part that has one. */
  readonly after?: (outcome: TurnOutcome, signal: AbortSignal) => Promise<TurnInput | undefined>;
  /** Bounds of the turn, beside those of the configuration. */
  readonly limits?: () => Limits;
  /** The turns ended without an outcome, such as for an input that is too long. */
  readonly failed?: (error: unknown) => Promise<void>;
}

/** Tests what a turn has changed. */
export interface Verification {
  /** A turn begins. */
  begin(): Promise<void>;
  /** As `reviewAnswer` of a part. */
  review(signal: AbortSignal): Promise<string | Stop | undefined>;
  /** Runs every command there is. Rejects with a ReasonixError (usage) where there is none. */
  byHand(signal: AbortSignal): Promise<readonly VerifyResult[]>;
}

/** The parts of a run; more may join while it goes on. */
export class TurnParts implements Required<TurnPart> {
  /** What had been spent when the latest turn began, by currency. */
  costsBefore: Spending["costs"] = {};
  /** Absent where somebody else tests what is changed. */
  verification: (() => Promise<Verification>) | undefined;
  readonly #parts: TurnPart[] = [];
  #spent: Spending[] = [];
  #news: string[] = [];

  /** Counts what others have spent for the turn that runs, else for the next one. */
  spend(spent: Spending): void {
    this.#spent.push(spent);
  }

  takeSpent(): readonly Spending[] {
    return this.#spent.length === 0 ? [] : this.#spent.splice(0);
  }

  /** Tells the model with its next request. */
  tell(news: string): void {
    this.#news.push(news);
  }

  takeNews(): readonly string[] {
    return this.#news.length === 0 ? [] : this.#news.splice(0);
  }

  /** Adds a part behind the others; the returned function removes it. */
  add(part: TurnPart): () => void {
    this.#parts.push(part);
    return () => void this.#parts.splice(this.#parts.indexOf(part), 1);
  }

  async before(input: TurnInput, signal: AbortSignal): Promise<TurnInput> {
    let given = input;
    for (const part of [...this.#parts]) given = await part.before?.(given, signal) ?? given;
    return given;
  }

  async reviewAnswer(answer: string, signal: AbortSignal): Promise<string | Stop | undefined> {
    for (const part of [...this.#parts]) {
      const found = await part.reviewAnswer?.(answer, signal);
      if (found !== undefined) return found;
    }
  }

  async after(outcome: TurnOutcome, signal: AbortSignal): Promise<TurnInput | undefined> {
    for (const part of [...this.#parts]) {
      const next = await part.after?.(outcome, signal);
      if (next) return next;
    }
  }

  limits(): Limits {
    const all = this.#parts.map((part) => part.limits?.() ?? {});
    return { timeMs: least(all, "timeMs"), cost: least(all, "cost"), maxSteps: least(all, "maxSteps") };
  }

  async failed(error: unknown): Promise<void> {
    for (const part of [...this.#parts]) await part.failed?.(error);
  }
}

/** The tightest of some bounds; undefined where there is none. */
export function least(all: readonly Limits[], key: keyof Limits): number | undefined {
  const given = all.flatMap((limits) => limits[key] ?? []);
  return given.length === 0 ? undefined : Math.min(...given);
}
