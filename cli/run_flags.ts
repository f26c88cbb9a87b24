import { OUTPUT_FORMATS, SHOWN_TEXTS } from "../src/frontend/mod.ts";
import type { PermissionMode } from "../src/permission/mod.ts";
import {
  choice,
  flag,
  type FlagsOf,
  option,
  options,
  parsed,
  setting,
  toggle,
  unusable,
  wholeNumber,
} from "./command.ts";

/** Most tasks of a batch at the same time. */
const MAX_JOBS = 64;

function jobs(value: string): number {
  const count = Number(value);
  if (Number.isSafeInteger(count) && count >= 1 && count <= MAX_JOBS) return count;
  throw unusable(value, "--jobs", `a whole number from 1 to ${MAX_JOBS}`);
}

const count = (name: string) => (value: string): number => {
  const number = Number(value);
  if (number > 0 && Number.isSafeInteger(number)) return number;
  throw unusable(value, name, "a whole number above zero");
};

const amount = (name: string) => (value: string): number => {
  const number = Number(value);
  if (number > 0 && Number.isFinite(number)) return number;
  throw unusable(value, name, "a number above zero");
};

/** Seconds, or a number with the unit s, m or h. */
function duration(value: string): number {
  const match = /^(\d+(?:\.\d+)?)([smh]?)$/.exec(value);
  const unit = { m: 60, h: 3600 }[match?.[2] ?? ""] ?? 1;
  const seconds = match ? Number(match[1]) * unit : 0;
  if (seconds > 0) return seconds;
  throw unusable(value, "--time-limit", "seconds, or a number with s, m or h");
}

export const PERMISSION_MODES = [
  "read-only",
  "workspace-write",
  "danger-full-access",
  "plan",
] as const satisfies readonly PermissionMode[];

const CLAUDE_MODE_NAMES = ["default", "acceptEdits", "bypassPermissions", "dontAsk", "auto"] as const;

const SHARED = {
  model: option("Use this model: name, provider or provider/model", "name", { complete: "models" }),
  preset: option("Apply a preset; list them with config presets", "name", { complete: "presets" }),
  maxSteps: parsed("Stop after N rounds of tool calls", "n", count("--max-steps")),
  timeLimit: parsed("Stop after this time, such as 90, 5m or 1h", "time", duration),
  maxCost: parsed("Stop when the run has cost this much", "amount", amount("--max-cost")),
  continue: flag("Continue the latest session"),
  copy: flag("Continue in a copy of the session"),
  permissionMode: choice("Set the sandbox and approval mode; danger-full-access: no sandbox", [
    ...PERMISSION_MODES,
    ...CLAUDE_MODE_NAMES,
  ]),
  allowedTools: options("Add allow rules", "rule"),
  disallowedTools: options("Add deny rules", "rule"),
  writes: choice("Restrict changes of files", ["allow", "dry-run", "deny"], { placeholder: "mode" }),
  addDir: options("Allow writing in a further directory", "dir"),
  dir: option("Work in this directory", "dir"),
  effort: option("Set the reasoning effort of the model", "level"),
  record: option("Record the replies as a cassette", "file"),
  trustProject: flag("Trust the project's hooks, servers and agents for this run"),
  file: options("Attach this file, as @file does", "file"),
  ignoreUntrusted: flag("Leave out what is not trusted"),
  showThinking: flag("Show the model's reasoning"),
  noColor: flag("Print without colors"),
  forkSession: flag("Claude Code's name of --copy", { hidden: true }),
  sessionId: option("Set the identifier of the new session", "id", { hidden: true }),
  systemPrompt: option("Replace the built-in system prompt", "text"),
  systemPromptFile: option("Replace the built-in system prompt by a file", "file"),
  appendSystemPrompt: option("Add to the system prompt", "text"),
  tools: option("Offer only these built-in tools", "names"),
  autoPlan: toggle("Begin complex tasks with a plan"),
} as const;

/** One part of the tasks of a file, from 1. */
interface Shard {
  readonly part: number;
  readonly of: number;
}

function shard(value: string): Shard {
  const [, part = 0, of = 0] = (/^(\d{1,9})\/(\d{1,9})$/.exec(value) ?? []).map(Number);
  if (part >= 1 && part <= of) return { part, of };
  throw unusable(value, "--shard", "I/N, a part from 1/N to N/N");
}

export const BATCH_FLAGS = {
  tasks: option("Do each task of a JSONL file", "file"),
  tasksFrom: choice("Do each task of a file of another format, given as a word", ["swe-bench"], {
    placeholder: "format",
  }),
  jobs: parsed("Run N tasks at the same time; default: 4", "n", jobs),
  worktree: flag("Give each task a git work tree"),
  results: option("Write the results to a file", "file"),
  resultsDir: option("Share a directory of results with other runners", "dir"),
  shard: parsed("Do only part I of N of the tasks", "i/n", shard),
  taskIndex: parsed("Do only task I, from 0", "i", wholeNumber("--task-index", 0)),
  image: option("Do only the tasks with this container image", "name"),
  fresh: flag("Redo tasks that are already finished"),
} as const;

export const BATCH_FLAG_NAMES = Object.keys(BATCH_FLAGS) as readonly (keyof typeof BATCH_FLAGS)[];

export const RUN_FLAGS = {
  ...SHARED,
  preferModel: option("Model, where configured", "name", { hidden: true }),
  steps: parsed("Run up to N turns, until the model says it is done", "n", count("--steps")),
  resume: option("Continue this session", "id", { complete: "sessions" }),
  outputFormat: setting("Set the form of standard output", OUTPUT_FORMATS, "text"),
  output: choice("Print the last answer, all answers or nothing", SHOWN_TEXTS, { placeholder: "what" }),
  raw: flag("Print the provider's last reply as it came"),
  onAsk: choice("Set the answer where approval is needed and there is no prompt; default: allow", [
    "allow",
    "deny",
    "fail",
  ], { placeholder: "answer" }),
  metrics: option("Write figures of the run to a file", "file"),
  quiet: flag("Print only the answer and errors"),
  verbose: flag("Print whole diffs and outputs; with --steps also requests"),
  inputFormat: choice("Set the form of standard input", ["text", "stream-json"], { hidden: true }),
  permissionPromptTool: option("Ask over stream-json", "stdio", { hidden: true }),
  maxTurns: parsed("Claude Code's name of --max-steps", "n", count("--max-turns"), { hidden: true }),
  maxBudgetUsd: parsed("Claude Code's name of --max-cost", "amount", amount("--max-budget-usd"), {
    hidden: true,
  }),
  jsonSchema: option("Require an answer that fits a JSON Schema: text or a file", "schema"),
  includePartialMessages: flag("Print pieces of messages in stream-json", { hidden: true }),
  planThenRun: flag("Plan first; ask on a terminal, then carry it out"),
  goal: option("Continue until this goal is reached", "goal"),
  check: options("Require this command to pass before the goal is reached", "command"),
  maxGoalTurns: parsed("End the goal after N turns", "n", count("--max-goal-turns")),
  research: flag("Work on the task as a goal, with a research record"),
  simple: flag("Start no research record"),
  ...BATCH_FLAGS,
  stream: flag("Print everything the model writes as it comes"),
  web: flag("Show the run on a web page, which answers its questions"),
} as const;

export type RunFlags = FlagsOf<typeof RUN_FLAGS>;

export const CHAT_FLAGS = {
  ...SHARED,
  resume: {
    ...RUN_FLAGS.resume,
    brief: "Continue this session; without an id, pick one from a list",
    inferEmpty: true,
  },
  approvalMode: choice("Set who approves: you (ask), rules (auto), or no approval (yolo)", [
    "ask",
    "auto",
    "yolo",
  ]),
  linear: flag("Print plain lines only, for screen readers"),
  tui: flag("Show the chat on the full screen"),
  repl: flag("Show the chat below the scrollback of the terminal; the default"),
} as const;

export type ChatFlags = FlagsOf<typeof CHAT_FLAGS>;

const {
  continue: _1,
  copy: _2,
  file: _3,
  forkSession: _4,
  linear: _5,
  noColor: _6,
  record: _7,
  repl: _8,
  showThinking: _9,
  tui: _10,
  ...others
} = CHAT_FLAGS;

/** Flags of a program with many sessions: those of the chat that are not about one of them or a terminal. */
export const SESSION_FLAGS = others;

export function startOf(flags: ChatFlags) {
  return {
    ...(flags.continue ? { continue: true } : {}),
    ...(flags.resume ? { resume: flags.resume } : {}),
    ...(flags.copy || flags.forkSession ? { copy: true } : {}),
  };
}
