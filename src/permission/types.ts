import type { ApprovalAnswer, EventOf, MessageTexts, NewEventOf, PreparedCall, Text } from "../core/mod.ts";
import type { PolicySource, RuleProblem, RuleText } from "../rule/mod.ts";
import type { SessionGrants } from "./grants.ts";

/**
 * The approvals that are given without a person: as the policy says, writers by default, or everything not
 * denied.
 */
export type ApprovalMode = "ask" | "auto" | "yolo";

/** The coarse boundary of a session (`--permission-mode`); plan is the fail-closed boundary of plan mode. */
export type PermissionMode = "read-only" | "workspace-write" | "danger-full-access" | "plan";

export interface DestructiveTarget {
  readonly path: string;
  /** Counts the files below, up to a bound. */
  readonly files?: number;
  /** The count stopped at its bound: there are at least `files`. */
  readonly more?: true;
}

/** The reason why a command is destructive. */
export interface DestructiveFinding {
  readonly command: string;
  readonly reason: Text;
  readonly targets: readonly DestructiveTarget[];
}

/** The changes that a call would make, or the failure that it would end with. */
export interface CallPreview {
  readonly changes?: readonly NonNullable<EventOf<"tool.end">["changes"]>[number][];
  readonly failure?: Failure;
  /** It fails because it writes to this directory, which a person may open. */
  readonly outside?: string;
  /** The limits of the commands of the run, in words. */
  readonly confinement?: Text;
}

/** The hosts that commands need, as entries of `[sandbox] network_hosts`; empty: not known, so any. */
export interface NetworkNeed {
  readonly hosts: readonly string[];
}

/** The parts of the sandbox that a person can open while a session runs. */
export interface SandboxAccess {
  /** Returns the hosts of a need that commands cannot reach; undefined: there is nothing to open. */
  missing(need: NetworkNeed, granted: ReadonlySet<string>): Promise<NetworkNeed | undefined>;
  /** Lets file tools and commands write in a directory until the session ends. */
  openDirectory(directory: string): Promise<void>;
}

/** The reason why a rule that the user wrote is not taken for a call. */
export type RuleRefusal =
  | { readonly code: "unreadable"; readonly texts: MessageTexts }
  | { readonly code: "noMatch" }
  /** It allows more than an answer may; `widest` may still be saved. */
  | { readonly code: "wider"; readonly widest: string };

/** A question for the person in front of the program. */
export interface ApprovalRequest {
  readonly callId: string;
  /** The agent whose call it is; absent: the one that the person talks to. */
  readonly agent?: string;
  readonly tool: string;
  /** The arguments of the call as the model sent them; absent where it is not about a call as such. */
  readonly sent?: string;
  /** The object of the call: the command line, the path, or the tool's name. */
  readonly subject: string;
  /** The arguments that the subject and the changes do not show, one a line: `workdir: "/srv"`. */
  readonly rest?: string;
  /**
   * The question is whether this directory may be written to until the session ends. With `escape`, an answer
   * for the session opens it, and one for once does not.
   */
  readonly directory?: string;
  /** The network that the command needs and does not have; answers may open it, still in the sandbox. */
  readonly network?: NetworkNeed;
  /** The hosts may be opened for the project from now on. */
  readonly savesHosts?: true;
  /** The reason why it is asked, in one line. */
  readonly reason: Text;
  /** No rule and no protection concerns the call. */
  readonly unruled?: true;
  /** The question is whether the user believes the tool's claim to only read. */
  readonly readOnlyClaim?: true;
  /**
   * The scope that an answer may cover; destructive commands and trust questions offer less than all three.
   */
  readonly scopes: readonly ApprovalAnswer["scope"][];
  /**
   * The rule that "always" would save: exactly this call. Present only when saving it is proven to let the
   * call pass.
   */
  readonly rule?: string;
  /** A wider rule that can be chosen instead, such as `Bash(go test:*)`. */
  readonly prefixRule?: string;
  /**
   * The rule that "project" would save: as `rule`, with a file of the project by its path there. `prefixRule`
   * can be chosen for it, too.
   */
  readonly projectRule?: string;
  /** The problem of a rule that the user wrote instead of `rule`; undefined: it is accepted. */
  readonly checkRule?: (rule: string) => RuleRefusal | undefined;
  /** The file in which "always" would save a rule. */
  readonly savedIn?: string;
  /** The rule that "session" grants; absent: exactly this call. */
  readonly sessionRule?: string;
  readonly destructive?: readonly DestructiveFinding[];
  /** Only a user may answer, not a mode that approves automatically. */
  readonly personOnly?: true;
  /** It would run without the jail; what of its output made that seem to be needed. */
  readonly escape?: Escape | undefined;
  readonly changes?: CallPreview["changes"];
  readonly confinement?: CallPreview["confinement"];
}

/** A command failed and the sandbox seems to be the cause. */
export interface Escape {
  /** The line of its output that says so, which the command may have forged. */
  readonly evidence: string;
  /** The network seems to be what it lacks; the hosts that are known to have been refused. */
  readonly network?: NetworkNeed;
  /** `[sandbox] bash = "enforce"`: it never runs without the jail. */
  readonly enforced?: true;
}

/**
 * Asks the user. Absent in non-interactive runs.
 *
 * Contract: rejects only when the signal aborts.
 */
export interface Approver {
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer>;
}

/** The way one command of a line was judged. */
export interface SegmentExplanation {
  readonly text: string;
  /** Programs that were looked through, outermost first, such as `sudo`, `timeout`. */
  readonly via: readonly string[];
  readonly outcome: "allow" | "ask" | "deny" | "fallback";
  readonly reason: string;
  readonly rule?: string;
  /** The location of the rule, such as `reasonix.toml:12:5`. */
  readonly origin?: string;
}

/** The result of each pass over a command line, as text for people. */
export interface LineDescription {
  readonly parse: readonly string[];
  readonly expand: readonly string[];
  readonly effects: readonly string[];
}

/** The output of `reasonix permissions check`, in English. */
export interface Explanation {
  readonly tool: string;
  readonly subject: string;
  readonly decision: "allow" | "ask" | "deny";
  readonly source: DecisionSource;
  readonly reason: string;
  readonly rule?: string;
  readonly origin?: string;
  readonly headless: "allow" | "deny";
  readonly segments: readonly SegmentExplanation[];
  /** The reason why the line could not be parsed, if so. */
  readonly unparsable?: string;
  readonly passes?: LineDescription;
  readonly destructive: readonly (Omit<DestructiveFinding, "reason"> & { readonly reason: string })[];
  /** The rule that "always" would save, where that is proven to work. */
  readonly always?: string;
  readonly alwaysPrefix?: string;
}

export type DecisionEvent =
  | NewEventOf<"approval.request">
  | NewEventOf<"approval.decision">
  | NewEventOf<"notice">;

/** The environment of commands, as far as approvals depend on it. */
export interface CommandEnvironment {
  /** Temporary directories that commands have to themselves: nothing of the user's can be lost there. */
  readonly privateDirectories: readonly string[];
  readonly network: boolean;
}

/** The parts of a gate. All paths are absolute. */
export interface GateOptions {
  readonly policy: PolicySource;
  readonly approvalMode: ApprovalMode;
  readonly permissionMode?: PermissionMode;
  /**
   * The answer when something must be asked and there is no approver. Absent: none was chosen, so it is
   * allowed, except calls that require approval each time.
   */
  readonly onAsk?: "allow" | "deny" | "fail" | undefined;
  readonly approver?: Approver;
  readonly cwd: string;
  readonly home: string;
  /** Files that are never written without a question, such as the user's own configuration; real paths. */
  readonly protectedFiles?: readonly string[];
  /** Directories that may be written: the workspace root first, then `allow_write` and `--add-dir`. */
  readonly roots: readonly string[];
  /** Lists the environment commands will see, for resolving `$NAME` in their targets; called once. */
  readonly env: () => Readonly<Record<string, string>>;
  /** Takes decision events. A promise means the log is behind; the gate waits for it. */
  readonly record: (event: DecisionEvent) => void | Promise<void>;
  /** Persists an "always" answer. Without it, "always" is not offered. */
  readonly saveRule?: (rule: string) => Promise<void>;
  readonly savedIn?: string;
  /** Persists an answer for this project alone. Without it, that is not offered. */
  readonly saveProjectRule?: (rule: string) => Promise<void>;
  /** Persists hosts that commands of this project may reach. Without it, that is not offered. */
  readonly saveHosts?: (hosts: readonly string[]) => Promise<void>;
  /** Finds out what a call would do, before a person is prompted for it. Rejects only for an abort. */
  readonly preview?: (call: PreparedCall, signal: AbortSignal) => Promise<CallPreview>;
  /** Absent: nothing of the sandbox can be opened. */
  readonly sandbox?: SandboxAccess;
  /** Names of MCP tools that only read, as the user said in this session; answers add to it. */
  readonly trustedReadOnly?: Set<string>;
  /** Persists "always" for a read-only claim. */
  readonly saveTrust?: (tool: string) => Promise<void>;
  /** `strict` asks for the wide class of risky commands, not only for the destructive ones. */
  readonly confirm?: "normal" | "strict";
  /** Rules of further commands that require approval each time, like destructive ones. */
  readonly dangerous?: readonly RuleText[];
  /** Files stay as they are in every mode, as `[tools] writes` says. */
  readonly filesStay?: boolean;
  /**
   * Reports why there is no jail, in words that end a sentence; undefined where one works. Then only listed
   * commands run where files have to stay as they are. Asked once, before the first command is judged.
   */
  readonly unconfined?: () => Promise<string | undefined>;
  /** Returns what commands find around them; absent: an open machine. Asked once, too. */
  readonly commandEnvironment?: () => Promise<CommandEnvironment>;
  /**
   * Language of command lines. Anything but a POSIX-like shell cannot be judged and is treated as unparsable.
   */
  readonly shell?: "posix" | "other";
  /** Says whether paths differ only by case name the same file; by default a property of the platform. */
  readonly ignoreCase?: boolean;
  /**
   * Allow rules for a limited time, such as those of an active skill: deny, ask and the destructive-command
   * check go first. Asked for at every judgement; another array means that they changed.
   */
  readonly temporaryRules?: () => readonly RuleText[];
  /**
   * The gate of the run on whose behalf the agent works: its modes bind, its grants for the session count,
   * and what is granted here counts there.
   */
  readonly above?: PermissionGate;
  /** Tells where the next command starts when its call names no `workdir`; `cwd` when absent or undefined. */
  readonly shellDirectory?: () => string | undefined;
}

/** A question that a call raises beyond itself, such as running it without the jail. */
export interface Confirmation {
  readonly subject: string;
  /** Continues the subject: `wants to run without the jail`. */
  readonly reason: Text;
  readonly source: DecisionSource;
  /** A directory that may be written to after a yes, with `escape` after a yes for the session. */
  readonly directory?: string;
  readonly escape?: Escape | undefined;
}

/** The gate of one session. Modes may change between calls. */
export interface PermissionGate extends Gate {
  /** Rules that could not be understood; they have no effect. */
  readonly problems: readonly RuleProblem[];
  approvalMode: ApprovalMode;
  permissionMode: PermissionMode;
  cwd: string;
  /**
   * While an approved plan is executed, its calls require no approval (denials and the
   * destructive-command check stay).
   */
  approvedPlan: boolean;
  readonly grants: SessionGrants;
  readonly sessionRules: readonly string[];
  /** Adds one of them; deny and ask rules and the destructive-command check go first. */
  allowForSession(rule: string): void;
  revokeForSession(rule: string): void;
  /** Returns the network that an answer opened for a call, once. */
  takeNetwork(callId: string): NetworkNeed | undefined;
  /**
   * Gets ready for the first call of a family, so that it does not wait: for a command the shell parser is
   * loaded, for an edit the judgement of one is made and dropped.
   */
  warm(family: "Bash" | "Edit"): Promise<void>;
  /**
   * Asks a person, once, whatever the approval mode; without one it is denied under the question's source.
   */
  confirm(call: PreparedCall, question: Confirmation, signal: AbortSignal): Promise<Decision>;
  /** The whole story of a decision, without asking, recording or running anything. */
  explain(call: PreparedCall): Promise<Explanation>;
}

export type DecisionSource =
  | "rule"
  | "mode"
  | "user"
  | "headless"
  | "plan"
  | "floor"
  | "confinement"
  | "trust"
  | "hook";

/** A call that cannot succeed: what the model reads, and one line for people. */
export interface Failure {
  readonly content: string;
  readonly summary: Text;
}

/** The outcome for one call. The model and the user get the reason of a refusal. */
export interface Decision {
  readonly decision: "allow" | "deny";
  readonly source: DecisionSource;
  readonly rule?: string;
  readonly reason?: Text;
  /** The call would fail, so there was no prompt and it does not run. */
  readonly failure?: Failure;
  /** A person was asked, and did not allow it. */
  readonly asked?: true;
  /** An allowed command was parsed and changes nothing: every part of it only reads. */
  readonly readsOnly?: true;
  /** The run must end here (`--on-ask fail`): no user can answer, and the run was not to continue. */
  readonly stop?: true;
}

/**
 * The word of a hook about a call. `allow` answers only what no rule speaks of; `ask` counts like an ask
 * rule.
 */
export interface HookWord {
  readonly word: "allow" | "ask";
  /** For people. */
  readonly reason: string;
}

/**
 * Judges every call before it runs.
 *
 * Contract: returns synchronously when no parser has to be loaded and no approval is needed, so that plain
 * reads cost nothing.
 */
export interface Gate {
  check(call: PreparedCall, signal: AbortSignal, hook?: HookWord): Decision | Promise<Decision>;
}
