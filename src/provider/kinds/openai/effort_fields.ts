import type { ProviderEntry } from "../../../config/mod.ts";
import { thinkingBudget } from "../../model/effort.ts";
import type { ModelInfo } from "../../provider.ts";

type Fields = Readonly<Record<string, unknown>>;

interface EffortOptions {
  readonly compat: ProviderEntry["compat"];
  readonly model: Pick<ModelInfo, "reasoning" | "maxOutputTokens">;
  /** A level that the model has. */
  readonly effort: string | undefined;
}

/** Returns the fields that ask for an effort: its name, and where a vendor has one the switch of thinking. */
export function effortFields({ compat, model, effort }: EffortOptions, extra: Fields): Fields {
  if (effort === undefined || effort === "") return {};
  const { levels } = model.reasoning ?? {};
  switch (compat.thinking_field) {
    case "thinking": {
      const isSwitch = model.reasoning?.toggle === true;
      const isNamed = levels === undefined ? !isSwitch : levels.includes(effort);
      const type = effort === "none" ? "disabled" : "enabled";
      return {
        ...(isSwitch ? { thinking: { ...recordOf(extra.thinking), type } } : {}),
        ...(isNamed ? levelField(compat.effort_field, effort, extra) : {}),
      };
    }
    case "enable_thinking": {
      if (levels?.includes(effort)) return levelField(compat.effort_field, effort, extra);
      const budget = model.reasoning?.budget && thinkingBudget(effort, model.reasoning.budget);
      return {
        enable_thinking: effort !== "none",
        ...(budget ? { thinking_budget: budget } : {}),
      };
    }
    default:
      return levelField(compat.effort_field, effort, extra);
  }
}

function levelField(place: string, effort: string, extra: Fields): Fields {
  if (place === "reasoning_effort") return { reasoning_effort: effort };
  return { reasoning: { ...recordOf(extra.reasoning), effort } };
}

function recordOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? value as Fields : {};
}
