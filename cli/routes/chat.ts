import { buildCommand, type FlagParametersForType } from "@stricli/core";
import type { ChatFlags } from "../commands/run/chat_flags.ts";
import type { CliContext } from "../terminal/process.ts";
import { argument, flag } from "./parameters.ts";
import { RUN_FLAGS } from "./run.ts";

const {
  model,
  preset,
  maxSteps,
  timeLimit,
  maxCost,
  copy,
  forkSession,
  sessionId,
  permissionMode,
  allowedTools,
  disallowedTools,
  writes,
  addDir,
  dir,
  effort,
  record,
  trustProject,
  ignoreUntrusted,
  noColor,
  showThinking,
  systemPrompt,
  systemPromptFile,
  appendSystemPrompt,
  tools,
} = RUN_FLAGS;

const CHAT_FLAGS: FlagParametersForType<ChatFlags, CliContext> = {
  model,
  preset,
  continue: RUN_FLAGS.continue,
  resume: {
    kind: "parsed",
    parse: (value: string) => value,
    optional: true,
    inferEmpty: true,
    placeholder: "id",
    brief: "Go on with this session; choose one without an id",
  },
  copy,
  approvalMode: {
    kind: "enum",
    values: ["ask", "auto", "yolo"],
    optional: true,
    brief: "Who approves: you (ask), rules (auto), nobody (yolo)",
  },
  permissionMode,
  allowedTools,
  disallowedTools,
  writes,
  addDir,
  dir,
  effort,
  maxSteps,
  timeLimit,
  maxCost,
  record,
  trustProject,
  ignoreUntrusted,
  showThinking,
  noColor,
  linear: flag("Plain lines only, for screen readers"),
  sessionId,
  forkSession,
  systemPrompt,
  systemPromptFile,
  appendSystemPrompt,
  tools,
};

/** `reasonix chat`, which `reasonix` alone is, too. */
export const chatCommand = buildCommand({
  loader: async () => (await import("../commands/run/chat.ts")).chat,
  parameters: {
    flags: CHAT_FLAGS,
    aliases: { c: "continue", m: "model", r: "resume" },
    positional: { kind: "array", parameter: argument("First message", "message") },
  },
  docs: {
    brief: "Open the chat (also: reasonix alone)",
    fullDescription: 'Opens the chat; `reasonix` alone and `reasonix "message"` do the same. Without a\n' +
      "terminal that can show it each line of standard input is a message.",
  },
});

/**
 * The words of a command line, with the chat for lines that name no command: none at all, flags, and a task
 * in quotes. A single plain word is more likely a mistyped command.
 */
export function withChat(words: readonly string[], commands: readonly string[]): readonly string[] {
  const [first = ""] = words;
  const about = /^(?:--help|--help-all|-h|--version|-v|-V)$/.test(first);
  if (about || commands.includes(first)) return words;
  const task = first.startsWith("-") || /\s|[^\x20-\x7e]/.test(first);
  return words.length === 0 || task ? ["chat", ...words] : words;
}
