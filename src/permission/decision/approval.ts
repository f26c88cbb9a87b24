import type { ApprovalAnswer, AskReason } from "../../core/mod.ts";
import type { Ruling } from "../../rule/mod.ts";
import type { Decision, HookWord } from "../contract.ts";
import type { ApprovalRequest, Approver, Confirmation, DecisionEvent, GateOptions } from "../types.ts";
import type { Evaluation } from "./evaluate.ts";
import { type QuestionKind, quoteForMessage } from "./resolve.ts";

/** Rules that an answer could save, where, and what is wrong with another one. */
export type Suggested = Pick<
  ApprovalRequest,
  "rule" | "prefixRule" | "projectRule" | "checkRule" | "savedIn"
>;

interface QuestionOptions {
  /** Where nobody can be asked, what only a person may allow is refused. */
  readonly attended: boolean;
  /** Rules that an answer could save. */
  readonly suggested: Suggested;
  /** Says whether "always" can be offered for a tool's claim to be read-only. */
  readonly savesTrust: boolean;
  /** Plan mode asks. */
  readonly inPlan: boolean;
  /** What a hook says of the call. */
  readonly hook?: HookWord | undefined;
}

/** The question for the person, or the refusal where there is none. */
export function questionOf(
  kind: QuestionKind,
  evaluation: Evaluation,
  options: QuestionOptions,
): Decision | ApprovalRequest {
  if (kind === "destructive") return destructiveQuestion(evaluation, options.attended);
  if (kind === "trust") return trustQuestion(evaluation, options);
  const question = plainQuestion(evaluation, options.suggested);
  return options.hook?.word === "ask" ? hookQuestion(question, options.hook) : question;
}

/** A hook asks each time, so nothing can be saved. */
function hookQuestion(
  { callId, tool, subject }: ApprovalRequest,
  { reason }: HookWord,
): ApprovalRequest {
  return { callId, tool, subject, reason, scopes: ["once"] };
}

/** Asks once, each time, about a destructive command. */
function destructiveQuestion(evaluation: Evaluation, attended: boolean): Decision | ApprovalRequest {
  const { call: { call, tool }, subject, report } = evaluation;
  const destructive = report?.destructive ?? [];
  const reason = destructive.map((finding) => finding.reason).join("; ");
  if (attended) {
    return { callId: call.id, tool, subject, reason, scopes: ["once"], destructive, personOnly: true };
  }
  return {
    decision: "deny",
    source: "floor",
    reason: `blocked: the destructive-command check refuses ${
      quoteForMessage(subject)
    } because nobody can confirm it: ${reason}`,
  };
}

/**
 * An MCP tool's own claim to be read-only is not believed until the user says so, once. In plan mode no
 * approval mode answers this question, and an allow rule helps nothing.
 */
function trustQuestion(
  { call: { call, tool } }: Evaluation,
  { attended, savesTrust, inPlan, suggested: { projectRule } }: QuestionOptions,
): Decision | ApprovalRequest {
  if (!attended) {
    const reason = `blocked: plan mode does not trust ${tool} to be read-only, and this run asks nobody; ` +
      `list it in trusted_read_only_tools to let it run`;
    return { decision: "deny", source: "trust", reason };
  }
  const inProject = !inPlan && projectRule !== undefined;
  const need = inPlan ? "plan mode needs your word for it" : "with your word for it, it runs unasked";
  return {
    callId: call.id,
    tool,
    subject: tool,
    reason: `${tool} says of itself that it only reads; ${need}`,
    why: { code: "trust", tool, inPlan },
    scopes: [
      "once",
      "session",
      ...(inProject ? ["project" as const] : []),
      ...(savesTrust ? ["always" as const] : []),
    ],
    sessionRule: tool,
    ...(inProject ? { projectRule } : {}),
    ...(inPlan ? { personOnly: true } : {}),
  };
}

function plainQuestion(evaluation: Evaluation, suggested: QuestionOptions["suggested"]): ApprovalRequest {
  const { call: { call, tool }, subject, ruling } = evaluation;
  const sessionRule = sessionRuleOf(evaluation);
  const once = ruling.by === "alwaysAsk";
  const { rule, projectRule } = suggested;
  const wide: ApprovalRequest["scopes"] = [
    "once",
    "session",
    ...(projectRule === undefined ? [] : ["project" as const]),
    ...(rule === undefined ? [] : ["always" as const]),
  ];
  return {
    callId: call.id,
    tool,
    subject,
    reason: ruling.by === "protected" ? `would change ${ruling.reason}` : ruling.reason,
    why: whyAsked(ruling),
    scopes: once ? ["once"] : wide,
    ...(ruling.by === "protected" ? { personOnly: true } : {}),
    ...(once ? {} : suggested),
    ...(once || sessionRule === undefined ? {} : { sessionRule }),
  };
}

/** The reason for those who say it in another language. */
function whyAsked({ by, rule, reason, finding, kind }: Ruling): AskReason {
  const text = rule === undefined ? "" : `${rule.list} ${rule.text}`;
  switch (by) {
    case "rule":
      return { code: "rule", rule: text, origin: rule?.source.origin };
    case "unsure":
      return { code: "mayBeRuled", rule: text, detail: finding?.detail ?? reason };
    case "protected":
      return { code: "protected", what: kind ?? "holder" };
    case "alwaysAsk":
      return { code: "alwaysAsk", detail: reason };
    case "fallback":
      return finding?.code === "redirects"
        ? { code: "redirects" }
        : finding
        ? { code: finding.code, detail: finding.detail }
        : { code: "noRule" };
  }
}

/**
 * The rule that an answer for the session grants; undefined: the call as it is. What no rule speaks of is
 * granted as a whole, but for commands.
 */
export function sessionRuleOf({ call: { tool, family, server }, ruling }: Evaluation): string | undefined {
  if (family === "Bash" || server !== undefined || ruling.by !== "fallback") return undefined;
  return family === "Edit" ? "Edit" : tool;
}

/**
 * What a call does beside its command or its paths, such as where the command starts where that is not `cwd`;
 * a line each.
 */
export function restOf({ call, directory }: Evaluation, cwd: string): string {
  const { args, command, reads, writes = [] } = call;
  if (!command && reads.length + writes.length > 0) return "";
  const rest = Object.entries(args).filter(([, value]) => value !== command?.line);
  if (command && command.directory === undefined && directory !== undefined && directory !== cwd) {
    rest.unshift(["workdir", directory]);
  }
  return rest.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join("\n");
}

type Desk = Pick<GateOptions, "approver" | "record">;

/**
 * Puts a question to the person and records question and answer. `granted` runs before an allowance is
 * recorded.
 */
export async function askPerson(
  desk: Desk,
  request: ApprovalRequest,
  signal: AbortSignal,
  granted: (answer: ApprovalAnswer) => Promise<void>,
): Promise<Decision> {
  if (!desk.approver) throw new Error("Cannot ask without an approver");
  const { callId, tool, subject, reason, rule } = request;
  const event: DecisionEvent = { type: "approval.request", callId, tool, subject, reason };
  await desk.record(rule === undefined ? event : { ...event, rule });
  const answer = await answerOf(desk.approver, request, signal);
  if (answer?.allow) await granted(answer);
  const decision: Decision = answer?.allow
    ? { decision: "allow", source: answer.by ?? "user", ...openedNetwork(request, answer) }
    : refusal(answer, subject, signal);
  await recordDecision(desk, callId, decision);
  return decision;
}

/** The reason that the log gives for an answer that opened a network. */
function openedNetwork(
  { network }: ApprovalRequest,
  { network: opened }: ApprovalAnswer,
): Pick<Decision, "reason"> {
  if (!network || opened === undefined) return {};
  return { reason: `with network (${opened}): ${network.hosts.join(", ") || "any host"}` };
}

/** The answer; undefined when the turn was stopped before there was one. */
async function answerOf(
  approver: Approver,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalAnswer | undefined> {
  if (signal.aborted) return undefined;
  try {
    return await approver.ask(request, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return undefined;
  }
}

function refusal(answer: ApprovalAnswer | undefined, subject: string, signal: AbortSignal): Decision {
  const what = quoteForMessage(subject);
  if (!answer) {
    const stop: unknown = signal.reason;
    const byUser = !(stop instanceof Error && "reason" in stop && stop.reason !== "interrupted");
    const why = byUser ? "the user stopped at the question about" : "the turn ended at the question about";
    return { decision: "deny", source: byUser ? "user" : "headless", reason: `${why} ${what}`, asked: true };
  }
  const source = answer.by ?? "user";
  const note = answer.note ? `: ${answer.note}` : "";
  return {
    decision: "deny",
    source,
    reason: `${source === "hook" ? "a hook" : "the user"} declined ${what}${note}`,
    asked: true,
    ...(answer.stop ? { stop: true } : {}),
  };
}

export function recordDecision(desk: Desk, callId: string, decision: Decision): void | Promise<void> {
  const { stop: _stop, asked: _asked, ...fields } = decision;
  return desk.record({ type: "approval.decision", callId, ...fields });
}

/** A question beyond the call itself, such as running it without the jail. Only a person answers it. */
export async function confirmOnce(
  desk: Desk,
  question: Confirmation & Pick<ApprovalRequest, "callId" | "tool" | "network" | "savesHosts">,
  signal: AbortSignal,
  granted: (answer: ApprovalAnswer) => Promise<void>,
): Promise<Decision> {
  const { source, ...request } = question;
  if (desk.approver) {
    return await askPerson(desk, { ...request, scopes: ["once"] }, signal, granted);
  }
  const reason = `blocked: ${quoteForMessage(request.subject)} ${request.reason}, and this run asks nobody`;
  const decision: Decision = { decision: "deny", source, reason };
  await recordDecision(desk, request.callId, decision);
  return decision;
}
