import type { Cost, NewEventOf, ProviderError, Usage } from "../core/mod.ts";

export type TurnReason = NewEventOf<"turn.end">["reason"];

/** How a turn ended. `answer` is the model's last text, also when the turn was cut short. */
export interface TurnOutcome {
  readonly reason: TurnReason;
  readonly detail?: string;
  readonly answer: string;
  readonly steps: number;
  readonly usage: Usage;
  readonly cost?: Cost;
  readonly durationMs: number;
}

/** Why a signal was aborted, as the controller and the time limit set it. */
export class StopReason extends DOMException {
  readonly reason: "interrupted" | "terminated" | "limit";
  readonly detail: string;

  constructor(reason: "interrupted" | "terminated" | "limit", detail: string) {
    super(detail, "AbortError");
    this.reason = reason;
    this.detail = detail;
  }
}

/** What an aborted signal means for the turn. */
export function stopped(signal: AbortSignal): { reason: TurnReason; detail: string } {
  const why: unknown = signal.reason;
  return why instanceof StopReason
    ? { reason: why.reason, detail: why.detail }
    : { reason: "interrupted", detail: "Interrupted" };
}

/** What a failed request means for the turn. */
export function providerFailure(
  error: ProviderError,
  signal: AbortSignal,
): { reason: TurnReason; detail: string } {
  if (signal.aborted || error.kind === "aborted") return stopped(signal);
  return { reason: "provider", detail: error.message };
}
