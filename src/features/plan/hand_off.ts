import type { SessionState } from "../../session/mod.ts";
import { userText } from "../../util/user_text.ts";

/** More than anybody plans; what goes beyond is an answer gone wrong. */
const MAX_PLAN = 20_000;
/** The planner hears of so many turns that went on without it, and of so much of each. */
const MOST_TURNS = 3;
const MAX_ASKED = 400;
const MAX_ANSWERED = 1500;

const TO_CARRY_OUT =
  "This plan for the task below is by a model that could only read. Carry it out; where what you find speaks " +
  "against it, do what is right and say so.";
const TO_PROPOSE =
  "This draft of a plan for the task below is by another model. Check it, correct it where it is wrong, and " +
  "propose the plan.";

/** The plan as the executor reads it, before the words of the user. */
export function handOff(plan: string, model: string, isProposal: boolean): string {
  const text = beginning(plan.replaceAll(/<(?=\/?plan\b)/g, "< "), MAX_PLAN);
  return `<plan by="${model}">\n${isProposal ? TO_PROPOSE : TO_CARRY_OUT}\n\n${text}\n</plan>`;
}

/**
 * What was said in the latest turns, for the planner, which sees nothing of them; `heard` are those that it
 * knows already. Undefined where there is none.
 */
export function sinceThen(turns: SessionState["turns"], heard = 0): string | undefined {
  const news = turns.slice(Math.max(heard, turns.length - MOST_TURNS)).map(({ prompt, answer = "" }) =>
    `The user: ${beginning(userText(prompt), MAX_ASKED)}\nThe executor: ${beginning(answer, MAX_ANSWERED)}`
  );
  return news.length === 0 ? undefined : `<so-far>\n${news.join("\n\n")}\n</so-far>`;
}

function beginning(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()} […]` : text;
}
