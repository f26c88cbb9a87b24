import type { AgentDefinition } from "./agent.ts";
import explore from "./explore.md" with { type: "text" };
import plan from "./plan.md" with { type: "text" };
import review from "./review.md" with { type: "text" };

/** Tools that look at things, and commands, which a read-only agent may run as far as they only read. */
export const RESEARCH_TOOLS: readonly string[] = [
  "read_file",
  "ls",
  "glob",
  "grep",
  "bash",
  "skill",
  "history",
  "memory",
  "ask",
  "todo_write",
  "todo_read",
];

/** The agents that come with the program. */
export const BUILTIN_AGENTS: readonly AgentDefinition[] = [
  {
    name: "general",
    description: "any work, with the tools of this conversation",
    prompt: "",
    readOnly: false,
    scope: "builtin",
  },
  readOnly("explore", "finds files, definitions and facts, and says where they are", explore),
  readOnly("review", "judges changes for defects", review),
  readOnly("plan", "works out how to do something, step by step", plan),
];

function readOnly(name: string, description: string, prompt: string): AgentDefinition {
  return {
    name,
    description,
    prompt: prompt.trim(),
    readOnly: true,
    tools: RESEARCH_TOOLS,
    scope: "builtin",
  };
}
