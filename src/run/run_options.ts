import type { AnswerForm, TurnOutcome } from "../agent/mod.ts";
import type { EnvLookup, LoadedConfig } from "../config/mod.ts";
import type { AgentDefinition } from "../context/mod.ts";
import type { Event, EventOf, ImagePart, NewEventOf, PreparedCall, UserInput } from "../core/mod.ts";
import type {
  ApprovalMode,
  Approver,
  Gate,
  GateOptions,
  PermissionGate,
  PermissionMode,
} from "../permission/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { RuleText } from "../rule/mod.ts";
import type { JailOptions } from "../sandbox/mod.ts";
import type { SessionState } from "../session/mod.ts";
import type {
  AgentPort,
  AgentReport,
  Asker,
  BuiltinTool,
  ClientFiles,
  GoalPort,
  PlanPort,
  ProcessGuard,
  Tool,
  ToolContext,
  ToolResult,
  ToolServices,
} from "../tool/mod.ts";

/** Operating system and processor, as the prompt names them. */
export const PLATFORM = `${Deno.build.os} ${Deno.build.arch}`;

/** Working directory, home and environment of a run. All paths are absolute and real. */
export interface RunPaths {
  readonly cwd: string;
  /** Reasonix home. */
  readonly home: string;
  readonly env: EnvLookup;
}

/** The options of a run in addition to its configuration. */
export interface RunOptions {
  /** Goes on with the latest session of the directory. */
  readonly continue?: boolean;
  /** Goes on with this session: its id, or the beginning of one. */
  readonly resume?: string;
  /** Goes on in a copy of that session. */
  readonly copy?: boolean;
  /** Identifier of the session that is begun, in place of one that is made up. */
  readonly sessionId?: string;
  /** Text added to the system prompt. */
  readonly appendSystemPrompt?: string;
  readonly permissionMode?: PermissionMode;
  /** The first approval mode; default: ask. */
  readonly approvalMode?: ApprovalMode;
  /** The command that has the session open, for lists of sessions. */
  readonly program?: string;
  /** The answer to approvals in a non-interactive run. */
  readonly onAsk?: GateOptions["onAsk"];
  /** Reasoning effort of the model. */
  readonly effort?: string;
  /** At most N turns that follow automatically until the model reports that it has finished; default: 1. */
  readonly steps?: number;
  /** No prompt becomes a goal with a research record. */
  readonly simple?: boolean;
  /** File to record the replies of the model in. */
  readonly record?: string;
  /** Trusts all repository content. */
  readonly trustProject?: boolean;
  /** Ignores repository content without a trust decision. */
  readonly ignoreUntrusted?: boolean;
  /** The task of a batch that it runs. */
  readonly batch?: BatchContext;
}

export interface BatchContext {
  /** Name of the tasks file. */
  readonly file: string;
  /** Id of the task. */
  readonly task: string;
  /** The part of the file that this process runs: `2/8`, or the index of a task. */
  readonly shard?: string;
  /** Variables of its commands. */
  readonly env?: Readonly<Record<string, string>>;
  /** The mark of the container that confines commands where no jail works. */
  readonly inContainer?: string;
  /** The receiver of telemetry, shared by the tasks of a process: one failure is reported, and waited for. */
  readonly receiver: { failed: boolean; reported: boolean };
}

/** The spans of a run and of its agents, as W3C Trace Context names them. */
export interface RunTelemetry {
  /** Names the span of a call, else the one that is open in the session; undefined where none is. */
  traceparent(session: string, callId?: string): string | undefined;
  /** Passed on unchanged from the process that started the program. */
  readonly tracestate?: string | undefined;
}

/** Runs tool calls, here or in a process that may only write files. */
export interface CallHost {
  readonly execute: (call: PreparedCall, tool: Tool, context: ToolContext) => Promise<ToolResult>;
  /** Starts the process that a call of this tool needs; resolves when it was started, at the latest. */
  readonly prewarm: (tool: Pick<Tool, "runsIn">) => Promise<void>;
}

/** The run that an agent works for; the agent has its own session, tools and gate. */
export interface ParentRun {
  readonly link: NonNullable<EventOf<"session.start">["parent"]>;
  /** Directory of the sessions of its agents. */
  readonly directory: string;
  /** File of an earlier session of such an agent, to resume. */
  readonly file?: string;
  /** Number of agents above this one: 1 for an agent of the user's session. */
  readonly depth: number;
  /** The user's addition to the system prompt. */
  readonly appended: string | undefined;
  readonly gate: Gate & Partial<PermissionGate>;
  readonly guard: ProcessGuard | undefined;
  readonly repositories: NonNullable<JailOptions["repositories"]>;
  /** Changes files for it; absent where it may write somewhere else. */
  readonly host?: CallHost;
}

/** Changes how built-in tools are offered, by their names. */
export type AdaptedTools = Readonly<Record<string, (tool: BuiltinTool) => BuiltinTool>>;

/** A plan of the model that waits for the user. */
export interface PlanProposal {
  /** Markdown. */
  readonly plan: string;
  /** The file that has it; absent where it could not be written. */
  readonly file?: string;
}

/** A plan is to be executed. */
export interface PlanApproval {
  readonly approve: true;
  /** The plan as the user has changed it. */
  readonly plan?: string;
  readonly note?: string;
  /** The calls of the turn that executes it need no approval. */
  readonly window?: boolean;
  /** Edits need no approval for the rest of the session. */
  readonly acceptEdits?: boolean;
  /** A flag of the command line says so, in place of a person. */
  readonly by?: "flag";
}

/** The user's word about a plan: to carry it out, or how to change it. */
export type PlanAnswer = PlanApproval | { readonly approve: false; readonly note: string };

/**
 * Asks the user about plans. Absent in a non-interactive run: a plan is the answer of its turn.
 *
 * Contract: rejects only when the signal aborts.
 */
export interface PlanReviewer {
  /** Undefined: the user leaves the plan where it is; plan mode stays on. */
  review(proposal: PlanProposal, signal: AbortSignal): Promise<PlanAnswer | undefined>;
  /** An answer in plan mode that proposed nothing by a call is a plan as well. */
  readonly takesProse?: boolean;
}

/** Reports the time of a goal and waits between its turns. */
export interface GoalClock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Milliseconds since 1970. */
  date(): number;
  /** Contract: resolves early when the signal aborts; never rejects. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Everything an assembly is made from. */
export interface AssemblyOptions extends RunOptions {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  /** Keeps the events in memory instead of a session file. */
  readonly inMemory?: boolean;
  /** `--continue` does not take the session: it is about a task that the program itself gives. */
  readonly aside?: boolean;
  /** Messages of a resumed session stay in its file until they are needed. */
  readonly messagesLater?: boolean;
  /** A turn waits at its end for agents in the background, and reports their answers to the model. */
  readonly waitForAgents?: boolean;
  /** Absent: the user's own session. */
  readonly parent?: ParentRun;
  readonly adaptedTools?: AdaptedTools;
  /** Talks to the model in place of the configured provider. */
  readonly provider?: Provider;
  /** Tools in addition to the built-in ones. */
  readonly tools?: readonly Tool[];
  /** Judges calls in place of the permission rules. */
  readonly gate?: Gate;
  /** Answers questions about calls; absent: `onAsk` does. */
  readonly approver?: Approver;
  /** The arguments that an approval put in place of those of the call; they are judged again. */
  readonly amended?: (callId: string) => string | undefined;
  /** The form that answers must have; absent: any. */
  readonly answerForm?: AnswerForm | undefined;
  /** Gets the provider's replies word for word, as far as they have come, in one piece where possible. */
  readonly onReply?: (body: string) => void;
  /** Answers the model's questions; absent: they are not offered. */
  readonly asker?: Asker;
  /** Files that an editor shows; absent: files are read and written on the disk. */
  readonly files?: ClientFiles;
  /** Decides about the model's plans; absent: no decision is possible. */
  readonly planReviewer?: PlanReviewer;
  /** Time between the turns of a goal; default: the real one. */
  readonly goalClock?: GoalClock;
  /**
   * The first turn waits for MCP servers that no run has met. Where this is set, all start soon after the run
   * was made. Absent: it waits, and the others start once the model thinks.
   */
  readonly waitForPlugins?: boolean;
  /** The hooks of the run that this one works for; absent: those of the configuration. */
  readonly hooks?: object;
  /** The telemetry of the run that this one works for; absent: that of the configuration. */
  readonly telemetry?: RunTelemetry;
}

/** The input of the user for one turn; `@path` and `@server:uri` in the text are resolved. */
export interface TurnInput extends UserInput {
  /** Instructions of a skill that go before the text. */
  readonly skill?: string;
  /** The text is not the user's: it has no references. */
  readonly literal?: boolean;
  /** Nothing may be changed in this turn. */
  readonly readOnly?: boolean;
  /** Answers this turn in place of the session's model; as `--model` names it. */
  readonly model?: string;
  /** Allow rules that count in this turn, below deny and ask rules. */
  readonly rules?: readonly RuleText[];
}

/** A question to the model, or a task for an agent, outside of a conversation and without a front end. */
export interface InternalRequest {
  readonly prompt: string;
  /** The name of the agent in events and `agent.subagent_models`. Default: "internal". */
  readonly agent?: string;
  /** The task in a few words, for people; absent: the prompt. */
  readonly description?: string;
  /** Rounds of tool calls. Default: 0, one reply without tools. */
  readonly steps?: number;
  /** Tools in addition to those of the run; one with the name of a built-in tool replaces it. */
  readonly tools?: readonly Tool[];
  /** The form that the answer must have; absent: any. */
  readonly answerForm?: AnswerForm;
  /** Differences from the run itself. */
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
    /** Commands reach no network, whatever the run allows. */
    readonly offline?: boolean;
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

/** The result; its usage and cost also count in the run that made the request. */
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
  /** Tools of the agent in addition to those of the run. */
  readonly tools: readonly Tool[];
  /** Directory of the session. */
  readonly directory: string;
  readonly file?: string;
}

/** Other agents of a run, and runs outside of its conversation. */
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

export interface GoalRequest {
  readonly objective: string;
  /** Commands that must exit with 0 once it is reached. */
  readonly checks?: readonly string[];
  /** Keeps a research record; auto (the default): if the objective looks like research. */
  readonly strategy?: "auto" | "research" | "simple";
}

/** A goal as its latest event says it. */
export type GoalRecord = Omit<NewEventOf<"goal.change">, "type">;

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
  /** Makes a goal of an ordinary prompt that explicitly asks for long research. */
  upgrade(input: TurnInput): Promise<TurnInput>;
}

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
interface VerifyOutcome extends Pick<EventOf<"verification">, "outcome"> {
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
