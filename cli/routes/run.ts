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
  model: { kind: "parsed", parse: text, optional: true, brief: "Model: name, provider, or provider/model" },
  preferModel: {
    kind: "parsed",
    parse: text,
    optional: true,
    hidden: true,
    brief: "Model, where configured",
  },
  preset: { kind: "parsed", parse: text, optional: true, brief: "Settings overlay; see config presets" },
  steps: {
    kind: "parsed",
    parse: positive("--steps", Number.isSafeInteger, "a whole number"),
    optional: true,
    brief: "Up to N turns, until the model says it has finished",
  },
  maxSteps: {
    kind: "parsed",
    parse: positive("--max-steps", Number.isSafeInteger, "a whole number"),
    optional: true,
    brief: "Stop after N rounds of calls",
  },
  timeLimit: { kind: "parsed", parse: duration, optional: true, brief: "Stop after this time: 90, 5m, 1h" },
  maxCost: {
    kind: "parsed",
    parse: positive("--max-cost", Number.isFinite, "a number"),
    optional: true,
    brief: "Stop when the run has cost this much",
  },
  continue: { kind: "boolean", optional: true, withNegated: false, brief: "Go on with the latest session" },
  resume: {
    kind: "parsed",
    parse: text,
    optional: true,
    placeholder: "id",
    brief: "Go on with this session",
  },
  copy: { kind: "boolean", optional: true, withNegated: false, brief: "Go on in a copy of the session" },
  outputFormat: { kind: "enum", values: OUTPUT_FORMATS, default: "text", brief: "Form of standard output" },
  output: {
    kind: "enum",
    values: SHOWN_TEXTS,
    optional: true,
    brief: "What is printed: the last answer, all, nothing",
  },
  raw: { kind: "boolean", optional: true, withNegated: false, brief: "The provider's last reply as it came" },
  permissionMode: {
    kind: "enum",
    values: [...PERMISSION_MODES, "default", "acceptEdits", "bypassPermissions", "dontAsk", "auto"],
    optional: true,
    brief: "How far it may go; full access: no sandbox",
  },
  allowedTools: { kind: "parsed", parse: text, optional: true, variadic: true, brief: "Extra allow rules" },
  disallowedTools: { kind: "parsed", parse: text, optional: true, variadic: true, brief: "Extra deny rules" },
  onAsk: {
    kind: "enum",
    values: ["allow", "deny", "fail"],
    optional: true,
    brief: "If it must ask: allow (default), deny, fail",
  },
  writes: {
    kind: "enum",
    values: ["allow", "dry-run", "deny"],
    optional: true,
    brief: "Whether files may change at all",
  },
  addDir: {
    kind: "parsed",
    parse: text,
    optional: true,
    variadic: true,
    brief: "Additional directory that may be written",
  },
  dir: { kind: "parsed", parse: text, optional: true, brief: "Work in this directory" },
  file: {
    kind: "parsed",
    parse: text,
    optional: true,
    variadic: true,
    brief: "Attach this file, as @file does",
  },
  effort: { kind: "parsed", parse: text, optional: true, brief: "Reasoning effort of the model" },
  record: { kind: "parsed", parse: text, optional: true, brief: "Record a cassette of the replies" },
  trustProject: { kind: "boolean", optional: true, withNegated: false, brief: "Use what the project brings" },
  ignoreUntrusted: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Leave out what is not trusted",
  },
  metrics: { kind: "parsed", parse: text, optional: true, brief: "Write figures of the run to a file" },
  showThinking: { kind: "boolean", optional: true, withNegated: false, brief: "Show the model's reasoning" },
  noColor: { kind: "boolean", optional: true, withNegated: false, brief: "No colours" },
  quiet: { kind: "boolean", optional: true, withNegated: false, brief: "Nothing but the answer and errors" },
  verbose: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Whole diffs and outputs; with --steps also requests",
  },
  inputFormat: {
    kind: "enum",
    values: ["text", "stream-json"],
    optional: true,
    brief: "Form of standard input",
  },
  permissionPromptTool: {
    kind: "parsed",
    parse: text,
    optional: true,
    brief: "stdio: ask over stream-json",
  },
  maxTurns: {
    kind: "parsed",
    parse: positive("--max-turns", Number.isSafeInteger, "a whole number"),
    optional: true,
    brief: "Claude Code's name of --max-steps",
  },
  maxBudgetUsd: {
    kind: "parsed",
    parse: positive("--max-budget-usd", Number.isFinite, "a number"),
    optional: true,
    brief: "Claude Code's name of --max-cost",
  },
  forkSession: { kind: "boolean", optional: true, withNegated: false, brief: "Claude Code's name of --copy" },
  sessionId: { kind: "parsed", parse: text, optional: true, brief: "Identifier of the new session" },
  systemPrompt: {
    kind: "parsed",
    parse: text,
    optional: true,
    brief: "In place of the built-in system prompt",
  },
  systemPromptFile: { kind: "parsed", parse: text, optional: true, brief: "The same from a file" },
  jsonSchema: {
    kind: "parsed",
    parse: text,
    optional: true,
    brief: "JSON Schema of the answer: text or a file",
  },
  appendSystemPrompt: { kind: "parsed", parse: text, optional: true, brief: "Added to the system prompt" },
  tools: { kind: "parsed", parse: text, optional: true, brief: "Only these built-in tools; default: all" },
  includePartialMessages: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Pieces of messages in stream-json",
  },
  planThenRun: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Plan first; ask on a terminal, then carry it out",
  },
  autoPlan: { kind: "boolean", optional: true, brief: "Whether complex tasks begin with a plan" },
  goal: { kind: "parsed", parse: text, optional: true, brief: "Go on by itself until this is reached" },
  check: {
    kind: "parsed",
    parse: text,
    optional: true,
    variadic: true,
    brief: "Command that must pass before the goal is reached",
  },
  maxGoalTurns: {
    kind: "parsed",
    parse: positive("--max-goal-turns", Number.isSafeInteger, "a whole number"),
    optional: true,
    brief: "Turns after which a goal ends",
  },
  research: {
    kind: "boolean",
    optional: true,
    withNegated: false,
    brief: "Work on it as a goal with a research record",
  },
  simple: { kind: "boolean", optional: true, withNegated: false, brief: "No research record by itself" },
  ...BATCH_FLAGS,
  stream: { kind: "boolean", optional: true, withNegated: false, brief: "All the model writes, as it comes" },
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
    fullDescription: "Does one task and exits. The answer goes to standard output, progress to\n" +
      "standard error. A file, pipe or socket on standard input is context of the task;\n" +
      "with no task, or with -, it is the task.\n" +
      "Exit codes: 0 done, 1 failed, 2 usage, 3 blocked, 4 limit, 5 provider, 6 config,\n130 interrupted, 143 terminated.",
  },
});
