import { buildCommand, type FlagParametersForType } from "@stricli/core";
import type { ChatFlags } from "../commands/run/chat_flags.ts";
import type { CliContext } from "../terminal/process.ts";
import { argument, flag } from "./parameters.ts";
import { RUN_FLAGS } from "./run.ts";

const CHAT_FLAGS: FlagParametersForType<ChatFlags, CliContext> = {
  model: RUN_FLAGS.model,
  preset: RUN_FLAGS.preset,
  continue: RUN_FLAGS.continue,
  resume: {
    kind: "parsed",
    parse: (value: string) => value,
    optional: true,
    inferEmpty: true,
    placeholder: "id",
    brief: "Continue this session; without an id, pick one from a list",
  },
  copy: RUN_FLAGS.copy,
  approvalMode: {
    kind: "enum",
    values: ["ask", "auto", "yolo"],
    optional: true,
    brief: "Set who approves: you (ask), rules (auto), nobody (yolo)",
  },
  permissionMode: RUN_FLAGS.permissionMode,
  autoPlan: RUN_FLAGS.autoPlan,
  allowedTools: RUN_FLAGS.allowedTools,
  disallowedTools: RUN_FLAGS.disallowedTools,
  writes: RUN_FLAGS.writes,
  addDir: RUN_FLAGS.addDir,
  dir: RUN_FLAGS.dir,
  file: RUN_FLAGS.file,
  effort: RUN_FLAGS.effort,
  maxSteps: RUN_FLAGS.maxSteps,
  timeLimit: RUN_FLAGS.timeLimit,
  maxCost: RUN_FLAGS.maxCost,
  record: RUN_FLAGS.record,
  trustProject: RUN_FLAGS.trustProject,
  ignoreUntrusted: RUN_FLAGS.ignoreUntrusted,
  showThinking: RUN_FLAGS.showThinking,
  noColor: RUN_FLAGS.noColor,
  linear: flag("Print plain lines only, for screen readers"),
  sessionId: RUN_FLAGS.sessionId,
  forkSession: RUN_FLAGS.forkSession,
  systemPrompt: RUN_FLAGS.systemPrompt,
  systemPromptFile: RUN_FLAGS.systemPromptFile,
  appendSystemPrompt: RUN_FLAGS.appendSystemPrompt,
  tools: RUN_FLAGS.tools,
};

/** `reasonix chat`, which `reasonix` alone is, too. */
export const chatCommand = buildCommand({
  loader: async () => (await import("../commands/run/chat.ts")).chat,
  parameters: {
    flags: CHAT_FLAGS,
    aliases: { c: "continue", f: "file", m: "model", r: "resume" },
    positional: { kind: "array", parameter: argument("First message", "message") },
  },
  docs: {
    brief: "Open the chat (also: reasonix alone)",
    fullDescription: 'Open the chat; `reasonix` alone and `reasonix "message"` do the same. Without a\n' +
      "terminal that can show it, each line of standard input is a message.",
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
