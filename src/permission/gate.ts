import { type ApprovalAnswer, errorMessage, type PreparedCall, type Sayings } from "../core/mod.ts";
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
  Confirmation,
  Decision,
  Explanation,
  GateOptions,
  HookWord,
  PermissionGate,
  PermissionMode,
} from "./types.ts";

/** Modes that bind whoever works for a session, the strictest first. */
const STRICT: readonly PermissionMode[] = ["plan", "read-only", "workspace-write"];
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

  constructor(options: GateOptions) {
    this.#options = options;
    this.#approvalMode = options.approvalMode;
    this.#permissionMode = options.permissionMode ?? "workspace-write";
    this.#evaluator = new Evaluator(options);
    this.grants = options.above?.grants ?? new SessionGrants(options.trustedReadOnly);
  }

  get approvalMode(): ApprovalMode {
    return this.#options.above?.approvalMode ?? this.#approvalMode;
  }

  set approvalMode(mode: ApprovalMode) {
    this.#approvalMode = mode;
  }

  /** The stricter one of its own and of the one above. */
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
    return this.#evaluator.places.cwd;
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
    this.#decide(this.#evaluator.rehearseEdit(), false);
  }

  check(given: PreparedCall, signal: AbortSignal, hook?: HookWord): Decision | Promise<Decision> {
    this.#takeGrants();
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

  #context(attended: boolean): DecisionContext {
    const { policy: { mode }, onAsk, filesStay } = this.#options;
    const { approvalMode, permissionMode, approvedPlan } = this;
    const { unconfined } = this.#evaluator;
    return {
      approvalMode,
      permissionMode,
      approvedPlan,
      mode,
      onAsk,
      attended,
      granted: this.grants.exact,
      ...(filesStay === undefined ? {} : { filesStay }),
      ...(unconfined === undefined ? {} : { unconfined }),
    };
  }

  #decide(evaluation: Evaluation, attended: boolean, hook?: HookWord): Decision | ApprovalRequest {
    const outcome = resolveDecision(evaluation, { ...this.#context(attended), ...(hook ? { hook } : {}) });
    if (typeof outcome === "object") return outcome;
    return questionOf(outcome, evaluation, {
      attended,
      hook,
      suggested: this.#options.saveRule && outcome !== "destructive" ? this.#suggest(evaluation) : {},
      savesTrust: this.#options.saveTrust !== undefined,
      inPlan: this.permissionMode === "plan",
    });
  }

  #suggest(evaluation: Evaluation): Suggested {
    const proves = (rule: string) => this.#evaluator.allowedBy(rule, evaluation);
    const { projectRule, ...suggested } = suggestRules(evaluation, this.#evaluator.places, proves);
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
      const granted = (answer: ApprovalAnswer) => this.#grant(evaluation, outcome, answer);
      return askPerson(this.#options, this.#detailed(outcome, evaluation), signal, granted)
        .then((decision) => this.#completed(decision, evaluation));
    }
    if (outcome.decision === "allow" && isLocalRead(evaluation.call) && outcome.source === "mode") {
      return outcome;
    }
    const waiting = recordDecision(this.#options, evaluation.call.call.id, outcome);
    const decision = this.#completed(outcome, evaluation);
    return waiting ? waiting.then(() => decision) : decision;
  }

  #detailed(request: ApprovalRequest, evaluation: Evaluation): ApprovalRequest {
    const { details } = this.#options;
    const { call } = evaluation;
    const rest = restOf(evaluation, this.#options.cwd);
    return {
      ...request,
      sent: call.call.arguments,
      ...(rest === "" ? {} : { rest }),
      ...(details ? { details: (signal) => details(call, signal) } : {}),
    };
  }

  /** Tells what the evaluation of a command found out beside, and notes what an allowed call writes. */
  #completed(decision: Decision, evaluation: Evaluation): Decision {
    if (decision.decision !== "allow") return decision;
    this.#evaluator.noteWrites(evaluation);
    return evaluation.report?.readOnly ? { ...decision, readsOnly: true } : decision;
  }

  async #grant(evaluation: Evaluation, request: ApprovalRequest, answer: ApprovalAnswer): Promise<void> {
    if (answer.scope === "once" || !request.scopes.includes(answer.scope)) return;
    const { call: { tool } } = evaluation;
    if (request.why?.code === "trust" && answer.scope !== "project") {
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

  /** Saves a rule. Where that fails the user is told and false returned: the call is allowed all the same. */
  async #save(rule: string, scope: "project" | "always"): Promise<boolean> {
    const { saveRule, saveProjectRule } = this.#options;
    try {
      await (scope === "project" ? saveProjectRule : saveRule)?.(rule);
      return true;
    } catch (error) {
      const why = errorMessage(error);
      const text = `The rule ${rule} is not saved and counts for this session only: ${why}`;
      const said: Sayings = [["ruleUnsaved", rule, why]];
      await this.#options.record({ type: "notice", level: "warning", code: "permission", text, said });
      return false;
    }
  }

  confirm(call: PreparedCall, question: Confirmation, signal: AbortSignal): Promise<Decision> {
    return confirmOnce(this.#options, { callId: call.call.id, tool: call.tool, ...question }, signal);
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
    reason: outcome.reason ?? ruling.reason,
    ...(rule === undefined ? {} : { rule: `${rule.list} ${rule.text}` }),
    ...(rule?.source.origin === undefined ? {} : { origin: rule.source.origin }),
    segments,
    ...(unparsable === undefined ? {} : { unparsable }),
    destructive,
  };
}
