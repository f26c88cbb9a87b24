import { message, type PreparedCall, type Text, textOf } from "../core/mod.ts";
import type { Ruling } from "../rule/mod.ts";
import { type Evaluation, exactKey } from "./evaluate.ts";
import type { ApprovalMode, Decision, GateOptions, HookWord, PermissionMode } from "./types.ts";

/** The circumstances in addition to the evaluation of a call that decide whether it runs. */
export interface DecisionContext {
  readonly approvalMode: ApprovalMode;
  readonly permissionMode: PermissionMode;
  readonly approvedPlan: boolean;
  readonly mode: "ask" | "allow" | "deny";
  readonly onAsk: GateOptions["onAsk"];
  readonly interactive: boolean;
  /** Files stay as they are in every mode. */
  readonly filesStay?: boolean;
  /** The reason why there is no jail. */
  readonly unconfined?: string;
  /** Keys of calls that were granted for the session as they are. */
  readonly granted: ReadonlySet<string>;
  readonly hook?: HookWord;
}

/**
 * The subject of an approval: a destructive command, a tool's claim to only read, or the call itself.
 */
export type QuestionKind = "destructive" | "trust" | "plain";

/** Decides about an evaluated call: denials and modes first, then destructive commands, then the rest. */
export function resolveDecision(evaluation: Evaluation, context: DecisionContext): Decision | QuestionKind {
  const { call, subject, ruling, report } = evaluation;
  const { permissionMode } = context;
  const what = quoteForMessage(subject);
  const reads = call.command ? report?.readOnly === true : call.readOnly || isRuledReader(evaluation);
  let decision = ruling.outcome === "deny"
    ? ruleDenial(ruling, what)
    : modeRefusal(evaluation, what, reads, context) ?? resolveRuling(ruling, what, context);
  if (typeof decision === "object" && decision.decision === "deny" && decision.source !== "headless") {
    return decision;
  }
  const claims = isClaim(call);
  if (permissionMode === "plan" && claims) return "trust";
  if (keepsFiles(permissionMode) && reads && ruling.by === "fallback") decision = ALLOWED_BY_MODE;
  if (decision === "ask" && context.granted.has(exactKey(evaluation))) {
    decision = { decision: "allow", source: "user", reason: message`approved for this session` };
  }
  if (report && report.destructive.length > 0) return "destructive";
  if (decision !== "ask" && decision.decision === "allow" && context.hook?.word === "ask") {
    decision = askedByHook(what, context);
  }
  if (decision !== "ask") return decision;
  return claims && ruling.by === "fallback" && context.hook?.word !== "ask" ? "trust" : "plain";
}

/** Reports whether a call is a message to an MCP server. */
export function goesToServer({ family, server }: PreparedCall): boolean {
  return family === "Mcp" || server !== undefined;
}

/** Reports whether nothing but the server of a tool says that it only reads. */
function isClaim({ claimsToRead, readOnly, command, writes = [] }: PreparedCall): boolean {
  return claimsToRead === true && !readOnly && !command && writes.length === 0;
}

/** Reports whether an allow rule names a tool that claims to read. */
function isRuledReader({ call, ruling: { by, outcome, rule } }: Evaluation): boolean {
  return isClaim(call) && by === "rule" && outcome === "allow" && rule?.tool !== "*";
}

const ALLOWED_BY_MODE: Decision = { decision: "allow", source: "mode" };

/** The effect of a hook that asks is that of an ask rule. */
function askedByHook(what: string, context: DecisionContext): Decision | "ask" {
  if (approvesAll(context)) return ALLOWED_BY_MODE;
  return context.interactive ? "ask" : nonInteractive(what, context, { rule: "of a hook" });
}

/** Reports whether files stay as they are in a mode. */
export function keepsFiles(mode: PermissionMode): boolean {
  return mode === "read-only" || mode === "plan";
}

/** Characters that are looked at for a quotation. */
const MAX_QUOTED = 2000;

/** Shortens what is quoted in a refusal. */
export function quoteForMessage(subject: string): string {
  const begin = subject.trimStart();
  const line = begin.slice(0, MAX_QUOTED).replace(/\s+/g, " ").trim();
  return JSON.stringify(line.length > 120 || begin.length > MAX_QUOTED ? `${line.slice(0, 117)}…` : line);
}

/** Returns what the mode refuses whatever the rules allow, or undefined. */
function modeRefusal(
  { call, report }: Evaluation,
  what: string,
  reads: boolean,
  { permissionMode, filesStay, unconfined }: DecisionContext,
): Decision | undefined {
  // A question, or a rule about the address, comes before what it sends.
  if (call.readsNetwork) return undefined;
  if (permissionMode === "plan" && !(call.command ? reads : call.planSafe || isClaim(call))) {
    return refuse(
      "plan",
      message`plan mode refuses ${what}; only tools and commands known to read run before the plan is approved`,
    );
  }
  if (permissionMode === "read-only" && !reads) {
    return refuse(
      "mode",
      believable(
        call,
        message`permission mode read-only refuses ${what}; only tools and commands known to read may run`,
      ),
    );
  }
  if (filesStay === true && goesToServer(call) && !reads) {
    return refuse(
      "mode",
      believable(
        call,
        message`[tools] writes keeps files as they are and refuses ${what}; of MCP servers only what is known to read may run`,
      ),
    );
  }
  const stays = filesStay === true || keepsFiles(permissionMode);
  if (!stays || unconfined === undefined || !call.command || report?.listedReaders) return undefined;
  return refuse(
    "mode",
    message`${what} is not one of the commands that may run where files must not change, and ${unconfined}`,
  );
}

export function refuse(
  source: Decision["source"],
  reason: Text,
  rule: Pick<Decision, "rule"> = {},
): Decision {
  return { decision: "deny", source, ...rule, reason };
}

/** Adds to a refusal how the user can vouch for a tool that claims to read. */
function believable(call: PreparedCall, refusal: Text): Text {
  return isClaim(call)
    ? message`${refusal}; its server declares that it only reads, which trusted_read_only_tools or an allow rule can confirm`
    : refusal;
}

/** Reports whether approvals are given without asking, as far as no denial is at stake. */
function approvesAll(context: DecisionContext): boolean {
  return context.approvalMode === "yolo" || context.approvedPlan ||
    context.permissionMode === "danger-full-access";
}

/** Turns what the policy says into a decision, or `ask` when it needs a person and there is one. */
function resolveRuling(ruling: Ruling, what: string, context: DecisionContext): Decision | "ask" {
  const rule = ruling.rule ? { rule: `${ruling.rule.list} ${ruling.rule.text}` } : {};
  if (ruling.outcome === "allow") {
    return { decision: "allow", source: ruling.by === "rule" ? "rule" : "mode", ...rule };
  }
  switch (ruling.by) {
    case "fallback":
      return fallback(what, context);
    case "unsure":
      return unsure(ruling, what, context);
    case "protected":
      if (approvesAll(context)) return ALLOWED_BY_MODE;
      return context.interactive ? "ask" : refuse(
        "headless",
        message`${what} would change ${ruling.reason}, and this run is non-interactive; leave it to the user`,
      );
    case "alwaysAsk":
      return context.interactive ? "ask" : nonInteractiveAlways(ruling, what, context);
    case "rule":
      if (approvesAll(context)) return { decision: "allow", source: "mode", ...rule };
      return context.interactive ? "ask" : nonInteractive(what, context, rule);
  }
}

function ruleDenial(ruling: Ruling, what: string): Decision {
  const text = ruling.rule ? `deny ${ruling.rule.text}` : textOf(ruling.reason);
  const origin = ruling.rule?.source.origin === undefined ? "" : ` (${ruling.rule.source.origin})`;
  return refuse(
    "rule",
    message`permission rule ${text + origin} forbids ${what}; do not try the same in another form`,
    { rule: text },
  );
}

function fallback(what: string, context: DecisionContext): Decision | "ask" {
  if (context.mode === "deny") {
    return refuse(
      "mode",
      message`[permissions] mode = "deny" refuses ${what}; only what an allow rule names may run`,
    );
  }
  if (context.hook?.word === "allow") return { decision: "allow", source: "hook" };
  if (context.mode === "allow" || context.approvalMode === "auto" || approvesAll(context)) {
    return ALLOWED_BY_MODE;
  }
  return context.interactive ? "ask" : nonInteractive(what, context, {});
}

/**
 * A deny rule binds in every approval mode, so a call that it may concern requires approval. A headless
 * run refuses it, unless `--on-ask` decides.
 */
function unsure(ruling: Ruling, what: string, context: DecisionContext): Decision | "ask" {
  const binding = ruling.rule?.list === "deny";
  if (!binding && approvesAll(context)) return ALLOWED_BY_MODE;
  if (context.interactive) return "ask";
  const rule = ruling.rule ? { rule: `${ruling.rule.list} ${ruling.rule.text}` } : {};
  if (!binding || context.onAsk !== undefined) return nonInteractive(what, context, rule);
  return refuse(
    "rule",
    message`${what}: ${ruling.reason}, and this run is non-interactive; write the command out plainly`,
    rule,
  );
}

/**
 * A call that requires approval each time stays refused unless a rule names the tool or `--on-ask` was given.
 */
function nonInteractiveAlways(ruling: Ruling, what: string, context: DecisionContext): Decision {
  const { rule } = ruling;
  if (rule?.list === "allow" && rule.tool !== "*") {
    return { decision: "allow", source: "rule", rule: `allow ${rule.text}` };
  }
  if (context.onAsk !== undefined) return nonInteractive(what, context, {});
  return refuse(
    "headless",
    message`${what} requires approval each time and this run is non-interactive; an allow rule for the tool or --on-ask allow permits it`,
  );
}

function nonInteractive(what: string, context: DecisionContext, rule: { rule?: string }): Decision {
  const { onAsk = "allow" } = context;
  if (onAsk === "allow") return { decision: "allow", source: "headless", ...rule };
  const need = rule.rule === undefined ? message`no rule allows it` : message`rule ${rule.rule}`;
  const why =
    message`${what} needs an approval (${need}) and this run is non-interactive (--on-ask ${onAsk})`;
  const base = { decision: "deny", source: "headless", ...rule } as const;
  return onAsk === "fail"
    ? { ...base, reason: why, stop: true }
    : { ...base, reason: message`${why}; find another way` };
}
