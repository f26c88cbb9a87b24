import type { KeyPath } from "../../problem.ts";
import type { ProviderTable } from "../../edit/provider.ts";
import { isTable, type TomlTable } from "../../schema/json_schema.ts";
import { vendorEntry, VENDORS } from "../../vendors.ts";
import { type ForeignDocument, leaveMistyped, originOf, textsOf } from "../document.ts";
import { planOpencodeFiles } from "./opencode_files.ts";
import { planOpencodeRules } from "./opencode_rules.ts";
import type { ImportPlan, Origin } from "../plan.ts";
import { safeHeaders, safeText, variableName } from "../secrets.ts";
import { takeServer } from "../servers.ts";

const KNOWN = [
  "$schema",
  "model",
  "provider",
  "providers",
  "mcp",
  "permission",
  "permissions",
  "instructions",
  "tools",
  "agent",
  "agents",
  "command",
  "commands",
];

const REASONS: Readonly<Record<string, string>> = {
  plugin: "programs for opencode do not run here",
  plugins: "programs for opencode do not run here",
  small_model: "summaries are written by the main model unless compaction.summary_model names one",
};

/** Plans what opencode's settings become, those of version 1 and of version 2. */
export function planOpencode(documents: readonly ForeignDocument[], plan: ImportPlan): void {
  for (const document of documents) {
    const { table } = document;
    leaveMistyped(plan, document, { provider: "table", providers: "table", mcp: "table", tools: "table" });
    planModels(plan, document);
    planServers(plan, document);
    planOpencodeRules(plan, document);
    planInstructions(plan, document);
    planOpencodeFiles(plan, document);
    for (const key of Object.keys(table)) {
      if (KNOWN.includes(key)) continue;
      plan.leave(
        originOf(document, [key]),
        REASONS[key] ?? "it has no counterpart",
      );
    }
  }
}

function planModels(plan: ImportPlan, document: ForeignDocument): void {
  const { table } = document;
  const section = isTable(table.providers) ? "providers" : "provider";
  const tables = isTable(table[section]) ? table[section] : {};
  const [, chosen = "", model = ""] = /^([^/]+)\/(.+)$/.exec(String(table.model ?? "")) ?? [];
  const written = new Set<string>();
  for (const name of new Set([...Object.keys(tables), ...(chosen === "" ? [] : [chosen])])) {
    const settings = isTable(tables[name]) ? tables[name] : undefined;
    const origin = settings
      ? originOf(document, [section, name])
      : originOf(document, ["model"], table.model);
    const entry = providerEntry(plan, origin, {
      name,
      settings: settings ?? {},
      model: name === chosen ? model : "",
    });
    if ("why" in entry) plan.leave(origin, String(entry.why));
    else {
      const { note, ...rest } = entry;
      plan.take(
        origin,
        { kind: "entry", list: "providers", entry: rest as ProviderTable },
        note as string | undefined,
      );
      written.add(name);
    }
  }
  if (table.model === undefined) return;
  const origin = originOf(document, ["model"], table.model);
  if (written.has(chosen)) plan.take(origin, { kind: "set", key: "default_model", value: table.model });
  else plan.leave(origin, "its provider is not taken over");
}

interface Described {
  readonly name: string;
  readonly settings: TomlTable;
  /** The model that is chosen of it, if any. */
  readonly model: string;
}

function providerEntry(plan: ImportPlan, origin: Origin, { name, settings, model }: Described): TomlTable {
  const options = [settings.options, settings.settings].find(isTable) ?? {};
  const vendor = VENDORS.find((candidate) => candidate.name === (ALIASES[name] ?? name));
  const speaks = String(settings.npm ?? settings.package ?? "");
  const url = options.baseURL ?? settings.api;
  const compatible = /openai(?:-compatible)?$/.test(speaks) || speaks === "";
  if (typeof url === "string" ? !compatible : !vendor) {
    return {
      why: typeof url === "string"
        ? `it speaks through ${speaks}; only OpenAI-compatible servers are there`
        : "it has no address",
    };
  }
  const described = isTable(settings.models) ? settings.models : {};
  const models = [...new Set([...(model === "" ? [] : [model]), ...Object.keys(described)])];
  if (models.length === 0) return { why: "no model of it is named; `reasonix setup` lists them" };
  const owner = { plan, origin, name };
  const { context_window: _, models: __, default: ___, ...known } = vendor && typeof url !== "string"
    ? vendorEntry(vendor)
    : {} as TomlTable;
  const key = keyName(plan, origin, { name, options, settings, known: vendor?.keyName });
  const headers = safeHeaders(mapValues(options.headers), owner);
  return {
    ...known,
    name,
    ...(typeof url === "string" ? { base_url: safeText(variables(url), owner) } : {}),
    models,
    default: models[0],
    ...key,
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(models[0] === vendor?.models[0] && vendor?.window ? { context_window: vendor.window } : {}),
    ...windowOf(described, models),
    ...(/\/openai$/.test(speaks) && known.kind === undefined
      ? { note: "asked for chat completions, not responses" }
      : {}),
  };
}

/** Names that opencode has for vendors. */
const ALIASES: Readonly<Record<string, string>> = {
  moonshotai: "moonshot",
  zhipuai: "zhipu",
};

function keyName(
  plan: ImportPlan,
  origin: Origin,
  { name, options, settings, known }: {
    readonly name: string;
    readonly options: TomlTable;
    readonly settings: TomlTable;
    readonly known: string | undefined;
  },
): TomlTable {
  const { apiKey } = options;
  const listed = Array.isArray(settings.env)
    ? settings.env.find((item) => typeof item === "string")
    : undefined;
  if (typeof apiKey !== "string" || apiKey === "") {
    const usual = listed ?? known;
    return usual === undefined ? {} : { api_key_env: usual };
  }
  const reference = /^\{env:(\w+)\}$/.exec(apiKey)?.[1];
  if (reference !== undefined) return { api_key_env: reference };
  const wanted = known ?? variableName(name, "api_key");
  const file = /^\{file:(.+)\}$/.exec(apiKey)?.[1];
  if (file !== undefined) {
    plan.notices.push(`Put the content of ${file} into .env as ${wanted}`);
    return { api_key_env: wanted };
  }
  return { api_key_env: plan.key({ name: wanted, value: apiKey, origin }, variableName(name, "key")) };
}

/** The smallest window that is told of the models, so that none of them overflows. */
function windowOf(described: TomlTable, models: readonly string[]): TomlTable {
  const windows = models.map((model) => described[model]).flatMap((model) => {
    const limit = isTable(model) && isTable(model.limit) ? model.limit.context : undefined;
    return typeof limit === "number" && limit > 0 ? [limit] : [];
  });
  return windows.length > 0 ? { context_window: Math.min(...windows) } : {};
}

function planServers(plan: ImportPlan, document: ForeignDocument): void {
  const mcp = isTable(document.table.mcp) ? document.table.mcp : {};
  const nested = isTable(mcp.servers) && !("type" in mcp.servers) && !("command" in mcp.servers);
  const path: KeyPath = nested ? ["mcp", "servers"] : ["mcp"];
  for (const [name, server] of Object.entries(nested ? mcp.servers as TomlTable : mcp)) {
    const origin = originOf(document, [...path, name]);
    if (
      !isTable(server) ||
      (server.type === undefined && server.command === undefined && server.url === undefined)
    ) {
      plan.leave(origin, "it is no description of a server");
      continue;
    }
    const [command, ...args] = Array.isArray(server.command) ? server.command.map(variables) : [];
    const timeout = typeof server.timeout === "number" ? [`without timeout ${server.timeout}`] : [];
    takeServer(plan, {
      name,
      origin,
      type: server.type,
      command,
      args,
      env: mapValues(server.environment),
      url: typeof server.url === "string" ? variables(server.url) : undefined,
      headers: mapValues(server.headers),
      enabled: server.enabled !== false && server.disabled !== true,
      cwd: server.cwd,
      notes: [
        ...timeout,
        ...["oauth"].filter((key) => isSet(server[key])).map((key) => `without ${key}`),
      ],
    });
  }
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== false;
}

function planInstructions(plan: ImportPlan, document: ForeignDocument): void {
  for (const { path, text } of textsOf(plan, document, ["instructions"], document.table.instructions)) {
    const origin = originOf(document, path, text);
    if (/^https?:/.test(text)) plan.leave(origin, "instructions are files, not addresses");
    else if (document.scope === "user" && !/^[~/]/.test(text)) {
      plan.leave(origin, "it counts from each project");
    } else plan.take(origin, { kind: "item", key: "instructions", item: text });
  }
}

/** `{env:NAME}` in our words. */
function variables(value: unknown): string {
  return String(value).replace(/\{env:(\w+)\}/g, "${$1}");
}

function mapValues(values: unknown): TomlTable {
  return Object.fromEntries(
    Object.entries(isTable(values) ? values : {}).map(([name, value]) => [name, variables(value)]),
  );
}
