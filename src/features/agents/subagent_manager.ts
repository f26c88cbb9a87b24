import { StopReason, type TurnOutcome } from "../../agent/mod.ts";
import { resolveModel } from "../../config/mod.ts";
import type { AgentDefinition } from "../../context/mod.ts";
import { type Event, newNotice, ReasonixError } from "../../core/mod.ts";
import {
  type Assemble,
  type DelegatedTask,
  type InternalRequest,
  type InternalResult,
  loadKnownAgents,
  type RunAgents,
  type RunContext,
  type TurnInput,
} from "../../run/mod.ts";
import { agentOfSession, newSessionId } from "../../session/mod.ts";
import type { AgentReport, AgentTask } from "../../tool/mod.ts";
import { defined } from "../../util/json.ts";
import { after, unlessAborted } from "../../util/timer.ts";
import {
  AgentRun,
  type AgentRunDeps,
  agentsDirectory,
  type ChildTask,
  openChild,
  Slots,
} from "./agent_run.ts";

const NOTHING_LEFT = "Nothing of the cost limit of the turn is left for another agent";

/** Gives tasks to other agents, keeps them within what the run has left, and ends them with it. */
export class SubagentManager implements RunAgents {
  readonly #run: RunContext;
  readonly #assemble: Assemble;
  readonly #slots: Slots;
  readonly #questions = new Slots(1);
  readonly #warned = new Set<string>();
  readonly #tasks = new Map<string, AgentRun>();
  readonly #working = new Set<AgentRun>();
  /** Cost of the runs that have not ended. */
  #spending = 0;

  constructor(run: RunContext, assemble: Assemble) {
    this.#run = run;
    this.#assemble = assemble;
    const { extensions, options } = run;
    this.#slots = new Slots(options.loaded.config.agents.max_parallel);
    extensions.add({
      interrupted: (reason) => this.#stopAll(reason),
      close: () => this.#close(),
      ...(options.waitForAgents
        ? { after: (outcome: TurnOutcome, signal: AbortSignal) => this.#continue(outcome, signal) }
        : {}),
    });
  }

  async run(task: AgentTask, signal: AbortSignal): Promise<AgentReport | string> {
    const found = await this.#childTask(task);
    if (typeof found === "string") return found;
    const run = await this.#begin(task, found);
    if (typeof run === "string") return run;
    if (!task.background) await ended(run, signal);
    return run.report;
  }

  async internal(request: InternalRequest): Promise<InternalResult> {
    const { prompt, description, contexts, images, signal = new AbortController().signal } = request;
    signal.throwIfAborted();
    await this.#run.open();
    const made = internalTask(this.#run, request);
    const events: Event[] = [];
    const run = await this.#begin(
      { agent: made.agent.name, prompt, readOnly: made.readOnly, ...defined({ description }) },
      { id: newSessionId(new Date()), questions: this.#questions, ...made },
      {
        sink: (event) => void events.push(event),
        input: { ...(contexts ? { references: contexts } : {}), ...(images ? { images } : {}) },
      },
    );
    if (typeof run === "string") {
      throw new ReasonixError(run, run === NOTHING_LEFT ? { exit: "limit" } : {});
    }
    await ended(run, signal);
    return internalResult(run, events, request);
  }

  async own(
    { agent, prompt, input, ...child }: DelegatedTask,
    signal: AbortSignal,
  ): Promise<AgentReport | string> {
    const { file, id } = child;
    signal.throwIfAborted();
    const run = await this.#begin(
      { agent: agent.name, prompt, readOnly: agent.readOnly, ...(file === undefined ? {} : { resume: id }) },
      { agent, readOnly: agent.readOnly, questions: this.#questions, ...child },
      { ...(input ? { input } : {}) },
    );
    if (typeof run === "string") return run;
    await ended(run, signal);
    return run.report;
  }

  async output(id: string, milliseconds: number, signal: AbortSignal): Promise<AgentReport | string> {
    const run = this.#tasks.get(id);
    if (!run) return this.#unknown(id);
    if (milliseconds > 0) await settled(run.ended, milliseconds, signal);
    return run.seen();
  }

  async stop(id: string): Promise<AgentReport | string> {
    const run = this.#tasks.get(id);
    if (!run) return this.#unknown(id);
    run.stop(new StopReason("interrupted", "Stopped by task_stop"));
    await run.ended;
    return run.seen();
  }

  #unknown(id: string): string {
    const known = [...this.#tasks.keys()];
    const there = known.length > 0 ? `; there are ${known.join(", ")}` : "";
    return `There is no task "${id}" in this run${there}; task with resume continues an earlier one`;
  }

  /** Begins to work on a task; a string says why not. */
  async #begin(
    task: AgentTask,
    child: ChildTask,
    more: Pick<AgentRunDeps, "sink" | "input"> = {},
  ): Promise<AgentRun | string> {
    const { recorder } = this.#run;
    const left = this.#costLeft();
    if (left !== undefined && left <= 0) {
      return NOTHING_LEFT;
    }
    const opened = await openChild(this.#run, this.#assemble, {
      ...child,
      warned: this.#warned,
      ...(left === undefined ? {} : { maxCost: left }),
    });
    if (typeof opened === "string") return opened;
    const run = new AgentRun({
      id: child.id,
      agent: child.agent.name,
      task,
      ...opened,
      ...more,
      record: (event) => void recorder.record(event),
      slot: (signal) => this.#slots.take(signal),
      spend: (amount) => void (this.#spending += amount),
      // All agents together stay within the limit.
      overspent: () => (this.#costLeft() ?? 1) <= 0,
    });
    this.#tasks.set(child.id, run);
    this.#working.add(run);
    void run.ended.then(() => this.#ended(run));
    return run;
  }

  #ended(run: AgentRun): void {
    this.#working.delete(run);
    const { spending, task, report } = run;
    const { extensions } = this.#run;
    extensions.spend(spending);
    if (task.background && !run.isSeen) extensions.notify(updateText(report));
    for (const amount of Object.values(spending.costs)) this.#spending -= amount;
  }

  /** At the end of a turn: what agents in the background have answered by then leads to another turn. */
  async #continue({ reason }: TurnOutcome, signal: AbortSignal): Promise<TurnInput | undefined> {
    if (reason !== "done") return undefined;
    const { extensions, recorder, options } = this.#run;
    const seconds = options.loaded.config.agents.background_wait_seconds;
    const working = () => [...this.#working].filter(({ task }) => task.background);
    if (working().length > 0 && seconds > 0) {
      await settled(Promise.all(working().map((run) => run.ended)), seconds * 1000, signal).catch(() => {});
    }
    const late = working().map(({ id }) => id).join(", ");
    if (late !== "" && !signal.aborted) {
      const text = `Agents in the background end with the run: ${late} were not done after ${seconds} s ` +
        "([agents] background_wait_seconds)";
      await recorder.record(newNotice("warning", "agents", text));
    }
    const updates = extensions.drainUpdates();
    return updates.length === 0 || signal.aborted
      ? undefined
      : { text: updates.join("\n\n"), origin: "continue", literal: true };
  }

  /** Money that the turn has left, less what other agents have spent meanwhile; absent: no limit. */
  #costLeft(): number | undefined {
    const { extensions, recorder, options } = this.#run;
    const { max_cost } = options.loaded.config.agent;
    if (max_cost <= 0) return undefined;
    const sum = (costs: Readonly<Record<string, number>>) =>
      Object.values(costs).reduce((total, each) => total + each, 0);
    return max_cost - (sum(recorder.state.costs) - sum(extensions.costsBefore)) - this.#spending;
  }

  #stopAll(reason: StopReason): void {
    for (const run of this.#working) run.stop(reason);
  }

  async #close(): Promise<void> {
    this.#stopAll(new StopReason("interrupted", "The session has ended"));
    await Promise.all([...this.#working].map((run) => run.ended));
  }

  async #childTask(task: AgentTask): Promise<ChildTask | string> {
    const { inputs } = this.#run;
    const agent = await (await loadKnownAgents()).agentNamed(task.agent, inputs);
    if (typeof agent === "string") return agent;
    const readOnly = task.readOnly || agent.readOnly;
    // What only reads has no changes to keep apart.
    const isolated = !readOnly && (task.isolation ?? agent.isolation) === "worktree";
    const plain = { agent, readOnly, isolated, questions: this.#questions };
    if (task.resume === undefined) return { id: newSessionId(new Date()), ...plain };
    const earlier = this.#earlier(task.resume, agent);
    return typeof earlier === "string" ? earlier : { ...plain, ...earlier };
  }

  /** The session of an earlier task of the same agent. */
  #earlier(id: string, { name }: AgentDefinition): { readonly id: string; readonly file: string } | string {
    const file = `${agentsDirectory(this.#run)}/${id}.jsonl`;
    const its = /^[\w-]+$/.test(id) ? agentOfSession(file) : undefined;
    if (its === undefined) return `There is no earlier task "${id}" of this session`;
    if ([...this.#working].some((run) => run.id === id)) {
      return `Task ${id} is still being worked on; see task_output, or stop it first`;
    }
    return its === name ? { id, file } : `Task ${id} was given to ${its}: name that agent`;
  }
}

/** Waits for the end of a task, which an abort stops. */
async function ended(run: AgentRun, signal: AbortSignal): Promise<void> {
  const stop = () => run.stop(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  await run.ended;
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
}

function updateText({ id, agent, state, problem }: AgentReport): string {
  const how = state === "ok" ? "is done" : `did not finish: ${problem ?? state}`;
  return `<task id="${id}">\nThe agent ${agent} ${how}. task_output returns its answer.\n</task>`;
}

/** Waits for the end, at most this many milliseconds. */
async function settled(ended: Promise<unknown>, milliseconds: number, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const cancel = after(milliseconds, over.resolve);
  try {
    await unlessAborted(Promise.race([ended, over.promise]), signal);
  } finally {
    cancel();
  }
}

/** The agent and the options of a request. Throws ReasonixError for an unknown model. */
function internalTask(
  { options }: RunContext,
  { agent: name = "internal", steps = 0, tools: added, answerForm, overrides = {} }: InternalRequest,
): Omit<ChildTask, "id" | "questions"> {
  const { model, provider, tools, temperature, system = "", readOnly = false, offline = false } = overrides;
  if (model !== undefined) resolveModel(options.loaded.config, model);
  const agent: AgentDefinition = {
    name,
    description: "",
    prompt: "",
    readOnly,
    scope: "builtin",
    ...(steps === 0 ? { tools: [] } : { maxSteps: steps, ...(tools ? { tools } : {}) }),
    ...(model === undefined ? {} : { model }),
    ...(temperature === undefined ? {} : { temperature }),
  };
  return {
    agent,
    readOnly,
    system,
    offline,
    nonInteractive: true,
    ...defined({ provider, answerForm, tools: added }),
  };
}

function internalResult(
  run: AgentRun,
  events: readonly Event[],
  { output = "final", capture }: InternalRequest,
): InternalResult {
  const { outcome, report } = run;
  const texts = events.flatMap((event) =>
    event.type === "message.end" && event.step > 0 && event.content !== "" ? [event.content] : []
  );
  const text = output === "none" ? "" : output === "full" ? texts.join("\n\n") : report.answer;
  return {
    text,
    outcome: outcome ?? {
      reason: report.state === "aborted" ? "interrupted" : "failed",
      detail: report.problem ?? report.state,
      answer: report.answer,
      steps: report.steps,
      usage: run.spending.usage,
      durationMs: report.durationMs,
    },
    ...(capture === "raw" ? { events } : {}),
  };
}
