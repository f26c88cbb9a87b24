import {
  type Cost,
  detailFields,
  type Message,
  message,
  type NewEvent,
  type NewEventOf,
  type Prefix,
  type PreparedCall,
  type ProviderError,
  type Spending,
  type Text,
  textOf,
  type ToolCall,
  type Usage,
  type UserInput,
  type WrittenMessage,
} from "../core/mod.ts";
import type { Gate, HookWord } from "../permission/mod.ts";
import type { ModelInfo, Provider } from "../provider/mod.ts";
import type { ToolResult } from "../tool/mod.ts";

type TurnEnd = NewEventOf<"turn.end">;

export type TurnReason = TurnEnd["reason"];

export interface Stop {
  readonly reason: TurnReason;
  readonly limit?: NonNullable<TurnEnd["limit"]>;
  readonly detail?: string;
  /** The detail for other languages, as the event carries it. */
  readonly said?: readonly WrittenMessage[];
}

/** The end of a turn. `answer` is the model's last text, also when the turn was cut short. */
export interface TurnOutcome extends Stop {
  readonly answer: string;
  readonly steps: number;
  readonly usage: Usage;
  readonly cost?: Cost;
  readonly durationMs: number;
}

/** The reason a signal was aborted, as the controller and the time limit set it. */
export class StopReason extends DOMException {
  readonly reason: "interrupted" | "terminated" | "limit";
  readonly detail: Text;

  constructor(reason: "interrupted" | "terminated" | "limit", detail: Text) {
    super(textOf(detail), "AbortError");
    this.reason = reason;
    this.detail = detail;
  }
}

/** Returns how an aborted signal ends the turn. */
export function stopped(signal: AbortSignal): Stop {
  const why: unknown = signal.reason;
  if (why instanceof StopReason) {
    const { reason, detail } = why;
    // Steps and money are counted between requests; only time stops from outside.
    return { reason, ...(reason === "limit" ? { limit: "time" } as const : {}), ...detailFields(detail) };
  }
  return { reason: "interrupted", detail: "Interrupted" };
}

/** Returns how a failed request ends the turn. */
export function providerFailure(
  error: ProviderError,
  signal: AbortSignal,
): Stop {
  if (signal.aborted || error.kind === "aborted") return stopped(signal);
  return { reason: "provider", ...detailFields(error.localized ?? error.message) };
}

/** An unknown cost may be any amount, so a limit on the cost ends the turn. */
export function costStop({ costs, unpriced }: Spending, limit: number): Stop | undefined {
  const amount = Object.values(costs).reduce((sum, each) => sum + each, 0);
  if (unpriced === 0 && amount < limit) return undefined;
  return {
    reason: "limit",
    limit: "cost",
    ...detailFields(
      unpriced === 0
        ? message`Stopped before the next request: cost limit of ${limit} reached`
        : message`Stopped before the next request: the provider reported no usage, so the cost limit of ${limit} cannot be kept`,
    ),
  };
}

/** The conversation an agent works on. Recording an event is the only way it changes. */
export interface Conversation {
  readonly prefix: Prefix;
  /** Exactly what is sent. The same array object from step to step; only a declared reset replaces it. */
  readonly messages: readonly Message[];
  readonly nextTurn: number;
  /** Appends to the log, then shows. A promise means a reader is behind: await it. */
  record(event: NewEvent): void | Promise<void>;
  /** Milliseconds since a time in which a person was asked: by a call, or by anything when it is absent. */
  waitedForPerson(since: number, callId?: string): number;
  /** One flush to the disk itself, at the end of a turn. */
  sync(): void | Promise<void>;
}

export interface Toolbox {
  /** A string says, for the model, why the call cannot run. Never rejects. */
  prepare(call: ToolCall, signal: AbortSignal): PreparedCall | string | Promise<PreparedCall | string>;
  /** Contract: a failure is a result; only an abort rejects. */
  execute(call: PreparedCall, signal: AbortSignal, progress: (text: string) => void): Promise<ToolResult>;
}

/**
 * Keeps files as they are before they change, so that a turn can be undone. A turn that neither writes nor
 * runs a command costs nothing.
 *
 * Contract: never rejects; a failed snapshot is a notice to the user and does not stop the turn.
 */
export interface Checkpointer {
  begin(turn: number): void;
  /** Awaited before a call that may change something runs. */
  snapshotBefore(call: PreparedCall): Promise<void>;
  /** The call has run; `readsOnly`: it was judged to change nothing, which its effect may contradict. */
  detectAfter(call: PreparedCall, readsOnly: boolean): void;
  end(): Promise<void>;
}

export interface AnswerForm {
  /** Informs the model of it; goes before the user's text. */
  readonly request: string;
  /** Informs the model what is wrong with an answer; undefined when nothing is, or the signal was aborted. */
  problem(answer: string, signal?: AbortSignal): Promise<string | undefined>;
}

/** The decision of hooks about a call, before the gate decides. */
export interface CallOpinion {
  /** The call does not run: why. */
  readonly deny?: string;
  /** The turn ends here: why. */
  readonly stop?: string;
  /** Arguments in place of the call's own, by the tool's own name; judged like those. */
  readonly arguments?: string;
  readonly word?: HookWord;
  /** Texts for the model, behind the result. */
  readonly notes: readonly string[];
}

/** Bounds of one turn; absent means none. */
export interface Limits {
  /** Rounds of tool calls. */
  readonly maxSteps?: number | undefined;
  readonly timeMs?: number | undefined;
  /** In the currency of the model's price. */
  readonly cost?: number | undefined;
}

export interface AgentDeps {
  readonly provider: Provider;
  readonly toolbox: Toolbox;
  readonly gate: Gate;
  readonly conversation: Conversation;
  readonly limits: Limits;
  /** Absent: nothing can be undone. */
  readonly checkpointer?: Checkpointer;
  /** Calls executed of one message; the rest get an error result. Absent: all. */
  readonly maxCallsPerStep?: number;
  /** The arguments that an approval put in place of those of the call; returned once. */
  readonly amended?: (callId: string) => string | undefined;
  /** Sent with every request; absent: the vendor's default counts. */
  readonly toolChoice?: "auto";
  /** Gives an opinion on a call before it is judged. Contract: rejects only when the signal aborts. */
  readonly beforeCall?: (call: PreparedCall, signal: AbortSignal) => Promise<CallOpinion | undefined>;
  /** Comments on a call that has run; the same contract. */
  readonly afterCall?: (
    call: PreparedCall,
    result: ToolResult,
    signal: AbortSignal,
  ) => Promise<Pick<CallOpinion, "stop" | "notes"> | undefined>;
  /** Go on until the model calls `submit(answer)`. */
  readonly submit?: boolean;
  /** An answer of another form is sent back once. Absent: every answer will do. */
  readonly answerForm?: AnswerForm;
  /**
   * Looks at an answer that would end the turn. A text goes back to the model, a stop ends the turn in
   * another way; undefined: the answer stands.
   */
  readonly reviewAnswer?: (answer: string, signal: AbortSignal) => Promise<string | Stop | undefined>;
  /** Takes what others have spent for this turn since the last call. */
  readonly takeSpent?: () => readonly Spending[];
  /** Text that follows the user's message of a turn; absent: none. */
  readonly turnPrompt?: (turn: number, model: ModelInfo) => string | undefined;
  /** Texts the user sent while the turn was running, to be added before the next request. */
  readonly takeSteering?: () => readonly Pick<UserInput, "text" | "id">[];
  /** Shortens a conversation that the server refused as too long; false when nothing is left to drop. */
  readonly onContextOverflow?: (signal: AbortSignal) => Promise<boolean>;
  /** Lets another model answer in place of one that failed before it said anything; false: there is none. */
  readonly onFailure?: (error: ProviderError, failed: Provider) => Promise<boolean>;
  /** Called between steps, when a declared reset (compaction) may happen. */
  readonly betweenSteps?: (signal: AbortSignal) => Promise<void>;
  /** Called while the model is thinking about its first reply, to load what will be needed soon. */
  readonly warm?: () => void;
  /**
   * Called when a reply begins to call a tool, by the name that the model gave: what the call will need can
   * be made ready while its arguments arrive. The call may never come.
   */
  readonly onCall?: (tool: string) => void;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
}
