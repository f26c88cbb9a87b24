import { type AnswerForm, StopReason, type TurnOutcome } from "../../agent/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import type { Modes } from "../access/modes.ts";
import type { Remark } from "../access/access_scope.ts";
import {
  mentioned,
  type MentionParts,
  resolveInput,
  type TurnInput,
  type TurnInputParts,
} from "../context/turn_input.ts";
import type { RunPlugins } from "../plugins/run_plugins.ts";
import { providerOf } from "../provider.ts";
import type { RunPaths } from "../run_paths.ts";
import type { ImageWays } from "../tools/guarded_tools.ts";
import type { TurnParts } from "./turn_parts.ts";
import { TurnTotal } from "./turn_total.ts";
import type { RuleText } from "../../rule/mod.ts";
import type { Controller } from "../../control/mod.ts";

/** What turns are made with. */
export interface TurnRunParts
  extends
    Pick<TurnInputParts, "workspace" | "loaded" | "gate" | "window" | "asker">,
    Pick<MentionParts, "inputs"> {
  readonly paths: RunPaths;
  readonly controller: Controller;
  readonly modes: Modes;
  /** The session's model. */
  readonly provider: Provider;
  readonly answerForm: AnswerForm | undefined;
  /** Takes what changed since the last turn. */
  readonly beforeTurn: () => Promise<void>;
  /** Lets allow rules count to the end of the next turn. */
  readonly allowInTurn: (rules: readonly RuleText[]) => void;
  readonly plugins?: Pick<RunPlugins, "resourceReader"> | undefined;
  readonly tools: { readonly images: ImageWays };
  /** What takes part in its turns. */
  readonly turnParts: TurnParts;
}

interface TurnRunnerParts extends TurnRunParts {
  /** How servers give what goes into a message. */
  readonly attachments: { readonly vision: boolean; readonly directory: string };
}

/** Runs the turns of a session: one for each input of the user, and those that follow by themselves. */
export class TurnRunner {
  readonly #parts: TurnRunnerParts;
  readonly #warnings: Remark[];
  /** What the model was not told yet of what the user had saved. */
  readonly #facts: string[] = [];

  constructor(parts: TurnRunnerParts, warnings: readonly Remark[]) {
    this.#parts = parts;
    this.#warnings = [...warnings];
  }

  /** Tells the model with the next turn. */
  tell(fact: string): void {
    this.#facts.push(fact);
  }

  /** Runs a turn and what follows from it; the outcome is that of the last one, with what all have taken. */
  async run(input: TurnInput, signal?: AbortSignal): Promise<TurnOutcome> {
    const { controller, turnParts } = this.#parts;
    const stop = new AbortController();
    const unsubscribe = controller.onInterrupt((reason) => stop.abort(reason));
    const all = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    const total = new TurnTotal(this.#parts.provider.model.price?.currency);
    try {
      for (let next: TurnInput = input;;) {
        const outcome = await this.#one(next, all);
        total.add(outcome);
        const following = await turnParts.after(outcome, all);
        if (!following || all.aborted) return total.of(outcome);
        const stop = total.overspent(this.#parts.loaded.config.agent.max_cost);
        if (stop) return { ...total.of(outcome), ...stop };
        next = following;
      }
    } catch (error) {
      await turnParts.failed(error);
      throw error;
    } finally {
      unsubscribe();
    }
  }

  async #one(given: TurnInput, signal: AbortSignal): Promise<TurnOutcome> {
    const { controller, modes, answerForm } = this.#parts;
    const { recorder } = controller;
    await this.#parts.beforeTurn();
    for (const warning of this.#warnings.splice(0)) {
      await recorder.record({ type: "notice", level: "warning", code: "config", ...warning });
    }
    await modes.tell();
    for (const content of this.#facts.splice(0)) {
      await recorder.record({ type: "message.user", content, origin: "context" });
    }
    // What is spent before the turn, such as for a plan, is part of it.
    this.#parts.turnParts.costsBefore = recorder.state.costs;
    const input = await this.#parts.turnParts.before(given, signal);
    const turn = answerForm
      ? { ...input, references: [...input.references ?? [], answerForm.request] }
      : input;
    const other = turn.model === undefined ? undefined : await providerOf(this.#parts.loaded, turn.model);
    const resolved = await this.#resolve(turn, other, signal);
    throwIfStopped(signal);
    this.#parts.allowInTurn(turn.rules ?? []);
    const submit = () => controller.submit({ type: "turn", input: resolved }, other);
    return ended(turn.readOnly ? await modes.readingOnly(submit) : await submit());
  }

  async #resolve(turn: TurnInput, other: Provider | undefined, signal: AbortSignal) {
    const { paths: { cwd }, controller: { recorder }, attachments, plugins } = this.#parts;
    const provider = other ?? this.#parts.provider;
    const read = plugins?.resourceReader({ ...attachments, signal });
    const resource = (server: string, uri: string) =>
      read?.(server, uri) ?? mentioned(server, uri, this.#parts);
    const { admit } = this.#parts.tools.images;
    return await resolveInput(turn, { ...this.#parts, cwd, recorder, provider, resource, admit, signal });
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
