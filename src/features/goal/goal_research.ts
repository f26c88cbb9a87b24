import type { Config } from "../../config/mod.ts";
import { type GoalRecord, loadGoals, type Recorder, type ResearchStatus } from "../../control/mod.ts";
import { errorMessage, ReasonixError } from "../../core/mod.ts";
import type { ResearchEntryKind } from "../../tool/mod.ts";
import type { GoalClock, GoalRequest, Modes } from "../../run/mod.ts";
import { ResearchRecord } from "./research_record.ts";

interface GoalResearchParts {
  readonly recorder: Recorder;
  readonly modes: Pick<Modes, "permission">;
  readonly redact: (text: string) => string;
  readonly paths: { readonly cwd: string };
  readonly loaded: { readonly config: Config };
  readonly clock: GoalClock;
}

/** The research record of a goal, where it has one. */
export class GoalResearch {
  readonly #parts: GoalResearchParts;

  constructor(parts: GoalResearchParts) {
    this.#parts = parts;
  }

  /** Begins a record where the request or the objective wants one; returns its directory. */
  async begin(
    { strategy = "auto" }: GoalRequest,
    goal: { readonly objective: string; readonly checks: readonly string[] },
  ): Promise<string | undefined> {
    const { loaded: { config }, modes, paths: { cwd }, redact, clock } = this.#parts;
    const { looksLikeResearch } = await loadGoals();
    const canWrite = modes.permission !== "read-only" && config.tools.writes === "allow";
    if (strategy === "research" && !canWrite) {
      throw new ReasonixError("Cannot keep a research record: this session changes no files", {
        exit: "usage",
        remedy: "leave out --research, or let it write",
      });
    }
    const isWanted = strategy === "research" ||
      (strategy === "auto" && config.goal.autoresearch && canWrite && looksLikeResearch(goal.objective));
    if (!isWanted) return undefined;
    const { objective, checks } = goal;
    const now = new Date(clock.date());
    return (await ResearchRecord.begin(cwd, { objective, checks: [...checks] }, { redact, now })).directory;
  }

  /** Adds an entry. Throws a ReasonixError where the goal has no record, or it cannot be kept. */
  async add({ research, turns }: GoalRecord, kind: ResearchEntryKind, note: string): Promise<true> {
    const record = this.#recordIn(research);
    if (!record) {
      throw new ReasonixError("Cannot keep an entry: this goal has no research record; leave `entry` out");
    }
    await record.add(kind, note, turns + 1);
    return true;
  }

  async status({ research }: GoalRecord): Promise<ResearchStatus | undefined> {
    return await this.#recordIn(research)?.status();
  }

  /** Writes the report and returns its path; what cannot be written is told. */
  async report(goal: GoalRecord, answer: string): Promise<string | undefined> {
    try {
      return await this.#recordIn(goal.research)?.report(goal, answer);
    } catch (error) {
      const text = errorMessage(error);
      await this.#parts.recorder.record({ type: "notice", level: "warning", code: "goal", text });
      return undefined;
    }
  }

  #recordIn(directory: string | undefined): ResearchRecord | undefined {
    const { paths: { cwd }, redact } = this.#parts;
    return directory === undefined ? undefined : new ResearchRecord({ cwd, directory, redact });
  }
}
