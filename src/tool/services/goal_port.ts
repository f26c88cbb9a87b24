/** What the model says of the goal it works towards. */
export interface GoalReport {
  readonly status: "progress" | "blocked" | "complete";
  readonly note: string;
  /** The note is also an entry of the goal's research record. */
  readonly entry?: ResearchEntryKind;
}

export type ResearchEntryKind = "hypothesis" | "experiment" | "result" | "decision";

/** The goal of a session, as the model sees it. */
export interface GoalPort {
  /** Returns what the model reads. Rejects with a ReasonixError for what cannot be reported. */
  report(report: GoalReport, signal: AbortSignal): Promise<string>;
}
