import {
  addConfigItem,
  addSavedHosts,
  addSavedRule,
  type LoadedConfig,
  placeOf,
  savedRulesFile,
  sourceOf,
  userConfigFile,
  userHome,
} from "../../config/mod.ts";
import type { SkillActivation } from "../../context/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import { type Event, formatLocation, type Message, message, newNotice, usageError } from "../../core/mod.ts";
import { contains } from "../../path/lexical.ts";
import { escapeGlob } from "../../path/glob.ts";
import { processEnvironment } from "../../path/read_env.ts";
import {
  type ApprovalMode,
  type CommandEnvironment,
  createGate,
  type Gate,
  type GateOptions,
  type PermissionGate,
  type PermissionMode,
} from "../../permission/mod.ts";
import type { RuleList, RuleText } from "../../rule/mod.ts";
import type { Jail, Workspace } from "../../sandbox/mod.ts";
import { insteadOfWriting, type WritePolicy } from "../../tool/mod.ts";
import type { AssemblyOptions, RunPaths } from "../run_options.ts";
import { type AccessScope, linkedSettings } from "./access_scope.ts";

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

/** Collaboration turn by turn, on a plan first, or on a goal until it is reached. */
export type CollaborationMode = "normal" | "plan" | "goal";

const MODE_TEXTS: Readonly<Record<PermissionMode, string>> = {
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

const modeNote = (mode: string) => `${TAG}${MODE_TEXTS[mode as PermissionMode]}\n</mode>`;

/**
 * The approval mode and the permission mode of a session, which a person may change between calls. The head
 * of a request is the same whatever they are: a message informs the model of the permission mode, where it
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
  #unrecorded: { posture?: ApprovalMode; mode?: PermissionMode; collaboration?: CollaborationMode } = {};
  #opened = false;
  #userCommand = false;
  /** The mode of the session, while nothing may change for the time of one piece of work. */
  #suspended: PermissionMode | undefined;
  /** The model may know of another mode. */
  #unannounced = true;
  readonly #watchers = new Set<() => void>();

  constructor(gate: ModalGate, recorder: Recorder) {
    this.#gate = gate;
    this.#recorder = recorder;
    this.#approval = gate.approvalMode ?? "ask";
    this.#initial = this.permission;
    this.writing = this.#initial === "danger-full-access" ? this.#initial : "workspace-write";
    if (this.#approval !== "ask") this.#unrecorded.posture = this.#approval;
    if ((recorder.state.mode ?? USUAL) !== this.#initial) this.#unrecorded.mode = this.#initial;
    // A session is in plan mode until it is said to have left it.
    const { collaboration } = this;
    if ((recorder.state.collaboration === "plan") !== (collaboration === "plan")) {
      this.#unrecorded = { ...this.#unrecorded, mode: this.#initial, collaboration };
    }
  }

  get approval(): ApprovalMode {
    return this.#approval;
  }

  get permission(): PermissionMode {
    return this.#gate.permissionMode ?? "workspace-write";
  }

  /** The way of working; independent of how approvals are given. Plan is also a boundary: nothing changes. */
  get collaboration(): CollaborationMode {
    return this.permission === "plan" ? "plan" : this.#goal ? "goal" : "normal";
  }

  /**
   * An approved plan is being executed: its calls need no approval. Every switch of a mode ends that.
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

  /** The command that runs now was typed by the user, which approves it. */
  set userCommand(own: boolean) {
    this.#userCommand = own;
    this.#apply();
  }

  /** Throws ReasonixError (usage) where something else than permission rules judges calls. */
  async setApproval(mode: ApprovalMode): Promise<void> {
    this.#requireModes();
    this.approvedPlan = false;
    if (mode === this.#approval) return;
    this.#approval = mode;
    this.#apply();
    this.#unrecorded.posture = mode;
    await this.#switched();
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
      throw usageError(
        message`Cannot switch to ${mode} in a session that began with ${this.#initial}`,
        message`leave, and continue with: reasonix -c --permission-mode ${mode}`,
      );
    }
    const before = this.collaboration;
    this.#gate.permissionMode = mode;
    this.#suspended = undefined;
    this.#unannounced = true;
    this.#unrecorded.mode = mode;
    if (this.permission === "plan") this.#goal = false;
    if (this.collaboration !== before) this.#unrecorded.collaboration = this.collaboration;
    await this.#switched();
  }

  /**
   * Switches the way of working; approvals stay as they are given. Leaving plan mode allows changes again.
   */
  async setCollaboration(mode: CollaborationMode): Promise<void> {
    if (mode === this.collaboration) return;
    this.approvedPlan = false;
    if (mode === "plan") return await this.setPermission("plan");
    this.#goal = mode === "goal";
    this.#unrecorded.collaboration = mode;
    if (this.permission === "plan") {
      await this.setPermission(this.#initial === "plan" ? this.writing : this.#initial);
    } else await this.#switched();
  }

  /** Does a piece of work during which nothing may change, unless the user switches modes meanwhile. */
  async readingOnly<T>(work: () => Promise<T>): Promise<T> {
    const before = this.permission;
    if (before === "read-only" || before === "plan") return await work();
    this.#requireModes();
    this.#gate.permissionMode = "read-only";
    this.#suspended = before;
    try {
      return await work();
    } finally {
      if (this.permission === "read-only") this.#gate.permissionMode = before;
      this.#suspended = undefined;
    }
  }

  /** Notifies front ends of each switch, also before a session can record it. */
  watch(watcher: () => void): void {
    this.#watchers.add(watcher);
  }

  /** Records what was chosen before the session was open. */
  async open(): Promise<void> {
    this.#opened = true;
    await this.#record();
  }

  /** Informs the model of the mode, unless it knows. */
  async announce(): Promise<void> {
    this.#unannounced = false;
    const content = modeNote(this.#suspended ?? this.permission);
    if (content === this.#announced()) return;
    await this.#recorder.record({ type: "message.user", content, origin: "context" });
  }

  /** The caller announces the last switch with the next request. */
  skipAnnouncement(): void {
    this.#unannounced = false;
  }

  /** Does the same as `announce` between two requests of a turn, after a switch. */
  async announceSwitch(): Promise<void> {
    if (this.#unannounced) await this.announce();
  }

  /** The last message about a mode; without one, the message about the mode of the first turn. */
  #announced(): string {
    const { messages, state: { firstMode = USUAL } } = this.#recorder;
    const isAboutMode = ({ role, content }: Message) => role === "user" && content.startsWith(TAG);
    return messages.findLast(isAboutMode)?.content ??
      // Full access needs no announcement; every other mode does.
      modeNote(firstMode === "danger-full-access" ? firstMode : USUAL);
  }

  async #switched(): Promise<void> {
    for (const watcher of this.#watchers) watcher();
    if (this.#opened) await this.#record();
  }

  async #record(): Promise<void> {
    const unrecorded = this.#unrecorded;
    this.#unrecorded = {};
    if (unrecorded.posture ?? unrecorded.mode ?? unrecorded.collaboration) {
      await this.#recorder.record({ type: "mode.change", ...unrecorded });
    }
  }

  #apply(): void {
    if (this.#gate.approvalMode === undefined) return;
    this.#gate.approvalMode = this.#userCommand && this.#approval === "ask" ? "auto" : this.#approval;
  }

  #requireModes(): void {
    if (this.#gate.approvalMode !== undefined) return;
    throw usageError(
      message`Cannot switch modes: calls are not judged by the permission rules here`,
      message`leave out your own gate to use them`,
    );
  }
}

interface GateSources extends Pick<GateOptions, "onAsk" | "record"> {
  readonly approvalMode?: ApprovalMode | undefined;
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly scope: Pick<AccessScope, "rooted" | "workspace">;
  readonly openJail: () => Promise<Jail>;
  readonly permissionMode?: PermissionMode | undefined;
}

export function gateOptions(sources: GateSources): GateOptions {
  const { paths, loaded, scope, openJail, onAsk, permissionMode, record } = sources;
  const { permissions, safety } = loaded.config;
  const rules = (list: RuleList) => configuredRules(loaded, list);
  const saveRule = (rule: string) => addConfigItem(userConfigFile(paths), "permissions.allow", rule);
  const saved = {
    saveRule,
    savedIn: userConfigFile(paths),
    saveProjectRule: (rule: string) => addSavedRule(paths, "allow", rule),
    saveHosts: (hosts: readonly string[]) => addSavedHosts(paths, hosts),
  };
  return {
    policy: {
      mode: permissions.mode,
      allow: rules("allow"),
      ask: rules("ask"),
      deny: [...rules("deny"), ...forbidden(scope.workspace)],
    },
    approvalMode: sources.approvalMode ?? "ask",
    onAsk,
    record,
    ...(permissionMode === undefined ? {} : { permissionMode }),
    cwd: paths.cwd,
    home: userHome(paths.env) ?? paths.home,
    protectedFiles: [userConfigFile(paths), savedRulesFile(paths), ...linkedSettings(loaded)],
    roots: scope.rooted.roots,
    env: processEnvironment,
    confirm: safety.confirm,
    dangerous: safety.dangerous.map((text) => ({ text })),
    filesStay: loaded.config.tools.writes !== "allow",
    unconfined: () => withoutJail(openJail, loaded.config.tools.writes),
    commandEnvironment: () => commandEnvironment(openJail),
    ...(loaded.files.length > 0 ? saved : {}),
    shell: Deno.build.os === "windows" ? "other" : "posix",
  };
}

export function configuredRules(loaded: LoadedConfig, list: RuleList): RuleText[] {
  return loaded.config.permissions[list].map((text, index) => ruleText(loaded, list, { text, index }));
}

/** Says what commands find around them; without a jail, that is the open machine. */
function commandEnvironment(openJail: () => Promise<Jail>): Promise<CommandEnvironment> {
  return openJail().then(
    ({ privateDirectories, network }) => ({ privateDirectories, network }),
    () => ({ privateDirectories: [], network: true }),
  );
}

/** Says why there is no jail, and what to do. One that fails ends its command itself. */
function withoutJail(openJail: () => Promise<Jail>, writes: WritePolicy): Promise<string | undefined> {
  const remedy = writes === "allow" ? "use the tools that read" : insteadOfWriting(writes);
  return openJail().then(
    (jail) => jail.confined ? undefined : `there is no jail to see to that; ${remedy}`,
    () => undefined,
  );
}

/**
 * Returns the paths that may not be read and are inside writable directories: the workspace keeps it from
 * being read, and these rules keep the directories above it from being moved, after which it would have
 * another path.
 */
function forbidden(workspace: Workspace): RuleText[] {
  return workspace.forbidden
    .filter((path) => workspace.roots.some((root) => root !== path && contains(root, path)))
    .map((path) => ({ text: `Read(${escapeGlob(path)})`, origin: "[sandbox] forbid_read" }));
}

/**
 * The location of a rule is looked up when it is shown: positions in a file cost a pass over its
 * text.
 */
function ruleText(loaded: LoadedConfig, list: RuleList, rule: { text: string; index: number }): RuleText {
  return {
    text: rule.text,
    get origin() {
      const found = sourceOf(loaded, `permissions.${list}[${rule.index}]`);
      const place = placeOf(found);
      if (!place) return found.source;
      const isTrusted = found.source === "project" && list === "allow";
      return formatLocation(place) + (isTrusted ? ", trusted" : "");
    },
  };
}

interface GateDeps extends Required<Pick<GateOptions, "temporaryRules">> {
  readonly options: AssemblyOptions;
  readonly scope: AccessScope;
  readonly recorder: Recorder;
  readonly tools:
    & Required<Pick<GateOptions, "shellDirectory" | "preview" | "sandbox">>
    & Pick<GateSources, "openJail">;
  readonly plugins: Required<Pick<GateOptions, "trustedReadOnly" | "saveTrust">> | undefined;
}

export function buildGate(
  { options, scope, recorder, tools, plugins, temporaryRules }: GateDeps,
): PermissionGate {
  const { openJail, shellDirectory, preview, sandbox } = tools;
  const { approver, parent } = options;
  const above = parent && isWhole(parent.gate) ? { above: parent.gate } : {};
  const record: GateOptions["record"] = (event) => recorder.record(event);
  const configured = gateOptions({ ...options, scope, openJail, record });
  return createGate({
    ...configured,
    shellDirectory,
    preview,
    sandbox,
    temporaryRules,
    ...(plugins ? { trustedReadOnly: plugins.trustedReadOnly } : {}),
    ...(plugins && configured.saveRule ? { saveTrust: plugins.saveTrust } : {}),
    ...(approver ? { approver } : {}),
    ...above,
  });
}

/** Reports whether permission rules judge, and not something of an embedding program's own. */
function isWhole(gate: Gate & Partial<PermissionGate>): gate is PermissionGate {
  return gate.grants !== undefined;
}

/** The `allowed-tools` of skills and commands: they count from their activation to the end of that turn. */
export class SkillRules {
  readonly #recorder: Recorder;
  #rules: readonly RuleText[] = [];

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  readonly onEvent = (event: Event): undefined => {
    if (event.type === "turn.end" && this.#rules.length > 0) this.#rules = [];
  };

  /** The rules in force; another array whenever they change. */
  readonly current = (): readonly RuleText[] => this.#rules;

  readonly add = (rules: readonly RuleText[]): void => {
    if (rules.length > 0) this.#rules = [...this.#rules, ...rules];
  };

  readonly activated = ({ skill, approved }: SkillActivation): void => {
    if (skill.allowedTools.length === 0) return;
    if (approved) {
      return this.add(skill.allowedTools.map((text) => ({ text, origin: skill.file })));
    }
    void this.#recorder.record(
      newNotice(
        "warning",
        "skill",
        message`The allowed-tools of skill ${skill.name} are ignored: the project contains it, and it is not trusted yet with \`reasonix trust\``,
      ),
    );
  };
}
