import { type ApprovalAnswer, clausesOf, message, type PreparedCall, textOf } from "../core/mod.ts";
import { escapeGlob } from "../path/glob.ts";
import { absolutePath } from "../path/lexical.ts";
import {
  isFault,
  isProblem,
  parseRule,
  type PathContext,
  readRule,
  type Rule,
  webHost,
} from "../rule/mod.ts";
import type { Evaluation } from "./evaluate.ts";
import { type QuestionKind, quoteForMessage, refuse } from "./resolve.ts";
import type {
  ApprovalRequest,
  Confirmation,
  Decision,
  DecisionEvent,
  GateOptions,
  HookWord,
  RuleRefusal,
} from "./types.ts";

/** Rules that an answer could save, where, and what is wrong with another one. */
export type Suggested = Pick<
  ApprovalRequest,
  "rule" | "prefixRule" | "projectRule" | "checkRule" | "savedIn"
>;

interface QuestionOptions {
  /** In a non-interactive run, what only a person may allow is refused. */
  readonly interactive: boolean;
  readonly suggested: Suggested;
  /** Says whether "always" can be offered for a tool's claim to be read-only. */
  readonly savesTrust: boolean;
  readonly inPlan: boolean;
  readonly hook?: HookWord | undefined;
}

/** The question for the person, or the refusal where there is none. */
export function questionOf(
  kind: QuestionKind,
  evaluation: Evaluation,
  options: QuestionOptions,
): Decision | ApprovalRequest {
  if (kind === "destructive") return destructiveQuestion(evaluation, options.interactive);
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
function destructiveQuestion(evaluation: Evaluation, interactive: boolean): Decision | ApprovalRequest {
  const { call: { call, tool }, subject, report } = evaluation;
  const destructive = report?.destructive ?? [];
  const reason = clausesOf(destructive.map((finding) => finding.reason));
  if (interactive) {
    return { callId: call.id, tool, subject, reason, scopes: ["once"], destructive, personOnly: true };
  }
  const what = quoteForMessage(subject);
  return refuse(
    "floor",
    message`the destructive-command check refuses ${what} because no user can confirm it: ${reason}`,
  );
}

/**
 * An MCP tool's own claim to be read-only is not believed until the user says so, once. In plan mode no
 * approval mode answers this question, and an allow rule helps nothing.
 */
function trustQuestion(
  { call: { call, tool } }: Evaluation,
  { interactive, savesTrust, inPlan, suggested: { projectRule } }: QuestionOptions,
): Decision | ApprovalRequest {
  if (!interactive) {
    return refuse(
      "trust",
      message`plan mode does not trust ${tool} to be read-only, and this run is non-interactive; list it in trusted_read_only_tools to let it run`,
    );
  }
  const inProject = !inPlan && projectRule !== undefined;
  return {
    callId: call.id,
    tool,
    subject: tool,
    reason: inPlan
      ? message`${tool} says of itself that it only reads; plan mode needs your word for it`
      : message`${tool} says of itself that it only reads; with your word for it, it runs unasked`,
    readOnlyClaim: true,
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
    reason: ruling.by === "protected" ? message`would change ${ruling.reason}` : ruling.reason,
    ...(ruling.by === "fallback" ? { unruled: true } : {}),
    scopes: once ? ["once"] : wide,
    ...(ruling.by === "protected" ? { personOnly: true } : {}),
    ...(once ? {} : suggested),
    ...(once || sessionRule === undefined ? {} : { sessionRule }),
  };
}

/**
 * The rule that an answer for the session grants; undefined: the call as it is. What no rule speaks of is
 * granted as a whole, but for commands.
 */
export function sessionRuleOf(
  { call: { tool, family, server, declared }, ruling }: Evaluation,
): string | undefined {
  if (family === "Bash" || server !== undefined || ruling.by !== "fallback") return undefined;
  if (declared?.isVouched && declared.urls.length > 0) return addressRule(declared.urls);
  return family === "Edit" ? "Edit" : tool;
}

/** The rule for the host of the only address of a call. */
function addressRule(urls: readonly string[]): string | undefined {
  const [host, ...others] = new Set(urls.map((url) => webHost(url)));
  return host === undefined || others.length > 0 ? undefined : `WebFetch(domain:${host})`;
}

/**
 * The arguments of a call other than its command or its paths, one a line, such as the directory of the
 * command where that is not `cwd`.
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

type ApprovalDeps = Pick<GateOptions, "approver" | "record">;

/**
 * Puts a question to the person and records question and answer. `granted` runs before an allowance is
 * recorded.
 */
export async function askPerson(
  deps: ApprovalDeps,
  request: ApprovalRequest,
  signal: AbortSignal,
  granted: (answer: ApprovalAnswer) => Promise<void>,
): Promise<Decision> {
  if (!deps.approver) throw new Error("Cannot ask without an approver");
  const { callId, tool, subject, reason, rule } = request;
  const event: DecisionEvent = {
    type: "approval.request",
    callId,
    tool,
    subject,
    reason: textOf(reason),
  };
  await deps.record(rule === undefined ? event : { ...event, rule });
  const answer = signal.aborted ? undefined : await deps.approver.ask(request, signal).catch((error) => {
    if (!signal.aborted) throw error;
    return undefined;
  });
  if (answer?.allow) await granted(answer);
  const decision: Decision = answer?.allow
    ? { decision: "allow", source: answer.by ?? "user", ...openedNetwork(request, answer) }
    : refusal(answer, subject, signal);
  await recordDecision(deps, callId, decision);
  return decision;
}

/** The reason that the log gives for an answer that opened a network. */
function openedNetwork(
  { network }: ApprovalRequest,
  { network: opened }: ApprovalAnswer,
): Pick<Decision, "reason"> {
  if (!network || opened === undefined) return {};
  const hosts = network.hosts.length > 0 ? network.hosts : message`any host`;
  return { reason: message`with network (${opened}): ${hosts}` };
}

function refusal(answer: ApprovalAnswer | undefined, subject: string, signal: AbortSignal): Decision {
  const what = quoteForMessage(subject);
  if (!answer) {
    const stop: unknown = signal.reason;
    const byUser = !(stop instanceof Error && "reason" in stop && stop.reason !== "interrupted");
    const reason = byUser
      ? message`the user stopped at the question about ${what}`
      : message`the turn ended at the question about ${what}`;
    return { decision: "deny", source: byUser ? "user" : "headless", reason, asked: true };
  }
  const source = answer.by ?? "user";
  const refused = source === "hook" ? message`a hook declined ${what}` : message`the user declined ${what}`;
  return {
    decision: "deny",
    source,
    reason: answer.note ? message`${refused}: ${answer.note}` : refused,
    asked: true,
    ...(answer.stop ? { stop: true } : {}),
  };
}

export function recordDecision(deps: ApprovalDeps, callId: string, decision: Decision): void | Promise<void> {
  const { stop: _stop, asked: _asked, reason, ...fields } = decision;
  return deps.record({
    type: "approval.decision",
    callId,
    ...fields,
    ...(reason === undefined ? {} : { reason: textOf(reason) }),
  });
}

/** A question beyond the call itself, such as running it without the jail. Only a person answers it. */
export async function confirmOnce(
  deps: ApprovalDeps,
  question: Confirmation & Pick<ApprovalRequest, "callId" | "tool" | "network" | "savesHosts">,
  signal: AbortSignal,
  granted: (answer: ApprovalAnswer) => Promise<void>,
): Promise<Decision> {
  const { source, ...request } = question;
  if (deps.approver) {
    const { escape, directory } = request;
    const opens = escape !== undefined && directory !== undefined;
    const scopes = opens ? ["once", "session"] as const : ["once"] as const;
    return await askPerson(deps, { ...request, scopes }, signal, granted);
  }
  const what = quoteForMessage(request.subject);
  const decision = refuse(source, message`${what} ${request.reason}, and this run is non-interactive`);
  await recordDecision(deps, request.callId, decision);
  return decision;
}

type ProposedCall = Pick<Evaluation, "call" | "subject" | "report">;

/** Rules for exactly this call, everywhere and in this project, and a wider one. */
export type SuggestedRules = Pick<ApprovalRequest, "rule" | "projectRule" | "prefixRule">;

/**
 * The rules an approval could save: exactly this call, everywhere and in this project, and for a plain
 * command a wider prefix. `proves` says whether the call would be allowed with the rule added; what is not
 * proven is not proposed.
 */
export function suggestRules(
  call: ProposedCall,
  pathContext: PathContext,
  proves: (rule: string) => boolean,
): SuggestedRules {
  const exact = exactRule(call, pathContext);
  if (exact === undefined || !proves(exact)) return {};
  const relative = relativeRule(call, pathContext);
  const projectRule = relative !== undefined && proves(relative) ? relative : exact;
  const words = call.report?.prefix;
  const prefix = words === undefined ? undefined : `Bash(${words.join(" ")}:*)`;
  return {
    rule: exact,
    projectRule,
    ...(prefix !== undefined && proves(prefix) ? { prefixRule: prefix } : {}),
  };
}

/** A longer rule is nothing that a person reads before it is saved. */
const MAX_RULE = 2000;

function exactRule({ call, subject }: ProposedCall, pathContext: PathContext): string | undefined {
  const { tool, family, server, declared } = call;
  if (subject.length > MAX_RULE) return undefined;
  if (declared?.isVouched && declared.urls.length > 0) return addressRule(declared.urls);
  if (declared?.isVouched && declared.queries.length > 0) return "WebSearch";
  if (server !== undefined) return /[()*?\\]/.test(subject) ? undefined : `${tool}(${subject})`;
  if (family === "Bash") {
    // Quotes and wildcards mean something in a rule; a literal rule takes the line as it is.
    return /^[\w./:=@%+,-]+(?: [\w./:=@%+,-]+)*$/.test(subject) && !subject.endsWith(":*")
      ? `Bash(${subject})`
      : `bash=${subject}`;
  }
  if (family !== "Edit" && family !== "Read") return tool;
  // The rule is saved for all projects: a relative path would mean a file of each of them.
  const real = realFile(call, pathContext);
  return real === undefined ? undefined : `${family}(${escapeGlob(real)})`;
}

/** A rule for a file of the project by its path there; undefined for anything else. */
function relativeRule({ call }: ProposedCall, pathContext: PathContext): string | undefined {
  const { family } = call;
  if (family !== "Edit" && family !== "Read") return undefined;
  const real = realFile(call, pathContext);
  const root = pathContext.realPath(pathContext.cwd);
  // Relative rules count from the workspace as well, where that is another directory.
  if (real === undefined || pathContext.realPath(pathContext.roots[0] ?? pathContext.cwd) !== root) {
    return undefined;
  }
  const inside = real.startsWith(`${root.replace(/\/$/, "")}/`)
    ? real.slice(root.length).replace(/^\//, "")
    : "";
  // At its beginning these mean something else than a name.
  return inside === "" || /^[!~"'`]|^[a-z]+:/i.test(inside) ? undefined : `${family}(${escapeGlob(inside)})`;
}

/** The only file of a call; undefined where there are several, or a rule could not name it. */
function realFile(
  { family, reads, writes = [] }: PreparedCall,
  pathContext: PathContext,
): string | undefined {
  const paths = family === "Edit" ? writes : reads;
  const [path] = paths;
  if (path === undefined || paths.length !== 1) return undefined;
  const real = pathContext.realPath(absolutePath(path, { cwd: pathContext.cwd, home: pathContext.home }));
  return /[()]/.test(real) ? undefined : real;
}

/** The rules that were proposed, and what proves that one allows the call. */
interface Proposed extends SuggestedRules {
  readonly rule: string;
  readonly proves: (rule: string) => boolean;
}

/**
 * Says why a rule that the user wrote is not saved for a call. It may allow less than the widest proposed one
 * and more than exactly the call, within the same program, tool or directory tree of the project.
 */
export function refuseRule(
  written: string,
  call: PreparedCall,
  { rule, prefixRule, projectRule, proves }: Proposed,
): RuleRefusal | undefined {
  if (written === rule || written === prefixRule || written === projectRule) return undefined;
  const read = readRule(written);
  if (isFault(read)) return { code: "unreadable", texts: read.texts };
  const parsed = parseRule({ text: written }, "allow");
  if (isProblem(parsed)) {
    return { code: "unreadable", texts: { message: parsed.message, remedy: parsed.remedy } };
  }
  if (!proves(written)) return { code: "noMatch" };
  return isWithin(parsed, call, { rule, prefixRule })
    ? undefined
    : { code: "wider", widest: prefixRule ?? rule };
}

/** A rule that names no specific tool, every call of a family, or every program, allows more. */
function isWithin(
  parsed: Rule,
  { tool, family }: PreparedCall,
  { rule, prefixRule }: { readonly rule: string; readonly prefixRule: string | undefined },
): boolean {
  const { spec } = parsed;
  if (spec?.kind === "literal") return true;
  if (family === "Bash") {
    if (spec?.kind !== "command") return false;
    const widest = prefixRule === undefined ? undefined : parseRule({ text: prefixRule }, "allow");
    const isExact = spec.patterns.length === 1 && !spec.raw.includes("*");
    if (isExact || !widest || isProblem(widest)) return isExact;
    if (widest.spec?.kind !== "command") return false;
    // The words that have to be there begin with those of the widest rule, each as it is.
    const { words } = widest.spec;
    return words.every((word, index) => spec.words[index] === word);
  }
  if (family === "Edit" || family === "Read") {
    if (spec?.kind !== "glob") return false;
    return spec.raw === rule.slice(rule.indexOf("(") + 1, -1) || !/^(?:[/~*!]|\.\.)|\/\.\.\//.test(spec.raw);
  }
  if (parsed.family === "WebFetch") return isSameHost(parsed, rule);
  return parsed.tool === tool;
}

/** An address of the host that the rule names. */
function isSameHost({ spec }: Rule, rule: string): boolean {
  const host = spec?.kind === "glob" ? webHost(spec.raw) : undefined;
  return host !== undefined && rule === `WebFetch(domain:${host})`;
}
