import type { EnvLookup } from "../config_paths.ts";
import { fillDefaults } from "./defaults.ts";
import { checkLayer, type Layer } from "./layer.ts";
import { providersOf } from "./resolve.ts";
import { ConfigError } from "../problem.ts";
import { resolveModel } from "../query/models.ts";
import type { ProviderEntry } from "../schema/config_types.ts";
import type { TomlTable } from "../schema/json_schema.ts";
import { defined } from "../../util/json.ts";
import { type LocalizedMessage, message, withRemedy } from "../../core/mod.ts";

/** Addresses of Alibaba Cloud's Model Studio, which take `DASHSCOPE_API_KEY`. */
const DASHSCOPE = /^https:\/\/dashscope(?:-[a-z]+)?\.aliyuncs\.com(?:[/:]|$)/;

/**
 * The settings of `AGENT_BASE_URL`, `AGENT_MODEL` and `AGENT_API_KEY`. An address is a separate provider:
 * it gets no key, header or other secret of the configuration, and no other provider gets `AGENT_API_KEY`.
 *
 * @param below the settings of files and presets
 * @throws {ConfigError} for an address that is none, or without a model
 */
export function environmentLayer(env: EnvLookup, below: TomlTable, hasKey: (name: string) => boolean): Layer {
  const [address, model] = [env("AGENT_BASE_URL") ?? "", env("AGENT_MODEL") ?? ""];
  const source = "environment" as const;
  if (address === "") return { source, table: { default_model: model, agent_model: model } };
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    const example = "http://10.0.0.5:8000/v1";
    throw unusable(
      message`Cannot use AGENT_BASE_URL: it is not an http address`,
      message`write for example ${example}`,
    );
  }
  const replaced = replacedModel(below);
  const id = model || replaced?.model;
  if (id === undefined) {
    throw unusable(message`Cannot use AGENT_BASE_URL without a model`, message`set ${"AGENT_MODEL"}`);
  }
  const name = freeName(providersOf({ table: below }));
  const key = hasKey("AGENT_API_KEY") ? "AGENT_API_KEY" : DASHSCOPE.test(address) ? "DASHSCOPE_API_KEY" : "";
  const reference = `${name}/${id}`;
  const entry = {
    name,
    base_url: address,
    models: [id],
    api_key_env: key,
    ...(replaced?.facts ?? { kind: "openai" }),
  };
  const table = { default_model: reference, agent_model: reference, providers: [entry] };
  const layer = { source, table };
  const errors = checkLayer(layer).filter(({ level }) => level === "error");
  if (errors.length > 0) throw new ConfigError(errors);
  return layer;
}

function replacedModel(
  below: TomlTable,
): { readonly model: string; readonly facts: Partial<ProviderEntry> } | undefined {
  try {
    const { entry: { kind, context_window, tool_mode }, model } = resolveModel(fillDefaults(below));
    if (kind === "replay" || kind === "llamacpp") return { model, facts: { kind: "openai" } };
    return { model, facts: defined({ kind, context_window, tool_mode }) };
  } catch {
    return undefined;
  }
}

function freeName(providers: readonly TomlTable[]): string {
  const taken = new Set(providers.map(({ name }) => name));
  let name = "environment";
  while (taken.has(name)) name += "-2";
  return name;
}

function unusable(text: LocalizedMessage, remedy: LocalizedMessage): ConfigError {
  return new ConfigError([{ level: "error", ...withRemedy(text, remedy) }]);
}
