import { StopReason, type TurnOutcome } from "../../agent/mod.ts";
import {
  errorMessage,
  type Event,
  type EventOf,
  type EventSink,
  isAbort,
  type NewEventOf,
  ReasonixError,
  type Spending,
  textOf,
  totalCost,
} from "../../core/mod.ts";
import type { AgentReport, AgentTask } from "../../tool/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import type { Assembly, TurnInput } from "../../run/mod.ts";

/** Room of an answer's last words in the event of its end. */
const MAX_SUMMARY = 400;
const MAX_PROGRESS = 160;

/** What the one that began a task sees of it. */
export interface AgentRunDeps {
  readonly id: string;
  readonly agent: string;
  readonly task: AgentTask;
  readonly child: Assembly;
  /** What goes along with the words of the task. */
  readonly input?: Pick<TurnInput, "references" | "images">;
  /** Receives everything that happens in its session. */
  readonly sink?: EventSink;
  readonly record: (
    event: NewEventOf<"subagent.start" | "subagent.progress" | "subagent.end" | "question">,
  ) => void;
  /** Waits until one more agent may work; what it returns lets the next one. */
  readonly slot: (signal: AbortSignal) => Promise<() => void>;
  /** Told of money as it is spent. */
  readonly spend: (amount: number) => void;
  /** Nothing is left to spend. */
  readonly overspent: () => boolean;
  /** What the model should know beside the answer. */
  readonly notes: readonly string[];
  /** Called when it has ended; what else the model should know. */
  readonly end?: (signal: AbortSignal) => Promise<readonly string[]>;
}

/** One task that an agent works on: its events, what it has spent, and its report. */
export class AgentRun {
  readonly id: string;
  readonly task: AgentTask;
  /** Resolves when it is done and everything that it started has ended; never rejects. */
  readonly ended: Promise<void>;
  readonly #parts: AgentRunDeps;
  readonly #stop = new AbortController();
  readonly #started = performance.now();
  readonly #before: Spending;
  #calls = 0;
  #asking = false;
  #outcome: TurnOutcome | undefined;
  #problem: string | undefined;
  #end: AgentReport | undefined;
  #seen = false;
  #brought: readonly string[] = [];

  /** Begins to work. */
  constructor(parts: AgentRunDeps) {
    this.#parts = parts;
    this.id = parts.id;
    this.task = parts.task;
    const { usage, costs, unpriced } = parts.child.controller.recorder.state;
    this.#before = { usage, costs, unpriced };
    this.ended = this.#run();
  }

  /** What was spent since it began. */
  get spending(): Spending {
    const { usage, costs, unpriced } = this.#parts.child.controller.recorder.state;
    const before = this.#before;
    const spent = (currency: string) => (costs[currency] ?? 0) - (before.costs[currency] ?? 0);
    return {
      usage: {
        inputTokens: usage.inputTokens - before.usage.inputTokens,
        cachedTokens: usage.cachedTokens - before.usage.cachedTokens,
        outputTokens: usage.outputTokens - before.usage.outputTokens,
        reasoningTokens: usage.reasoningTokens - before.usage.reasoningTokens,
        cacheWriteTokens: (usage.cacheWriteTokens ?? 0) - (before.usage.cacheWriteTokens ?? 0),
      },
      costs: Object.fromEntries(Object.keys(costs).map((currency) => [currency, spent(currency)])),
      unpriced: unpriced - before.unpriced,
    };
  }

  get report(): AgentReport {
    return this.#end ?? this.#report("running");
  }

  /** How its turn ended; undefined when it never began, and while it goes on. */
  get outcome(): TurnOutcome | undefined {
    return this.#outcome;
  }

  /** Whether the one that began it knows how it ended. */
  get isSeen(): boolean {
    return this.#seen;
  }

  /** The report, for the one that began it. */
  seen(): AgentReport {
    this.#seen ||= this.#end !== undefined;
    return this.report;
  }

  /** What tells its events from those of others. */
  get #names() {
    const { id, agent, task: { callId, background } } = this.#parts;
    return { id, agent, ...(callId === undefined ? {} : { callId }), ...(background ? { background } : {}) };
  }

  stop(reason: unknown): void {
    this.#stop.abort(reason);
  }

  async #run(): Promise<void> {
    const { child, slot } = this.#parts;
    let release: (() => void) | undefined;
    try {
      release = await slot(this.#stop.signal);
      await this.#work();
    } catch (error) {
      this.#problem = problemOf(error);
    }
    await child[Symbol.asyncDispose]().catch((error) => this.#problem ??= errorMessage(error));
    this.#brought = await this.#parts.end?.(this.#stop.signal) ?? [];
    this.#end = this.#report(this.#state());
    if (release) this.#recordEnd(this.#end);
    release?.();
  }

  async #work(): Promise<void> {
    const { child, task } = this.#parts;
    const { session, provider: { model } } = child;
    this.#parts.record({
      type: "subagent.start",
      ...this.#names,
      session: session.id,
      model: `${model.provider}/${model.id}`,
      prompt: task.prompt,
      ...(task.description === undefined ? {} : { description: task.description }),
      ...(task.resume === undefined ? {} : { resumed: true }),
    });
    const unsubscribe = child.controller.subscribe((event) => {
      this.#watch(event);
      return this.#parts.sink?.(event);
    });
    try {
      this.#outcome = await child.run(
        // Nothing in what another agent writes is a reference.
        { ...this.#parts.input, text: task.prompt, literal: true },
        this.#stop.signal,
      );
    } finally {
      unsubscribe();
    }
  }

  #watch(event: Event): void {
    if (event.type === "turn.state") this.#asks(event.to);
    else if (event.type === "tool.start") {
      this.#calls += 1;
      this.#progress(event.title ?? event.call.name);
    } else if (event.type === "subagent.progress") {
      this.#progress(`${event.agent}: ${event.text}`);
    } else if (event.type === "message.start" && this.#parts.overspent()) {
      this.stop(new StopReason("limit", "The cost limit of the turn is reached"));
    } else if ((event.type === "message.end" || event.type === "subagent.end") && event.cost) {
      this.#parts.spend(event.cost.amount);
    }
  }

  /** What a person is asked by the agent takes no time of the call that waits for it. */
  #asks(state: EventOf<"turn.state">["to"]): void {
    const { record, task: { callId, background } } = this.#parts;
    const asking = state === "awaiting_approval" || state === "awaiting_answer";
    if (callId === undefined || background || asking === this.#asking) return;
    this.#asking = asking;
    record({ type: "question", state: asking ? "asked" : "answered", text: "", callId });
  }

  #progress(what: string): void {
    const { record } = this.#parts;
    const text = oneLine(what, MAX_PROGRESS);
    record({ type: "subagent.progress", ...this.#names, text, calls: this.#calls });
  }

  #recordEnd({ state, problem, answer, steps, durationMs }: AgentReport): void {
    const { child, record } = this.#parts;
    const { provider: { model } } = child;
    const spending = this.spending;
    const cost = totalCost(spending, model.price?.currency);
    record({
      type: "subagent.end",
      ...this.#names,
      outcome: state === "running" ? "error" : state,
      summary: oneLine(problem ?? answer, MAX_SUMMARY),
      model: `${model.provider}/${model.id}`,
      calls: this.#calls,
      steps,
      usage: spending.usage,
      ...(cost ? { cost } : {}),
      durationMs,
    });
  }

  #state(): "ok" | "error" | "aborted" {
    if (this.#outcome?.reason === "done") return "ok";
    const { signal } = this.#stop;
    return signal.aborted && !(signal.reason instanceof StopReason && signal.reason.reason === "limit")
      ? "aborted"
      : "error";
  }

  #report(state: AgentReport["state"]): AgentReport {
    const { agent, child, notes } = this.#parts;
    const outcome = this.#outcome;
    const { signal } = this.#stop;
    const problem = signal.aborted
      ? problemOf(signal.reason)
      : outcome && outcome.reason !== "done"
      ? outcome.detail ?? outcome.reason
      : this.#problem;
    const cost = totalCost(this.spending, child.provider.model.price?.currency);
    const turn = child.controller.recorder.state.turns.at(-1);
    return {
      id: this.id,
      agent,
      state,
      answer: outcome?.answer ?? turn?.answer ?? "",
      ...(state !== "ok" && problem !== undefined ? { problem } : {}),
      steps: outcome?.steps ?? this.#calls,
      ...(cost ? { cost } : {}),
      durationMs: outcome?.durationMs ?? Math.round(performance.now() - this.#started),
      notes: [...notes, ...this.#brought],
    };
  }
}

function problemOf(error: unknown): string {
  if (isAbort(error)) return error instanceof StopReason ? textOf(error.detail) : "stopped";
  if (error instanceof ReasonixError && error.remedy) return `${error.message}; ${error.remedy}`;
  return errorMessage(error);
}
