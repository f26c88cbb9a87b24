import { type Config, type LoadedConfig, resolveModel } from "../../config/mod.ts";
import type { AgentDefinition } from "../../context/mod.ts";
import { errorMessage } from "../../core/mod.ts";

/** The model of an agent, as `default_model` names it. */
export interface AgentModel {
  /** Absent: the model of the run. */
  readonly reference?: string;
  /** Why it is not the one that was wanted. */
  readonly fellBack?: string;
}

/** Words of other programs for models of one vendor, which mean no model here unless one has the name. */
const FOREIGN: ReadonlySet<string> = new Set(["inherit", "default", "sonnet", "opus", "haiku", "fable"]);

/**
 * The model that the user chose for the agent by name, else the one that its file names, else the one of all
 * agents, else that of the run. One that is not configured falls back to the next.
 */
export function agentModel(
  { config }: Pick<LoadedConfig, "config">,
  { name, model }: Pick<AgentDefinition, "name" | "model">,
): AgentModel {
  const { subagent_model, subagent_models } = config.agent;
  const byName = Object.hasOwn(subagent_models, name) ? subagent_models[name] : undefined;
  let fellBack: string | undefined;
  for (const reference of [byName, model, subagent_model]) {
    if (reference === undefined || reference === "" || reference === "inherit") continue;
    const problem = problemOf(config, reference);
    if (problem === undefined) return { reference, ...(fellBack === undefined ? {} : { fellBack }) };
    if (!FOREIGN.has(reference)) fellBack ??= `agent ${name}: ${problem}`;
  }
  return fellBack === undefined ? {} : { fellBack };
}

function problemOf(config: Config, reference: string): string | undefined {
  try {
    resolveModel(config, reference);
  } catch (error) {
    return errorMessage(error);
  }
}
