import type { Confinement, EventOf, WrittenSayings } from "../core/mod.ts";

type Decision = EventOf<"approval.decision">;

/** Says why a call was refused in the user's language: its result tells the model, in English. */
export class Refusals {
  readonly #decisions = new Map<string, Decision>();

  note(decision: Decision): void {
    if (decision.decision === "deny") this.#decisions.set(decision.callId, decision);
  }

  /** The end of a call as the user should read it; of one that ran, as it is. */
  translated(
    end: EventOf<"tool.end">,
    refused: (decision: Decision, english: string) => string,
  ): EventOf<"tool.end"> {
    const decision = this.#decisions.get(end.callId);
    this.#decisions.delete(end.callId);
    return decision && end.outcome === "blocked" ? { ...end, summary: refused(decision, end.summary) } : end;
  }
}

/** Ways to say findings and notices in another language than English. */
interface Reasons {
  readonly confinement: (facts: Confinement | undefined, english: string) => string;
  readonly said: (sayings: WrittenSayings | undefined, english: string) => string;
}

/** A notice in the language of the user. */
export function noticeText({ text, said, confinement }: EventOf<"notice">, texts: Reasons): string {
  return texts.confinement(confinement, texts.said(said, text));
}

/** Words about what became of a plan. */
interface PlanWords {
  readonly proposed: string;
  readonly saved: (file: string) => string;
  readonly approved: string;
  readonly approvedByFlag: string;
  readonly revised: (note: string) => string;
  readonly rejected: string;
  readonly finished: string;
}

/** Says in one line what became of a plan. */
export function planText({ state, file, note = "", by }: EventOf<"plan.change">, words: PlanWords): string {
  switch (state) {
    case "proposed":
      return file === undefined ? words.proposed : words.saved(file);
    case "approved":
      return by === "flag" ? words.approvedByFlag : words.approved;
    case "revised":
      return words.revised(note);
    default:
      return words[state];
  }
}
