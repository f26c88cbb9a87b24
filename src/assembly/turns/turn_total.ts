import { costStop, type Stop, type TurnOutcome } from "../../agent/mod.ts";
import { addSpending, NO_SPENDING, type Spending, totalCost } from "../../core/mod.ts";

/** What turns have taken that followed from one another. */
export class TurnTotal {
  readonly #currency: string | undefined;
  #spending: Spending = NO_SPENDING;
  #steps = 0;
  #durationMs = 0;
  #turns = 0;

  /** The currency is that of the model's price, where it has one. */
  constructor(currency: string | undefined) {
    this.#currency = currency;
  }

  add({ steps, durationMs, usage, cost }: TurnOutcome): void {
    this.#turns++;
    this.#steps += steps;
    this.#durationMs += durationMs;
    this.#spending = addSpending(this.#spending, { usage, cost });
  }

  /** The last outcome with the figures of all. */
  of(last: TurnOutcome): TurnOutcome {
    if (this.#turns < 2) return last;
    const { cost: _cost, ...rest } = last;
    const cost = totalCost(this.#spending, this.#currency);
    const { usage } = this.#spending;
    return {
      ...rest,
      steps: this.#steps,
      durationMs: this.#durationMs,
      usage,
      ...(cost ? { cost } : {}),
    };
  }

  /** Says why no further turn begins: `limit` is one of the whole run, 0 none. */
  overspent(limit: number): Stop | undefined {
    return limit > 0 ? costStop(this.#spending, limit) : undefined;
  }
}
