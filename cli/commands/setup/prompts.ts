import { autocomplete, isCancel, select } from "@clack/prompts";

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

const LONG_LIST = 20;

/** Lets the user pick one of several; a long list is searched by typing. */
export async function pick<T extends string>(
  message: string,
  choices: readonly Choice<T>[],
  initialValue?: T,
): Promise<T> {
  const options = choices.map(({ value, label, hint }) => ({ value, label, ...(hint ? { hint } : {}) }));
  const common = { message, options, maxItems: 16, ...(initialValue ? { initialValue } : {}) };
  // The kit's types of options depend on the value in a way that no generic caller can meet.
  const ask = (choices.length > LONG_LIST ? autocomplete : select) as (
    options: typeof common,
  ) => Promise<T | symbol>;
  const chosen = await ask(common);
  if (typeof chosen === "symbol") throw new Cancelled();
  return chosen;
}
