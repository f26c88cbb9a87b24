import { isCancel, S_BAR, select } from "@clack/prompts";
import { displayWidth } from "../../src/util/display_width.ts";
import { wrapText } from "../../src/view/mod.ts";
import { outputWidth } from "../terminal/display.ts";

/** The user gave up. */
export class Cancelled extends Error {}

/** Returns an answer; throws when there is none. */
export function answered<T>(value: T): Exclude<T, symbol> {
  if (isAnswer(value)) return value;
  throw new Cancelled();
}

function isAnswer<T>(value: T): value is Exclude<T, symbol> {
  return !isCancel(value) && typeof value !== "symbol";
}

interface Choice<T extends string> {
  readonly value: T;
  readonly label: string;
  readonly hint?: string;
}

/** Lets the user pick one of several. */
export async function pick<T extends string>(
  message: string,
  choices: readonly Choice<T>[],
  initialValue?: T,
): Promise<T> {
  const options = choices.map(({ value, label, hint }) => ({ value, label, ...(hint ? { hint } : {}) }));
  const common = {
    message,
    options,
    maxItems: 16,
    showInstructions: false,
    ...(initialValue ? { initialValue } : {}),
  };
  // The kit's types of options depend on the value in a way that no generic caller can meet.
  const chosen = await (select as (options: typeof common) => Promise<T | symbol>)(common);
  if (typeof chosen === "symbol") throw new Cancelled();
  return chosen;
}

/** Columns that the kit takes for its line at the left. */
const GUIDE = 3;

/** Breaks a text at words, as the kit does it only for some of its questions. */
export function linesOf(text: string): string[] {
  const room = Math.max(20, (outputWidth() ?? 80) - GUIDE - 1);
  return text.split("\n").flatMap((line) => wrapText(line, room, displayWidth));
}

/** The same with the line at the left of all but the first. */
export function guided(text: string): string {
  return linesOf(text).join(`\n${S_BAR}  `);
}

/** The same with blanks there: what stands at the end of a question. */
export function closing(text: string): string {
  return linesOf(text).join(`\n${" ".repeat(GUIDE)}`);
}
