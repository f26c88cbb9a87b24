import type { TurnOutcome } from "../../agent/mod.ts";
import { errorMessage, type Event, type NewEvent, type NewEventOf } from "../../core/mod.ts";
import type { SessionState } from "../../session/mod.ts";
import { checklist, type PlanReply, type TodoStore } from "../../tool/mod.ts";
import type {
  PlanAnswer,
  PlanApproval,
  PlanController,
  PlanProposal,
  PlanReviewer,
  RunContext,
  TurnInput,
} from "../../run/mod.ts";
import { planSteps } from "./steps.ts";

/** Nobody reads a longer one, and the tool's result may have to repeat it. */
const MAX_PLAN = 30_000;

/**
 * The plans of a session: proposed by the model, decided by the user, carried out within the window that an
 * approval opens. What it knows is in the session's events; nothing but a reviewer approves a plan.
 */
export class SessionPlans implements PlanController {
  readonly #parts: RunContext;
  /** A plan was proposed by a call of this turn. */
  #proposed = false;
  /** The approved plan is being carried out, or will be by the next turn. */
  #underWay = false;

  constructor(parts: RunContext) {
    this.#parts = parts;
    parts.extensions.add({
      onEvent: (event) => this.#follow(event),
      after: (outcome, signal) => this.#after(outcome, signal),
    });
  }

  get #reviewer(): PlanReviewer | undefined {
    return this.#parts.options.planReviewer;
  }

  /** The latest plan of the session. */
  get latest(): SessionState["plan"] {
    return this.#parts.recorder.state.plan;
  }

  /** The plan that waits for the user's word. */
  get pending(): PlanProposal | undefined {
    return this.#parts.modes.planWaits ? this.latest : undefined;
  }

  /** Somebody is there to be asked. */
  get attended(): boolean {
    return this.#reviewer !== undefined;
  }

  async propose(plan: string, signal: AbortSignal): Promise<PlanReply> {
    const { modes } = this.#parts;
    const reviewer = this.#reviewer;
    const text = plan.trim();
    if (modes.collaboration !== "plan") {
      return refusal("Cannot propose a plan: plan mode is off; go on with the work itself");
    }
    if (text === "") return refusal("Cannot propose a plan: it is empty; write its steps as Markdown");
    if (text.length > MAX_PLAN) {
      const size = `${text.length} characters, at most ${MAX_PLAN} are read`;
      return refusal(`Cannot propose a plan of ${size}; say what matters and leave details to its steps`);
    }
    this.#proposed = true;
    const proposal = await this.#present(text);
    if (!reviewer) {
      return {
        content: "The plan is kept; nobody is here to approve it now, so this turn is over.",
        summary: "proposed",
        endsTurn: { answer: text },
      };
    }
    const answer = await reviewer.review(proposal, signal);
    signal.throwIfAborted();
    if (!answer) {
      const content = "The user has not decided yet. Plan mode stays on; wait for what they say.";
      return { content, summary: "left open", endsTurn: { answer: "" } };
    }
    const content = await this.decide(answer);
    return { content, summary: answer.approve ? "approved" : "to be changed" };
  }

  /** Puts the plan that waits before the user again; what follows from the answer is the input of a turn. */
  async ask(signal: AbortSignal): Promise<TurnInput | undefined> {
    const { pending } = this;
    const answer = pending && await this.#reviewer?.review(pending, signal);
    signal.throwIfAborted();
    return answer && await this.inputOf(answer);
  }

  /**
   * Takes the user's word about the plan that waits; the input of the turn that follows. Where none waits,
   * the answer of the last turn is the plan.
   */
  async inputOf(answer: PlanAnswer): Promise<TurnInput> {
    const text = await this.decide(answer);
    return answer.approve
      ? { text, origin: "continue", literal: true }
      : { text: answer.note, origin: "user", literal: true };
  }

  /** Keeps a text as the plan that waits. */
  async present(plan: string): Promise<void> {
    await this.#present(plan.trim());
  }

  /** Drops the plan that waits. */
  async reject(): Promise<void> {
    if (this.pending) await this.#record({ state: "rejected" });
  }

  /** Records a decision and what it entails; returns what the model is told. */
  async decide(answer: PlanAnswer): Promise<string> {
    if (!answer.approve) {
      await this.#record({ state: "revised", ...(answer.note === "" ? {} : { note: answer.note }) });
      const note = answer.note === "" ? "but did not say how; ask" : answer.note;
      return `The user wants the plan changed: ${note}\nPlan mode stays on: propose the changed plan.`;
    }
    return await this.#approve(answer);
  }

  async completeStep(step: number): Promise<PlanReply> {
    const { latest } = this;
    if (latest?.state === "finished") return refusal("The plan is finished already");
    if (latest?.state !== "approved") {
      return refusal(`Cannot complete step ${step}: no plan is approved; propose one in plan mode first`);
    }
    const steps = planSteps(latest.plan);
    if (steps.length === 0) return refusal("The plan has no list of steps; go on without marking them");
    const content = steps[step - 1];
    if (content === undefined) {
      return refusal(`Cannot complete step ${step}: the plan has the steps 1 to ${steps.length}`);
    }
    const { tools: { todos }, modes } = this.#parts;
    todos.set(withStepDone(todos.get(), steps, content));
    const done = todos.get().filter(({ content, status }) =>
      status === "completed" && steps.includes(content)
    );
    if (done.length === steps.length) {
      modes.approvedPlan = false;
      await this.#record({ state: "finished" });
    }
    return { content: checklist(todos.get()), summary: `${done.length}/${steps.length} done` };
  }

  async #approve({ plan, note, window, acceptEdits, by }: PlanApproval): Promise<string> {
    const { modes, tools: { todos } } = this.#parts;
    const before = this.latest?.plan ?? "";
    const changed = plan !== undefined && plan.trim() !== before ? plan.trim() : undefined;
    const file = changed === undefined ? undefined : await this.#save(changed);
    await this.#record({
      state: "approved",
      ...(changed === undefined ? {} : { plan: changed }),
      ...(file === undefined ? {} : { file }),
      ...(note ? { note } : {}),
      ...(window ? { window } : {}),
      ...(acceptEdits ? { acceptEdits } : {}),
      ...(by ? { by } : {}),
    });
    await modes.setCollaboration("normal");
    modes.leaveTelling();
    if (acceptEdits) modes.allowForSession("Edit");
    modes.approvedPlan = window ?? false;
    this.#underWay = true;
    const steps = planSteps(changed ?? before);
    if (steps.length > 0) todos.set(stepsToDo(steps));
    return approvedText({ changed, note, steps });
  }

  async #present(plan: string): Promise<PlanProposal> {
    const file = await this.#save(plan);
    const proposal = { plan, ...(file === undefined ? {} : { file }) };
    await this.#record({ state: "proposed", ...proposal });
    return proposal;
  }

  async #record(change: Omit<NewEventOf<"plan.change">, "type">): Promise<void> {
    await this.#parts.recorder.record({ type: "plan.change", ...change });
  }

  /** Writes a plan into a file of the session; what cannot be written is told, and is no reason to stop. */
  async #save(plan: string): Promise<string | undefined> {
    const { session, redact, recorder } = this.#parts;
    const directory = `${session.paths.dir}/plans`;
    try {
      await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
      for (let number = 1;; number++) {
        const file = `${directory}/plan-${number}.md`;
        try {
          await Deno.writeTextFile(file, `${redact(plan)}\n`, { createNew: true, mode: 0o600 });
          return file;
        } catch (error) {
          if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
        }
      }
    } catch (error) {
      const why = errorMessage(error);
      const text = `The plan cannot be written to ${directory}: ${why}; the session has it all the same`;
      const said = [["planUnsaved", directory, why]] as const;
      await recorder.record({ type: "notice", level: "warning", code: "plan", text, said });
      return undefined;
    }
  }

  /** Ends what an approval has opened with the turn that carried it out. */
  #follow(event: Event): NewEvent | undefined {
    if (event.type === "turn.start") this.#proposed = false;
    if (event.type !== "turn.end" || !this.#underWay) return undefined;
    this.#underWay = false;
    this.#parts.modes.approvedPlan = false;
    const { latest } = this;
    if (latest?.state !== "approved" || event.reason !== "done") return undefined;
    const items = this.#parts.tools.todos.get();
    const isDone = (step: string) =>
      items.some(({ content, status }) => content === step && status === "completed");
    return planSteps(latest.plan).every(isDone) ? { type: "plan.change", state: "finished" } : undefined;
  }

  /** Takes an answer that proposed nothing by a call as the plan, where nobody talks about it. */
  async #after(outcome: TurnOutcome, signal: AbortSignal): Promise<TurnInput | undefined> {
    const { modes } = this.#parts;
    const reviewer = this.#reviewer;
    const isPlan = outcome.reason === "done" && !this.#proposed && modes.collaboration === "plan" &&
      outcome.answer.trim() !== "" && (reviewer === undefined || reviewer.takesProse === true);
    if (!isPlan) return undefined;
    const proposal = await this.#present(outcome.answer.trim());
    const answer = await reviewer?.review(proposal, signal);
    return answer && !signal.aborted ? await this.inputOf(answer) : undefined;
  }
}

function refusal(content: string): PlanReply {
  return { content: `error: ${content}`, summary: content, isError: true };
}

type Todos = ReturnType<TodoStore["get"]>;

function stepsToDo(steps: readonly string[]): Todos {
  return steps.map((content, at) => ({ content, status: at === 0 ? "in_progress" : "pending" }));
}

/** The list with one step done; the model may have rewritten it, but the steps of the plan stay on it. */
function withStepDone(items: Todos, steps: readonly string[], done: string): Todos {
  const listed = new Set(items.map(({ content }) => content));
  const whole = [...items, ...stepsToDo(steps).filter(({ content }) => !listed.has(content))]
    .map((item) =>
      item.content === done
        ? { ...item, status: "completed" as const }
        : { ...item, status: item.status === "in_progress" ? "pending" as const : item.status }
    );
  const next = whole.findIndex(({ status }) => status === "pending");
  return whole.map((item, at) => at === next ? { ...item, status: "in_progress" as const } : item);
}

interface Approved {
  readonly changed: string | undefined;
  readonly note: string | undefined;
  readonly steps: readonly string[];
}

function approvedText({ changed, note, steps }: Approved): string {
  return [
    "The user approved the plan. Plan mode is off: carry it out now.",
    ...(changed === undefined ? [] : [`They changed it; this is what counts:\n\n${changed}\n`]),
    ...(note ? [`They add: ${note}`] : []),
    ...(steps.length > 0
      ? [
        "Mark each step with complete_step as soon as it is done:",
        ...steps.map((step, at) => `${at + 1}. ${step}`),
      ]
      : []),
  ].join("\n");
}
