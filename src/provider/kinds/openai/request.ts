import type { ProviderEntry } from "../../../config/mod.ts";
import type { ToolSchema } from "../../../core/mod.ts";
import { thinkingBudget } from "../../model/model_info.ts";
import type { ModelInfo, ModelRequest } from "../../provider.ts";

type Fields = Record<string, unknown>;

/** The facts a request body depends on besides the conversation. */
export interface BodyOptions {
  readonly entry: ProviderEntry;
  readonly model: ModelInfo;
  readonly effort?: string | undefined;
}

/** Fields that `extra` may set but that belong to the single request. */
function tailNames(entry: ProviderEntry): readonly string[] {
  return [entry.compat.max_tokens_field, "tool_choice"];
}

function extras(entry: ProviderEntry): Fields {
  return { ...entry.extra_body, ...entry.extra };
}

/** Everything before the messages: the same bytes for a whole conversation. */
export function head({ entry, model, effort }: BodyOptions, tools: readonly ToolSchema[]): string {
  const { compat } = entry;
  const extra = extras(entry);
  for (const name of [...tailNames(entry), "messages"]) delete extra[name];
  const own = tools.map((tool) => ({ type: "function", function: wireTool(tool) }));
  const all = Array.isArray(extra.tools) ? [...own, ...extra.tools] : own;
  delete extra.tools;
  const fields: Fields = {
    model: model.id,
    stream: true,
    ...(compat.stream_usage ? { stream_options: { include_usage: true } } : {}),
    temperature: entry.temperature,
    top_p: entry.top_p,
    seed: entry.seed,
    ...extra,
    ...effortFields({ compat, model, effort }, extra),
    ...(all.length > 0 ? { tools: all, parallel_tool_calls: compat.parallel_tool_calls } : {}),
  };
  return `${JSON.stringify(fields).slice(0, -1)},"messages":[`;
}

function wireTool({ name, description, parameters }: ToolSchema): Fields {
  return { name, description, parameters };
}

/** Fields that differ from request to request, with their leading comma. */
export function tail({ entry, model }: BodyOptions, request: ModelRequest): string {
  const extra = extras(entry);
  const field = entry.compat.max_tokens_field;
  const hasTools = request.prefix.tools.length > 0;
  const asked = hasTools && entry.compat.tool_choice ? request.toolChoice : undefined;
  const choice = asked === "none" ? asked : extra.tool_choice ?? asked;
  const fields = JSON.stringify({
    [field]: request.maxOutputTokens ?? extra[field] ?? model.maxOutputTokens,
    tool_choice: choice,
  });
  return fields === "{}" ? "" : `,${fields.slice(1, -1)}`;
}

interface EffortOptions {
  readonly compat: ProviderEntry["compat"];
  readonly model: Pick<ModelInfo, "reasoning" | "maxOutputTokens">;
  /** A level that the model has. */
  readonly effort: string | undefined;
}

/** Returns the fields that ask for an effort: its name, and where a vendor has one the switch of thinking. */
function effortFields({ compat, model, effort }: EffortOptions, extra: Fields): Fields {
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
