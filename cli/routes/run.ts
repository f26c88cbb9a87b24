import { buildCommand, type FlagParametersForType } from "@stricli/core";
import { ReasonixError } from "../../src/core/mod.ts";
import { OUTPUT_FORMATS, SHOWN_TEXTS } from "../../src/frontend/mod.ts";
import type { RunFlags } from "../commands/run/config.ts";
import type { CliContext } from "../terminal/process.ts";
import { BATCH_FLAGS } from "./batch_flags.ts";
import { argument, PERMISSION_MODES } from "./parameters.ts";

export { shortForm } from "./short_form.ts";

const text = (value: string) => value;

function positive(name: string, isFit: (value: number) => boolean, kind: string): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (number > 0 && isFit(number)) return number;
    throw new ReasonixError(`Cannot use "${value}" for ${name}: give ${kind} above zero`, { exit: "usage" });
  };
}

/** Seconds, or a number with the unit s, m or h. */
function duration(value: string): number {
  const match = /^(\d+(?:\.\d+)?)([smh]?)$/.exec(value);
  const unit = { m: 60, h: 3600 }[match?.[2] ?? ""] ?? 1;
  const seconds = match ? Number(match[1]) * unit : 0;
  if (!(seconds > 0)) {
    throw new ReasonixError(
      `Cannot use "${value}" for --time-limit: give seconds, or a number with s, m or h`,
      { exit: "usage" },
    );
  }
  return seconds;
}

export const RUN_FLAGS: FlagParametersForType<RunFlags, CliContext> = {
  model: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "name",
    brief: "Use this model: name, provider or provider/model",
  },
  preferModel: {
    kind: "parsed",
    parse: text,
    optional: true,
    hidden: true,
    brief: "Model, where configured",
  },
  preset: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "name",
    brief: "Apply a preset; list them with config presets",
  },
  steps: {
    kind: "parsed",
    parse: positive("--steps", Number.isSafeInteger, "a whole number"),
    optional: true,
    placeholder: "n",
    brief: "Run up to N turns, until the model says it is done",
  },
  maxSteps: {
    kind: "parsed",
    parse: positive("--max-steps", Number.isSafeInteger, "a whole number"),
    optional: true,
    placeholder: "n",
    brief: "Stop after N rounds of tool calls",
  },
  timeLimit: {
    kind: "parsed",
    parse: duration,
    optional: true,
    placeholder: "time",
    brief: "Stop after this time, such as 90, 5m or 1h",
  },
  maxCost: {
    kind: "parsed",
    parse: positive("--max-cost", Number.isFinite, "a number"),
    optional: true,
    placeholder: "amount",
    brief: "Stop when the run has cost this much",
  },
  continue: { kind: "boolean", optional: true, withNegated: false, brief: "Continue the latest session" },
  resume: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "id",
    brief: "Continue this session",
  },
  copy: { kind: "boolean", optional: true, withNegated: false, brief: "Continue in a copy of the session" },
  outputFormat: {
    kind: "enum",
    values: OUTPUT_FORMATS,
    default: "text",
    brief: "Set the form of standard output",
  },
  output: {
    kind: "enum",
    values: SHOWN_TEXTS,
    optional: true,
    placeholder: "what",
    brief: "Print the last answer, all answers or nothing",
  },
  raw: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Print the provider's last reply as it came",
  },
  permissionMode: {
    kind: "enum",
    values: [...PERMISSION_MODES, "default", "acceptEdits", "bypassPermissions", "dontAsk", "auto"],
    optional: true,
    brief: "Set the sandbox and approval mode; danger-full-access: no sandbox",
  },
  allowedTools: {
    kind: "parsed",
    parse: text,
    optional: true,
    variadic: true,
    placeholder: "rule",
    brief: "Add allow rules",
  },
  disallowedTools: {
    kind: "parsed",
    parse: text,
    optional: true,
    variadic: true,
    placeholder: "rule",
    brief: "Add deny rules",
  },
  onAsk: {
    kind: "enum",
    values: ["allow", "deny", "fail"],
    optional: true,
    placeholder: "answer",
    brief: "Set the answer where approval is needed and there is no prompt; default: allow",
  },
  writes: {
    kind: "enum",
    values: ["allow", "dry-run", "deny"],
    optional: true,
    placeholder: "mode",
    brief: "Restrict changes of files",
  },
  addDir: {
    kind: "parsed",
    parse: text,
    optional: true,
    variadic: true,
    placeholder: "dir",
    brief: "Allow writing in a further directory",
  },
  dir: { kind: "parsed", parse: text, optional: true, placeholder: "dir", brief: "Work in this directory" },
  effort: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "level",
    brief: "Set the reasoning effort of the model",
  },
  record: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "file",
    brief: "Record the replies as a cassette",
  },
  trustProject: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Trust the project's hooks, servers and agents for this run",
  },
  file: {
    kind: "parsed",
    parse: text,
    optional: true,
    variadic: true,
    placeholder: "file",
    brief: "Attach this file, as @file does",
  },
  ignoreUntrusted: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Leave out what is not trusted",
  },
  metrics: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "file",
    brief: "Write figures of the run to a file",
  },
  showThinking: { kind: "boolean", optional: true, withNegated: false, brief: "Show the model's reasoning" },
  noColor: { kind: "boolean", optional: true, withNegated: false, brief: "Print without colors" },
  quiet: { kind: "boolean", optional: true, withNegated: false, brief: "Print only the answer and errors" },
  verbose: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Print whole diffs and outputs; with --steps also requests",
  },
  inputFormat: {
    kind: "enum",
    values: ["text", "stream-json"],
    optional: true,
    hidden: true,
    brief: "Set the form of standard input",
  },
  permissionPromptTool: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "stdio",
    hidden: true,
    brief: "Ask over stream-json",
  },
  maxTurns: {
    kind: "parsed",
    parse: positive("--max-turns", Number.isSafeInteger, "a whole number"),
    optional: true,
    placeholder: "n",
    hidden: true,
    brief: "Claude Code's name of --max-steps",
  },
  maxBudgetUsd: {
    kind: "parsed",
    parse: positive("--max-budget-usd", Number.isFinite, "a number"),
    optional: true,
    placeholder: "amount",
    hidden: true,
    brief: "Claude Code's name of --max-cost",
  },
  forkSession: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    hidden: true,
    brief: "Claude Code's name of --copy",
  },
  sessionId: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "id",
    hidden: true,
    brief: "Set the identifier of the new session",
  },
  systemPrompt: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "text",
    brief: "Replace the built-in system prompt",
  },
  systemPromptFile: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "file",
    brief: "Replace the built-in system prompt by a file",
  },
  jsonSchema: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "schema",
    brief: "Require an answer that fits a JSON Schema: text or a file",
  },
  appendSystemPrompt: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "text",
    brief: "Add to the system prompt",
  },
  tools: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "names",
    brief: "Offer only these built-in tools",
  },
  includePartialMessages: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    hidden: true,
    brief: "Print pieces of messages in stream-json",
  },
  planThenRun: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Plan first; ask on a terminal, then carry it out",
  },
  autoPlan: { kind: "boolean", optional: true, brief: "Begin complex tasks with a plan" },
  goal: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "goal",
    brief: "Continue until this goal is reached",
  },
  check: {
    kind: "parsed",
    parse: text,
    optional: true,
    variadic: true,
    placeholder: "command",
    brief: "Require this command to pass before the goal is reached",
  },
  maxGoalTurns: {
    kind: "parsed",
    parse: positive("--max-goal-turns", Number.isSafeInteger, "a whole number"),
    optional: true,
    placeholder: "n",
    brief: "End the goal after N turns",
  },
  research: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Work on the task as a goal, with a research record",
  },
  simple: { kind: "boolean", optional: true, withNegated: false, brief: "Start no research record" },
  ...BATCH_FLAGS,
  stream: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Print everything the model writes as it comes",
  },
};

/** `reasonix run`. */
export const runCommand = buildCommand({
  loader: async () => (await import("../commands/run/run.ts")).run,
  parameters: {
    flags: RUN_FLAGS,
    aliases: { c: "continue", f: "file", j: "jobs", m: "model", q: "quiet", r: "resume" },
    positional: { kind: "array", parameter: argument("What to do; - reads standard input", "task") },
  },
  docs: {
    brief: "Do one task and exit (short form: reasonix -p)",
    fullDescription: "Do one task and exit. The answer goes to standard output, progress to standard\n" +
      "error. A file, pipe or socket on standard input is context of the task, or the\n" +
      "task itself when there is none or when it is -.\n" +
      "Exit codes: 0 done, 1 failed, 2 usage, 3 blocked, 4 limit, 5 provider, 6 config,\n130 interrupted, 143 terminated.",
  },
});
