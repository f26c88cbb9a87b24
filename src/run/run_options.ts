import type { AnswerForm } from "../agent/mod.ts";
import type { LoadedConfig } from "../config/mod.ts";
import type { EventOf } from "../core/mod.ts";
import type {
  ApprovalMode,
  Approver,
  Gate,
  GateOptions,
  PermissionGate,
  PermissionMode,
} from "../permission/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { Asker, BuiltinTool, ProcessGuard, Tool } from "../tool/mod.ts";
import type { RunToolHost } from "./tools/tool_host.ts";
import type { RunPaths } from "./run_paths.ts";

/** The options of a run beside its configuration. */
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
  /** How far approvals are given without a person at the beginning; default: ask. */
  readonly approvalMode?: ApprovalMode;
  /** Answer to questions when there is nobody to ask. */
  readonly onAsk?: GateOptions["onAsk"];
  /** Reasoning effort of the model. */
  readonly effort?: string;
  /** Turns that follow each other by themselves until the model says that it has finished; default: 1. */
  readonly steps?: number;
  /** No prompt becomes a goal with a research record by itself. */
  readonly simple?: boolean;
  /** File to record the replies of the model in. */
  readonly record?: string;
  /** Uses what the project brings as it is. */
  readonly trustProject?: boolean;
  /** Leaves out what the project brings and nobody trusted. */
  readonly ignoreUntrusted?: boolean;
}

/** The run on whose behalf another agent works, which has a session, and tools and a gate of its own. */
export interface ParentRun {
  readonly link: NonNullable<EventOf<"session.start">["parent"]>;
  /** Directory of the sessions of its agents. */
  readonly directory: string;
  /** File of an earlier session of such an agent, which goes on. */
  readonly file?: string;
  /** How many agents are above this one: 1 for an agent of the user's own session. */
  readonly depth: number;
  /** What the user added to the system prompt of their own session. */
  readonly appended: string | undefined;
  readonly gate: Gate & Partial<PermissionGate>;
  readonly guard: ProcessGuard | undefined;
  /** Changes files for it; absent where it may write somewhere else. */
  readonly host?: Pick<RunToolHost, "execute" | "prewarm">;
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

/** A plan is to be carried out. */
export interface PlanApproval {
  readonly approve: true;
  /** The plan as the user has changed it. */
  readonly plan?: string;
  readonly note?: string;
  /** The calls of the turn that carries it out are not asked about. */
  readonly window?: boolean;
  /** Edits are not asked about for the rest of the session. */
  readonly acceptEdits?: boolean;
  /** A flag of the command line says so, in place of a person. */
  readonly by?: "flag";
}

/** The user's word about a plan: to carry it out, or how to change it. */
export type PlanAnswer = PlanApproval | { readonly approve: false; readonly note: string };

/**
 * Asks the user about plans. Absent where nobody is there: then a plan is the answer of its turn.
 *
 * Contract: rejects only when the signal aborts.
 */
export interface PlanReviewer {
  /** Undefined: the user leaves the plan where it is; plan mode stays on. */
  review(proposal: PlanProposal, signal: AbortSignal): Promise<PlanAnswer | undefined>;
  /** An answer in plan mode that proposed nothing by a call is a plan as well. */
  readonly takesProse?: boolean;
}

/** Tells the time of a goal and waits between its turns. */
export interface GoalClock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Milliseconds since 1970. */
  date(): number;
  /** Contract: resolves early when the signal aborts; never rejects. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** The hooks of a run, read before it is built. */
export interface PreparedHooks {
  /** They run for an agent that works on a part of the task. */
  readonly forAgent: boolean;
}

/** Everything an assembly is made from. */
export interface AssemblyOptions extends RunOptions {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  /** Keeps the events in memory instead of a session file. */
  readonly inMemory?: boolean;
  /** Messages of a session that goes on stay in its file until they are needed. */
  readonly messagesLater?: boolean;
  /** A turn waits at its end for agents in the background, and tells the model of what they answered. */
  readonly waitForAgents?: boolean;
  /** Absent: the user's own session. */
  readonly parent?: ParentRun;
  readonly adaptedTools?: AdaptedTools;
  /** Talks to the model in place of the configured provider. */
  readonly provider?: Provider;
  /** Tools beside the built-in ones. */
  readonly tools?: readonly Tool[];
  /** Judges calls in place of the permission rules. */
  readonly gate?: Gate;
  /** Answers questions about calls; absent: `onAsk` does. */
  readonly approver?: Approver;
  /** Arguments that a call was allowed with instead of its own; told once, and judged again. */
  readonly amended?: (callId: string) => string | undefined;
  /** The form that answers must have; absent: any. */
  readonly answerForm?: AnswerForm | undefined;
  /** Gets the provider's replies word for word, as far as they have come, in one piece where possible. */
  readonly onReply?: (body: string) => void;
  /** Answers the model's questions; absent: nobody does. */
  readonly asker?: Asker;
  /** Decides about the model's plans; absent: nobody does. */
  readonly planReviewer?: PlanReviewer;
  /** Time between the turns of a goal; default: the real one. */
  readonly goalClock?: GoalClock;
  /** False: MCP servers that nobody has met yet are not waited for; their tools join when they come. */
  readonly waitForPlugins?: boolean;
  /** The hooks of the run that this one works for; absent: those of the configuration. */
  readonly hooks?: PreparedHooks;
}
