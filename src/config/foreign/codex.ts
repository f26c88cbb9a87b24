import { type LocalizedMessage, message, type Text } from "../../core/mod.ts";
import type { SourceDocument } from "./document.ts";
import { type ImportPlan, type Origin, safeHeaders, safeText, variableName } from "./plan.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";
import { vendorEntry, VENDORS } from "../vendors.ts";

const SETTINGS = {
  model: "text",
  model_provider: "text",
  model_providers: "table",
  mcp_servers: "table",
  profiles: "table",
  profile: "text",
  sandbox_mode: "text",
  sandbox_workspace_write: "table",
  approval_policy: "any",
  model_context_window: "any",
  model_max_output_tokens: "any",
  model_reasoning_effort: "any",
} as const;

const REASONS: Readonly<Record<string, () => LocalizedMessage>> = {
  notify: () => message`a hook for \`Stop\` does this here; its program reads JSON on standard input`,
  projects: () => message`trust is decided here with \`reasonix trust\``,
  shell_environment_policy: () =>
    message`secrets are always kept from commands; [tools.shell] pass_env lets single ones through`,
  project_doc_max_bytes: () => message`AGENTS.md is read up to instructions_max_bytes`,
  history: () => message`sessions are kept one by one; \`reasonix session list\``,
};

export function planCodex(documents: readonly SourceDocument[]): void {
  for (const document of documents) {
    if (document.path.endsWith(".rules")) {
      planCodexRules(document);
      continue;
    }
    document.leaveMistyped(SETTINGS);
    planModels(document);
    planCodexServers(document);
    planCodexPolicy(document);
    document.leaveOthers(SETTINGS, REASONS);
  }
}

/** A model and its provider, of the file itself or of a profile. */
interface Choice {
  readonly model: string;
  readonly provider: string;
  readonly origin: Origin;
  readonly profile?: string;
}

function planModels(document: SourceDocument): void {
  const { table } = document;
  const choices = choicesOf(document);
  const configured = isTable(table.model_providers) ? table.model_providers : {};
  const names = new Set([...Object.keys(configured), ...choices.map(({ provider }) => provider)]);
  const written = new Set([...names].filter((name) => planProvider(document, name, choices)));
  const chosen = choices.find(({ profile }) => profile !== undefined && profile === table.profile) ??
    choices.find(({ profile }) => profile === undefined);
  for (const { profile, provider, model, origin } of choices) {
    if (profile === undefined || !written.has(provider)) continue;
    document.plan.notices.push(message`Profile ${profile} is --model ${provider}/${model} (${origin.text})`);
  }
  if (!chosen || !written.has(chosen.provider)) return;
  document.plan.take(chosen.origin, {
    kind: "set",
    key: "default_model",
    value: `${chosen.provider}/${chosen.model}`,
  });
}

function choicesOf(document: SourceDocument): Choice[] {
  const { table } = document;
  const provider = typeof table.model_provider === "string" ? table.model_provider : "openai";
  const general = typeof table.model === "string"
    ? [{ model: table.model, provider, origin: document.origin(["model"], table.model) }]
    : [];
  const profiles = Object.entries(isTable(table.profiles) ? table.profiles : {}).flatMap(
    ([profile, settings]) => {
      if (!isTable(settings)) {
        document.leave(["profiles", profile], message`it is no table`);
        return [];
      }
      for (const key of Object.keys(settings)) {
        if (key === "model" || key === "model_provider") continue;
        document.leave(
          ["profiles", profile, key],
          message`a profile is only a model here; give the rest as flags`,
        );
      }
      const model = settings.model ?? table.model;
      if (typeof model !== "string") return [];
      const its = typeof settings.model_provider === "string" ? settings.model_provider : provider;
      return [{ model, provider: its, profile, origin: document.origin(["profiles", profile]) }];
    },
  );
  return [...general, ...profiles];
}

/** Servers on this machine that codex knows without a word in its file. */
const LOCAL: Readonly<Record<string, string>> = {
  oss: "http://127.0.0.1:11434/v1",
  ollama: "http://127.0.0.1:11434/v1",
  lmstudio: "http://127.0.0.1:1234/v1",
};

/** Plans a provider; false when it is left. */
function planProvider(document: SourceDocument, name: string, choices: readonly Choice[]): boolean {
  const { plan, table } = document;
  const chosen = choices.filter(({ provider }) => provider === name);
  const models = [...new Set(chosen.map(({ model }) => model))];
  const path = ["model_providers", name];
  const tables = table.model_providers;
  const settings = isTable(tables) && isTable(tables[name]) ? tables[name] : undefined;
  const origin = settings ? document.origin(path) : chosen[0]?.origin ?? document.origin(path);
  const address = settings ? addressOf(plan, origin, name, settings) : knownAddress(name);
  const why = !settings && chosen.length === 0
    ? message`it is no table`
    : models.length === 0
    ? message`no model of it is named; \`reasonix setup\` lists them`
    : address
    ? undefined
    : message`the provider ${JSON.stringify(name)} has no address`;
  if (why !== undefined || !address) {
    plan.leave(origin, why ?? "");
    return false;
  }
  const vendor = settings ? undefined : VENDORS.find((candidate) => candidate.name === name);
  const { note, ...rest } = address;
  const entry = {
    name,
    ...rest,
    models,
    default: models[0],
    ...(vendor?.window && vendor.models[0] === models[0] ? { context_window: vendor.window } : {}),
    ...limits(table, models),
  };
  plan.take(origin, { kind: "entry", list: "providers", entry }, note);
  return true;
}

type Address = TomlTable & { readonly note?: Text };

/** The address of a vendor, or of a server on this machine, that codex knows without settings. */
function knownAddress(name: string): Address | undefined {
  const local = LOCAL[name];
  if (local !== undefined) return { base_url: local };
  const vendor = VENDORS.find((candidate) => candidate.name === name);
  if (!vendor) return undefined;
  const { name: _, models: __, default: ___, context_window: ____, ...address } = vendorEntry(vendor);
  return { ...address, note: message`its key is ${vendor.keyName}, not a sign-in of codex` };
}

function addressOf(plan: ImportPlan, origin: Origin, name: string, settings: TomlTable): Address | undefined {
  const { base_url: url, query_params: query, request_max_retries: retries } = settings;
  if (typeof url !== "string" || url === "") return undefined;
  const owner = { plan, origin, name };
  const key = keyName(plan, origin, name, settings);
  const headers = {
    ...safeHeaders(settings.http_headers, owner),
    ...fromEnvironment(settings.env_http_headers),
  };
  const parameters = isTable(query) ? new URLSearchParams(query as Record<string, string>).toString() : "";
  const idle = settings.stream_idle_timeout_ms;
  return {
    ...(settings.wire_api === "chat" ? {} : { kind: "responses" }),
    base_url: safeText(
      parameters === "" ? url : `${url}${url.includes("?") ? "&" : "?"}${parameters}`,
      owner,
    ),
    ...(key === "" ? {} : { api_key_env: key }),
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(typeof retries === "number" ? { max_attempts: retries + 1 } : {}),
    ...(typeof idle === "number" ? { idle_timeout_seconds: idle / 1000 } : {}),
    ...(settings.auth === undefined
      ? {}
      : { note: message`without auth: a program that prints the key is not asked` }),
  };
}

function keyName(plan: ImportPlan, origin: Origin, name: string, settings: TomlTable): string {
  const { env_key: variable, experimental_bearer_token: token } = settings;
  if (typeof token === "string" && token !== "") {
    const found = { name: variableName(name, "api_key"), value: token, origin };
    return plan.key(found, variableName(name, "bearer_token"));
  }
  return typeof variable === "string"
    ? variable
    : settings.requires_openai_auth === true
    ? "OPENAI_API_KEY"
    : "";
}

/** Returns the limits of the model of the file, for its provider when that has no other model. */
function limits(table: TomlTable, models: readonly string[]): TomlTable {
  if (models.length !== 1 || models[0] !== table.model) return {};
  const { model_context_window: window, model_max_output_tokens: output, model_reasoning_effort: effort } =
    table;
  return {
    ...(typeof window === "number" ? { context_window: window } : {}),
    ...(typeof output === "number" ? { max_output_tokens: output } : {}),
    ...(typeof effort === "string" ? { effort } : {}),
  };
}

function fromEnvironment(names: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(isTable(names) ? names : {}).map(([header, name]) => [header, `\${${String(name)}}`]),
  );
}

const SERVER_KEYS =
  ("command args env env_vars url bearer_token_env_var http_headers env_http_headers enabled cwd " +
    "startup_timeout_sec startup_timeout_ms tool_timeout_sec enabled_tools disabled_tools").split(" ");

function planCodexServers(document: SourceDocument): void {
  document.servers({ path: ["mcp_servers"] }, (server, name) => {
    const texts = (key: string) =>
      document.texts(["mcp_servers", name, key], server[key]).map(({ text }) => text);
    const passed = Object.fromEntries(texts("env_vars").map((text) => [text, `\${${text}:-}`]));
    const { command, args, url, cwd, bearer_token_env_var: bearer, tool_timeout_sec: timeout } = server;
    const { startup_timeout_sec: seconds, startup_timeout_ms: milliseconds } = server;
    const enabledTools = texts("enabled_tools");
    return {
      entry: {
        ...{ command, args, url, cwd, enabled_tools: enabledTools, disabled_tools: texts("disabled_tools") },
        env: { ...passed, ...(isTable(server.env) ? server.env : {}) },
        headers: {
          ...(typeof bearer === "string" ? { Authorization: `Bearer \${${bearer}}` } : {}),
          ...(isTable(server.http_headers) ? server.http_headers : {}),
          ...fromEnvironment(server.env_http_headers),
        },
        // An empty list means every tool here, and none there.
        enabled: server.enabled !== false &&
          !(Array.isArray(server.enabled_tools) && enabledTools.length === 0),
        startup_timeout_seconds: typeof seconds === "number"
          ? seconds
          : typeof milliseconds === "number"
          ? milliseconds / 1000
          : undefined,
        call_timeout_seconds: typeof timeout === "number" ? timeout : undefined,
      },
      without: Object.keys(server).filter((key) => !SERVER_KEYS.includes(key)),
    };
  });
}

type Setting = readonly [key: string, value: string, note?: Text];

const SANDBOXES: Readonly<Record<string, Setting>> = {
  "read-only": ["permissions.mode", "deny", message`nothing writes unless a rule allows it`],
  "workspace-write": ["sandbox.bash", "enforce"],
};
const ASK: Setting = ["permissions.mode", "ask", message`every writer without a rule is asked about`];
const APPROVALS: Readonly<Record<string, Setting>> = { untrusted: ASK, "on-request": ASK };

/** Plans the sandbox and approvals: never more than codex allows. */
function planCodexPolicy(document: SourceDocument): void {
  const { approval_policy: approval, sandbox_mode: mode } = document.table;
  const plan = (name: string, values: Readonly<Record<string, Setting>>, why: Text) => {
    const shown = document.table[name];
    if (shown === undefined) return;
    const [key, value, note] = typeof shown === "string" && Object.hasOwn(values, shown)
      ? values[shown] ?? []
      : [];
    if (key !== undefined) document.set([name], key, value, { shown, note });
    else document.leave([name], why, isTable(shown) ? undefined : shown);
  };
  plan(
    "sandbox_mode",
    SANDBOXES,
    message`no file lifts the jail; --permission-mode does for one run`,
  );
  if (mode !== "read-only" || !Object.hasOwn(APPROVALS, String(approval))) {
    plan(
      "approval_policy",
      APPROVALS,
      message`no file lifts every question; --on-ask allow does for one run`,
    );
  }
  planWorkspace(document);
}

function planWorkspace(document: SourceDocument): void {
  const section = "sandbox_workspace_write";
  const workspace = document.table[section];
  for (const [key, value] of Object.entries(isTable(workspace) ? workspace : {})) {
    const path = [section, key];
    if (key === "network_access") {
      document.set(path, "sandbox.network", value === true, { shown: value });
    } else if (key === "writable_roots") {
      document.items(path, { value, key: "sandbox.allow_write" });
    } else document.leave(path, message`commands have their own /tmp in the jail`, value);
  }
}

const LISTS: Readonly<Record<string, string>> = { allow: "allow", prompt: "ask", forbidden: "deny" };
/** More alternatives than are written by hand. */
const MOST_RULES = 64;

/** Plans the rules of a `.rules` file, each of which names the first words of a command. */
function planCodexRules(document: SourceDocument): void {
  const { rules } = document.table;
  for (const [index, rule] of (Array.isArray(rules) ? rules : []).entries()) {
    const { pattern, decision } = rule as { pattern: unknown; decision: string };
    const commands = commandsOf(pattern);
    const list = LISTS[decision];
    const shown = commands?.length === 1 ? commands[0] : undefined;
    const origin = { ...document.origin(["rules", index], shown), text: `${decision} ${shown ?? "rule"}` };
    if (!commands) document.plan.leave(origin, message`its pattern is no plain list of words`);
    else if (list === undefined) {
      document.plan.leave(origin, message`it is none of allow, prompt and forbidden`);
    } else {for (const command of commands) {
        if (list === "allow" && /[*?]/.test(command)) {
          document.plan.leave(origin, message`a * or ? is any text here, so it would allow more`);
        } else {
          const item = `Bash(${command}:*)`;
          document.plan.take(origin, { kind: "item", key: `permissions.${list}`, item });
        }
      }}
  }
}

/** Returns the command prefixes of a pattern; a list in it is a choice of words. */
function commandsOf(pattern: unknown): readonly string[] | undefined {
  if (!Array.isArray(pattern) || pattern.length === 0) return undefined;
  let commands = [""];
  for (const part of pattern) {
    const words: unknown[] = Array.isArray(part) ? part : [part];
    if (!words.every((word) => typeof word === "string" && word !== "" && !/['"\\]/.test(word))) {
      return undefined;
    }
    commands = commands.flatMap((begun) => words.map((word) => `${begun} ${quoted(String(word))}`.trim()));
    if (commands.length > MOST_RULES) return undefined;
  }
  return commands;
}

function quoted(word: string): string {
  return /^[\w./:=@%+,*?-]+$/.test(word) ? word : `'${word}'`;
}
