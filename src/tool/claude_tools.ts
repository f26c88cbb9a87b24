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
  NotebookEdit: ["notebook_edit"],
  Read: ["read_file"],
  Skill: ["skill"],
  Task: ["task", "read_only_task"],
  TaskOutput: ["task_output"],
  TodoWrite: ["todo_write"],
  Write: ["write_file"],
};

/** Returns the tools that a name stands for: those of another spelling, else the one of that name. */
export function toolsNamed(name: string): readonly string[] {
  return Object.hasOwn(CLAUDE_TOOLS, name) ? CLAUDE_TOOLS[name] ?? [] : [name];
}
