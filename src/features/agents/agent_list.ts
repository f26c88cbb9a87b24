import { type AgentDefinition, type AgentWarning, loadAgents } from "../../context/mod.ts";
import type { LoadedConfig } from "../../config/mod.ts";
import { findAgentFiles, findSkillSet, loadKnownAgents, type RunPaths } from "../../run/mod.ts";
import { type TrustItem, TrustStore } from "../../trust/mod.ts";
import { agentModel } from "./agent_run.ts";

export interface AgentRow extends AgentDefinition {
  /** False: it comes with the project and waits for the user's trust. */
  readonly usable: boolean;
  /** The model that it would have, where it is not that of the run. */
  readonly reference?: string;
  /** Why it is not the one that was wanted. */
  readonly fellBack?: string;
}

export interface AgentList {
  readonly agents: readonly AgentRow[];
  readonly warnings: readonly AgentWarning[];
}

/** Finds the agents of a directory as a run would. */
export async function agentList(paths: RunPaths, loaded: LoadedConfig): Promise<AgentList> {
  const store = new TrustStore({ home: paths.home, project: paths.cwd });
  const agents = await findAgentFiles(paths, loaded, (item) => store.isTrusted(item));
  const skillSet = await findSkillSet(paths, loaded);
  const row = (agent: AgentDefinition, usable: boolean): AgentRow => ({
    ...agent,
    usable,
    ...agentModel(loaded, agent),
  });
  const known = await (await loadKnownAgents()).knownAgents({ agents, skillSet });
  return {
    agents: [
      ...known.map((agent) => row(agent, true)),
      ...agents.untrusted.map((agent) => row(agent, false)),
    ],
    warnings: agents.warnings,
  };
}

export async function agentTrustItems(paths: RunPaths, loaded: LoadedConfig): Promise<TrustItem[]> {
  const { agentTrustItem } = await loadAgents();
  const { untrusted } = await findAgentFiles(paths, loaded, () => Promise.resolve(false));
  return untrusted.map(agentTrustItem);
}
