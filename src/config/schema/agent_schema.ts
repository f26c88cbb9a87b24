import * as z from "zod/mini";
import { amount, count, flag, key, text, textMap, texts } from "./schema_key.ts";

/** `[agent]`: how the agent works. */
export const agentSchema = z.object({
  system_prompt: key(text(), "Replaces the identity part of the built-in system prompt."),
  system_prompt_file: key(text(), "File that holds it; wins over `system_prompt`.", {
    path: "file",
    project: "inside",
  }),
  supplemental_prompt: key(text(), "Text added to the system prompt, before those of provider and model."),
  turn_prompt: key(text(), "Text sent to the model behind every message of the user."),
  fallback: key(
    texts(),
    "Models that answer, in this order, when the own one fails before it has said anything.",
  ),
  max_steps: key(count(0), "Maximum number of rounds of tool calls in a turn; 0 = no limit.", {
    project: "ignored",
  }),
  planner_max_steps: key(count(0), "The same for the planner; 0 = no limit.", { project: "ignored" }),
  max_calls_per_step: key(
    count(0),
    "Maximum number of tool calls run per reply; the rest are refused; 0 = no limit.",
  ),
  submit: key(flag(false), "Go on until the model calls `submit` with its answer."),
  send_tool_choice: key(
    flag(false),
    'Send `tool_choice = "auto"` with every request that offers tools; else the vendor\'s default counts.',
  ),
  tool_list: key(flag(false), "List the built-in tools with their parameters in the system prompt."),
  environment: key(
    z._default(z.enum(["message", "system"]), "message"),
    "Where directory, platform and saved facts go: into a message before the first one, or the system prompt.",
  ),
  time_limit_seconds: key(amount(0), "Time limit of a turn; 0 = no limit.", { project: "lower" }),
  max_cost: key(amount(0), "Cost limit of a run, in the provider's currency; 0 = no limit.", {
    project: "lower",
  }),
  large_input_tokens: key(
    count(100_000),
    "Tokens of a message and its attachments above which a chat asks before it sends them, and other runs stop; 0 = no limit.",
    { project: "lower" },
  ),
  temperature: key(
    z.optional(z.number().check(z.nonnegative())),
    "Sampling temperature; sent only when set.",
  ),
  top_p: key(z.optional(z.number()), "Nucleus sampling; sent only when set."),
  reasoning_language: key(
    z._default(z.enum(["auto", "zh", "en"]), "auto"),
    "Language of visible reasoning.",
  ),
  planner_model: key(text(), "Model that plans before the main model acts; empty = one model."),
  subagent_model: key(text(), "Model of subagents; empty = the main model."),
  subagent_models: key(textMap(), "Model of single subagents or skills, by name."),
  plan_mode_allowed_tools: key(texts(), "MCP tools by full name that are believed to only read.", {
    merge: "concat",
    project: "ignored",
  }),
  auto_plan: key(flag(false), "A complex task begins in plan mode where a person can approve the plan."),
  auto_todo: key(flag(false), "A complex task begins with a todo list."),
  memory_compiler: key(
    z.prefault(
      z.object({
        enabled: key(flag(true), "Tell the model which commands failed in several turns of the project.", {
          project: "ignored",
        }),
      }),
      {},
    ),
    "The memory compiler (Memory v5), which learns from the commands of earlier turns.",
  ),
  compact_ratio: key(
    z.optional(z.number().check(z.minimum(0.1), z.maximum(0.99))),
    "Older name of `compaction.ratio`.",
    { alias: "compaction.ratio" },
  ),
});

/** `[goal]`: how long a goal is worked towards. */
export const goalSchema = z.object({
  max_turns: key(count(50), "Turns after which a goal that is not reached ends; 0 = no limit.", {
    project: "lower",
  }),
  max_cost: key(amount(0), "Cost limit of a goal, in the provider's currency; 0 = no limit.", {
    project: "lower",
  }),
  time_limit_seconds: key(amount(0), "Time limit of a goal; 0 = no limit.", { project: "lower" }),
  no_progress_turns: key(
    count(3),
    "Turns in a row that follow by themselves and have no effect, after which a goal ends; 0 = no limit.",
    { project: "lower" },
  ),
  check_timeout_seconds: key(amount(300), "Time limit of each check of a goal; 0 = no limit.", {
    project: "lower",
  }),
  autoresearch: key(
    flag(true),
    "Whether goals that look like research keep a research record, and very clear requests for one become such goals.",
  ),
});
