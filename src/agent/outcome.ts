import type { Cost, NewEventOf, ProviderError, Usage } from "../core/mod.ts";

type TurnEnd = NewEventOf<"turn.end">;

export type TurnReason = TurnEnd["reason"];

/** The reason a turn ended. */
export interface Stop {
  readonly reason: TurnReason;
  readonly limit?: NonNullable<TurnEnd["limit"]>;
  readonly detail?: string;
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

  constructor(reason: "interrupted" | "terminated" | "limit", detail: string) {
    super(detail, "AbortError");
    this.reason = reason;
    this.detail = detail;
  }
}

/** Returns how an aborted signal ends the turn. */
export function stopped(signal: AbortSignal): Stop {
  const why: unknown = signal.reason;
  if (why instanceof StopReason) {
    const { reason, detail } = why;
    // Steps and money are counted between requests; only time stops from outside.
    return reason === "limit" ? { reason, limit: "time", detail } : { reason, detail };
  }
  return { reason: "interrupted", detail: "Interrupted" };
}

/** Returns how a failed request ends the turn. */
export function providerFailure(
  error: ProviderError,
  signal: AbortSignal,
): Stop {
  if (signal.aborted || error.kind === "aborted") return stopped(signal);
  return { reason: "provider", detail: error.message };
}
