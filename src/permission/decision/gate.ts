import { type ApprovalAnswer, type PreparedCall, subjectOf } from "../../core/mod.ts";
import type { CommandJudge, CommandScene } from "../command/evaluate.ts";
import { explainOutcome } from "./explain.ts";
import type { Decision } from "../contract.ts";
import { keepsFiles, modeRefusal, readsOnly, trustQuestion, writerRefusal } from "./mode.ts";
import { createPathMatcher, type PathContext, type PathMatcher } from "../../rule/mod.ts";
import { absolutePath, normalize } from "../../path/lexical.ts";
import { RealPathCache } from "../../path/real_path.ts";
import { judgeCall, RuleBook, type RuledCall, type ToolRules, type Verdict } from "../policy.ts";
import type {
  ApprovalMode,
  ApprovalRequest,
  Confirmation,
  Explanation,
  GateOptions,
  PermissionGate,
  PermissionMode,
} from "../types.ts";
import { protectedHolder, protectedPath } from "../../path/protected.ts";
import { suggestRules } from "./suggest_rule.ts";
import { WrittenFiles } from "./written_files.ts";
import {
  askPerson,
  confirmOnce,
  destructiveQuestion,
  type Evaluation,
  exactKey,
  plainQuestion,
  recordDecision,
} from "./approval.ts";
import { type DecisionContext, resolveDecision } from "./resolve.ts";

const PLAIN_READ: Decision = { decision: "allow", source: "mode" };
const READER: Verdict = {
  outcome: "allow",
  by: "fallback",
  reason: "a read-only tool that no rule concerns",
};
const WRITER: Verdict = { outcome: "ask", by: "fallback", reason: "no permission rule concerns it" };

/** Builds the gate of a session; see docs/permissions.md. Rules that cannot be read are in `problems` and have no effect. */
export function createGate(options: GateOptions): PermissionGate {
  return new SessionGate(options);
}

class SessionGate implements PermissionGate {
  approvalMode: ApprovalMode;
  permissionMode: PermissionMode;
  approvedPlan = false;
  readonly #options: GateOptions;
  readonly #book: RuleBook;
  readonly #trusted: Set<string>;
  /** Calls that were granted for the session as they are. */
  readonly #exact = new Set<string>();
  readonly #written = new WrittenFiles();
  /** Real paths of one judgement: looked up once, never kept for the next call. */
  readonly #real = new RealPathCache();
  #places: PathContext;
  #paths: PathMatcher;
  #judge: CommandJudge | undefined;
  #loading: Promise<CommandJudge> | undefined;
  #unconfined: string | undefined;

  constructor(options: GateOptions) {
    this.#options = options;
    this.approvalMode = options.approvalMode;
    this.permissionMode = options.permissionMode ?? "workspace-write";
    this.#book = new RuleBook(options.policy, options.temporaryRules);
    this.#trusted = new Set(options.trustedReadOnly);
    this.#places = {
      cwd: options.cwd,
      home: options.home,
      roots: options.roots,
      protectedFiles: options.protectedFiles,
      realPath: (path) => this.#real.of(path),
      ignoreCase: options.ignoreCase ?? (Deno.build.os === "darwin" || Deno.build.os === "windows"),
    };
    this.#paths = createPathMatcher(this.#places);
  }

  get problems() {
    return this.#book.problems;
  }

  get cwd(): string {
    return this.#places.cwd;
  }

  set cwd(cwd: string) {
    this.#places = { ...this.#places, cwd };
    this.#paths = createPathMatcher(this.#places);
  }

  async warm(): Promise<void> {
    (await this.#load()).warm(this.#scene({ deny: [], ask: [], allow: [] }, this.cwd));
  }

  async #load(): Promise<CommandJudge> {
    this.#loading ??= import("../command/evaluate.ts").then(async (module) => {
      this.#unconfined = await this.#options.unconfined?.();
      return module.createCommandJudge(this.#options, await this.#options.surroundings?.());
    });
    return this.#judge = await this.#loading;
  }

  check(call: PreparedCall, signal: AbortSignal): Decision | Promise<Decision> {
    if (call.command) {
      if (this.#judge) return this.#settle(this.#judgeCommand(call, this.#judge), signal);
      return this.#load().then((judge) => this.#settle(this.#judgeCommand(call, judge), signal));
    }
    if (call.readOnly && this.#unruled(call)) return PLAIN_READ;
    return this.#settle(this.#judgeTool(call), signal);
  }

  /** A read that neither a rule nor a mode can concern. Such calls are not recorded. */
  #unruled(call: PreparedCall): boolean {
    if (this.permissionMode === "plan" || call.alwaysAsk !== undefined) return false;
    const rules = this.#book.for(ruledCall(call));
    return rules.deny.length === 0 && rules.ask.length === 0;
  }

  #judgeTool(call: PreparedCall): Evaluation {
    this.#real.forget();
    const subject = subjectOf(call) || call.tool;
    const ruled = judgeCall(this.#book.for(ruledCall(call)), call, this.#paths);
    const verdict = ruled?.outcome === "deny"
      ? ruled
      : alwaysAsked(call, ruled) ?? this.#protected(call, ruled);
    return { call, subject, verdict: verdict ?? ruled ?? (call.readOnly ? READER : WRITER) };
  }

  #protected({ writes = [] }: PreparedCall, ruled: Verdict | undefined): Verdict | undefined {
    for (const path of writes) {
      const names = Object.values(this.#paths.forms(path));
      const what = protectedPath(names, this.#places) ?? protectedHolder(names, this.#places);
      if (what) return { ...ruled, outcome: "ask", by: "protected", reason: what };
    }
    return undefined;
  }

  #judgeCommand(call: PreparedCall, judge: CommandJudge): Evaluation {
    this.#real.forget();
    const subject = subjectOf(call);
    const folder = this.#folder(call.command?.directory);
    const report = judge.judge(subject, this.#scene(this.#book.for(ruledCall(call)), folder));
    return { call, subject, verdict: report.verdict, report, folder };
  }

  #scene(rules: ToolRules, folder: string): CommandScene {
    const paths = this.#paths;
    const wrote = (path: string) => this.#written.has(path, paths);
    return { book: this.#book, rules, paths, places: this.#places, folder, wrote };
  }

  /** Where a command starts: where it is told to, else where the last one left off. */
  #folder(named: string | undefined): string {
    const { cwd, home } = this.#places;
    if (named !== undefined) return normalize(absolutePath(named, { cwd, home }));
    return this.#options.shellFolder?.() ?? cwd;
  }

  get #context(): DecisionContext {
    const { policy, onAsk, approver } = this.#options;
    const { approvalMode, permissionMode, approvedPlan } = this;
    return {
      approvalMode,
      permissionMode,
      approvedPlan,
      mode: policy.mode,
      onAsk,
      attended: approver !== undefined,
    };
  }

  get #filesStay(): boolean {
    return this.#options.filesStay === true || keepsFiles(this.permissionMode);
  }

  /** Denials and the mode first, then destructive commands, then the rest. Returns a decision or a question. */
  #decide(evaluation: Evaluation, attended: boolean): Decision | ApprovalRequest {
    const { call, subject, verdict, report } = evaluation;
    const { tool } = call;
    const context = { ...this.#context, attended };
    const reads = readsOnly(call, report);
    let decision: Decision | "ask" = verdict.outcome === "deny"
      ? resolveDecision(verdict, subject, context)
      : modeRefusal(context.permissionMode, reads, subject) ??
        writerRefusal(this.#filesStay ? this.#unconfined : undefined, evaluation) ??
        resolveDecision(verdict, subject, context);
    if (typeof decision === "object" && decision.decision === "deny" && decision.source !== "headless") {
      return decision;
    }
    if (context.permissionMode === "plan" && call.family === "Mcp" && !this.#trusted.has(tool)) {
      return trustQuestion(call.call.id, tool, this.#options, attended);
    }
    const bounded = context.permissionMode === "plan" || context.permissionMode === "read-only";
    if (bounded && reads && verdict.by === "fallback") decision = { decision: "allow", source: "mode" };
    if (decision === "ask" && this.#exact.has(exactKey(evaluation))) {
      decision = { decision: "allow", source: "user", reason: "approved for this session" };
    }
    if (report && report.destructive.length > 0) return destructiveQuestion(evaluation, attended);
    if (decision !== "ask") return decision;
    return plainQuestion(evaluation, this.#options.saveRule ? this.#propose(evaluation) : {});
  }

  #propose({ call, subject, report }: Evaluation): { rule?: string; prefixRule?: string } {
    return suggestRules(
      { call, subject, ...(report ? { report } : {}) },
      this.#places,
      (rule) => {
        const policy = this.#options.policy;
        const trial = new SessionGate({
          ...this.#options,
          policy: { ...policy, allow: [...policy.allow, { text: rule }] },
        });
        trial.cwd = this.cwd;
        return (this.#judge && report ? trial.#judgeCommand(call, this.#judge) : trial.#judgeTool(call))
          .verdict.outcome ===
          "allow";
      },
    );
  }

  #settle(evaluation: Evaluation, signal: AbortSignal): Decision | Promise<Decision> {
    const outcome = this.#decide(evaluation, this.#options.approver !== undefined);
    if ("scopes" in outcome) {
      const answered = askPerson(
        this.#options,
        outcome,
        signal,
        (answer) => this.#grant(evaluation, outcome, answer),
      );
      return answered.then((decision) => this.#marked(decision, evaluation));
    }
    if (outcome.decision === "allow" && evaluation.call.readOnly && outcome.source === "mode") return outcome;
    const waiting = recordDecision(this.#options, evaluation.call.call.id, outcome);
    const decision = this.#marked(outcome, evaluation);
    return waiting ? waiting.then(() => decision) : decision;
  }

  /** Tells what the judgement of a command found out beside the verdict, and notes what an allowed call writes. */
  #marked(decision: Decision, evaluation: Evaluation): Decision {
    if (decision.decision !== "allow") return decision;
    this.#written.add(evaluation, this.#paths);
    return evaluation.report?.readOnly ? { ...decision, readsOnly: true } : decision;
  }

  async #grant(evaluation: Evaluation, request: ApprovalRequest, answer: ApprovalAnswer): Promise<void> {
    if (answer.scope === "once" || !request.scopes.includes(answer.scope)) return;
    const { call: { tool, family }, verdict } = evaluation;
    if (this.permissionMode === "plan" && family === "Mcp") {
      this.#trusted.add(tool);
      if (answer.scope === "always") await this.#options.saveTrust?.(tool);
      return;
    }
    const chosen = answer.rule !== undefined && answer.rule === request.prefixRule
      ? answer.rule
      : request.rule;
    if (answer.scope === "always" && chosen !== undefined) {
      await this.#options.saveRule?.(chosen);
      this.#book.grant(chosen, "saved by the user");
    } else if (chosen !== undefined && chosen === request.prefixRule) {
      this.#book.grant(chosen, "granted for this session");
    } else if (family !== "Bash" && verdict.by === "fallback") {
      this.#book.grant(family === "Edit" ? "Edit" : tool, "granted for this session");
    } else {
      this.#exact.add(exactKey(evaluation));
    }
  }

  confirm(call: PreparedCall, question: Confirmation, signal: AbortSignal): Promise<Decision> {
    return confirmOnce(this.#options, { callId: call.call.id, tool: call.tool, ...question }, signal);
  }

  async explain(call: PreparedCall): Promise<Explanation> {
    const evaluation = call.command ? this.#judgeCommand(call, await this.#load()) : this.#judgeTool(call);
    const outcome = this.#decide(evaluation, true);
    const alone = this.#decide(evaluation, false);
    const asks = "scopes" in outcome;
    const proposal = asks && outcome.destructive === undefined ? this.#propose(evaluation) : {};
    const { subject, report: { line } = {} } = evaluation;
    const passes = line && this.#judge?.describe(subject, line);
    const found = explainOutcome(evaluation, outcome, "scopes" in alone ? "deny" : alone.decision, proposal);
    return passes ? { ...found, passes } : found;
  }
}

function ruledCall({ call, tool, family }: PreparedCall): RuledCall {
  return { tool, ...(family ? { family } : {}), ...(call.name === tool ? {} : { alias: call.name }) };
}

/** A call that a person is asked about each time, unless a rule of the user's names its tool. */
function alwaysAsked({ alwaysAsk }: PreparedCall, ruled: Verdict | undefined): Verdict | undefined {
  if (alwaysAsk === undefined) return undefined;
  return { ...ruled, outcome: "ask", by: "alwaysAsk", reason: `it would ${alwaysAsk}` };
}
