import type { Config } from "../../config/mod.ts";

/** A text of the user's own for the models of a level. */
export interface ModelPrompt {
  /** The table that has it, such as `agent` or `providers.deepseek`. */
  readonly from: string;
  readonly text: string;
}

/** The model that prompts are looked up for. */
export interface PromptedModel {
  /** Name of the provider's entry. */
  readonly provider: string;
  readonly id: string;
}

/** The texts that the system prompt has more of at a model: of the agent, of its entry and of its own. */
export function supplementalPrompts(config: Config, model: PromptedModel): readonly ModelPrompt[] {
  const { entry, own } = levelsOf(config, model);
  return inOrder(model, [
    config.agent.supplemental_prompt,
    entry?.supplemental_prompt,
    own?.supplemental_prompt,
  ]);
}

/** The texts that follow every message of the user to a model, in the same order. */
export function turnPrompts(config: Config, model: PromptedModel): readonly ModelPrompt[] {
  const { entry, own } = levelsOf(config, model);
  return inOrder(model, [config.agent.turn_prompt, entry?.turn_prompt, own?.turn_prompt]);
}

/** An entry as it counts for a model has the model's texts in place of its own, so the file's is asked. */
function levelsOf({ providers }: Config, { provider, id }: PromptedModel) {
  const entry = providers.find(({ name }) => name === provider);
  return {
    entry,
    own: entry && Object.hasOwn(entry.model_settings, id) ? entry.model_settings[id] : undefined,
  };
}

/** Names the levels and leaves out what is empty or was said before. */
function inOrder(
  { provider, id }: PromptedModel,
  texts: readonly (string | undefined)[],
): readonly ModelPrompt[] {
  const tables = [
    "agent",
    `providers.${provider}`,
    `providers.${provider}.model_settings.${JSON.stringify(id)}`,
  ];
  const found = texts.map((text = "", at) => ({ from: tables[at] ?? "", text: text.trim() }));
  return found.filter(({ text }, at) => text !== "" && found.findIndex((each) => each.text === text) === at);
}
