import {
  type Cost,
  type Event,
  type EventOf,
  type ExitName,
  freshTokens,
  type Spending,
  type ToolCall,
  type Usage,
  type WrittenMessage,
} from "../core/mod.ts";
import type { ShownState } from "../mcp/mod.ts";
import { isRecord, parseJson } from "../util/json.ts";

export const OUTPUT_FORMATS = ["text", "json", "jsonl", "stream-json"] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** The result of a run: the one object of `json` and the last line of the other machine formats. */
export interface RunResult {
  readonly exit: ExitName;
  readonly exitCode: number;
  /** The reason the run did not end with an answer. */
  readonly detail?: string;
  /** The same for people who speak another language. */
  readonly said?: readonly WrittenMessage[];
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
  /** Money of several requests where `cost` cannot tell it: in several currencies, or in part unknown. */
  readonly partialCost?: Pick<Spending, "costs" | "unpriced">;
  /** The goal of the run, as it stands at its end. */
  readonly goal?: GoalResult | undefined;
  /** The latest plan of the run, and its file. */
  readonly plan?: { readonly text: string; readonly state: string; readonly file?: string };
  /** What tested the changes of the run. */
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

/** What became of a goal. */
export interface GoalResult
  extends
    Pick<EventOf<"goal.change">, "state" | "objective" | "turns" | "note" | "limit" | "research" | "report"> {
  /** `null`: it has not run. */
  readonly checks: readonly { readonly command: string; readonly passed: boolean | null }[];
  /** What people were told when it ended. */
  readonly news?: string;
  readonly said?: readonly WrittenMessage[] | undefined;
}

function goalFields({ news: _news, said: _said, ...goal }: GoalResult): Record<string, unknown> {
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
export function honestAnswer(answer: string, verification: VerificationResult | undefined): string {
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

/** What of the model's texts goes to standard output. */
export const SHOWN_TEXTS = ["final", "full", "none"] as const;
/** `raw`: the last answer is the provider's own words, and not to be rendered. */
export type ShownTexts = (typeof SHOWN_TEXTS)[number] | "raw";

/** The conversation a run works in, as its first message finds it. */
export interface RunStart {
  readonly session: string;
  readonly cwd: string;
  readonly model: string;
  /** Names of the tools. */
  readonly tools: readonly string[];
  readonly skills: readonly string[];
  /** Names of the agents that the model can hand work to. */
  readonly agents: () => Promise<readonly string[]>;
  readonly servers: readonly { readonly name: string; readonly state: ShownState }[];
  /** Names of the commands that a line can begin with, without the slash. */
  readonly commands: () => Promise<readonly string[]>;
  /** The provider is sent a key. */
  readonly keyed: boolean;
  /** Absent: as the form of the output has it. */
  readonly output?: ShownTexts | undefined;
  /** Answers to permission questions from here on, where they have changed. */
  readonly permissionMode?: string;
}

/** States of MCP servers by the names that SDKs of Claude Code know. */
export const SDK_SERVER_STATES: Readonly<Record<ShownState, string>> = {
  "disabled": "disabled",
  "idle": "pending",
  "starting": "pending",
  "ready": "connected",
  "failed": "failed",
  "needs-auth": "needs-auth",
  "stopped": "failed",
  "provider": "connected",
};

/** Reads events and writes them in one output format. */
export interface Printer {
  /** Called once, when the conversation is open; events may have come before. */
  begin?(start: RunStart): void | Promise<void>;
  /** Contract: as `EventSink`: a promise means the reader is behind. */
  event(event: Event): void | Promise<void>;
  /** Called once, last. */
  result(result: RunResult): Promise<void>;
}
