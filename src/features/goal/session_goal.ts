import type { Limits, TurnOutcome } from "../../agent/mod.ts";
import type { Config } from "../../config/mod.ts";
import {
  errorMessage,
  type Event,
  type EventOf,
  isAbort,
  type LocalizedMessage,
  message,
  type NewEvent,
  newNotice,
  ReasonixError,
  usageError,
} from "../../core/mod.ts";
import {
  type GoalClock,
  type GoalController,
  type GoalRecord,
  type GoalRequest,
  loadUserCommand,
  type RunContext,
  type TurnInput,
  type UserCommandResult,
} from "../../run/mod.ts";
import { openGoal } from "../../session/mod.ts";
import type { GoalReport, ToolRegistry } from "../../tool/mod.ts";
import { after } from "../../util/timer.ts";
import {
  afterTurn,
  type CheckResult,
  continueText,
  EffectTracker,
  goalBlock,
  type GoalLimits,
  goalTexts,
  RESUME_TEXT,
  resumed,
} from "./goal_record.ts";
import { demandsResearch, GoalResearch } from "./research.ts";

/** The commands of a goal, and what others have found out about the turn. */
class GoalChecks {
  readonly #deps: RunContext;
  /** Commands of the verification whose last run in this turn failed, with what they printed. */
  readonly #unverified = new Map<string, string>();
  #own = false;

  constructor(deps: RunContext) {
    this.#deps = deps;
  }

  forget(): void {
    this.#unverified.clear();
  }

  verified({ command, outcome, text = "" }: EventOf<"verification">): void {
    if (this.#own) return;
    if (outcome === "failed" || outcome === "timeout") this.#unverified.set(command, text);
    else this.#unverified.delete(command);
  }

  /** Runs all checks, so that all that fails is known at once. Rejects only when the signal aborts. */
  async run({ checks = [], turns }: GoalRecord, signal: AbortSignal): Promise<readonly CheckResult[]> {
    const results: CheckResult[] = [];
    for (const [command, text] of this.#unverified) results.push({ command, passed: false, text });
    for (const command of checks) {
      signal.throwIfAborted();
      const { durationMs, ...end } = await this.#one(command, signal);
      this.#own = true;
      await this.#deps.recorder.record({
        type: "verification",
        round: turns + 1,
        command,
        outcome: end.outcome,
        ...(end.exitCode === undefined ? {} : { exitCode: end.exitCode }),
        text: end.text,
        durationMs,
      });
      this.#own = false;
      results.push({ command, passed: end.outcome === "passed", text: end.text });
    }
    return results;
  }

  async #one(line: string, signal: AbortSignal): Promise<UserCommandResult> {
    const { tools: { runCommand }, loaded: { config } } = this.#deps;
    const { refusalOf } = await loadUserCommand();
    const refusal = await refusalOf(line, this.#deps, signal);
    if (refusal !== undefined) return { outcome: "failed", text: `not run: ${refusal}`, durationMs: 0 };
    return await runCommand({ line, timeoutSeconds: config.goal.check_timeout_seconds }, signal);
  }
}

/** An objective that long belongs into a file. */
const MAX_OBJECTIVE = 20_000;
const MAX_CHECKS = 20;

interface Wanted extends Pick<RunContext, "gate" | "modes"> {
  readonly registry: Pick<ToolRegistry, "get">;
  readonly objective: string;
  readonly checks: readonly string[];
}

/** Throws a ReasonixError where a goal cannot be worked towards, before anything of it is recorded. */
async function requireGoal({ objective, checks, modes, registry, gate }: Wanted): Promise<void> {
  if (objective === "") throw unfit("it says nothing", "say what is to be reached");
  if (objective.length > MAX_OBJECTIVE) {
    const remedy = "write it to a file and name the file in the objective";
    throw unfit(`it has ${objective.length} characters, more than ${MAX_OBJECTIVE}`, remedy);
  }
  if (checks.length > MAX_CHECKS) {
    throw unfit(`it has ${checks.length} checks, more than ${MAX_CHECKS}`, "put them into one script");
  }
  if (checks.includes("")) throw unfit("one of its checks is empty", "give --check a command line");
  if (modes.collaboration === "plan") {
    throw unfit("plan mode is on", "leave it with /plan off, or without --permission-mode plan");
  }
  if (!registry.get("update_goal")) {
    throw unfit(
      "the tool update_goal is not offered",
      "add it to [tools] enabled, or use a model with tools",
    );
  }
  for (const check of checks) {
    const { refusalOf } = await loadUserCommand();
    const refusal = await refusalOf(check, { gate, modes }, new AbortController().signal);
    if (refusal === undefined) continue;
    throw new ReasonixError(message`Cannot use the check "${check}": ${refusal}`, {
      exit: "blocked",
      remedy: message`change the check, or the rule that refuses it`,
    });
  }
}

function unfit(why: string, remedy: string): ReasonixError {
  return usageError(message`Cannot work towards this goal: ${why}`, remedy);
}

/** The bounds of a goal; what a run may cost bounds its goal too. */
function goalLimits({ goal, agent }: Config): GoalLimits {
  const costs = [goal.max_cost, agent.max_cost].filter((limit) => limit > 0);
  return {
    turns: goal.max_turns,
    durationMs: goal.time_limit_seconds * 1000,
    cost: costs.length === 0 ? 0 : Math.min(...costs),
    idle: goal.no_progress_turns,
  };
}

function remaining({ durationMs, cost }: GoalLimits, { leg }: GoalRecord): Limits {
  return {
    ...(durationMs > 0 ? { timeMs: Math.max(1, durationMs - leg.durationMs) } : {}),
    ...(cost > 0 ? { cost: cost - leg.cost } : {}),
  };
}

const CLEARED: NewEvent = newNotice("info", "goal", message`Goal cleared`);

/**
 * The goal of a session: turns follow one another until the model says that it is reached and its checks
 * pass, until the same thing blocks it three times, or until a limit. What it knows is in the session's
 * events, so the next run continues with it.
 */
export class SessionGoal implements GoalController {
  readonly #deps: RunContext;
  readonly #checks: GoalChecks;
  readonly #research: GoalResearch;
  readonly #clock: GoalClock;
  readonly #limits: GoalLimits;
  #effects: EffectTracker | undefined;
  /** A turn for the goal is running, or about to. */
  #inTurn = false;
  #byUser = false;
  #report: GoalReport | undefined;
  /** The moment up to which the time of the goal is counted. */
  #counted: number | undefined;

  constructor(deps: RunContext) {
    this.#deps = deps;
    this.#clock = deps.options.goalClock ?? REAL_CLOCK;
    this.#limits = goalLimits(deps.loaded.config);
    this.#checks = new GoalChecks(deps);
    this.#research = new GoalResearch({ ...deps, clock: this.#clock });
    deps.extensions.add({
      onEvent: (event) => this.#event(event),
      before: (input) => this.#before(input),
      after: (outcome, signal) => this.#after(outcome, signal),
      limits: () => this.#inTurn && this.open ? remaining(this.#limits, this.open) : {},
      failed: async (error) => await this.#pause(errorMessage(error)),
    });
  }

  get open(): GoalRecord | undefined {
    const goal = openGoal(this.#deps.recorder.state);
    return goal && recordOf(goal);
  }

  async begin(
    request: GoalRequest,
    reason: "research" | "upgraded" = "research",
  ): Promise<TurnInput> {
    const { recorder, registry, modes } = this.#deps;
    const objective = request.objective.trim();
    const checks = (request.checks ?? []).map((check) => check.trim());
    registry.offerLate();
    await this.#deps.open();
    await requireGoal({ ...this.#deps, objective, checks });
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
    this.#effects = new EffectTracker();
    await modes.setCollaboration("goal");
    if (research !== undefined) await this.#notify("info", goalTexts[reason](research));
    return { text: objective };
  }

  resume(): Promise<TurnInput> {
    if (!this.open) {
      throw usageError(
        message`Cannot resume: the session has no open goal`,
        message`set one with /goal OBJECTIVE or reasonix run --goal OBJECTIVE`,
      );
    }
    return Promise.resolve({ text: RESUME_TEXT, origin: "continue", literal: true });
  }

  async clear(): Promise<boolean> {
    const { open } = this;
    if (!open) return false;
    await this.#end({ ...open, state: "cleared" }, undefined, "");
    return true;
  }

  async upgrade(input: TurnInput): Promise<TurnInput> {
    const { modes, registry, loaded } = this.#deps;
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
    if (!open || !this.#inTurn) {
      throw new ReasonixError(message`Cannot report: no goal is active; just do the task`);
    }
    const note = report.note.trim();
    if (note === "") {
      throw new ReasonixError(message`Cannot report without a note; say what is done, or what blocks`);
    }
    if (report.entry) {
      await this.#research.add(open, report.entry, note);
      this.#effects?.added(note);
    }
    this.#report = { ...report, note };
    const kept = report.entry ? `Kept as ${report.entry}. ` : "";
    if (report.status === "progress") return `${kept}Noted. Go on.`;
    const checked = open.checks?.length && report.status === "complete" ? " The checks run then." : "";
    return `${kept}Noted. End this turn now with one or two sentences for the user.${checked}`;
  }

  async #before(input: TurnInput): Promise<TurnInput> {
    const { open } = this;
    const { modes, registry } = this.#deps;
    const hasTool = registry.get("update_goal") !== undefined;
    if (!open || this.#inTurn || modes.collaboration === "plan" || !hasTool) return input;
    const record = open.state === "active" ? open : resumed(open);
    if (record !== open) await this.#save(record);
    if (modes.collaboration !== "goal") await modes.setCollaboration("goal");
    this.#effects ??= new EffectTracker();
    this.#effects.take();
    this.#checks.forget();
    this.#counted ??= this.#clock.now();
    this.#report = undefined;
    this.#inTurn = true;
    this.#byUser = false;
    const research = await this.#research.status(record);
    const stated = input.text.trim() === record.objective;
    const block = goalBlock({ record, limits: this.#limits, research, stated });
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
      const decision = afterTurn(open, {
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
      return await this.#continue(decision, signal);
    } catch (error) {
      if (!signal.aborted && !isAbort(error)) throw error;
      await this.#pause();
    }
  }

  async #continue(
    { record, next, waitMs }: Extract<ReturnType<typeof afterTurn>, { readonly waitMs: number }>,
    signal: AbortSignal,
  ): Promise<TurnInput | undefined> {
    const turn = record.turns + 1;
    for (const { command } of next.why === "checks" ? next.failed : []) {
      await this.#notify("warning", goalTexts.check(command));
    }
    await this.#notify(
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
    const report = await this.#research.report(record, answer);
    this.#counted = undefined;
    await this.#save({ ...record, ...(report === undefined ? {} : { report }) });
    if (record.state === "complete" || record.state === "cleared") {
      if (this.#deps.modes.collaboration === "goal") await this.#deps.modes.setCollaboration("normal");
    }
    if (update) await this.#notify(record.state === "complete" ? "info" : "warning", update);
    if (report !== undefined) await this.#notify("info", goalTexts.report(report));
  }

  async #pause(why?: string): Promise<void> {
    const { open } = this;
    this.#inTurn = false;
    if (open?.state !== "active") return;
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

  async #save(record: GoalRecord): Promise<void> {
    await this.#deps.recorder.record({ type: "goal.change", ...record });
  }

  async #notify(level: "info" | "warning", text: LocalizedMessage): Promise<void> {
    await this.#deps.recorder.record(newNotice(level, "goal", text));
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
