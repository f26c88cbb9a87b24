import type { TurnOutcome } from "../agent/mod.ts";
import type { GoalRecord } from "../control/mod.ts";
import type { Event, EventOf, ImagePart } from "../core/mod.ts";
import type { SessionState } from "../session/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { AgentDefinition } from "../context/mod.ts";
import type { AgentPort, AgentReport, GoalPort, PlanPort, Tool, ToolServices } from "../tool/mod.ts";
import type { TurnInput } from "./context/turn_input.ts";
import type { PlanAnswer, PlanProposal } from "./run_options.ts";

/** A question to the model, or a task for an agent, beside a conversation and without a front end. */
export interface InternalRequest {
  readonly prompt: string;
  /** Rounds of tool calls. Default: 0, one reply without tools. */
  readonly steps?: number;
  /** What is other than in the run itself. */
  readonly overrides?: {
    /** A configured model, as `--model` names it. */
    readonly model?: string;
    readonly provider?: Provider;
    /** Names of the only tools; default: those of the run. */
    readonly tools?: readonly string[];
    readonly temperature?: number;
    /** Text added to the system prompt. */
    readonly system?: string;
    /** Files and commands stay as they are. */
    readonly readOnly?: boolean;
  };
  /** Texts that go before the prompt. */
  readonly contexts?: readonly string[];
  readonly images?: readonly ImagePart[];
  /** "raw": everything that happened comes along. Default: "text". */
  readonly capture?: "text" | "raw";
  /** The text that comes back: the last one (the default), all of them, or none. */
  readonly output?: "final" | "full" | "none";
  readonly signal?: AbortSignal;
}

/** What came of it; its usage and cost are also part of the run that it was made in. */
export interface InternalResult {
  readonly text: string;
  readonly outcome: TurnOutcome;
  /** Everything that happened, where `capture` is "raw". */
  readonly events?: readonly Event[];
}

/** A task that the program itself gives to an agent which is in no list. */
export interface DelegatedTask {
  /** Identifier of its session. */
  readonly id: string;
  readonly agent: AgentDefinition;
  readonly prompt: string;
  readonly input?: Pick<TurnInput, "references" | "images">;
  /** Text added to the system prompt. */
  readonly system: string;
  /** A configured model, as `--model` names it. */
  readonly model: string;
  /** Tools beside those of the run that the agent has. */
  readonly tools: readonly Tool[];
  /** Directory of the session. */
  readonly directory: string;
  /** File of the session that goes on. */
  readonly file?: string;
}

/** Other agents of a run, and runs beside its conversation. */
export interface RunAgents extends AgentPort {
  /**
   * Makes a run within what its own one has left. Rejects with a ReasonixError when it cannot begin, and when
   * the signal aborts.
   */
  internal(request: InternalRequest): Promise<InternalResult>;
  /**
   * Waits until an agent has done a task of the program's own. A string says why it cannot begin; rejects
   * when the signal aborts.
   */
  own(task: DelegatedTask, signal: AbortSignal): Promise<AgentReport | string>;
}

/** A goal as somebody asks for it. */
export interface GoalRequest {
  readonly objective: string;
  /** Commands that must exit with 0 once it is reached. */
  readonly checks?: readonly string[];
  /** Whether a research record is kept; auto (the default): where the objective looks like it. */
  readonly strategy?: "auto" | "research" | "simple";
}

/** The goal of a session. */
export interface GoalController extends GoalPort {
  /** The open goal; undefined where there is none. */
  readonly open: GoalRecord | undefined;
  /**
   * Sets the goal, in place of one that is open; returns the input of its first turn. Throws a ReasonixError
   * (usage, blocked) where it cannot be worked towards or a check may not run.
   */
  begin(request: GoalRequest): Promise<TurnInput>;
  /** The input of the turn that resumes the goal. Throws a ReasonixError (usage) where there is none. */
  resume(): Promise<TurnInput>;
  /** Drops the goal; the turn that runs is the last one. Returns false where there is none. */
  clear(): Promise<boolean>;
  /** Makes a goal of an ordinary prompt that asks for long research in so many words. */
  upgrade(input: TurnInput): Promise<TurnInput>;
}

/** The plans of a session. */
export interface PlanController extends PlanPort {
  /** The latest plan of the session. */
  readonly latest: SessionState["plan"];
  /** The plan that waits for the user's decision. */
  readonly pending: PlanProposal | undefined;
  /** A person can decide. */
  readonly attended: boolean;
  /** Shows the plan that waits to the user again; the input of the turn that follows from the answer. */
  ask(signal: AbortSignal): Promise<TurnInput | undefined>;
  /**
   * Takes the user's decision about the plan that waits; the input of the turn that follows. Where none
   * waits, the answer of the last turn is the plan.
   */
  inputOf(answer: PlanAnswer): Promise<TurnInput>;
  /** Keeps a text as the plan that waits. */
  present(plan: string): Promise<void>;
  /** Drops the plan that waits. */
  reject(): Promise<void>;
}

/** The result of a command line that tests the changes. */
export interface VerifyOutcome extends Pick<EventOf<"verification">, "outcome"> {
  readonly line: string;
  /** The end of its output, or why it was not run. */
  readonly text: string;
  readonly durationMs: number;
}

/** Tests what a turn has changed. */
export interface Verification {
  /** Runs every command there is. Rejects with a ReasonixError (usage) where there is none. */
  byHand(signal: AbortSignal): Promise<readonly VerifyOutcome[]>;
}

/** The features that tools and front ends call; each is loaded by its first call. */
export interface Features extends Required<Pick<ToolServices, "plans" | "goals" | "agents">> {
  readonly plans: () => Promise<PlanController>;
  readonly goals: () => Promise<GoalController>;
  readonly agents: () => Promise<RunAgents>;
}
