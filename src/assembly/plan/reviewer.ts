/** A plan of the model that waits for the user. */
export interface PlanProposal {
  /** Markdown. */
  readonly plan: string;
  /** The file that has it; absent where it could not be written. */
  readonly file?: string;
}

/** A plan is to be carried out. */
export interface PlanApproval {
  readonly approve: true;
  /** The plan as the user has changed it. */
  readonly plan?: string;
  readonly note?: string;
  /** The calls of the turn that carries it out are not asked about. */
  readonly window?: boolean;
  /** Edits are not asked about for the rest of the session. */
  readonly acceptEdits?: boolean;
  /** A flag of the command line says so, in place of a person. */
  readonly by?: "flag";
}

/** The user's word about a plan: to carry it out, or how to change it. */
export type PlanAnswer = PlanApproval | { readonly approve: false; readonly note: string };

/**
 * Asks the user about plans. Absent where nobody is there: then a plan is the answer of its turn.
 *
 * Contract: rejects only when the signal aborts.
 */
export interface PlanReviewer {
  /** Undefined: the user leaves the plan where it is; plan mode stays on. */
  review(proposal: PlanProposal, signal: AbortSignal): Promise<PlanAnswer | undefined>;
  /** An answer in plan mode that proposed nothing by a call is a plan as well. */
  readonly takesProse?: boolean;
}
