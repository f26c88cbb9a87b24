import { costStop, type Stop, StopReason, type TurnOutcome } from "../../agent/mod.ts";
import type { Controller } from "../../control/mod.ts";
import { addSpending, NO_SPENDING, ReasonixError, type Spending, totalCost } from "../../core/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import type { Remark } from "../access/access_scope.ts";
import { mentioned, resolveInput, type TurnInput } from "../context/turn_input.ts";
import { modelWarnings, providerOf } from "../provider.ts";
import { remarks } from "../run_base.ts";
import type { RunContext } from "../run_context.ts";

/** What turns are made with. */
interface TurnRunDeps extends RunContext {
  readonly controller: Controller;
  /** Takes what changed since the last turn. */
  readonly beforeTurn: () => Promise<void>;
  readonly window: number | undefined;
  /** How servers give what goes into a message. */
  readonly attachments: { readonly vision: boolean; readonly directory: string };
}

/** Runs the turns of a session: one for each input of the user, and those that follow by themselves. */
export class TurnRunner {
  readonly #parts: TurnRunDeps;
  readonly #warnings: Remark[];
  /** What the model was not told yet of what the user had saved. */
  readonly #facts: string[] = [];

  constructor(parts: TurnRunDeps) {
    this.#parts = parts;
    this.#warnings = [...remarks(parts), ...modelWarnings(parts.provider, parts.remote)];
  }

  /** Tells the model with the next turn. */
  tell(fact: string): void {
    this.#facts.push(fact);
  }

  /** Runs a turn and what follows from it; the outcome is that of the last one, with what all have taken. */
  async run(input: TurnInput, signal?: AbortSignal): Promise<TurnOutcome> {
    const { controller, extensions } = this.#parts;
    const stop = new AbortController();
    const unsubscribe = controller.onInterrupt((reason) => stop.abort(reason));
    const all = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    const total = new TurnTotal(this.#parts.provider.model.price?.currency);
    try {
      for (let next: TurnInput = input;;) {
        const outcome = await this.#one(next, all);
        total.add(outcome);
        const following = await extensions.after(outcome, all);
        if (!following || all.aborted) return total.of(outcome);
        const stop = total.overspent(this.#parts.loaded.config.agent.max_cost);
        if (stop) return { ...total.of(outcome), ...stop };
        next = following;
      }
    } catch (error) {
      await extensions.failed(error);
      throw error;
    } finally {
      unsubscribe();
    }
  }

  async #one(given: TurnInput, signal: AbortSignal): Promise<TurnOutcome> {
    const { controller, recorder, modes, options: { answerForm } } = this.#parts;
    await this.#parts.beforeTurn();
    for (const warning of this.#warnings.splice(0)) {
      await recorder.record({ type: "notice", level: "warning", code: "config", ...warning });
    }
    await modes.tell();
    for (const content of this.#facts.splice(0)) {
      await recorder.record({ type: "message.user", content, origin: "context" });
    }
    // What is spent before the turn, such as for a plan, is part of it.
    this.#parts.extensions.costsBefore = recorder.state.costs;
    const input = await this.#parts.extensions.before(given, signal);
    const turn = answerForm
      ? { ...input, references: [...input.references ?? [], answerForm.request] }
      : input;
    const other = turn.model === undefined ? undefined : await providerOf(this.#parts.loaded, turn.model);
    const resolved = await this.#resolve(turn, other, signal);
    throwIfStopped(signal);
    this.#parts.skillRules.add(turn.rules ?? []);
    const submit = () => controller.submit({ type: "turn", input: resolved }, other);
    return ended(turn.readOnly ? await modes.readingOnly(submit) : await submit());
  }

  async #resolve(turn: TurnInput, other: Provider | undefined, signal: AbortSignal) {
    const { paths: { cwd }, attachments, plugins } = this.#parts;
    const provider = other ?? this.#parts.provider;
    const read = plugins?.resourceReader({ ...attachments, signal });
    const resource = (server: string, uri: string) =>
      read?.(server, uri) ?? mentioned(server, uri, this.#parts);
    const { admit } = this.#parts.tools.images;
    return await resolveInput(turn, { ...this.#parts, cwd, provider, resource, admit, signal });
  }
}

/** Returns the outcome of a turn; throws where there is none. */
export function ended(outcome: TurnOutcome | undefined): TurnOutcome {
  if (!outcome) throw new TypeError("Cannot run a turn: the controller returned no outcome");
  return outcome;
}

/** Returns the reason of an abort that came from outside. */
export function reasonOf(signal: AbortSignal | undefined): "interrupted" | "terminated" {
  const why: unknown = signal?.reason;
  return why === "terminated" || (why instanceof StopReason && why.reason === "terminated")
    ? "terminated"
    : "interrupted";
}

/** Throws a ReasonixError where work was stopped before it began. */
export function throwIfStopped(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  const exit = reasonOf(signal) === "terminated" ? "terminated" : "interrupt";
  throw new ReasonixError("Stopped before the turn began", { exit });
}

/** What turns have taken that followed from one another. */
class TurnTotal {
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
