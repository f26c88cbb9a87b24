import {
  type ApprovalAnswer,
  errorMessage,
  message,
  newNotice,
  type PreparedCall,
  textOf,
} from "../core/mod.ts";
import {
  askPerson,
  confirmOnce,
  questionOf,
  recordDecision,
  refuseRule,
  restOf,
  sessionRuleOf,
  type Suggested,
  suggestRules,
} from "./approval.ts";
import { SessionGrants } from "./grants.ts";
import { type Evaluation, Evaluator, exactKey } from "./evaluate.ts";
import { type DecisionContext, goesToServer, resolveDecision } from "./resolve.ts";
import type {
  ApprovalMode,
  ApprovalRequest,
  CallPreview,
  Confirmation,
  Decision,
  Explanation,
  Failure,
  GateOptions,
  HookWord,
  NetworkNeed,
  PermissionGate,
  PermissionMode,
} from "./types.ts";
import { defined } from "../util/json.ts";

/** Modes that also bind the agents of a session, the strictest first. */
const STRICT: readonly PermissionMode[] = ["plan", "read-only", "workspace-write"];
const UNQUOTED: Failure = {
  content: "error: The call would fail as things are; read the file and send a call that fits it",
  summary: message`The call would fail as things are`,
};
const PLAIN_READ: Decision = { decision: "allow", source: "mode" };

/**
 * Builds the gate of a session; see docs/permissions.md. Rules that cannot be read are in `problems` and have
 * no effect.
 */
export function createGate(options: GateOptions): PermissionGate {
  return new SessionGate(options);
}

class SessionGate implements PermissionGate {
  readonly grants: SessionGrants;
  readonly #options: GateOptions;
  readonly #evaluator: Evaluator;
  #approvalMode: ApprovalMode;
  #permissionMode: PermissionMode;
  #approvedPlan = false;
  /** Changes of the grants that the rules know. */
  #known = 0;
  /** Network of calls that were allowed and have not begun. */
  readonly #network = new Map<string, NetworkNeed>();

  constructor(options: GateOptions) {
    this.#options = options;
    this.#approvalMode = options.approvalMode;
    this.#permissionMode = options.permissionMode ?? "workspace-write";
    this.grants = options.above?.grants ?? new SessionGrants(options.trustedReadOnly);
    this.#evaluator = new Evaluator(options, () => this.grants.hosts.size > 0);
  }

  get approvalMode(): ApprovalMode {
    return this.#options.above?.approvalMode ?? this.#approvalMode;
  }

  set approvalMode(mode: ApprovalMode) {
    this.#approvalMode = mode;
  }

  /** The stricter of this gate's mode and the mode of the gate above. */
  get permissionMode(): PermissionMode {
    const modes = [this.#options.above?.permissionMode, this.#permissionMode];
    return STRICT.find((mode) => modes.includes(mode)) ?? this.#permissionMode;
  }

  set permissionMode(mode: PermissionMode) {
    this.#permissionMode = mode;
  }

  get approvedPlan(): boolean {
    return this.#options.above?.approvedPlan ?? this.#approvedPlan;
  }

  set approvedPlan(approved: boolean) {
    this.#approvedPlan = approved;
  }

  get problems() {
    return this.#evaluator.rules.problems;
  }

  get cwd(): string {
    return this.#evaluator.pathContext.cwd;
  }

  set cwd(cwd: string) {
    this.#evaluator.cwd = cwd;
  }

  get sessionRules(): readonly string[] {
    return this.grants.rules;
  }

  allowForSession(rule: string): void {
    this.grants.allow(rule);
  }

  revokeForSession(rule: string): void {
    this.grants.revoke(rule);
  }

  async warm(family: "Bash" | "Edit"): Promise<void> {
    if (family === "Bash") return await this.#evaluator.warm();
    this.#takeGrants();
    this.#decide(this.#evaluator.warmUpEdit(), false);
  }

  check(given: PreparedCall, signal: AbortSignal, hook?: HookWord): Decision | Promise<Decision> {
    this.#takeGrants();
    this.#network.delete(given.call.id);
    const call = this.#asTrusted(given);
    if (hook?.word !== "ask" && this.#isPlainRead(call)) return PLAIN_READ;
    const evaluation = this.#evaluator.evaluate(call);
    return evaluation instanceof Promise
      ? evaluation.then((found) => this.#settle(found, signal, hook))
      : this.#settle(evaluation, signal, hook);
  }

  #takeGrants(): void {
    this.#known = this.grants.apply(this.#evaluator.rules, this.#known);
  }

  /** An answer may have come since the call was prepared. */
  #asTrusted(call: PreparedCall): PreparedCall {
    if (call.readOnly || !call.claimsToRead || !this.grants.trusted.has(call.tool)) return call;
    return { ...call, readOnly: true, planSafe: true };
  }

  /** Reports whether neither a rule nor a mode can concern a read. Such calls are not recorded. */
  #isPlainRead(call: PreparedCall): boolean {
    return isLocalRead(call) && !call.command && call.alwaysAsk === undefined &&
      this.permissionMode !== "plan" && !this.#evaluator.isRuled(call);
  }

  #context(interactive: boolean): DecisionContext {
    const { policy: { mode }, onAsk, filesStay } = this.#options;
    const { approvalMode, permissionMode, approvedPlan } = this;
    const { unconfined } = this.#evaluator;
    return {
      approvalMode,
      permissionMode,
      approvedPlan,
      mode,
      onAsk,
      interactive,
      granted: this.grants.exact,
      ...(filesStay === undefined ? {} : { filesStay }),
      ...(unconfined === undefined ? {} : { unconfined }),
    };
  }

  #decide(evaluation: Evaluation, interactive: boolean, hook?: HookWord): Decision | ApprovalRequest {
    const outcome = resolveDecision(evaluation, { ...this.#context(interactive), ...(hook ? { hook } : {}) });
    if (typeof outcome === "object") return outcome;
    return questionOf(outcome, evaluation, {
      interactive,
      hook,
      suggested: this.#options.saveRule && outcome !== "destructive" ? this.#suggest(evaluation) : {},
      savesTrust: this.#options.saveTrust !== undefined,
      inPlan: this.permissionMode === "plan",
    });
  }

  #suggest(evaluation: Evaluation): Suggested {
    const proves = (rule: string) => this.#evaluator.allowedBy(rule, evaluation);
    const { projectRule, ...suggested } = suggestRules(evaluation, this.#evaluator.pathContext, proves);
    const { rule } = suggested;
    if (rule === undefined) return {};
    const { savedIn, saveProjectRule } = this.#options;
    const here = saveProjectRule && projectRule !== undefined ? { projectRule } : {};
    return {
      ...suggested,
      ...here,
      checkRule: (text) => refuseRule(text, evaluation.call, { ...suggested, ...here, rule, proves }),
      ...(savedIn === undefined ? {} : { savedIn }),
    };
  }

  #settle(evaluation: Evaluation, signal: AbortSignal, hook?: HookWord): Decision | Promise<Decision> {
    const outcome = this.#decide(evaluation, this.#options.approver !== undefined, hook);
    if ("scopes" in outcome) {
      return this.#ask(outcome, evaluation, signal)
        .then((decision) => this.#completed(decision, evaluation));
    }
    if (outcome.decision === "allow" && isLocalRead(evaluation.call) && outcome.source === "mode") {
      return outcome;
    }
    if (outcome.decision === "allow" && this.#mayOpen(evaluation.call)) {
      return this.#preview(evaluation.call, signal).then((found) =>
        "decision" in found ? found : this.#recorded(outcome, evaluation)
      );
    }
    return this.#recorded(outcome, evaluation);
  }

  /** Reports whether a person can open the directory of a call that nothing else asks about. */
  #mayOpen(call: PreparedCall): boolean {
    const { approver, preview, sandbox } = this.#options;
    return call.family === "Edit" && !!approver && !!preview && !!sandbox && this.approvalMode !== "yolo" &&
      this.permissionMode === "workspace-write" && this.#evaluator.writesOutside(call);
  }

  #recorded(outcome: Decision, evaluation: Evaluation): Decision | Promise<Decision> {
    const waiting = recordDecision(this.#options, evaluation.call.call.id, outcome);
    const decision = this.#completed(outcome, evaluation);
    return waiting ? waiting.then(() => decision) : decision;
  }

  /** Asks the person about a call, unless it could not succeed whatever they say. */
  async #ask(request: ApprovalRequest, evaluation: Evaluation, signal: AbortSignal): Promise<Decision> {
    const { call, report, ruling } = evaluation;
    const preview = await this.#preview(call, signal, ruling.by === "rule" || ruling.by === "unsure");
    if ("decision" in preview) return preview;
    const rest = restOf(evaluation, this.#options.cwd);
    const network = report?.network && await this.#missing(report.network);
    const whole: ApprovalRequest = {
      ...request,
      sent: call.call.arguments,
      ...(rest === "" ? {} : { rest }),
      ...defined({ changes: preview.changes, confinement: preview.confinement }),
      ...this.#offered(network),
    };
    const granted = (answer: ApprovalAnswer) => this.#grant(evaluation, whole, answer);
    return await askPerson(this.#options, whole, signal, granted);
  }

  /**
   * The changes that a call would make. A directory that it may not write to is opened where a person says
   * so. A failure is not quoted where a rule asks: it could show what the file holds.
   */
  async #preview(call: PreparedCall, signal: AbortSignal, ruled = false): Promise<CallPreview | Decision> {
    const { preview, sandbox, approver } = this.#options;
    if (!preview) return {};
    let found = await preview(call, signal);
    const directory = found.outside;
    if (directory !== undefined && sandbox && approver) {
      const question = {
        subject: directory,
        directory,
        reason: message`is outside the directories that may be written to`,
        source: "confinement",
      } as const;
      const decision = await this.confirm(call, question, signal);
      if (decision.decision === "deny") return decision;
      await this.#open(directory);
      found = await preview(call, signal);
    }
    if (!found.failure) return found;
    const failure = ruled ? UNQUOTED : found.failure;
    return { decision: "deny", source: "confinement", reason: failure.summary, failure };
  }

  /** Returns what commands lack of a network that a line needs. */
  async #missing(need: NetworkNeed): Promise<NetworkNeed | undefined> {
    return await this.#options.sandbox?.missing(need, this.grants.hosts);
  }

  #offered(network: NetworkNeed | undefined): Pick<ApprovalRequest, "network" | "savesHosts"> {
    if (!network) return {};
    const saves = this.#options.saveHosts !== undefined && network.hosts.length > 0;
    return { network, ...(saves ? { savesHosts: true } : {}) };
  }

  takeNetwork(callId: string): NetworkNeed | undefined {
    const need = this.#network.get(callId);
    this.#network.delete(callId);
    return need;
  }

  /** Reports other findings of the evaluation of a command, and notes what an allowed call writes. */
  #completed(decision: Decision, evaluation: Evaluation): Decision {
    if (decision.decision !== "allow") return decision;
    this.#evaluator.noteWrites(evaluation);
    return evaluation.report?.readOnly ? { ...decision, readsOnly: true } : decision;
  }

  /** Opens the network of a question as far as the answer says. */
  async #openNetwork(
    { callId, network }: ApprovalRequest,
    { network: scope }: ApprovalAnswer,
  ): Promise<void> {
    if (!network || scope === undefined) return;
    this.#network.set(callId, network);
    if (scope === "once") return;
    for (const host of network.hosts) this.grants.hosts.add(host);
    if (scope === "project") {
      await this.#saved(() => this.#options.saveHosts?.(network.hosts), network.hosts.join(", "));
    }
  }

  async #grant(evaluation: Evaluation, request: ApprovalRequest, answer: ApprovalAnswer): Promise<void> {
    await this.#openNetwork(request, answer);
    if (answer.scope === "once" || !request.scopes.includes(answer.scope)) return;
    const { call: { tool } } = evaluation;
    if (request.readOnlyClaim && answer.scope !== "project") {
      this.grants.trusted.add(tool);
      if (answer.scope === "always") await this.#options.saveTrust?.(tool);
      return;
    }
    const sessionRule = sessionRuleOf(evaluation);
    const isTaken = answer.rule !== undefined && request.checkRule !== undefined &&
      request.checkRule(answer.rule) === undefined;
    const chosen = isTaken ? answer.rule : answer.scope === "project" ? request.projectRule : request.rule;
    if (answer.scope !== "session" && chosen !== undefined) {
      if (await this.#save(chosen, answer.scope)) this.grants.saved(chosen);
      else this.allowForSession(chosen);
    } else if (chosen !== undefined && chosen === request.prefixRule) {
      this.allowForSession(chosen);
    } else if (sessionRule !== undefined) {
      this.allowForSession(sessionRule);
    } else {
      this.grants.exact.add(exactKey(evaluation));
    }
  }

  #save(rule: string, scope: "project" | "always"): Promise<boolean> {
    const { saveRule, saveProjectRule } = this.#options;
    return this.#saved(() => (scope === "project" ? saveProjectRule : saveRule)?.(rule), rule);
  }

  /** Saves what was granted; false, with a notice, where that fails: it counts for this session. */
  async #saved(save: () => Promise<void> | undefined, rule: string): Promise<boolean> {
    try {
      await save();
      return true;
    } catch (error) {
      const why = errorMessage(error);
      const text = message`The rule ${rule} is not saved and applies to this session only: ${why}`;
      await this.#options.record(newNotice("warning", "permission", text));
      return false;
    }
  }

  async confirm(call: PreparedCall, question: Confirmation, signal: AbortSignal): Promise<Decision> {
    const need = question.escape?.network && await this.#escapeNeed(call, question.escape.network);
    const network = need && await this.#missing(need);
    if (question.escape?.enforced && !network && question.directory === undefined) {
      return {
        decision: "deny",
        source: "confinement",
        reason: message`the sandbox is enforced and stays as it is`,
      };
    }
    const asked = { callId: call.call.id, tool: call.tool, ...question, ...this.#offered(network) };
    return await confirmOnce(this.#options, asked, signal, async (answer) => {
      await this.#openNetwork({ ...asked, scopes: ["once"] }, answer);
      const { directory, escape } = question;
      if (escape && directory !== undefined && answer.scope === "session") await this.#open(directory);
    });
  }

  async #open(directory: string): Promise<void> {
    await this.#options.sandbox?.openDirectory(directory);
    this.#evaluator.cwd = this.cwd;
  }

  /** The hosts that refused a command; where none is known, those that its line names. */
  async #escapeNeed(call: PreparedCall, refused: NetworkNeed): Promise<NetworkNeed | undefined> {
    const { report, subject } = await this.#evaluator.evaluate(call);
    if (report?.deletesElsewhere) return undefined;
    if (refused.hosts.length > 0) return refused;
    const known = report?.network?.hosts ?? [];
    return { hosts: known.length > 0 ? known : hostsIn(subject) };
  }

  async explain(call: PreparedCall): Promise<Explanation> {
    this.#takeGrants();
    const evaluation = await this.#evaluator.evaluate(this.#asTrusted(call));
    const outcome = this.#decide(evaluation, true);
    const alone = this.#decide(evaluation, false);
    const plain = "scopes" in outcome && outcome.destructive === undefined;
    const { rule, prefixRule } = plain ? this.#suggest(evaluation) : {};
    const passes = this.#evaluator.describe(evaluation);
    return {
      ...explained(evaluation, outcome),
      headless: "scopes" in alone ? "deny" : alone.decision,
      ...(passes ? { passes } : {}),
      ...(rule === undefined ? {} : { always: rule }),
      ...(prefixRule === undefined ? {} : { alwaysPrefix: prefixRule }),
    };
  }
}

/** Returns the hosts of the web addresses in a command line. */
function hostsIn(line: string): string[] {
  const found = line.matchAll(/\bhttps?:\/\/(?:[^\s/@'"]*@)?((?:[\w-]+\.)+[a-z][\w-]*(?::\d+)?)/gi);
  return [...new Set([...found].map(([, host = ""]) => host.toLowerCase()))];
}

/** Reports whether a call only reads, here. What is sent to a server is recorded, whatever it does. */
function isLocalRead(call: PreparedCall): boolean {
  return call.readOnly && !goesToServer(call);
}

function explained(
  { call: { tool }, subject, ruling, report }: Evaluation,
  outcome: Decision | ApprovalRequest,
): Omit<Explanation, "headless"> {
  const { segments = [], destructive = [], unparsable } = report ?? {};
  const asker = destructive.length > 0 ? "floor" : ruling.by === "fallback" ? "mode" : "rule";
  const { rule } = ruling;
  return {
    tool,
    subject,
    ...("scopes" in outcome
      ? { decision: "ask", source: asker }
      : { decision: outcome.decision, source: outcome.source }),
    reason: textOf(outcome.reason ?? ruling.reason),
    ...(rule === undefined ? {} : { rule: `${rule.list} ${rule.text}` }),
    ...(rule?.source.origin === undefined ? {} : { origin: rule.source.origin }),
    segments,
    ...(unparsable === undefined ? {} : { unparsable }),
    destructive: destructive.map((finding) => ({ ...finding, reason: textOf(finding.reason) })),
  };
}
