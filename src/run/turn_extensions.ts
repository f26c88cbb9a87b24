import type { AgentDeps, Limits, Stop, StopReason, TurnOutcome } from "../agent/mod.ts";
import type { Config } from "../config/mod.ts";
import type { CompactionHooks } from "../context/mod.ts";
import type { ControlledDeps, EventSource, Recorder } from "../control/mod.ts";
import type { Spending } from "../core/mod.ts";
import type { ModelInfo, ToolMode } from "../provider/mod.ts";
import { turnPrompts } from "./context/prompt_inputs.ts";
import type { TurnInput } from "./run_options.ts";
import type { AssemblyOptions, Verification } from "./run_options.ts";

/**
 * A feature that takes part in the turns of a run, such as a goal, a planner or hooks. Every function is
 * called in the order of the extensions.
 *
 * Contract: rejects only when the signal aborts, or with a `ReasonixError` that keeps the turn from
 * beginning.
 */
export interface TurnExtension extends Pick<AgentDeps, "reviewAnswer" | "beforeCall" | "afterCall"> {
  /** The session is open: its first events are written. */
  readonly opened?: () => void;
  /** Returns the input as the turn shall have it. */
  readonly before?: (input: TurnInput, signal: AbortSignal) => Promise<TurnInput>;
  /** The turn has ended: the input of one that follows automatically, from the first that has one. */
  readonly after?: (outcome: TurnOutcome, signal: AbortSignal) => Promise<TurnInput | undefined>;
  /** Bounds of the turn, in addition to those of the configuration. */
  readonly limits?: () => Limits;
  /** The turns ended without an outcome, such as for an input that is too long. */
  readonly failed?: (error: unknown) => Promise<void>;
  /** An event was recorded and shown; the event that follows from it. */
  readonly onEvent?: EventSource;
  /** The user interrupts, perhaps between two turns. */
  readonly interrupted?: (reason: StopReason) => void;
  /** Takes part in compactions. */
  readonly compaction?: CompactionHooks;
  /** The run is about to close. */
  readonly close?: () => Promise<void>;
}

/** The extensions of a run; features may add more while it runs. */
export class TurnExtensions implements Limits {
  /** The amount spent when the latest turn began, by currency. */
  costsBefore: Spending["costs"] = {};
  /** Absent where another run tests the changes. */
  verification: (() => Promise<Verification>) | undefined;
  readonly #recorder: Pick<Recorder, "follow">;
  readonly #limits: Limits;
  readonly #list: TurnExtension[] = [];
  #spent: Spending[] = [];
  #updates: string[] = [];

  constructor(recorder: Pick<Recorder, "follow">, { agent }: Pick<Config, "agent">) {
    const { max_steps, time_limit_seconds, max_cost } = agent;
    this.#recorder = recorder;
    this.#limits = {
      ...(max_steps > 0 ? { maxSteps: max_steps } : {}),
      ...(time_limit_seconds > 0 ? { timeMs: time_limit_seconds * 1000 } : {}),
      ...(max_cost > 0 ? { cost: max_cost } : {}),
    };
  }

  /** Adds an extension after the others. */
  add(extension: TurnExtension): void {
    this.#list.push(extension);
    if (extension.onEvent) this.#recorder.follow((event) => extension.onEvent?.(event));
  }

  /** Counts the spending of others for the turn that runs, else for the next one. */
  spend(spent: Spending): void {
    this.#spent.push(spent);
  }

  /** Notifies the model with its next request. */
  notify(text: string): void {
    this.#updates.push(text);
  }

  drainUpdates(): readonly string[] {
    return this.#updates.length === 0 ? [] : this.#updates.splice(0);
  }

  opened(): void {
    for (const extension of this.#list) extension.opened?.();
  }

  async before(input: TurnInput, signal: AbortSignal): Promise<TurnInput> {
    let given = input;
    for (const extension of [...this.#list]) given = await extension.before?.(given, signal) ?? given;
    return given;
  }

  async after(outcome: TurnOutcome, signal: AbortSignal): Promise<TurnInput | undefined> {
    for (const extension of [...this.#list]) {
      const next = await extension.after?.(outcome, signal);
      if (next) return next;
    }
  }

  async failed(error: unknown): Promise<void> {
    for (const extension of [...this.#list]) await extension.failed?.(error);
  }

  interrupted(reason: StopReason): void {
    for (const extension of this.#list) extension.interrupted?.(reason);
  }

  async close(): Promise<void> {
    await Promise.all(this.#list.map((extension) => extension.close?.()));
  }

  get compaction(): CompactionHooks | undefined {
    return this.#list.find(({ compaction }) => compaction)?.compaction;
  }

  get maxSteps(): number | undefined {
    return this.#least("maxSteps");
  }

  get timeMs(): number | undefined {
    return this.#least("timeMs");
  }

  get cost(): number | undefined {
    return this.#least("cost");
  }

  /** The tightest bound; undefined where there is none. */
  #least(key: keyof Limits): number | undefined {
    const all = [this.#limits, ...this.#list.map((extension) => extension.limits?.() ?? {})];
    const given = all.flatMap((limits) => limits[key] ?? []);
    return given.length === 0 ? undefined : Math.min(...given);
  }

  /** The rules of each turn: its limits, how it ends, and what the extensions contribute. */
  rules(config: Config, { amended, answerForm }: AssemblyOptions, toolMode?: ToolMode): TurnRules {
    const { max_calls_per_step, send_tool_choice, submit } = config.agent;
    const calls = this.#list.find(({ beforeCall }) => beforeCall);
    return {
      limits: this,
      // A model without tools cannot call the one that ends the turn.
      submit: submit && toolMode !== "none",
      turnPrompt: (turn, model) => turnPrompt(config, turn, model),
      ...(calls?.beforeCall ? { beforeCall: calls.beforeCall } : {}),
      ...(calls?.afterCall ? { afterCall: calls.afterCall } : {}),
      ...(amended ? { amended } : {}),
      ...(answerForm ? { answerForm } : {}),
      ...(send_tool_choice ? { toolChoice: "auto" as const } : {}),
      ...(max_calls_per_step > 0 ? { maxCallsPerStep: max_calls_per_step } : {}),
      takeSpent: () => this.#spent.length === 0 ? [] : this.#spent.splice(0),
      reviewAnswer: (answer, signal) => this.#reviewAnswer(answer, signal),
    };
  }

  async #reviewAnswer(answer: string, signal: AbortSignal): Promise<string | Stop | undefined> {
    for (const extension of [...this.#list]) {
      const found = await extension.reviewAnswer?.(answer, signal);
      if (found !== undefined) return found;
    }
  }
}

type TurnRules = Pick<
  ControlledDeps,
  | "limits"
  | "maxCallsPerStep"
  | "toolChoice"
  | "submit"
  | "amended"
  | "beforeCall"
  | "afterCall"
  | "answerForm"
  | "turnPrompt"
  | "reviewAnswer"
  | "takeSpent"
>;

/** The text after the user's message of a turn; a name in double braces becomes its value. */
function turnPrompt(config: Config, turn: number, model: ModelInfo): string | undefined {
  const prompts = turnPrompts(config, model);
  if (prompts.length === 0) return undefined;
  const values: Readonly<Record<string, () => string>> = {
    turn: () => String(turn),
    model: () => `${model.provider}/${model.id}`,
    date: () => new Date().toISOString().slice(0, 10),
    time: () => new Date().toISOString().slice(11, 16),
  };
  return prompts.map(({ text }) => text).join("\n\n")
    .replace(/\{\{(turn|model|date|time)\}\}/g, (_, name: string) => values[name]?.() ?? "");
}
