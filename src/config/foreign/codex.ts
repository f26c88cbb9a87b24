import { message, type Text } from "../../core/mod.ts";
import {
  items,
  left,
  type Mapping,
  type Plan,
  planned,
  type SourceDocument,
  table,
  text,
} from "./document.ts";
import { type ImportPlan, type Origin, safeHeaders, safeText, variableName } from "./plan.ts";
import type { KeyPath } from "../problem.ts";
import { isTable, tableOf, type TomlTable } from "../schema/json_schema.ts";
import { vendorEntry, VENDORS } from "../vendors.ts";
import { defined, mapValues } from "../../util/json.ts";

export async function planCodex(documents: readonly SourceDocument[]): Promise<void> {
  for (const document of documents) {
    if (document.path.endsWith(".rules")) {
      planCodexRules(document);
      continue;
    }
    planModels(document);
    await document.apply(SETTINGS);
  }
}

interface Choice {
  readonly model: string;
  readonly provider: string;
  readonly origin: Origin;
  readonly profile?: string;
}

function planModels(document: SourceDocument): void {
  const { table } = document;
  const choices = choicesOf(document);
  const configured = tableOf(table.model_providers);
  const names = new Set([...Object.keys(configured), ...choices.map(({ provider }) => provider)]);
  const written = new Set([...names].filter((name) => planProvider(document, name, choices)));
  const chosen = choices.find(({ profile }) => profile !== undefined && profile === table.profile) ??
    choices.find(({ profile }) => profile === undefined);
  for (const { profile, provider, model, origin } of choices) {
    if (profile === undefined || !written.has(provider)) continue;
    document.plan.notices.push(message`Profile ${profile} is --model ${provider}/${model} (${origin.text})`);
  }
  if (!chosen || !written.has(chosen.provider)) return;
  const value = `${chosen.provider}/${chosen.model}`;
  document.plan.take(chosen.origin, { kind: "set", key: "default_model", value });
}

function choicesOf(document: SourceDocument): Choice[] {
  const { table } = document;
  const provider = typeof table.model_provider === "string" ? table.model_provider : "openai";
  const general = typeof table.model === "string"
    ? [{ model: table.model, provider, origin: document.origin(["model"], table.model) }]
    : [];
  const profiles = Object.entries(tableOf(table.profiles)).flatMap(
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
  const separator = url.includes("?") ? "&" : "?";
  return defined({
    kind: settings.wire_api === "chat" ? undefined : "responses",
    base_url: safeText(parameters === "" ? url : `${url}${separator}${parameters}`, owner),
    api_key_env: key || undefined,
    headers: Object.keys(headers).length > 0 ? headers : undefined,
    max_attempts: typeof retries === "number" ? retries + 1 : undefined,
    idle_timeout_seconds: numberIn(settings.stream_idle_timeout_ms, 1000),
    note: settings.auth === undefined
      ? undefined
      : message`without auth: a program that prints the key is not asked`,
  });
}

function numberIn(value: unknown, divisor = 1): number | undefined {
  return typeof value === "number" ? value / divisor : undefined;
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
  return defined({
    context_window: numberIn(window),
    max_output_tokens: numberIn(output),
    effort: typeof effort === "string" ? effort : undefined,
  });
}

function fromEnvironment(names: unknown): Record<string, string> {
  return mapValues(tableOf(names), (name) => `\${${String(name)}}`);
}

const SERVER_KEYS =
  ("command args env env_vars url bearer_token_env_var http_headers env_http_headers enabled cwd " +
    "startup_timeout_sec startup_timeout_ms tool_timeout_sec enabled_tools disabled_tools").split(" ");

function planCodexServers(document: SourceDocument, servers: TomlTable, path: KeyPath): void {
  document.servers(servers, path, (server, name) => {
    const texts = (key: string) => document.texts([...path, name, key], server[key]).map(({ text }) => text);
    const passed = Object.fromEntries(texts("env_vars").map((text) => [text, `\${${text}:-}`]));
    const { command, args, url, cwd, bearer_token_env_var: bearer, tool_timeout_sec: timeout } = server;
    const { startup_timeout_sec: seconds, startup_timeout_ms: milliseconds } = server;
    const enabledTools = texts("enabled_tools");
    return {
      entry: {
        ...{ command, args, url, cwd, enabled_tools: enabledTools, disabled_tools: texts("disabled_tools") },
        env: { ...passed, ...tableOf(server.env) },
        headers: {
          ...(typeof bearer === "string" ? { Authorization: `Bearer \${${bearer}}` } : {}),
          ...tableOf(server.http_headers),
          ...fromEnvironment(server.env_http_headers),
        },
        // An empty list means every tool here, and none there.
        enabled: server.enabled !== false &&
          !(Array.isArray(server.enabled_tools) && enabledTools.length === 0),
        startup_timeout_seconds: numberIn(seconds) ?? numberIn(milliseconds, 1000),
        call_timeout_seconds: numberIn(timeout),
      },
      without: Object.keys(server).filter((key) => !SERVER_KEYS.includes(key)),
    };
  });
}

type Choices = Readonly<Record<string, readonly [key: string, value: string, note?: Text]>>;

const SANDBOXES: Choices = {
  "read-only": ["permissions.mode", "deny", message`nothing writes unless a rule allows it`],
  "workspace-write": ["sandbox.bash", "enforce"],
};
const ASK: Choices[string] = [
  "permissions.mode",
  "ask",
  message`every writer without a rule requires approval`,
];
const APPROVALS: Choices = { untrusted: ASK, "on-request": ASK };

/** Plans a value that represents one of our settings. */
function choice(choices: Choices, why: () => Text): Plan {
  return (document, shown, path) => {
    const [key, value, note] = typeof shown === "string" && Object.hasOwn(choices, shown)
      ? choices[shown] ?? []
      : [];
    if (key !== undefined) document.set(path, key, value, { shown, note });
    else document.leave(path, why(), isTable(shown) ? undefined : shown);
  };
}

const planApproval = choice(
  APPROVALS,
  () => message`no file lifts every question; --on-ask allow does for one run`,
);

/** Settings of codex; the sandbox and approvals never become more than codex allows. */
const SETTINGS: Mapping = {
  model: text(),
  model_provider: text(),
  model_providers: table(),
  profiles: table(),
  profile: text(),
  model_context_window: planned,
  model_max_output_tokens: planned,
  model_reasoning_effort: planned,
  mcp_servers: table(planCodexServers),
  sandbox_mode: choice(
    SANDBOXES,
    () => message`no file lifts the jail; --permission-mode does for one run`,
  ),
  approval_policy: (document, value, path) => {
    const isStricter = document.table.sandbox_mode === "read-only" && Object.hasOwn(APPROVALS, String(value));
    if (!isStricter) return planApproval(document, value, path);
  },
  "sandbox_workspace_write.network_access": (document, value, path) =>
    document.set(path, "sandbox.network", value === true, { shown: value }),
  "sandbox_workspace_write.writable_roots": items("sandbox.allow_write"),
  "sandbox_workspace_write.exclude_slash_tmp": left(ownTmp),
  "sandbox_workspace_write.exclude_tmpdir_env_var": left(ownTmp),
  notify: left(() => message`a hook for \`Stop\` does this here; its program reads JSON on standard input`),
  projects: left(() => message`trust is decided here with \`reasonix trust\``),
  shell_environment_policy: left(() =>
    message`secrets are always kept from commands; [tools.shell] pass_env lets single ones through`
  ),
  project_doc_max_bytes: left(() => message`AGENTS.md is read up to instructions_max_bytes`),
  history: left(() => message`sessions are kept one by one; \`reasonix session list\``),
};

function ownTmp(): Text {
  return message`commands have their own /tmp in the jail`;
}

const LISTS: Readonly<Record<string, string>> = { allow: "allow", prompt: "ask", forbidden: "deny" };
/** More alternatives than are written by hand. */
const MOST_RULES = 64;

/** Plans the rules of a `.rules` file, each of which names the first words of a command. */
function planCodexRules(document: SourceDocument): void {
  const { plan, table: { rules } } = document;
  for (const [index, rule] of (Array.isArray(rules) ? rules : []).entries()) {
    const { pattern, decision } = rule as { pattern: unknown; decision: string };
    const commands = commandsOf(pattern);
    const list = LISTS[decision];
    const shown = commands?.length === 1 ? commands[0] : undefined;
    const origin = { ...document.origin(["rules", index], shown), text: `${decision} ${shown ?? "rule"}` };
    if (!commands) plan.leave(origin, message`its pattern is no plain list of words`);
    else if (list === undefined) plan.leave(origin, message`it is none of allow, prompt and forbidden`);
    for (const command of list === undefined ? [] : commands ?? []) {
      const item = `Bash(${command}:*)`;
      if (list !== "allow" || !/[*?]/.test(command)) {
        plan.take(origin, { kind: "item", key: `permissions.${list}`, item });
      } else plan.leave(origin, message`a * or ? is any text here, so it would allow more`);
    }
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
