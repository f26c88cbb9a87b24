/**
 * The messages of the Claude Agent SDKs, as their types and parsers demand them (TypeScript 0.3, Python 0.2):
 * every line of `stream-json` has to be one of them.
 */
import { isRecord } from "../../src/util/json.ts";

type Check = (value: unknown) => boolean;
type Fields = Readonly<Record<string, Check>>;

const text: Check = (value) => typeof value === "string";
const number: Check = (value) => typeof value === "number" && Number.isFinite(value);
const flag: Check = (value) => typeof value === "boolean";
const record: Check = isRecord;
const nullable = (check: Check): Check => (value) => value === null || check(value);
const oneOf = (...values: readonly unknown[]): Check => (value) => values.includes(value);
const list = (check: Check): Check => (value) => Array.isArray(value) && value.every(check);
const shaped = (fields: Fields): Check => (value) => problemsOf(value, fields).length === 0;
const uuid: Check = (value) =>
  text(value) && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(value));

const ENVELOPE: Fields = { uuid, session_id: text };

const USAGE = shaped({
  input_tokens: number,
  output_tokens: number,
  cache_read_input_tokens: number,
  cache_creation_input_tokens: number,
});

const BLOCKS: Readonly<Record<string, Fields>> = {
  text: { text },
  thinking: { thinking: text, signature: text },
  tool_use: { id: text, name: text, input: record },
  tool_result: { tool_use_id: text, content: text, is_error: flag },
};

const block: Check = (value) =>
  isRecord(value) && BLOCKS[String(value.type)] !== undefined &&
  shaped(BLOCKS[String(value.type)] ?? {})(value);

const INIT: Fields = {
  cwd: text,
  model: text,
  tools: list(text),
  mcp_servers: list(shaped({ name: text, status: text })),
  permissionMode: oneOf("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"),
  apiKeySource: oneOf("none", "user", "project", "org", "temporary", "oauth"),
  slash_commands: list(text),
  skills: list(text),
  plugins: list(shaped({ name: text, path: text })),
  output_style: text,
  claude_code_version: text,
};

const HOOK: Fields = { hook_id: text, hook_name: text, hook_event: text };
const TASK: Fields = { task_id: text };
const TASK_USAGE = shaped({ total_tokens: number, tool_uses: number, duration_ms: number });
const REFUSAL: Fields = { original_model: text, request_id: nullable(text), content: text };
const RETRY: Fields = {
  attempt: number,
  max_retries: number,
  retry_delay_ms: number,
  error_status: nullable(number),
};

const SYSTEM: Readonly<Record<string, Fields>> = {
  api_retry: { ...RETRY, error: text },
  background_tasks_changed: {
    tasks: list(shaped({ task_id: text, task_type: text, description: text })),
  },
  commands_changed: { commands: list(shaped({ name: text, description: text, argumentHint: text })) },
  compact_boundary: {
    compact_metadata: shaped({ trigger: oneOf("manual", "auto"), pre_tokens: number }),
  },
  control_request_progress: { request_id: text, status: oneOf("started", "api_retry") },
  elicitation_complete: { mcp_server_name: text, elicitation_id: text },
  files_persisted: {
    files: list(shaped({ filename: text, file_id: text })),
    failed: list(shaped({ filename: text, error: text })),
    processed_at: text,
  },
  hook_progress: { ...HOOK, stdout: text, stderr: text, output: text },
  hook_response: {
    ...HOOK,
    stdout: text,
    stderr: text,
    output: text,
    outcome: oneOf("success", "error", "cancelled"),
  },
  hook_started: HOOK,
  informational: { content: text, level: oneOf("info", "notice", "suggestion", "warning") },
  init: INIT,
  local_command_output: { content: text },
  memory_recall: {
    mode: oneOf("select", "synthesize"),
    memories: list(shaped({ path: text, scope: oneOf("personal", "team", "organization") })),
  },
  mirror_error: { error: text, key: shaped({ projectKey: text, sessionId: text }) },
  model_refusal_fallback: {
    ...REFUSAL,
    trigger: oneOf("refusal"),
    direction: oneOf("retry", "revert", "sticky"),
    fallback_model: text,
  },
  model_refusal_no_fallback: REFUSAL,
  notification: { key: text, text, priority: oneOf("low", "medium", "high", "immediate") },
  permission_denied: { tool_name: text, tool_use_id: text, message: text },
  plugin_install: { status: oneOf("started", "installed", "failed", "completed") },
  session_state_changed: { state: oneOf("idle", "running", "requires_action") },
  session_writes_lost: {
    error_code: oneOf("ENOSPC", "EDQUOT"),
    lost: list(oneOf("transcript", "global_config")),
  },
  status: { status: oneOf("compacting", "requesting", null) },
  task_notification: {
    ...TASK,
    status: oneOf("completed", "failed", "stopped"),
    output_file: text,
    summary: text,
  },
  task_progress: { ...TASK, description: text, usage: TASK_USAGE },
  task_started: { ...TASK, description: text },
  task_updated: { ...TASK, patch: record },
  thinking_tokens: { estimated_tokens: number, estimated_tokens_delta: number },
  worker_shutting_down: { reason: text },
};

const MODEL_USAGE = shaped({
  inputTokens: number,
  outputTokens: number,
  cacheReadInputTokens: number,
  cacheCreationInputTokens: number,
  webSearchRequests: number,
  costUSD: number,
  contextWindow: number,
  maxOutputTokens: number,
});

const RESULT: Fields = {
  duration_ms: number,
  duration_api_ms: number,
  is_error: flag,
  num_turns: number,
  stop_reason: nullable(text),
  total_cost_usd: number,
  usage: USAGE,
  modelUsage: (value) => isRecord(value) && Object.values(value).every(MODEL_USAGE),
  permission_denials: list(shaped({ tool_name: text, tool_use_id: text, tool_input: record })),
};

const ERRORS = [
  "error_during_execution",
  "error_max_turns",
  "error_max_budget_usd",
  "error_max_structured_output_retries",
];

const MESSAGES: Readonly<Record<string, Fields>> = {
  assistant: {
    message: shaped({
      id: text,
      type: oneOf("message"),
      role: oneOf("assistant"),
      model: text,
      content: list(block),
      stop_reason: nullable(text),
      stop_sequence: nullable(text),
      usage: USAGE,
    }),
    parent_tool_use_id: nullable(text),
  },
  user: {
    message: shaped({ role: oneOf("user"), content: list(block) }),
    parent_tool_use_id: nullable(text),
  },
  stream_event: { event: shaped({ type: text }), parent_tool_use_id: nullable(text) },
  tool_progress: {
    tool_use_id: text,
    tool_name: text,
    parent_tool_use_id: nullable(text),
    elapsed_time_seconds: number,
  },
  auth_status: { isAuthenticating: flag, output: list(text) },
  conversation_reset: { new_conversation_id: uuid },
  prompt_suggestion: { suggestion: text },
  rate_limit_event: {
    rate_limit_info: shaped({ status: oneOf("allowed", "allowed_warning", "rejected") }),
  },
  tool_use_summary: { summary: text, preceding_tool_use_ids: list(text) },
};

function fieldsOf(line: Record<string, unknown>): Fields | undefined {
  const subtype = String(line.subtype);
  if (line.type === "system") return SYSTEM[subtype];
  if (line.type !== "result") return MESSAGES[String(line.type)];
  if (subtype === "success") return { ...RESULT, result: text };
  return ERRORS.includes(subtype) ? { ...RESULT, is_error: oneOf(true), errors: list(text) } : undefined;
}

function problemsOf(value: unknown, fields: Fields): string[] {
  if (!isRecord(value)) return ["is no object"];
  return Object.entries(fields).filter(([name, check]) => !check(value[name]))
    .map(([name]) => `${name} is ${JSON.stringify(value[name])}`);
}

/** Reads the lines of an output; throws when one is no message of the SDKs. */
// deno-lint-ignore no-explicit-any
export function readSdkLines(output: string): any[] {
  return output.split("\n").filter(Boolean).map((line) => checkSdkLine(JSON.parse(line)));
}

/** All messages: the type, or for a system message and a result its subtype. */
export const SDK_MESSAGE_NAMES: readonly string[] = [
  ...Object.keys(MESSAGES),
  ...Object.keys(SYSTEM),
  "success",
  ...ERRORS,
];

/** Returns the message; throws when it is none of the SDKs'. */
export function checkSdkLine(line: Record<string, unknown>): Record<string, unknown> {
  if (String(line.type).startsWith("control_")) return line;
  const fields = fieldsOf(line);
  const problems = fields
    ? problemsOf(line, { ...ENVELOPE, ...fields })
    : [`no such message: ${line.type} ${line.subtype ?? ""}`];
  if (problems.length > 0) throw new Error(`${problems.join("; ")}\n${JSON.stringify(line)}`);
  return line;
}
