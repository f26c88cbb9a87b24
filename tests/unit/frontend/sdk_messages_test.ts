/**
 * Messages of the Claude Agent SDKs by their public types, and the check of our messages against them.
 */
import { assertEquals, assertThrows } from "../../support/assert.ts";
import { checkSdkLine, SDK_MESSAGE_NAMES } from "../../support/sdk_messages.ts";

type Message = Readonly<Record<string, unknown>>;

const UUID = "0f8c2d1e-0000-4000-8000-000000000001";
const ENVELOPE = { uuid: UUID, session_id: "s" };
const USAGE = {
  input_tokens: 1,
  output_tokens: 1,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};
const HOOK = { hook_id: "h", hook_name: "lint", hook_event: "PreToolUse" };
const OUTPUTS = { stdout: "", stderr: "", output: "" };
const REFUSAL = { original_model: "a", request_id: null, content: "refused" };
const RESULT = {
  duration_ms: 5,
  duration_api_ms: 4,
  is_error: false,
  num_turns: 1,
  stop_reason: "end_turn",
  total_cost_usd: 0.1,
  usage: USAGE,
  modelUsage: {
    m: {
      inputTokens: 1,
      outputTokens: 1,
      cacheReadInputTokens: 0,
      cacheCreationInputTokens: 0,
      webSearchRequests: 0,
      costUSD: 0.1,
      contextWindow: 1000,
      maxOutputTokens: 100,
    },
  },
  permission_denials: [{ tool_name: "Bash", tool_use_id: "t", tool_input: {} }],
};

const MESSAGES: readonly Message[] = [
  {
    type: "assistant",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [
        { type: "thinking", thinking: "hm", signature: "" },
        { type: "text", text: "hi" },
        { type: "tool_use", id: "t", name: "Bash", input: { command: "ls" } },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: USAGE,
    },
    parent_tool_use_id: null,
  },
  {
    type: "user",
    message: {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "t", content: "x", is_error: false }],
    },
    parent_tool_use_id: null,
  },
  { type: "stream_event", event: { type: "message_stop" }, parent_tool_use_id: null },
  {
    type: "tool_progress",
    tool_use_id: "t",
    tool_name: "Bash",
    parent_tool_use_id: null,
    elapsed_time_seconds: 3,
  },
  { type: "auth_status", isAuthenticating: false, output: [] },
  { type: "conversation_reset", new_conversation_id: UUID },
  { type: "prompt_suggestion", suggestion: "run the tests" },
  { type: "rate_limit_event", rate_limit_info: { status: "allowed_warning" } },
  { type: "tool_use_summary", summary: "read two files", preceding_tool_use_ids: ["t"] },
  { type: "result", subtype: "success", ...RESULT, result: "done" },
  ...["during_execution", "max_turns", "max_budget_usd", "max_structured_output_retries"].map((kind) => ({
    type: "result",
    subtype: `error_${kind}`,
    ...RESULT,
    is_error: true,
    errors: ["why"],
  })),
  ...systemMessages(),
].map((message) => ({ ...message, ...ENVELOPE }));

function systemMessages(): readonly Message[] {
  const task = { task_id: "k" };
  const spent = { total_tokens: 1, tool_uses: 1, duration_ms: 1 };
  const bySubtype: Readonly<Record<string, Message>> = {
    api_retry: { attempt: 1, max_retries: 2, retry_delay_ms: 10, error_status: null, error: "overloaded" },
    background_tasks_changed: { tasks: [{ ...task, task_type: "bash", description: "serve" }] },
    commands_changed: { commands: [{ name: "compact", description: "", argumentHint: "" }] },
    compact_boundary: { compact_metadata: { trigger: "auto", pre_tokens: 100 } },
    control_request_progress: { request_id: "r", status: "started" },
    elicitation_complete: { mcp_server_name: "db", elicitation_id: "e" },
    files_persisted: { files: [{ filename: "a", file_id: "f" }], failed: [], processed_at: "now" },
    hook_progress: { ...HOOK, ...OUTPUTS },
    hook_response: { ...HOOK, ...OUTPUTS, outcome: "success" },
    hook_started: HOOK,
    informational: { content: "careful", level: "warning" },
    init: {
      cwd: "/w",
      model: "m",
      tools: ["Bash"],
      mcp_servers: [{ name: "db", status: "connected" }],
      permissionMode: "default",
      apiKeySource: "none",
      slash_commands: [],
      skills: [],
      plugins: [{ name: "p", path: "/p" }],
      output_style: "default",
      claude_code_version: "2.0.0",
    },
    local_command_output: { content: "text" },
    memory_recall: { mode: "select", memories: [{ path: "/m", scope: "personal" }] },
    mirror_error: { error: "full", key: { projectKey: "p", sessionId: "s" } },
    model_refusal_fallback: { ...REFUSAL, trigger: "refusal", direction: "retry", fallback_model: "b" },
    model_refusal_no_fallback: REFUSAL,
    notification: { key: "k", text: "done", priority: "low" },
    permission_denied: { tool_name: "Bash", tool_use_id: "t", message: "no" },
    plugin_install: { status: "installed" },
    session_state_changed: { state: "idle" },
    session_writes_lost: { error_code: "ENOSPC", lost: ["transcript"] },
    status: { status: null },
    task_notification: { ...task, status: "completed", output_file: "/o", summary: "done" },
    task_progress: { ...task, description: "work", usage: spent },
    task_started: { ...task, description: "work" },
    task_updated: { ...task, patch: { status: "running" } },
    thinking_tokens: { estimated_tokens: 9, estimated_tokens_delta: 1 },
    worker_shutting_down: { reason: "idle" },
  };
  return Object.entries(bySubtype).map(([subtype, fields]) => ({ type: "system", subtype, ...fields }));
}

const nameOf = ({ type, subtype }: Message) => String(subtype ?? type);

Deno.test("the check of SDK messages accepts one of every type", () => {
  for (const message of MESSAGES) assertEquals(checkSdkLine(message), message);
  assertEquals(MESSAGES.map(nameOf).sort(), [...SDK_MESSAGE_NAMES].sort());
});

Deno.test("the check of SDK messages rejects each without any one of its fields", () => {
  for (const message of MESSAGES) {
    for (const field of Object.keys(message)) {
      const { [field]: _left, ...rest } = message;
      assertThrows(() => checkSdkLine(rest));
    }
  }
});

Deno.test("the check of SDK messages validates messages, blocks and usage", () => {
  const [assistant = {}] = MESSAGES;
  const changed = (message: unknown) => ({ ...assistant, message });
  const inner = assistant.message as Message;
  const { signature: _signature, ...unsigned } = (inner.content as Message[])[0] ?? {};
  assertThrows(() => checkSdkLine(changed({ ...inner, content: [unsigned] })));
  assertThrows(() => checkSdkLine(changed({ ...inner, usage: { ...USAGE, output_tokens: "1" } })));
  assertThrows(() => checkSdkLine({ type: "system", subtype: "unheard_of", ...ENVELOPE }));
});
