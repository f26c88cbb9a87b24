import type { EventOf } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";

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

type Reasons = Pick<Texts["reasons"], "confinement" | "said">;

/** A notice in the language of the user. */
export function noticeText({ text, said, confinement }: EventOf<"notice">, texts: Reasons): string {
  return texts.confinement(confinement, texts.said(said, text));
}
