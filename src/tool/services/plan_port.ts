/** What a tool about the plan answers; a part of a tool's result. */
export interface PlanReply {
  /** Exactly what the model reads. */
  readonly content: string;
  /** One line for people. */
  readonly summary: string;
  readonly isError?: true;
  /** The turn is done; the answer stands in place of the model's last words. */
  readonly endsTurn?: { readonly answer?: string };
}

/** The plan of a session, as the tools about it see it. */
export interface PlanPort {
  /**
   * Presents a plan to the user, where there is one, and waits for the decision; a person decides, whatever
   * approval mode is on. Where nobody is there the turn ends with the plan as its answer. Rejects only when
   * the signal aborts.
   */
  propose(plan: string, signal: AbortSignal): Promise<PlanReply>;
  /** Marks a step of the approved plan, counted from 1, as done. */
  completeStep(step: number): Promise<PlanReply>;
}
