import type { TurnOutcome } from "../agent/mod.ts";
import type { Event, ImagePart } from "../core/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { AgentPort } from "../tool/mod.ts";

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

/** Other agents of a run, and runs beside its conversation. */
export interface RunAgents extends AgentPort {
  /**
   * Makes a run within what its own one has left. Rejects with a ReasonixError when it cannot begin, and when
   * the signal aborts.
   */
  internal(request: InternalRequest): Promise<InternalResult>;
}
