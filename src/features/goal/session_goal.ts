import type { TurnOutcome } from "../../agent/mod.ts";
import { type GoalLimits, type GoalRecord, loadGoals } from "../../control/mod.ts";
import {
  errorMessage,
  type Event,
  isAbort,
  type LocalizedMessage,
  message,
  type NewEvent,
  ReasonixError,
  textFields,
} from "../../core/mod.ts";
import { openGoal } from "../../session/mod.ts";
import type { GoalReport } from "../../tool/mod.ts";
import { after } from "../../util/timer.ts";
import type { GoalClock, GoalController, GoalRequest, RunContext, TurnInput } from "../../run/mod.ts";
import { GoalChecks, goalLimits, remaining, requireGoal } from "./goal_checks.ts";
import { GoalResearch } from "./research.ts";

const CLEARED: NewEvent = {
  type: "notice",
  level: "info",
  code: "goal",
  ...textFields(message`Goal cleared`),
};

type GoalLibrary = Awaited<ReturnType<typeof loadGoals>>;

/**
 * The goal of a session: turns follow one another until the model says that it is reached and its checks
 * pass, until the same thing blocks it three times, or until a limit. What it knows is in the session's
 * events, so a run that is killed goes on with it.
 */
export class SessionGoal implements GoalController {
  readonly #parts: RunContext;
  readonly #checks: GoalChecks;
  readonly #research: GoalResearch;
  readonly #clock: GoalClock;
  readonly #limits: GoalLimits;
  #library: GoalLibrary | undefined;
  #effects: InstanceType<GoalLibrary["EffectTracker"]> | undefined;
  /** A turn for the goal is running, or about to. */
  #inTurn = false;
  #byUser = false;
  #report: GoalReport | undefined;
  /** The moment up to which the time of the goal is counted. */
  #counted: number | undefined;

  constructor(parts: RunContext) {
    this.#parts = parts;
    this.#clock = parts.options.goalClock ?? REAL_CLOCK;
    this.#limits = goalLimits(parts.loaded.config);
    this.#checks = new GoalChecks(parts);
    this.#research = new GoalResearch({ ...parts, clock: this.#clock });
    parts.extensions.add({
      onEvent: (event) => this.#event(event),
      before: (input) => this.#before(input),
      after: (outcome, signal) => this.#after(outcome, signal),
      limits: () => this.#inTurn && this.open ? remaining(this.#limits, this.open) : {},
      failed: async (error) => await this.#pause(errorMessage(error)),
    });
  }

  /** The goal as it stands; undefined where there is none to go on with. */
  get open(): GoalRecord | undefined {
    const goal = openGoal(this.#parts.recorder.state);
    return goal && recordOf(goal);
  }

  /**
   * Sets the goal, in place of one that is open; returns the input of its first turn. Throws a ReasonixError
   * (usage, blocked) where it cannot be worked towards or a check may not run.
   */
  async begin(
    request: GoalRequest,
    reason: "research" | "upgraded" = "research",
  ): Promise<TurnInput> {
    const { recorder, registry, modes } = this.#parts;
    const library = await this.#load();
    const objective = request.objective.trim();
    const checks = (request.checks ?? []).map((check) => check.trim());
    registry.offerLate();
    await this.#parts.open();
    await requireGoal({ ...this.#parts, objective, checks });
    const research = await this.#research.begin(request, { objective, checks });
    await this.clear();
    const number = Number(/\d+$/.exec(recorder.state.goal?.goal ?? "")?.[0] ?? 0) + 1;
    await this.#save({
      goal: `goal-${number}`,
      state: "active",
      objective,
      ...(checks.length > 0 ? { checks } : {}),
      turns: 0,
      leg: { turns: 0, durationMs: 0, cost: 0 },
      idle: 0,
      ...(research === undefined ? {} : { research }),
    });
    this.#effects = new library.EffectTracker();
    await modes.setCollaboration("goal");
    if (research !== undefined) await this.#say("info", library.goalTexts[reason](research));
    return { text: objective };
  }

  /** The input of the turn that goes on with the goal. Throws a ReasonixError (usage) where there is none. */
  async resume(): Promise<TurnInput> {
    if (!this.open) {
      throw new ReasonixError("Cannot go on: the session has no open goal", {
        exit: "usage",
        remedy: "set one with /goal OBJECTIVE or reasonix run --goal OBJECTIVE",
      });
    }
    return { text: (await this.#load()).RESUME_TEXT, origin: "continue", literal: true };
  }

  /** Drops the goal; the turn that runs is the last one. Returns false where there is none. */
  async clear(): Promise<boolean> {
    const { open } = this;
    if (!open) return false;
    await this.#end({ ...open, state: "cleared" }, undefined, "");
    return true;
  }

  /** An ordinary prompt that asks for long research in so many words becomes a goal. */
  async upgrade(input: TurnInput): Promise<TurnInput> {
    const { modes, registry, loaded } = this.#parts;
    const { demandsResearch } = await this.#load();
    const isFree = modes.collaboration === "normal" && modes.permission !== "read-only" && !this.open;
    const canWrite = loaded.config.tools.writes === "allow" && !input.readOnly && input.skill === undefined;
    const isUsers = (input.origin ?? "user") === "user";
    const hasTool = registry.get("update_goal") !== undefined;
    if (!isFree || !canWrite || !isUsers || !hasTool || !demandsResearch(input.text)) return input;
    await this.begin({ objective: input.text, strategy: "research" }, "upgraded");
    return await this.#before(input);
  }

  async report(report: GoalReport): Promise<string> {
    const { open } = this;
    if (!open || !this.#inTurn) throw new ReasonixError("Cannot report: no goal is active; just do the task");
    const note = report.note.trim();
    if (note === "") {
      throw new ReasonixError("Cannot report without a note; say what is done, or what blocks");
    }
    if (report.entry && await this.#research.add(open, report.entry, note)) this.#effects?.added(note);
    this.#report = { ...report, note };
    const kept = report.entry ? `Kept as ${report.entry}. ` : "";
    if (report.status === "progress") return `${kept}Noted. Go on.`;
    const checked = open.checks?.length && report.status === "complete" ? " The checks run then." : "";
    return `${kept}Noted. End this turn now with one or two sentences for the user.${checked}`;
  }

  async #before(input: TurnInput): Promise<TurnInput> {
    const { open } = this;
    const { modes, registry } = this.#parts;
    const hasTool = registry.get("update_goal") !== undefined;
    if (!open || this.#inTurn || modes.collaboration === "plan" || !hasTool) return input;
    const library = await this.#load();
    const record = open.state === "active" ? open : library.takenUp(open);
    if (record !== open) await this.#save(record);
    if (modes.collaboration !== "goal") await modes.setCollaboration("goal");
    this.#effects ??= new library.EffectTracker();
    this.#effects.take();
    this.#checks.forget();
    this.#counted ??= this.#clock.now();
    this.#report = undefined;
    this.#inTurn = true;
    this.#byUser = false;
    const research = await this.#research.status(record);
    const stated = input.text.trim() === record.objective;
    const block = library.goalBlock({ record, limits: this.#limits, research, stated });
    return { ...input, references: [...input.references ?? [], block] };
  }

  async #after(outcome: TurnOutcome, signal: AbortSignal): Promise<TurnInput | undefined> {
    if (!this.#inTurn) return undefined;
    const { open } = this;
    const report = this.#report;
    this.#inTurn = false;
    if (open?.state !== "active") return undefined;
    try {
      const isClaimed = outcome.reason === "done" && report?.status === "complete";
      const checks = isClaimed ? await this.#checks.run(open, signal) : [];
      const now = this.#clock.now();
      const decision = (await this.#load()).afterTurn(open, {
        ...outcome,
        report,
        effect: this.#effects?.take() ?? "none",
        checks,
        durationMs: now - (this.#counted ?? now),
        cost: outcome.cost?.amount ?? 0,
        byUser: this.#byUser,
      }, this.#limits);
      this.#counted = now;
      // It may have been cleared while the checks ran.
      if (this.open?.state !== "active") return undefined;
      if (!decision.next) return void await this.#end(decision.record, decision.update, outcome.answer);
      await this.#save(decision.record);
      return await this.#goOn(decision, signal);
    } catch (error) {
      if (!signal.aborted && !isAbort(error)) throw error;
      await this.#pause();
    }
  }

  async #goOn(
    { record, next, waitMs }: Extract<ReturnType<GoalLibrary["afterTurn"]>, { readonly waitMs: number }>,
    signal: AbortSignal,
  ): Promise<TurnInput | undefined> {
    const { goalTexts, continueText } = await this.#load();
    const turn = record.turns + 1;
    for (const { command } of next.why === "checks" ? next.failed : []) {
      await this.#say("warning", goalTexts.check(command));
    }
    await this.#say(
      "info",
      waitMs > 0 ? goalTexts.waits(turn, waitMs / 1000) : goalTexts.next(turn),
    );
    if (waitMs > 0) await this.#clock.wait(waitMs, signal);
    signal.throwIfAborted();
    if (this.open?.state !== "active") return undefined;
    return { text: continueText(next), origin: "continue", literal: true };
  }

  /** Records how the goal ended or was left, loudly, and with the report of its research. */
  async #end(record: GoalRecord, update: LocalizedMessage | undefined, answer: string): Promise<void> {
    const { goalTexts } = await this.#load();
    const report = await this.#research.report(record, answer);
    this.#counted = undefined;
    await this.#save({ ...record, ...(report === undefined ? {} : { report }) });
    if (record.state === "complete" || record.state === "cleared") {
      if (this.#parts.modes.collaboration === "goal") await this.#parts.modes.setCollaboration("normal");
    }
    if (update) await this.#say(record.state === "complete" ? "info" : "warning", update);
    if (report !== undefined) await this.#say("info", goalTexts.report(report));
  }

  async #pause(why?: string): Promise<void> {
    const { open } = this;
    this.#inTurn = false;
    if (open?.state !== "active") return;
    const { goalTexts } = await this.#load();
    const update = why === undefined ? goalTexts.paused() : goalTexts.failed(why);
    await this.#end({ ...open, state: "stopped", ...(why === undefined ? {} : { note: why }) }, update, "");
  }

  /** Counts what happens in a turn. A goal does not outlive a switch to another collaboration mode. */
  #event(event: Event): NewEvent | undefined {
    if (event.type === "message.user" && (event.origin === "user" || event.origin === "steer")) {
      this.#byUser = true;
    }
    if (this.#inTurn) {
      this.#effects?.event(event);
      if (event.type === "verification") this.#checks.verified(event);
    }
    const { open } = this;
    if (event.type === "goal.change" && event.state === "cleared") return CLEARED;
    if (event.type !== "mode.change" || !event.collaboration || event.collaboration === "goal") {
      return undefined;
    }
    return open && { type: "goal.change", ...open, state: "cleared" };
  }

  async #load(): Promise<GoalLibrary> {
    return this.#library ??= await loadGoals();
  }

  async #save(record: GoalRecord): Promise<void> {
    await this.#parts.recorder.record({ type: "goal.change", ...record });
  }

  async #say(level: "info" | "warning", text: LocalizedMessage): Promise<void> {
    await this.#parts.recorder.record({ type: "notice", level, code: "goal", ...textFields(text) });
  }
}

function recordOf({ v: _v, seq: _seq, time: _time, type: _type, ...record }: GoalEvent): GoalRecord {
  return record;
}

type GoalEvent = Extract<Event, { type: "goal.change" }>;

const REAL_CLOCK: GoalClock = {
  now: () => performance.now(),
  date: () => Date.now(),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const cancel = after(ms, done);
      function done(): void {
        cancel();
        signal.removeEventListener("abort", done);
        resolve();
      }
      signal.addEventListener("abort", done, { once: true });
    }),
};
