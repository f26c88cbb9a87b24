import type { AnswerSchema, TurnOutcome } from "../agent/mod.ts";
import type { Assembly, SessionStart } from "../run/mod.ts";
import type { CommandReport } from "../command/mod.ts";
import {
  type Cost,
  errorMessage,
  type Event,
  type EventOf,
  EXIT,
  type ExitName,
  formatLocation,
  freshTokens,
  isMessage,
  message,
  NO_USAGE,
  ReasonixError,
  type Spending,
  type ToolCall,
  type Usage,
  usageError,
  type WrittenMessage,
} from "../core/mod.ts";
import type { ShownState } from "../mcp/mod.ts";
import { isRecord, mapTexts, parseJson } from "../util/json.ts";

export const OUTPUT_FORMATS = ["text", "json", "jsonl", "stream-json"] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** The result of a run: the one object of `json` and the last line of the other machine formats. */
export interface RunResult {
  readonly exit: ExitName;
  readonly exitCode: number;
  /** The reason the run did not end with an answer. */
  readonly detail?: string;
  /** The detail for other languages, as the event carries it. */
  readonly said?: readonly WrittenMessage[];
  readonly remedy?: string;
  readonly answer: string;
  /** The answer is the report of a command: it did not come as a message, so the text form prints it too. */
  readonly report?: true;
  readonly session?: string;
  readonly model?: string;
  readonly steps: number;
  /** Messages of the model, the last one included. */
  readonly replies: number;
  readonly limit?: "steps" | "time" | "cost" | "repairs";
  /** The answer as the value that a JSON Schema asked for. */
  readonly structured?: unknown;
  readonly durationMs: number;
  /** The part of it that was spent waiting for the model. */
  readonly modelMs: number;
  readonly usage: Usage;
  readonly cost?: Cost;
  /** Tokens that a conversation and a reply can have; absent when unknown. */
  readonly window?: number;
  readonly maxOutput?: number;
  /** Day of the prices that the cost was computed with. */
  readonly priceDate?: string;
  /** Money of several requests where `cost` does not know it: in several currencies, or in part unknown. */
  readonly partialCost?: Pick<Spending, "costs" | "unpriced">;
  /** The goal of the run, as it is at its end. */
  readonly goal?: GoalResult | undefined;
  readonly plan?: { readonly text: string; readonly state: string; readonly file?: string };
  readonly verification?: VerificationResult;
  /** Calls that were refused, in order. */
  readonly refusals: readonly Refusal[];
}

/** A call that a rule, a person or the confinement refused. */
export interface Refusal {
  readonly call: ToolCall;
  readonly reason: string;
}

const SUBTYPES: Readonly<Record<ExitName, string>> = {
  done: "success",
  limit: "error_limit",
  failed: "error_during_execution",
  usage: "error_usage",
  blocked: "error_blocked",
  provider: "error_provider",
  config: "error_config",
  findings: "error_findings",
  interrupt: "error_interrupted",
  terminated: "error_terminated",
};

const LIMIT_SUBTYPES = {
  steps: "error_max_turns",
  time: "error_max_time",
  cost: "error_max_budget_usd",
  repairs: "error_max_structured_output_retries",
} as const;

/** The result as one JSON object, in the shape that parsers of this kind of line expect. */
export function resultObject(result: RunResult): Record<string, unknown> {
  const { usage, limit } = result;
  return {
    type: "result",
    subtype: limit === undefined ? SUBTYPES[result.exit] : LIMIT_SUBTYPES[limit],
    is_error: result.exit !== "done",
    exit_code: result.exitCode,
    result: result.answer,
    ...(result.structured === undefined ? {} : { structured_output: result.structured }),
    ...(result.detail === undefined ? {} : { error: result.detail }),
    ...(result.remedy === undefined ? {} : { remedy: result.remedy }),
    ...(result.plan ? planFields(result.plan) : {}),
    ...(result.goal ? { goal: goalFields(result.goal) } : {}),
    ...(result.verification ? { verification: verificationFields(result.verification) } : {}),
    // Programs that read it take a text for granted.
    session_id: result.session ?? crypto.randomUUID(),
    model: result.model ?? null,
    num_turns: result.replies,
    duration_ms: result.durationMs,
    duration_api_ms: result.modelMs,
    usage: {
      input_tokens: freshTokens(usage),
      cache_read_input_tokens: usage.cachedTokens,
      cache_creation_input_tokens: usage.cacheWriteTokens ?? 0,
      output_tokens: usage.outputTokens,
      reasoning_tokens: usage.reasoningTokens,
      ...(usage.scripted ? { scripted: true } : {}),
    },
    total_cost: result.cost?.amount ?? null,
    currency: result.cost?.currency ?? null,
    ...(result.cost?.currency === "USD" ? { total_cost_usd: result.cost.amount } : {}),
    permission_denials: result.refusals.map(({ call, reason }) => ({
      tool_name: call.name,
      tool_use_id: call.id,
      tool_input: argumentsOf(call),
      reason,
    })),
  };
}

export interface GoalResult
  extends
    Pick<EventOf<"goal.change">, "state" | "objective" | "turns" | "note" | "limit" | "research" | "report"> {
  /** `null`: it has not run. */
  readonly checks: readonly { readonly command: string; readonly passed: boolean | null }[];
  /** The notice at its end. */
  readonly notice?: string;
  readonly said?: readonly WrittenMessage[] | undefined;
}

function goalFields({ notice: _notice, said: _said, ...goal }: GoalResult): Record<string, unknown> {
  return goal;
}

/** The last time that the changes of a turn were tested. */
export interface VerificationResult {
  readonly state: "passed" | "failed" | "not_verified";
  /** Why it is not verified, or what fails. */
  readonly reason?: string;
  readonly commands: readonly Pick<
    EventOf<"verification">,
    "command" | "outcome" | "exitCode" | "text" | "durationMs"
  >[];
}

/** As machines read it. */
function verificationFields({ commands, ...rest }: VerificationResult): Record<string, unknown> {
  return {
    ...rest,
    commands: commands.map(({ command, outcome, exitCode, durationMs }) => ({
      command,
      outcome,
      exit_code: exitCode ?? null,
      duration_ms: durationMs,
    })),
  };
}

/** The answer with an honest word behind it where nothing says that what was changed works. */
function honestAnswer(answer: string, verification: VerificationResult | undefined): string {
  if (!verification || verification.state === "passed") return answer;
  const gap = answer === "" ? "" : "\n\n";
  return `${answer.trimEnd()}${gap}Not verified: ${verification.reason ?? ""}`;
}

function planFields({ text, state, file }: NonNullable<RunResult["plan"]>): Record<string, unknown> {
  return { plan: text, plan_state: state, ...(file === undefined ? {} : { plan_file: file }) };
}

/** The arguments of a call as an object, whatever the model wrote. */
export function argumentsOf({ arguments: text }: Pick<ToolCall, "arguments">): Record<string, unknown> {
  const value = parseJson(text);
  return isRecord(value) ? value : { raw: text };
}

/** The texts of the model that go to standard output. */
export const SHOWN_TEXTS = ["final", "full", "none"] as const;
/** `raw`: the last answer is the provider's own words, and not to be rendered. */
export type ShownTexts = (typeof SHOWN_TEXTS)[number] | "raw";

/** The conversation a run works in, as its first message finds it. */
export interface RunStart extends Omit<SessionStart, "servers"> {
  readonly servers: readonly { readonly name: string; readonly state: ShownState }[];
  /** Names of the commands that a line can begin with, without the slash. */
  readonly commands: () => Promise<readonly string[]>;
  /** Absent: as the form of the output has it. */
  readonly output?: ShownTexts | undefined;
  /** Answers to permission questions from here on, where they have changed. */
  readonly permissionMode?: string;
}

export interface Printer {
  /** Called once, when the conversation is open; events may have come before. */
  begin?(start: RunStart): void | Promise<void>;
  /** Contract: as `EventSink`: a promise means the reader is behind. */
  event(event: Event): void | Promise<void>;
  /** Called once, last. */
  result(result: RunResult): Promise<void>;
}

interface ToolCount {
  calls: number;
  failed: number;
  blocked: number;
  durationMs: number;
}

/** Figures of one run, counted from its events. */
export class Metrics {
  replies = 0;
  modelMs = 0;
  readonly refusals: Refusal[] = [];
  /** The latest plan that was proposed or changed. */
  plan: RunResult["plan"];
  goal: RunResult["goal"];
  readonly #verified = new LastVerification();
  readonly #calls = new Map<string, ToolCall>();
  readonly #tools = new Map<string, ToolCount>();
  readonly #started = performance.now();
  #requests = 0;
  #retries = 0;
  #firstTextMs: number | undefined;
  #added = 0;
  #removed = 0;

  readonly #file: string | undefined;

  /**
   * Throws a ReasonixError when the file cannot be written: better now
   * than after the work.
   */
  constructor(file?: string) {
    this.#file = file;
    if (file !== undefined) writing(file, () => Deno.openSync(file, { append: true, create: true }).close());
  }

  /** The test of the changes; undefined where there was none. */
  get verification(): RunResult["verification"] {
    return this.#verified.result;
  }

  event(event: Event): void {
    switch (event.type) {
      case "verification":
        return this.#verified.add(event);
      case "message.start":
        this.#requests += 1;
        return;
      case "message.retry":
        this.#retries += 1;
        return;
      case "message.end":
        // Step 0 is a summary.
        if (event.step > 0 && isMessage(event)) this.replies += 1;
        this.modelMs += event.durationMs;
        return;
      case "message.delta":
        this.#firstTextMs ??= performance.now() - this.#started;
        return;
      case "goal.change": {
        const { state, objective, turns, note, limit, checks = [], results = [], research, report } = event;
        const checked = checks.map((command) => ({
          command,
          passed: results.find((result) => result.command === command)?.passed ?? null,
        }));
        this.goal = { state, objective, turns, note, limit, checks: checked, research, report };
        return;
      }
      case "notice":
        if (event.code !== "goal" || !this.goal || this.goal.state === "active" || this.goal.notice) return;
        this.goal = { ...this.goal, notice: event.text, said: event.said };
        return;
      case "plan.change": {
        const { text = "", file } = this.plan ?? {};
        const now = { text: event.plan ?? text, state: event.state };
        const saved = event.file ?? file;
        this.plan = saved === undefined ? now : { ...now, file: saved };
        return;
      }
      case "tool.start":
        this.#calls.set(event.call.id, event.call);
        return;
      case "tool.end": {
        const count = this.#tools.get(event.name) ?? { calls: 0, failed: 0, blocked: 0, durationMs: 0 };
        count.calls += 1;
        count.durationMs += event.durationMs;
        if (event.outcome === "error") count.failed += 1;
        if (event.outcome === "blocked") count.blocked += 1;
        const call = this.#calls.get(event.callId);
        this.#calls.delete(event.callId);
        if (call && (event.outcome === "blocked" || event.refused)) {
          this.refusals.push({ call, reason: event.summary });
        }
        this.#tools.set(event.name, count);
        for (const change of event.changes ?? []) {
          this.#added += change.added;
          this.#removed += change.removed;
        }
      }
    }
  }

  /** Writes the figures as JSON, where a file was named. */
  write(result: RunResult): void {
    const file = this.#file;
    if (file === undefined) return;
    const figures = {
      ...resultObject(result),
      type: "metrics",
      requests: this.#requests,
      retries: this.#retries,
      first_text_ms: this.#firstTextMs === undefined ? null : Math.round(this.#firstTextMs),
      lines_added: this.#added,
      lines_removed: this.#removed,
      tools: Object.fromEntries(
        [...this.#tools].map(([name, { calls, failed, blocked, durationMs }]) => [
          name,
          { calls, failed, blocked, duration_ms: durationMs },
        ]),
      ),
    };
    writing(file, () => Deno.writeTextFileSync(file, `${JSON.stringify(figures, null, 2)}\n`));
  }
}

function writing(file: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw usageError(
      message`Cannot write the metrics to ${file}: ${errorMessage(error)}`,
      message`name a file in an existing, writable directory`,
    );
  }
}

/** The last round of the commands that test what a run changed. */
class LastVerification {
  #commands: EventOf<"verification">[] = [];

  add(event: EventOf<"verification">): void {
    // Without files it belongs to a goal, whose result has its checks.
    if (!event.files) return;
    if (event.round !== this.#commands[0]?.round) this.#commands = [];
    this.#commands = [...this.#commands.filter(({ command }) => command !== event.command), event];
  }

  get result(): RunResult["verification"] {
    const commands = this.#commands;
    const failed = commands.find(({ outcome }) => outcome === "failed" || outcome === "timeout");
    const skipped = commands.filter(({ outcome }) => outcome === "skipped");
    if (failed) {
      const { command, exitCode } = failed;
      const how = exitCode === undefined ? "no end in time" : `exit code ${exitCode}`;
      return { state: "failed", reason: `\`${command}\` failed (${how})`, commands };
    }
    if (skipped.length > 0) {
      return { state: "not_verified", reason: skipped.map(({ text = "" }) => text).join("; "), commands };
    }
    return commands.length > 0 ? { state: "passed", commands } : undefined;
  }
}

const REASONS: Readonly<Record<TurnOutcome["reason"], ExitName>> = {
  done: "done",
  failed: "failed",
  blocked: "blocked",
  limit: "limit",
  provider: "provider",
  interrupted: "interrupt",
  terminated: "terminated",
};

/** The facts of a turn that its outcome does not hold. */
export interface TurnFacts {
  readonly metrics: Metrics;
  readonly schema?: AnswerSchema | undefined;
}

export async function resultOf(
  outcome: TurnOutcome,
  assembly: Assembly,
  { metrics, schema }: TurnFacts,
): Promise<RunResult> {
  const exit = REASONS[outcome.reason];
  const structured = outcome.reason === "done" ? await schema?.read(outcome.answer) : undefined;
  const result: RunResult = {
    exit,
    exitCode: EXIT[exit],
    answer: structured?.text ?? honestAnswer(outcome.answer, metrics.verification),
    ...(structured ? { structured: structured.value } : {}),
    session: assembly.session.id,
    ...modelOf(assembly),
    steps: outcome.steps,
    replies: metrics.replies,
    durationMs: outcome.durationMs,
    modelMs: metrics.modelMs,
    usage: outcome.usage,
    refusals: metrics.refusals,
    ...(metrics.plan ? { plan: metrics.plan } : {}),
    ...(metrics.goal ? { goal: metrics.goal } : {}),
    ...(metrics.verification ? { verification: metrics.verification } : {}),
    ...(outcome.limit === undefined ? {} : { limit: outcome.limit }),
    ...(outcome.detail === undefined ? {} : { detail: outcome.detail }),
    ...(outcome.said ? { said: outcome.said } : {}),
    ...(outcome.cost ? { cost: outcome.cost } : {}),
    ...remedyOf(outcome, assembly.session.id),
  };
  return result.goal ? withGoal(result, assembly.session.id) : result;
}

function modelOf({ provider: { model } }: Pick<Assembly, "provider">) {
  const { id, contextWindow = 0, maxOutputTokens, price } = model;
  return {
    model: id,
    ...(contextWindow > 0 ? { window: contextWindow } : {}),
    ...(maxOutputTokens === undefined ? {} : { maxOutput: maxOutputTokens }),
    ...(price?.date === undefined ? {} : { priceDate: price.date }),
  };
}

/** The result of a command of the program itself: what it reports is the answer. */
export function reportResult(report: CommandReport, { session, provider }: Assembly): RunResult {
  const { text, usage, cost, durationMs, early } = report;
  const exit = early?.exit ?? "done";
  return {
    exit,
    exitCode: EXIT[exit],
    ...(early ? { detail: early.reason } : {}),
    answer: text,
    report: true,
    ...(session.state.session === undefined ? {} : { session: session.id }),
    ...modelOf({ provider }),
    steps: 0,
    replies: 0,
    durationMs,
    modelMs: durationMs,
    usage,
    refusals: [],
    ...(cost ? { cost } : {}),
  };
}

/**
 * The result without secrets, as its events are: it goes to standard output, logs of others and the file of
 * metrics.
 */
export function redacted(result: RunResult, { redact }: Pick<Assembly, "redact">): RunResult {
  return mapTexts(result, redact);
}

/** The way to continue work that was cut short. */
function remedyOf({ reason, limit, steps }: TurnOutcome, session: string): { remedy?: string } {
  if (limit === "repairs") return { remedy: "ask for a simpler schema, or use another model" };
  if (reason === "blocked") {
    return { remedy: "--allowed-tools or an allow rule lets it run; see reasonix permissions check" };
  }
  const cut = ["limit", "provider", "interrupted", "terminated"].includes(reason);
  return cut && steps > 0 ? { remedy: `continue with: reasonix run --resume ${session} "continue"` } : {};
}

/** The result of a run that did not get as far as a turn. */
export function failedResult(error: unknown): RunResult {
  const known = error instanceof ReasonixError ? error : undefined;
  const exit = known?.exit ?? "failed";
  const text = errorMessage(error);
  const remedy = known
    ? known.remedy
    : (error instanceof Error && error.name === "IncompleteInstallation")
    ? undefined
    : "this is a defect; please report it";
  return {
    exit,
    exitCode: EXIT[exit],
    detail: known?.place ? `${formatLocation(known.place)}: ${text}` : text,
    answer: "",
    steps: 0,
    replies: 0,
    durationMs: 0,
    modelMs: 0,
    usage: NO_USAGE,
    refusals: [],
    ...(remedy === undefined ? {} : { remedy }),
  };
}

/** Says that a session is not as it was on disk; empty when it is. */
export function unsavedLine({ session: { id, problem } }: Pick<Assembly, "session">): string {
  return problem === undefined ? "" : `! Session ${id} is not fully saved on disk: ${problem}\n`;
}

/** The error of a command whose result could not be written. */
export function deliveryFailure(failure: Error): ReasonixError {
  return failure instanceof Deno.errors.BrokenPipe
    ? new ReasonixError(message`The reader of standard output went away`, { exit: "interrupt" })
    : new ReasonixError(message`Cannot write to standard output: ${failure.message}`);
}

/** A run whose answer was not delivered is not done, and was not interrupted by its user either. */
export function withDelivery(result: RunResult, failure: Error | undefined): RunResult {
  if (!failure || (result.exit !== "done" && result.exit !== "interrupt")) return result;
  const { exit, message: detail } = deliveryFailure(failure);
  return { ...result, exit, exitCode: EXIT[exit], detail };
}

/** The result of a run with a goal: whether that was reached decides, where its last turn went well. */
function withGoal(result: RunResult, session: string): RunResult {
  const { goal } = result;
  if (!goal || result.exit !== "done" || goal.state === "complete" || goal.state === "cleared") return result;
  const exit: ExitName = goal.state === "blocked" ? "blocked" : goal.state === "limit" ? "limit" : "failed";
  const { limit, said, notice: text } = goal;
  return {
    ...result,
    exit,
    exitCode: EXIT[exit],
    detail: text ?? `Goal ${goal.state}`,
    ...(said ? { said } : {}),
    ...(limit === "cost" || limit === "time" ? { limit } : {}),
    ...(text?.includes("/goal resume") ? {} : { remedy: `continue with: reasonix run --resume ${session}` }),
  };
}
