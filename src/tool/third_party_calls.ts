import { shellWord } from "../util/process.ts";
import type { Arguments } from "./tool.ts";

/** Maps calls in the form of other agents to calls of the tools here. */

interface ThirdPartyCall {
  readonly tool: string;
  readonly args: Arguments;
}

/** Tool names of other agents with the tool here that does the same. */
const NAMES: Readonly<Record<string, string>> = {
  edit: "edit_file",
  replace: "edit_file",
  str_replace: "edit_file",
  search_replace: "edit_file",
  multiedit: "multi_edit",
  read: "read_file",
  view: "read_file",
  write: "write_file",
  create_file: "write_file",
  bash: "bash",
  shell: "bash",
  shell_command: "bash",
  run_shell_command: "bash",
  glob: "glob",
  find: "glob",
  grep: "grep",
  search_file_content: "grep",
  ls: "ls",
  list_dir: "ls",
  list_directory: "ls",
  todowrite: "todo_write",
  patch: "apply_patch",
  exitplanmode: "exit_plan_mode",
};

/** Names that other agents give the arguments of one replacement. */
export const EDIT_NAMES: Readonly<Record<string, string>> = {
  oldString: "old_string",
  newString: "new_string",
  replaceAll: "replace_all",
  old_str: "old_string",
  new_str: "new_string",
  oldText: "old_string",
  newText: "new_string",
  old_text: "old_string",
  new_text: "new_string",
};

export function thirdPartyCall(name: string, args: Arguments): ThirdPartyCall | undefined {
  const lower = name.toLowerCase();
  if (/^str_replace(?:_based)?_edit(?:or|_tool)$/.test(lower)) return editorCall(args);
  const tool = Object.hasOwn(NAMES, lower) ? NAMES[lower] : undefined;
  return tool === undefined ? undefined : { tool, args };
}

/** The editor tool that takes a command: view, create, str_replace, insert. */
function editorCall({ command, ...args }: Arguments): ThirdPartyCall | undefined {
  switch (command) {
    case "view":
      return { tool: "read_file", args };
    case "create":
      return { tool: "write_file", args: { path: args.path, content: args.file_text ?? "" } };
    case "str_replace":
      return { tool: "edit_file", args: { new_str: "", ...args } };
    case "insert":
      return insertion(args);
    default:
      return undefined;
  }
}

/** New lines behind a numbered one, as a patch. */
function insertion({ path, insert_line, new_str, insert_text }: Arguments): ThirdPartyCall | undefined {
  const text = new_str ?? insert_text;
  if (typeof path !== "string" || typeof text !== "string" || !Number.isInteger(insert_line)) {
    return undefined;
  }
  const lines = text.replace(/\n$/, "").split("\n");
  const at = Number(insert_line);
  const header = `--- ${quoted(`a/${path}`)}\n+++ ${quoted(`b/${path}`)}\n@@ -${at},0 +${
    at + 1
  },${lines.length} @@\n`;
  return { tool: "apply_patch", args: { patch: header + lines.map((line) => `+${line}\n`).join("") } };
}

function quoted(path: string): string {
  return /[\s"\\]/.test(path) ? `"${path.replace(/["\\]/g, "\\$&")}"` : path;
}

const HEREDOC = /^\s*apply_patch\s+<<-?\s*(['"]?)([A-Za-z_]\w*)\1[ \t]*\n([^]*?)\n[ \t]*\2\s*$/;

/** The patch of a command line that does nothing but call `apply_patch` with it. */
export function patchOfCommand(command: unknown): string | undefined {
  if (Array.isArray(command) && command.length === 2 && command[0] === "apply_patch") {
    return String(command[1]);
  }
  const line = commandLine(command);
  return typeof line === "string" ? HEREDOC.exec(line)?.[3] : undefined;
}

/** The script of a list `bash -lc SCRIPT`, or the quoted words of a list; any other value as it is. */
export function commandLine(command: unknown): unknown {
  if (!Array.isArray(command) || command.length === 0 || !command.every((word) => typeof word === "string")) {
    return command;
  }
  const [program = "", option = "", script] = command;
  const isShell = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh$/.test(program) && /^-l?c$/.test(option);
  if (isShell && script !== undefined && command.length === 3) return script;
  return command.map(shellWord).join(" ");
}

/** Built-in tools by Claude Code's names where those are no more than another spelling. */
export const CLAUDE_TOOLS: Readonly<Record<string, readonly string[]>> = {
  Agent: ["task", "read_only_task"],
  AskUserQuestion: ["ask"],
  Bash: ["bash"],
  BashOutput: ["job_output"],
  ExitPlanMode: ["exit_plan_mode"],
  Edit: ["edit_file", "multi_edit", "apply_patch"],
  Glob: ["glob"],
  Grep: ["grep"],
  KillShell: ["job_kill"],
  LS: ["ls"],
  MultiEdit: ["multi_edit"],
  NotebookEdit: [],
  Read: ["read_file"],
  Skill: ["skill"],
  Task: ["task", "read_only_task"],
  TaskOutput: ["task_output"],
  TodoWrite: ["todo_write"],
  Write: ["write_file"],
};

/** Returns the tools that a name means: those of Claude Code's name, else the one of that name. */
export function toolsNamed(name: string): readonly string[] {
  return Object.hasOwn(CLAUDE_TOOLS, name) ? CLAUDE_TOOLS[name] ?? [] : [name];
}

/** The name of a tool for hooks and dashboards: Claude Code's where there is the same tool, else our own. */
export function claudeToolName(tool: string): string {
  return Object.entries(CLAUDE_TOOLS).find(([name, [exact]]) => exact === tool && name !== "Agent")
    ?.[0] ?? tool;
}
