import type { TurnOutcome } from "../agent/mod.ts";
import type { Event, ImagePart } from "../core/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { AgentDefinition } from "../context/mod.ts";
import type { AgentPort, AgentReport, Tool } from "../tool/mod.ts";
import type { TurnInput } from "./context/turn_input.ts";

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
export interface OwnTask {
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
  own(task: OwnTask, signal: AbortSignal): Promise<AgentReport | string>;
}
