import type { Cost, NewEventOf, ProviderError, Saying, Sayings, Spending, Usage } from "../core/mod.ts";

type TurnEnd = NewEventOf<"turn.end">;

export type TurnReason = TurnEnd["reason"];

/** The reason a turn ended. */
export interface Stop {
  readonly reason: TurnReason;
  readonly limit?: NonNullable<TurnEnd["limit"]>;
  readonly detail?: string;
  /** The same for people who speak another language. */
  readonly said?: Sayings;
}

/** The end of a turn. `answer` is the model's last text, also when the turn was cut short. */
export interface TurnOutcome extends Stop {
  readonly answer: string;
  readonly steps: number;
  readonly usage: Usage;
  readonly cost?: Cost;
  readonly durationMs: number;
}

/** The reason a signal was aborted, as the controller and the time limit set it. */
export class StopReason extends DOMException {
  readonly reason: "interrupted" | "terminated" | "limit";
  readonly detail: string;
  readonly said: Sayings | undefined;

  constructor(reason: "interrupted" | "terminated" | "limit", detail: string, said?: Saying) {
    super(detail, "AbortError");
    this.reason = reason;
    this.detail = detail;
    this.said = said && [said];
  }
}

/** Returns how an aborted signal ends the turn. */
export function stopped(signal: AbortSignal): Stop {
  const why: unknown = signal.reason;
  if (why instanceof StopReason) {
    const { reason, detail, said } = why;
    // Steps and money are counted between requests; only time stops from outside.
    return reason === "limit"
      ? { reason, limit: "time", detail, ...(said ? { said } : {}) }
      : { reason, detail };
  }
  return { reason: "interrupted", detail: "Interrupted" };
}

/** Returns how a failed request ends the turn. */
export function providerFailure(
  error: ProviderError,
  signal: AbortSignal,
): Stop {
  if (signal.aborted || error.kind === "aborted") return stopped(signal);
  const { message: detail, said } = error;
  return { reason: "provider", detail, ...(said ? { said } : {}) };
}

/** Money that nobody counted may have been any amount, so a limit on it ends the turn. */
export function costStop({ costs, unpriced }: Spending, limit: number): Stop | undefined {
  const amount = Object.values(costs).reduce((sum, each) => sum + each, 0);
  if (unpriced === 0 && amount < limit) return undefined;
  const why = unpriced === 0
    ? `cost limit of ${limit} reached`
    : `the provider reported no usage, so the cost limit of ${limit} cannot be kept`;
  return {
    reason: "limit",
    limit: "cost",
    detail: `Stopped before the next request: ${why}`,
    said: [[unpriced === 0 ? "costLimit" : "costUnknown", String(limit)]],
  };
}
