import type { Assembly } from "../../../src/assembly/mod.ts";
import type { AnswerSchema, TurnOutcome } from "../../../src/agent/mod.ts";
import type { CommandReport } from "../../../src/command/mod.ts";
import { EXIT, type ExitName, formatLocation, NO_USAGE, ReasonixError } from "../../../src/core/mod.ts";
import { honestAnswer, type RunResult } from "../../../src/frontend/mod.ts";
import { mapTexts } from "../../../src/util/json.ts";
import { isIncomplete } from "../../terminal/process.ts";
import type { Metrics } from "./metrics.ts";

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
  /** What the answer was to be like. */
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
  return result.goal ? (await import("./goal/goal.ts")).withGoal(result, assembly.session.id) : result;
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
  const { text, usage, cost, durationMs } = report;
  return {
    exit: "done",
    exitCode: EXIT.done,
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

/** Work that was cut short is not lost, which nobody knows who is not told. */
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
  const text = error instanceof Error ? error.message : String(error);
  const remedy = known
    ? known.remedy
    : isIncomplete(error)
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

/** A run whose answer nobody got is not done, and was not interrupted by its user either. */
export function withDelivery(result: RunResult, failure: Error | undefined): RunResult {
  if (!failure || (result.exit !== "done" && result.exit !== "interrupt")) return result;
  const gone = failure instanceof Deno.errors.BrokenPipe;
  const exit = gone ? "interrupt" : "failed";
  const detail = gone
    ? "The reader of standard output went away"
    : `Cannot write to standard output: ${failure.message}`;
  return { ...result, exit, exitCode: EXIT[exit], detail };
}
