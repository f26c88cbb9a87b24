import { type AgentDefinition, loadAgents } from "../../context/mod.ts";
import { suggestNames } from "../../util/suggest.ts";
import type { PromptInputs } from "../context/prompt_inputs.ts";
import { skillAgents } from "./adapted_tools.ts";

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
