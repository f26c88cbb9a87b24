import type { Cost, Event, ExitName, Usage } from "../core/mod.ts";

export const OUTPUT_FORMATS = ["text", "json", "jsonl", "stream-json"] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** The result of a run: the one object of `json` and the last line of the other machine formats. */
export interface RunResult {
  readonly exit: ExitName;
  readonly exitCode: number;
  /** The reason the run did not end with an answer. */
  readonly detail?: string;
  readonly remedy?: string;
  readonly answer: string;
  /** The answer is the report of a command: it did not come as a message, so the text form prints it too. */
  readonly report?: true;
  readonly session?: string;
  readonly model?: string;
  /** Rounds of tool calls. */
  readonly steps: number;
  /** Messages of the model, the last one included. */
  readonly replies: number;
  /** The limit that ended the run. */
  readonly limit?: "steps" | "time" | "cost";
  readonly durationMs: number;
  readonly usage: Usage;
  readonly cost?: Cost;
  /** Calls that were refused, in order. */
  readonly refusals: readonly { readonly tool: string; readonly reason: string }[];
}

const SUBTYPES: Readonly<Record<ExitName, string>> = {
  done: "success",
  limit: "error_limit",
  failed: "error_during_execution",
  usage: "error_usage",
  blocked: "error_blocked",
  provider: "error_provider",
  config: "error_config",
  interrupt: "error_interrupted",
  terminated: "error_terminated",
};

const LIMIT_SUBTYPES = {
  steps: "error_max_turns",
  time: "error_max_time",
  cost: "error_max_budget_usd",
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
    ...(result.detail === undefined ? {} : { error: result.detail }),
    ...(result.remedy === undefined ? {} : { remedy: result.remedy }),
    session_id: result.session ?? null,
    model: result.model ?? null,
    num_turns: result.replies,
    duration_ms: result.durationMs,
    usage: {
      input_tokens: usage.inputTokens - usage.cachedTokens,
      cache_read_input_tokens: usage.cachedTokens,
      cache_creation_input_tokens: 0,
      output_tokens: usage.outputTokens,
      reasoning_tokens: usage.reasoningTokens,
    },
    total_cost: result.cost?.amount ?? null,
    currency: result.cost?.currency ?? null,
    ...(result.cost?.currency === "USD" ? { total_cost_usd: result.cost.amount } : {}),
    permission_denials: result.refusals.map(({ tool, reason }) => ({ tool_name: tool, reason })),
  };
}

/** The conversation a run works in, as its first message finds it. */
export interface RunStart {
  readonly session: string;
  readonly cwd: string;
  readonly model: string;
  /** Names of the tools. */
  readonly tools: readonly string[];
}

/** Reads events and writes them in one output format. */
export interface Printer {
  /** Called once, when the conversation is open; events may have come before. */
  begin?(start: RunStart): void | Promise<void>;
  /** Contract: as `EventSink`: a promise means the reader is behind. */
  event(event: Event): void | Promise<void>;
  /** Called once, last. */
  result(result: RunResult): Promise<void>;
}
