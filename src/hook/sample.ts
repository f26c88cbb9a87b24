import { toolsNamed } from "../tool/mod.ts";
import type { HookEvent } from "./events.ts";
import { type HookedCall, hookToolInput, hookToolName, hookToolNames } from "./tool_names.ts";

interface Sample {
  readonly input: Record<string, unknown>;
  /** What matchers are compared with. */
  readonly names: readonly string[];
}

const FAMILIES: Readonly<Record<string, HookedCall["family"]>> = {
  bash: "Bash",
  edit_file: "Edit",
  multi_edit: "Edit",
  write_file: "Edit",
  apply_patch: "Edit",
};

const ARGUMENTS: Readonly<Record<string, Record<string, unknown>>> = {
  bash: { command: "echo hello" },
  edit_file: { path: "example.txt", old_string: "a", new_string: "b" },
  read_file: { path: "example.txt" },
  write_file: { path: "example.txt", content: "hello\n" },
};

/** The field of other events that their matcher is compared with, and a usual value. */
const FIELDS: Partial<Record<HookEvent, Record<string, string>>> = {
  UserPromptSubmit: { prompt: "hello" },
  SessionStart: { source: "startup" },
  SessionEnd: { reason: "other" },
  SubagentStart: { agent_type: "general" },
  SubagentStop: { agent_type: "general" },
  PreCompact: { trigger: "manual" },
  PostCompact: { trigger: "manual" },
  Notification: { notification_type: "permission_prompt" },
};

/** Makes the input of an event up; `given` is laid over the arguments of the tool, or over the event. */
export function sampleInput(
  event: HookEvent,
  { cwd, tool = "Bash", given }: {
    readonly cwd: string;
    readonly tool?: string | undefined;
    readonly given: Readonly<Record<string, unknown>>;
  },
): Sample {
  const common = { session_id: "test", transcript_path: "", cwd, permission_mode: "default" };
  const fields = FIELDS[event];
  if (fields || event === "Stop") {
    const own = { ...fields, ...(event.endsWith("Stop") ? { stop_hook_active: false } : {}), ...given };
    const [name = ""] = Object.keys(fields ?? {});
    return { input: { ...common, ...own }, names: [String((own as Record<string, unknown>)[name] ?? "")] };
  }
  const [own = tool] = toolsNamed(tool);
  const family = FAMILIES[own];
  const call: HookedCall = {
    call: { id: "test", name: own, arguments: "" },
    tool: own,
    args: Object.keys(given).length > 0 ? { ...given } : ARGUMENTS[own] ?? {},
    ...(family ? { family } : {}),
  };
  const result = event.startsWith("Post")
    ? { tool_response: { content: "", is_error: event !== "PostToolUse" } }
    : {};
  return {
    input: {
      ...common,
      tool_name: hookToolName(own),
      tool_input: hookToolInput(call, cwd),
      tool_use_id: "test",
      ...result,
    },
    names: hookToolNames(call),
  };
}
