import { type AgentDefinition, loadAgents } from "../context/mod.ts";
import type { Arguments, BuiltinTool } from "../tool/mod.ts";
import { suggestNames } from "../util/suggest.ts";
import { oneLine } from "../util/terminal_text.ts";
import type { PromptInputs } from "./context/prompt_inputs.ts";
import type { AdaptedTools } from "./run_options.ts";

/** Room of the agents of files in the description of a tool: a prompt is paid for with every session. */
const MOST_AGENTS = 40;
const MAX_LINE = 140;

/** The skills that run as agents; the body is read when one begins. */
function skillAgents({ skills }: PromptInputs["skillSet"]): AgentDefinition[] {
  return skills.filter(({ runAs }) => runAs === "subagent").map(
    ({ name, description, file, scope, model }) => ({
      name,
      description,
      prompt: "",
      readOnly: false,
      scope,
      file,
      skill: name,
      ...(model === undefined || model === "inherit" ? {} : { model }),
    }),
  );
}

/**
 * The tools that speak of other agents as a run offers them: with the agents of files, and with skills that
 * are run by agents. They stay as they are while a session runs.
 */
export function adaptedTools({ agents, skillSet }: Pick<PromptInputs, "agents" | "skillSet">): AdaptedTools {
  const skills = skillAgents(skillSet);
  const listed = [...agents.agents, ...skills];
  const lines = listed.slice(0, MOST_AGENTS).map(({ name, description, readOnly }) =>
    oneLine(`- ${name}: ${description}${readOnly ? " (read-only)" : ""}`, MAX_LINE)
  );
  const more = listed.length > MOST_AGENTS ? [`- and ${listed.length - MOST_AGENTS} more`] : [];
  const names = new Set(skills.map(({ name }) => name));
  const withAgents = (tool: BuiltinTool): BuiltinTool => ({
    ...tool,
    description: [tool.description, ...lines, ...more].join("\n"),
  });
  if (names.size === 0) return { task: withAgents };
  return { task: withAgents, skill: (tool) => ({ ...tool, redirect: (args) => skillCall(args, names) }) };
}

function skillCall({ name, arguments: given }: Arguments, agents: ReadonlySet<string>) {
  if (typeof name !== "string" || !agents.has(name)) return undefined;
  const prompt = typeof given === "string" && given.trim() !== "" ? given : "Do what your instructions say.";
  return { tool: "task", args: { agent: name, prompt }, among: ["task"] };
}

/** Background commands are not for an agent that only reads. */
export function inForeground(tool: BuiltinTool): BuiltinTool {
  const { run_in_background: _, ...properties } = tool.schema.properties as Record<string, unknown>;
  return {
    ...tool,
    schema: { ...tool.schema, properties },
    synonyms: { ...tool.synonyms, run_in_background: null, background: null },
  };
}

/** All agents of a run; those of files take the place of the program's, and of skills of the same name. */
export async function knownAgents(
  { agents, skillSet }: Pick<PromptInputs, "agents" | "skillSet">,
): Promise<readonly AgentDefinition[]> {
  const { BUILTIN_AGENTS } = await loadAgents();
  const known = new Map(skillAgents(skillSet).map((agent) => [agent.name, agent]));
  for (const agent of [...BUILTIN_AGENTS, ...agents.agents]) known.set(agent.name, agent);
  return [...known.values()];
}

/** The agent of a name; a string says, for the model, that there is none. */
export async function agentNamed(
  name: string,
  inputs: Pick<PromptInputs, "agents" | "skillSet">,
): Promise<AgentDefinition | string> {
  const agents = await knownAgents(inputs);
  const found = agents.find((agent) => agent.name === name) ??
    agents.find((agent) => agent.name === OTHER_NAMES[name]);
  if (found) return found;
  if (inputs.agents.untrusted.some((agent) => agent.name === name)) {
    return `The agent "${name}" comes with the project, and the user has not trusted it yet (reasonix trust)`;
  }
  const names = agents.map((agent) => agent.name);
  const near = suggestNames(name, names, 1)[0];
  return `There is no agent "${name}"${near ? `; did you mean ${near}?` : ""} (there are ${
    names.join(", ")
  })`;
}

/** Names that models learned with other programs. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  "general-purpose": "general",
  "Explore": "explore",
  "Plan": "plan",
  "code-reviewer": "review",
};
