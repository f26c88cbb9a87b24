import { parse, stringify, type TomlTable } from "smol-toml";
import {
  hideSecrets,
  isLoopback,
  type LoadedConfig,
  type ModelChoice,
  resolveModel,
  userConfigFile,
} from "../../config/mod.ts";
import { formatLocation, message, ReasonixError } from "../../core/mod.ts";
import { attempt } from "../../util/lazy.ts";
import { looksLikeSecret } from "../../util/redact.ts";

/** A server that the tasks talk to. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** The user's configuration as other machines need it: without secrets, and without parts about this one. */
export interface MachineConfig {
  /** TOML; empty where the built-in settings do. */
  readonly text: string;
  /** Variables that have to be set there: keys of the models, and those that the text names. */
  readonly variables: readonly string[];
  readonly endpoints: readonly Endpoint[];
  /** Files that the text names. */
  readonly files: readonly string[];
}

/** Tables that say how a task is done; the others are about this machine and its user. */
const KEPT = [
  ...[
    "default_model",
    "agent_model",
    "vision_model",
    "agent",
    "agents",
    "tools",
    "compaction",
    "permissions",
  ],
  ...["sandbox", "security", "safety", "providers", "telemetry"],
];

const FILES = ["ca_file", "client_cert_file", "client_key_file", "cassette"] as const;

/** Variables of every machine. */
const ORDINARY = /^(?:HOME|USER|PATH|PWD|SHELL|LANG|TMPDIR)$/;
const TARGET = ["AGENT_BASE_URL", "AGENT_MODEL", "AGENT_API_KEY"];

/**
 * The configuration for tasks with these models ("" is the default one). Throws a ReasonixError (config) for
 * an unknown model, and for a secret that is written out.
 */
export function machineConfig(loaded: LoadedConfig, models: Iterable<string>): MachineConfig {
  const { config, needsTrust, keys } = loaded;
  const untrusted = needsTrust.flatMap(({ kind, name }) => kind === "provider" ? [name] : []);
  const { agent, compaction, vision_model } = config;
  const further = [
    ...[
      ...agent.fallback,
      agent.planner_model,
      agent.subagent_model,
      ...Object.values(agent.subagent_models),
    ],
    ...[compaction.summary_model, vision_model],
  ].filter((name) => name !== "");
  const used: ModelChoice[] = [
    ...[...models].map((name) => resolveModel(config, name, untrusted)),
    ...further.flatMap((name) => attempt(() => resolveModel(config, name)) ?? []),
  ];
  const entries = [...new Map(used.map(({ entry }) => [entry.name, entry])).values()];
  // A receiver on this machine is none of another one.
  const { otlp } = config.telemetry;
  const receiver = isLoopback(otlp) ? [] : endpointOf(otlp);
  const { telemetry, ...others } = keptTable(loaded, (name) => entries.some((entry) => entry.name === name));
  const table: TomlTable = { ...others, ...(telemetry && receiver.length > 0 ? { telemetry } : {}) };
  const named = [...JSON.stringify(table).matchAll(/\$\{([A-Za-z_]\w*)(:-)?/g)].flatMap(([, name = "", or]) =>
    ORDINARY.test(name) || (or && !keys.env(name)) ? [] : [name]
  );
  return {
    text: Object.keys(table).length === 0 ? "" : `${stringify(table).trim()}\n`,
    variables: [
      ...new Set([
        ...entries.map(({ api_key_env }) => api_key_env).filter((name) => name !== ""),
        ...named,
        ...TARGET.filter((name) => keys.env(name)),
      ]),
    ],
    endpoints: [
      ...entries.flatMap(({ base_url, proxy }) =>
        endpointOf(proxy === "" || proxy === "none" ? base_url : proxy)
      ),
      ...receiver,
    ],
    files: [
      ...entries.flatMap((entry) => FILES.map((key) => entry[key])),
      agent.system_prompt_file,
    ].flatMap((file) => file ? [file] : []),
  };
}

/** The user's file as it is written: variables are expanded where it is read. */
function keptTable(loaded: LoadedConfig, isUsed: (provider: unknown) => boolean): TomlTable {
  const { home, layers, keys } = loaded;
  const file = userConfigFile({ home, env: keys.env });
  const layer = layers.find((each) => each.source === "user" && each.file === file);
  const all = layer?.text === undefined ? {} : parse(layer.text);
  const { security, providers, ...rest } = Object.fromEntries(
    Object.entries(all).filter(([name]) => KEPT.includes(name)),
  );
  // There keys come from the environment.
  const { env_keys: _, ...safe } = (security ?? {}) as TomlTable;
  const used = ((providers ?? []) as TomlTable[]).filter(({ name }) => isUsed(name));
  const table: TomlTable = {
    ...rest,
    ...(Object.keys(safe).length > 0 ? { security: safe } : {}),
    ...(used.length > 0 ? { providers: used } : {}),
  };
  const secret = secretIn(table, hideSecrets(table));
  if (secret === undefined) return table;
  throw new ReasonixError(
    message`Cannot pass on ${formatLocation({ file })}: ${secret} is a secret that is written out`,
    { exit: "config", remedy: message`write it as ${"${NAME}"} there, and set the variable NAME` },
  );
}

/** The key of the first text that holds a secret and no variable. */
function secretIn(value: unknown, hidden: unknown, key = ""): string | undefined {
  if (typeof value === "string") {
    const isSecret = value !== hidden || (/(?:^|\.)headers\./.test(key) && looksLikeSecret(value));
    return isSecret && !value.includes("${") ? key : undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, item] of Object.entries(value)) {
    const below = (hidden as Record<string, unknown> | undefined)?.[name];
    const found = secretIn(item, below, key === "" ? name : `${key}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443, "ssh:": 22, "git:": 9418 };

/** The server of an address, of a repository, too; none for a path. */
export function endpointOf(address: string): Endpoint[] {
  const url = URL.parse(
    /^[\w.-]+@[\w.-]+:(?!\/\/)/.test(address) ? `ssh://${address.replace(":", "/")}` : address,
  );
  const port = url && Number(url.port || PORTS[url.protocol]);
  if (!url || !port || url.hostname === "") return [];
  return [{ host: url.hostname.replace(/^\[|\]$/g, ""), port }];
}
