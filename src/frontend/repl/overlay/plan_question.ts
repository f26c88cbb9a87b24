import type { PlanAnswer, PlanProposal } from "../../../assembly/mod.ts";
import type { Texts } from "../../../i18n/mod.ts";
import type { Entry } from "./choice_list.ts";

/** What can be said about a plan, if anything yet. */
type PlanChoice = PlanAnswer | "leave";

type PlanTexts = Texts["overlay"]["plan"];

/** The question about a plan; its text is in the transcript. */
export function planTitle({ title, isAbove }: PlanTexts): string {
  return `${title}\n${isAbove}`;
}

/** A plan of more lines or characters has probably left the screen at its top. */
const SHORT_PLAN = { lines: 15, characters: 1500 };

/** Reports whether somebody may not have seen all of a plan. */
export function isLongPlan({ plan }: PlanProposal): boolean {
  return plan.length > SHORT_PLAN.characters || plan.split("\n").length > SHORT_PLAN.lines;
}

/** Its answers where lines are read and written; the one that grants least comes first. */
export function planEntries(texts: PlanTexts): Entry<PlanChoice>[] {
  return [
    { label: texts.asking, key: "y", value: { approve: true } },
    { label: texts.yes, key: "w", value: { approve: true, window: true } },
    { label: texts.edits, key: "e", value: { approve: true, window: true, acceptEdits: true } },
    {
      label: texts.deny,
      key: "n",
      prompt: texts.note,
      optional: true,
      write: (note) => note === "" ? "leave" : { approve: false, note },
    },
  ];
}

/** Its answers in a panel, where a plan can be changed, and a long one read again. */
export function planPanelEntries(
  proposal: PlanProposal,
  texts: PlanTexts,
): Entry<PlanChoice | "look">[] {
  const entries = planEntries(texts);
  const more: Entry<PlanChoice | "look">[] = [
    {
      label: texts.change,
      key: "c",
      initial: proposal.plan,
      check: (text) => text === "" ? texts.empty : undefined,
      write: (text) => ({ approve: true, plan: text }),
    },
    ...(isLongPlan(proposal) ? [{ label: texts.look, key: "v", value: "look" } as const] : []),
  ];
  return [...entries.slice(0, 3), ...more, ...entries.slice(3)];
}
