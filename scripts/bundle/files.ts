/** The files that lie beside the program, and what is in each. */

/**
 * Modules that most runs do not need, by the name of the file next to the program that holds each
 * (`reasonix.terminal.js`, …): the Markdown renderer of the terminal, syntax colors, and the client of MCP
 * servers. In the one file every megabyte would cost each start 7 ms and 3.5 MB.
 */
export const BESIDE: Readonly<Record<string, readonly string[]>> = {
  // Two modules of a package whose other parts would take 18 ms and 2.6 MB.
  terminal: [
    "@earendil-works/pi-tui/dist/components/markdown.js",
    "@earendil-works/pi-tui/dist/terminal-image.js",
  ],
  highlight: ["highlight.js/lib/common"],
  mcp: ["@modelcontextprotocol/client"],
};

/**
 * Parts of the program in files of their own (`reasonix.chat.js`, …), each with names that only its first
 * modules export: the chat, what talks to MCP servers once they start, provider kinds, what subcommands and
 * slash commands do, what works by itself (plans, goals, other agents, hooks), and what is seldom needed
 * (setup, import, export, edits of the configuration, answers in a form). Runs without them do not pay for
 * them, and what the chat and the kinds execute at their start is in the code cache of their own files. What
 * else no start executes is added by `spread`.
 */
export const PARTS: Readonly<Record<string, readonly string[]>> = {
  chat: ["runChat", "chatOpener"],
  mcp_servers: ["Connection", "httpAccess", "signIn", "elicitation", "Sampling"],
  tools: ["createCommandJudge", "openJail", "Compactor", "bash"],
  anthropic: ["anthropic"],
  responses: ["responses"],
  google: ["google"],
  llamacpp: ["llamacpp", "serverState"],
  commands: [
    // Every slash command, and most subcommands.
    "command",
    "agentsCommands",
    "mcpCommands",
    "modelsCommands",
    "hooksCommands",
    "sessionCommands",
    "contextCommand",
    "statsCommand",
    "trustCommand",
  ],
  autonomy: [
    // Plans, goals, other agents, verification, hooks, batches.
    "withHooks",
    "Verifier",
    "VerifyTrust",
    "openDesk",
    "agentList",
    "isolate",
    "SessionPlans",
    "SessionGoal",
    "saysDone",
    "join",
    "runUserCommand",
    "hookRows",
    "runBatch",
  ],
  more: [
    "setupCommand",
    "setUp",
    "chatInLines",
    "converse",
    "previewImport",
    "importFrom",
    "exportSession",
    "TomlDocument",
    "AnswerSchema",
  ],
};

/**
 * Programs of their own that a command starts, by the name of the file beside the program: the module as the
 * command imports it. They share no code with the program, so that none of theirs gets into its one file.
 */
export const PLUGINS: Readonly<Record<string, readonly string[]>> = {
  example: ["../../plugins/example/main.ts"],
};

/** The parts to which `spread` adds: what tasks with tools execute, texts in Chinese, and everything else. */
export const SPREAD = ["tools", "zh_cn", "seldom"] as const;

/** The file of worker processes. A program that is compiled into one starts them from itself. */
export const WORKER = "reasonix.worker.js";

/** Names of all files beside the program that it loads, in order. */
export function namesBeside(): readonly string[] {
  const names = [BESIDE, PARTS, PLUGINS].flatMap((table) => Object.keys(table));
  return [...new Set([...names, ...SPREAD, "docs"])].sort().map((name) => `reasonix.${name}.js`);
}
