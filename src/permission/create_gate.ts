import type { ApprovalAnswer } from "../core/mod.ts";
import type { CommandJudge } from "./command.ts";
import { explainOutcome } from "./explain.ts";
import type { Decision, PreparedCall } from "./gate.ts";
import { modeRefusal, readsOnly, trustQuestion, writerRefusal } from "./mode.ts";
import { createPathMatcher, type PathContext, type PathMatcher } from "../rule/mod.ts";
import { absolutePath, normalize } from "../path/lexical.ts";
import { RealPathCache } from "../path/real_path.ts";
import { judgeCall, RuleBook, type Verdict } from "./policy.ts";
import type {
  ApprovalRequest,
  Confirmation,
  Explanation,
  GateOptions,
  PermissionGate,
  PermissionMode,
  Posture,
} from "./ports.ts";
import { protectedFolder, protectedPath } from "./protect.ts";
import { proposeRules } from "./rule_for.ts";
import {
  askPerson,
  confirmOnce,
  destructiveQuestion,
  exactKey,
  type Judged,
  plainQuestion,
  recordDecision,
} from "./questions.ts";
import { settleVerdict, type Stance } from "./stance.ts";
import { familyOf, type Subjects, subjectsOf } from "./tools.ts";

const REHEARSAL: PreparedCall = {
  call: { id: "", name: "bash", arguments: "" },
  args: { command: 'cd a && for f in *.b; do c -d "$f" $(e g) | h > i; done; sudo rm -r j' },
  readOnly: false,
};
const PLAIN_READ: Decision = { decision: "allow", source: "mode" };
const READER: Verdict = {
  outcome: "allow",
  by: "fallback",
  reason: "a read-only tool that no rule concerns",
};
const WRITER: Verdict = { outcome: "ask", by: "fallback", reason: "no permission rule concerns it" };

/** Tools whose every call needs a person's word, whatever was allowed before. */
const FRESH: ReadonlySet<string> = new Set(["remember", "forget"]);
const MEMORY: Verdict = {
  outcome: "ask",
  by: "fresh",
  reason: "it changes what is remembered for later sessions",
};

/** Builds the gate of a session; see docs/permissions.md. Rules that cannot be read are in `problems` and have no effect. */
export function createGate(options: GateOptions): PermissionGate {
  return new SessionGate(options);
}

class SessionGate implements PermissionGate {
  posture: Posture;
  permissionMode: PermissionMode;
  approvedPlan = false;
  readonly lend: PermissionGate["lend"] = (rules) => this.#book.lend(rules);
  readonly #options: GateOptions;
  readonly #book: RuleBook;
  readonly #trusted: Set<string>;
  /** Calls that were granted for the session as they are. */
  readonly #exact = new Set<string>();
  /** Real paths of one judgement: looked up once, never kept for the next call. */
  readonly #real = new RealPathCache();
  #places: PathContext;
  #paths: PathMatcher;
  #judge: CommandJudge | undefined;
  #loading: Promise<CommandJudge> | undefined;
  #readersOnly: string | undefined;

  constructor(options: GateOptions) {
    this.#options = options;
    this.posture = options.posture;
    this.permissionMode = options.permissionMode ?? "workspace-write";
    this.#book = new RuleBook(options.policy);
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
    const judge = await this.#load();
    // The first line costs ten times the second, because functions are compiled when they are first called.
    this.#judgeCommand(REHEARSAL, judge);
  }

  async #load(): Promise<CommandJudge> {
    this.#loading ??= import("./command.ts").then(async (module) => {
      this.#readersOnly = await this.#options.readersOnly?.();
      return module.createCommandJudge(this.#options);
    });
    return this.#judge = await this.#loading;
  }

  check(call: PreparedCall, signal: AbortSignal): Decision | Promise<Decision> {
    const tool = call.call.name;
    if (familyOf(tool) === "Bash") {
      if (this.#judge) return this.#settle(this.#judgeCommand(call, this.#judge), signal);
      return this.#load().then((judge) => this.#settle(this.#judgeCommand(call, judge), signal));
    }
    if (call.readOnly && this.#unruled(tool)) return PLAIN_READ;
    return this.#settle(this.#judgeTool(call), signal);
  }

  /** A read that neither a rule nor a mode can concern. Such calls are not recorded. */
  #unruled(tool: string): boolean {
    if (this.permissionMode === "plan") return false;
    const rules = this.#book.for(tool);
    return rules.deny.length === 0 && rules.ask.length === 0;
  }

  #judgeTool(call: PreparedCall): Judged {
    this.#real.forget();
    const tool = call.call.name;
    const subjects = subjectsOf(tool, call.args);
    const subject = [...new Set(subjects.paths.length > 0 ? subjects.paths : subjects.literals)].join(", ") ||
      tool;
    const ruled = judgeCall(this.#book.for(tool), subjects, this.#paths);
    const verdict = ruled?.outcome === "deny"
      ? ruled
      : FRESH.has(tool)
      ? MEMORY
      : this.#protected(tool, subjects, ruled);
    return { call, tool, subject, verdict: verdict ?? ruled ?? (call.readOnly ? READER : WRITER) };
  }

  #protected(tool: string, subjects: Subjects, ruled: Verdict | undefined): Verdict | undefined {
    if (familyOf(tool) !== "Edit") return undefined;
    for (const path of subjects.paths) {
      const forms = this.#paths.forms(path);
      const what = protectedPath(forms, this.#places) ?? protectedFolder(forms, this.#places);
      if (what) return { ...ruled, outcome: "ask", by: "protected", reason: what };
    }
    return undefined;
  }

  #judgeCommand(call: PreparedCall, judge: CommandJudge): Judged {
    this.#real.forget();
    const tool = call.call.name;
    const subject = subjectsOf(tool, call.args).command ?? "";
    const folder = this.#folder(call.args.workdir);
    const scene = { book: this.#book, tool, paths: this.#paths, places: this.#places, folder };
    const report = judge.judge(subject, scene);
    return { call, tool, subject, verdict: report.verdict, report, folder };
  }

  /** Where a command starts: where it is told to, else where the last one left off. */
  #folder(workdir: unknown): string {
    const { cwd, home } = this.#places;
    if (typeof workdir === "string" && workdir !== "") return normalize(absolutePath(workdir, { cwd, home }));
    return this.#options.shellFolder?.() ?? cwd;
  }

  get #stance(): Stance {
    const { policy, onAsk, approver } = this.#options;
    const { posture, permissionMode, approvedPlan } = this;
    return {
      posture,
      permissionMode,
      approvedPlan,
      mode: policy.mode,
      onAsk,
      attended: approver !== undefined,
    };
  }

  /** Denials and the mode first, then destructive commands, then the rest. Returns a decision or a question. */
  #decide(judged: Judged, attended: boolean): Decision | ApprovalRequest {
    const { call, tool, subject, verdict, report } = judged;
    const stance = { ...this.#stance, attended };
    const reads = readsOnly(call, report);
    let decision: Decision | "ask" = verdict.outcome === "deny"
      ? settleVerdict(verdict, subject, stance)
      : modeRefusal(stance.permissionMode, tool, reads, subject) ??
        writerRefusal(this.#readersOnly, judged) ??
        settleVerdict(verdict, subject, stance);
    if (typeof decision === "object" && decision.decision === "deny" && decision.source !== "headless") {
      return decision;
    }
    if (stance.permissionMode === "plan" && tool.startsWith("mcp__") && !this.#trusted.has(tool)) {
      return trustQuestion(call.call.id, tool, this.#options, attended);
    }
    const bounded = stance.permissionMode === "plan" || stance.permissionMode === "read-only";
    if (bounded && reads && verdict.by === "fallback") decision = { decision: "allow", source: "mode" };
    if (decision === "ask" && this.#exact.has(exactKey(judged))) {
      decision = { decision: "allow", source: "user", reason: "approved for this session" };
    }
    if (report && report.destructive.length > 0) return destructiveQuestion(judged, attended);
    if (decision !== "ask") return decision;
    return plainQuestion(judged, this.#options.saveRule ? this.#propose(judged) : {});
  }

  #propose({ call, tool, subject, report }: Judged): { rule?: string; prefixRule?: string } {
    return proposeRules(
      { tool, args: call.args, subject, ...(report ? { report } : {}) },
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

  #settle(judged: Judged, signal: AbortSignal): Decision | Promise<Decision> {
    const outcome = this.#decide(judged, this.#options.approver !== undefined);
    if ("scopes" in outcome) {
      const answered = askPerson(
        this.#options,
        outcome,
        signal,
        (answer) => this.#grant(judged, outcome, answer),
      );
      return answered.then((decision) => marked(decision, judged));
    }
    if (outcome.decision === "allow" && judged.call.readOnly && outcome.source === "mode") return outcome;
    const waiting = recordDecision(this.#options, judged.call.call.id, outcome);
    const decision = marked(outcome, judged);
    return waiting ? waiting.then(() => decision) : decision;
  }

  async #grant(judged: Judged, request: ApprovalRequest, answer: ApprovalAnswer): Promise<void> {
    if (answer.scope === "once" || !request.scopes.includes(answer.scope)) return;
    const { tool, verdict } = judged;
    if (this.permissionMode === "plan" && tool.startsWith("mcp__")) {
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
    } else if (familyOf(tool) !== "Bash" && verdict.by === "fallback") {
      this.#book.grant(familyOf(tool) === "Edit" ? "Edit" : tool, "granted for this session");
    } else {
      this.#exact.add(exactKey(judged));
    }
  }

  confirm(call: PreparedCall, question: Confirmation, signal: AbortSignal): Promise<Decision> {
    const { id: callId, name: tool } = call.call;
    return confirmOnce(this.#options, { callId, tool, ...question }, signal);
  }

  async explain(call: PreparedCall): Promise<Explanation> {
    const judged = familyOf(call.call.name) === "Bash"
      ? this.#judgeCommand(call, await this.#load())
      : this.#judgeTool(call);
    const outcome = this.#decide(judged, true);
    const alone = this.#decide(judged, false);
    const asks = "scopes" in outcome;
    const proposal = asks && outcome.destructive === undefined ? this.#propose(judged) : {};
    return explainOutcome(judged, outcome, "scopes" in alone ? "deny" : alone.decision, proposal);
  }
}

/** Tells what the judgement of a command found out beside the verdict. */
function marked(decision: Decision, { report }: Judged): Decision {
  return decision.decision === "allow" && report?.readOnly ? { ...decision, readsOnly: true } : decision;
}
