import type { ToolCall } from "../core/mod.ts";

const WARN_AT = 3;
const STOP_AT = 6;

export interface RepeatDecision {
  /** Added to what the model reads. */
  readonly reminder?: string;
  /** The turn ends: the model does not react. */
  readonly stop?: boolean;
}

/**
 * Notices a model that repeats one failing call. A call counts as repeated when name and arguments are the
 * same and it failed again without any other call having succeeded in between.
 */
export class RepeatGuard {
  readonly #failures = new Map<string, number>();

  observe(call: ToolCall, failed: boolean): RepeatDecision {
    if (!failed) {
      this.#failures.clear();
      return {};
    }
    const key = `${call.name}\n${call.arguments}`;
    const count = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, count);
    if (count < WARN_AT) return {};
    const reminder =
      `[This exact call has now failed ${count} times. Repeating it will fail again: read the error, ` +
      `then change the arguments or take another way${
        count === STOP_AT - 1 ? ". One more repetition ends the turn" : ""
      }.]`;
    return { reminder, stop: count >= STOP_AT };
  }
}
