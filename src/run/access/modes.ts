import type { Recorder } from "../../control/mod.ts";
import { type Message, message, ReasonixError } from "../../core/mod.ts";
import {
  type ApprovalMode,
  type Gate,
  type PermissionGate,
  type PermissionMode,
} from "../../permission/mod.ts";

type ModalGate =
  & Gate
  & Partial<
    Pick<
      PermissionGate,
      | "approvalMode"
      | "approvedPlan"
      | "permissionMode"
      | "sessionRules"
      | "allowForSession"
      | "revokeForSession"
    >
  >;

/** How user and model work together: turn by turn, on a plan first, or on a goal until it is reached. */
export type CollaborationMode = "normal" | "plan" | "goal";

/** What the model is told of a mode. */
const TOLD: Readonly<Record<PermissionMode, string>> = {
  "read-only":
    "Read-only mode is on: only tools and commands that read may run until the user leaves this mode.",
  "plan":
    "Plan mode is on: explore, then propose a plan with exit_plan_mode where you have it, else as your " +
    "answer. Only tools and commands that read may run until the user approves the plan or leaves this mode.",
  "workspace-write":
    "Workspace-write mode is on: files of the workspace may be changed from now on, others may not.",
  "danger-full-access":
    "Full-access mode is on: files may be changed wherever the user may change them, and commands run " +
    "without a jail.",
};

/** The mode of a session that has said nothing else. */
const USUAL: PermissionMode = "workspace-write";

const TAG = "<mode>\n";

const modeNote = (mode: string) => `${TAG}${TOLD[mode as PermissionMode]}\n</mode>`;

/**
 * The approval mode and the permission mode of a session, which a person may change between calls. The head
 * of a request is the same whatever they are: the model is told of the permission mode in a message, where it
 * is not the one that the model knows. Approvals change nothing of what it may do, so it hears nothing of
 * them.
 */
export class Modes {
  readonly #gate: ModalGate;
  readonly #recorder: Recorder;
  /** The mode in which files may change. */
  readonly writing: PermissionMode;
  readonly #initial: PermissionMode;
  #approval: ApprovalMode;
  #goal = false;
  /** Changes that no event says yet. */
  #unsaid: { posture?: ApprovalMode; mode?: PermissionMode; collaboration?: CollaborationMode } = {};
  #opened = false;
  #ownCommand = false;
  /** The mode of the session, while nothing may change for the time of one piece of work. */
  #meanwhile: PermissionMode | undefined;
  /** The model may know of another mode. */
  #untold = true;

  constructor(gate: ModalGate, recorder: Recorder) {
    this.#gate = gate;
    this.#recorder = recorder;
    this.#approval = gate.approvalMode ?? "ask";
    this.#initial = this.permission;
    this.writing = this.#initial === "danger-full-access" ? this.#initial : "workspace-write";
    if (this.#approval !== "ask") this.#unsaid.posture = this.#approval;
    if ((recorder.state.mode ?? USUAL) !== this.#initial) this.#unsaid.mode = this.#initial;
    // A session is in plan mode until it is said to have left it.
    const { collaboration } = this;
    if ((recorder.state.collaboration === "plan") !== (collaboration === "plan")) {
      this.#unsaid = { ...this.#unsaid, mode: this.#initial, collaboration };
    }
  }

  /** How far approvals are given without a person. */
  get approval(): ApprovalMode {
    return this.#approval;
  }

  /** The coarse boundary. */
  get permission(): PermissionMode {
    return this.#gate.permissionMode ?? "workspace-write";
  }

  /** The way of working; independent of how approvals are given. Plan is also a boundary: nothing changes. */
  get collaboration(): CollaborationMode {
    return this.permission === "plan" ? "plan" : this.#goal ? "goal" : "normal";
  }

  /**
   * An approved plan is being carried out: its calls are not asked about. Every switch of a mode ends that.
   */
  get approvedPlan(): boolean {
    return this.#gate.approvedPlan ?? false;
  }

  set approvedPlan(open: boolean) {
    if (this.#gate.approvedPlan !== undefined) this.#gate.approvedPlan = open;
  }

  /** A plan was proposed, and the user has not decided about it. */
  get planWaits(): boolean {
    return this.#recorder.state.plan?.state === "proposed" && this.collaboration === "plan";
  }

  /** Allow rules that hold until the session ends. */
  get sessionRules(): readonly string[] {
    return this.#gate.sessionRules ?? [];
  }

  /** Adds such a rule; throws ReasonixError (usage) where something else judges calls. */
  allowForSession(rule: string): void {
    this.#requireModes();
    this.#gate.allowForSession?.(rule);
  }

  revokeForSession(rule: string): void {
    this.#gate.revokeForSession?.(rule);
  }

  /** Whether a person typed the command that runs now: then the typing is the approval. */
  set ownCommand(own: boolean) {
    this.#ownCommand = own;
    this.#apply();
  }

  /** Throws ReasonixError (usage) where something else than permission rules judges calls. */
  async setApproval(mode: ApprovalMode): Promise<void> {
    this.#requireModes();
    this.approvedPlan = false;
    if (mode === this.#approval) return;
    this.#approval = mode;
    this.#apply();
    this.#unsaid.posture = mode;
    if (this.#opened) await this.#record();
  }

  /**
   * Throws ReasonixError (usage) for a mode that reaches further than the session began: its jail and its
   * file tools were made for that.
   */
  async setPermission(mode: PermissionMode): Promise<void> {
    this.#requireModes();
    if (mode === this.permission) return;
    this.approvedPlan = false;
    if (!["read-only", "plan", this.writing].includes(mode)) {
      throw new ReasonixError(
        message`Cannot switch to ${mode} in a session that began with ${this.#initial}`,
        {
          exit: "usage",
          remedy: message`leave, and continue with: reasonix -c --permission-mode ${mode}`,
        },
      );
    }
    const before = this.collaboration;
    this.#gate.permissionMode = mode;
    this.#meanwhile = undefined;
    this.#untold = true;
    this.#unsaid.mode = mode;
    if (this.permission === "plan") this.#goal = false;
    if (this.collaboration !== before) this.#unsaid.collaboration = this.collaboration;
    if (this.#opened) await this.#record();
  }

  /**
   * Switches the way of working; approvals stay as they are given. Leaving plan mode allows changes again.
   */
  async setCollaboration(mode: CollaborationMode): Promise<void> {
    if (mode === this.collaboration) return;
    this.approvedPlan = false;
    if (mode === "plan") return await this.setPermission("plan");
    this.#goal = mode === "goal";
    this.#unsaid.collaboration = mode;
    if (this.permission === "plan") {
      await this.setPermission(this.#initial === "plan" ? this.writing : this.#initial);
    } else if (this.#opened) await this.#record();
  }

  /** Does a piece of work during which nothing may change, unless the user switches modes meanwhile. */
  async readingOnly<T>(work: () => Promise<T>): Promise<T> {
    const before = this.permission;
    if (before === "read-only" || before === "plan") return await work();
    this.#requireModes();
    this.#gate.permissionMode = "read-only";
    this.#meanwhile = before;
    try {
      return await work();
    } finally {
      if (this.permission === "read-only") this.#gate.permissionMode = before;
      this.#meanwhile = undefined;
    }
  }

  /** Records what was chosen before the session was open. */
  async open(): Promise<void> {
    this.#opened = true;
    await this.#record();
  }

  /** Tells the model of the mode, unless it knows. */
  async tell(): Promise<void> {
    this.#untold = false;
    const content = modeNote(this.#meanwhile ?? this.permission);
    if (content === this.#told()) return;
    await this.#recorder.record({ type: "message.user", content, origin: "context" });
  }

  /** Somebody else tells the model of the switch that was just made, with its next request. */
  leaveTelling(): void {
    this.#untold = false;
  }

  /** The same as `tell` between two requests of a turn, where only a switch can have changed anything. */
  async tellSwitch(): Promise<void> {
    if (this.#untold) await this.tell();
  }

  /** What the model was told last; where it was told nothing, the mode in which its first turn was made. */
  #told(): string {
    const { messages, state: { firstMode = USUAL } } = this.#recorder;
    const isAboutMode = ({ role, content }: Message) => role === "user" && content.startsWith(TAG);
    return messages.findLast(isAboutMode)?.content ??
      // Nobody needs to be told that everything may be done, but of anything less.
      modeNote(firstMode === "danger-full-access" ? firstMode : USUAL);
  }

  async #record(): Promise<void> {
    const unsaid = this.#unsaid;
    this.#unsaid = {};
    if (unsaid.posture ?? unsaid.mode ?? unsaid.collaboration) {
      await this.#recorder.record({ type: "mode.change", ...unsaid });
    }
  }

  #apply(): void {
    if (this.#gate.approvalMode === undefined) return;
    this.#gate.approvalMode = this.#ownCommand && this.#approval === "ask" ? "auto" : this.#approval;
  }

  #requireModes(): void {
    if (this.#gate.approvalMode !== undefined) return;
    throw new ReasonixError("Cannot switch modes: calls are not judged by the permission rules here", {
      exit: "usage",
      remedy: "leave out the gate of your own to use them",
    });
  }
}
