import { mcpJsonFile } from "../config_paths.ts";
import { claudeRule, readSettingsHooks, type RuleListName } from "./claude.ts";
import type { ForeignDocument } from "./document.ts";
import { readOauth } from "../plugins/mcp_json.ts";
import type { ConfigProblem, KeyPath } from "../problem.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";
import { vendorEntry, VENDORS } from "../vendors.ts";
import { slashed } from "../../path/lexical.ts";

/** Plans what Claude Code's settings become; `cwd` is the project whose servers of `.claude.json` count. */
export async function planClaude(
  documents: readonly ForeignDocument[],
  cwd: string,
): Promise<void> {
  const switchedOff = new Set(
    documents.flatMap((document) =>
      document.texts(["disabledMcpjsonServers"], document.table.disabledMcpjsonServers)
    ).map(({ text }) => text),
  );
  for (const document of documents) {
    if (slashed(document.path) === slashed(mcpJsonFile(cwd))) {
      document.leave(["mcpServers"], SERVERS_READ_THERE);
    } else if (document.path.endsWith(".mcp.json")) planServers(document, ["mcpServers"], switchedOff);
    else if (document.path.endsWith(".claude.json")) planState(document, cwd);
    else await planSettings(document, cwd);
  }
}

function planState(document: ForeignDocument, cwd: string): void {
  planServers(document, ["mcpServers"]);
  const projects = isTable(document.table.projects) ? document.table.projects : {};
  const project = projects[cwd];
  if (!isTable(project)) return;
  const own: ForeignDocument = document.withScope("project");
  planServers(own, ["projects", cwd, "mcpServers"]);
  for (const { path, text } of own.texts(["projects", cwd, "allowedTools"], project.allowedTools)) {
    takeRule(own, path, { rule: text, list: "allow" });
  }
}

function planServers(
  document: ForeignDocument,
  path: KeyPath,
  switchedOff: ReadonlySet<string> = new Set(),
): void {
  document.servers({ path, shown: path.slice(-1) }, (server, name) => {
    const { type, command, args, env, url, headers, cwd, headersHelper, timeout } = server;
    const oauth = readOauth(server.oauth);
    return {
      ...{ type, command, args, env, url, headers, cwd, headersHelper, oauth },
      enabled: server.disabled !== true && !switchedOff.has(name),
      ...(typeof timeout === "number" ? { timeoutSeconds: timeout / 1000 } : {}),
      notes: [...(oauth ? [] : ["oauth"]), "alwaysAllow"].filter((key) => server[key] !== undefined)
        .map((key) => `without ${key}`),
    };
  });
}

/** Settings with a plan, and their types. */
const SETTINGS = {
  permissions: "table",
  sandbox: "table",
  model: "text",
  env: "table",
  $schema: "any",
  hooks: "any",
  disableAllHooks: "any",
  disabledMcpjsonServers: "any",
} as const;

const SERVERS_READ_THERE = "they are read from this file; see `reasonix mcp list` and `reasonix trust`";

const READ_THERE = "they are read from this file; see `reasonix permissions list` and `reasonix trust`";

const HOOKS_READ_THERE = "they are read from this file; see `reasonix hooks list` and `reasonix trust`";

const REASONS: Readonly<Record<string, string>> = {
  apiKeyHelper: "a program that prints the key is not asked; put the key into .env or the environment",
  enabledPlugins: "there are no plugins of this kind",
  enabledMcpjsonServers: "`reasonix trust` decides about the servers of a project",
  enableAllProjectMcpServers: "`reasonix trust` decides about the servers of a project",
};

async function planSettings(document: ForeignDocument, cwd: string): Promise<void> {
  const { table } = document;
  document.leaveMistyped(SETTINGS);
  // Those of this project count where they are, and a person's own (`settings.local.json`) are not shared.
  const isRead = /^\/\.claude\/settings(?:\.local)?\.json$/.test(
    slashed(document.path).replace(slashed(cwd), ""),
  );
  if (table.hooks !== undefined && isRead) document.leave(["hooks"], HOOKS_READ_THERE);
  else if (table.hooks !== undefined) await planHooks(document);
  if (isTable(table.permissions)) {
    if (isRead) document.leave(["permissions"], READ_THERE);
    else planPermissions(document, table.permissions);
  }
  if (isTable(table.sandbox)) planSandbox(document, table.sandbox);
  if (typeof table.model === "string") planModel(document, table.model);
  if (isTable(table.env)) planEnvironment(document, table.env);
  document.leaveOthers(SETTINGS, REASONS);
}

/** Plans the hooks as entries of `[[hooks]]`; the reader is the one of the files that are read in place. */
async function planHooks(document: ForeignDocument): Promise<void> {
  const { path: file, scope, table } = document;
  if (table.disableAllHooks === true) {
    return document.leave(["hooks"], "disableAllHooks switches them off");
  }
  const problems: ConfigProblem[] = [];
  const layer = await readSettingsHooks({ source: scope, file }, problems);
  for (const { message, place = { file } } of problems) {
    document.plan.leave({ text: "hooks", place, scope }, message.charAt(0).toLowerCase() + message.slice(1));
  }
  const entries = Array.isArray(layer?.table.hooks) ? layer.table.hooks.filter(isTable) : [];
  entries.forEach((item, index) => {
    const place = { file, ...layer?.find?.(["hooks", index]) };
    const text = `hooks.${item.event} ${JSON.stringify(item.command)}`;
    document.plan.take({ text, place, scope }, { kind: "item", key: "hooks", item });
  });
}

function planPermissions(document: ForeignDocument, permissions: TomlTable): void {
  for (const [key, value] of Object.entries(permissions)) {
    const path = ["permissions", key];
    if (key === "allow" || key === "ask" || key === "deny") {
      for (const { path: here, text } of document.texts(path, value)) {
        takeRule(document, here, { rule: text, list: key });
      }
    } else if (key === "defaultMode") planMode(document, String(value));
    else if (key === "additionalDirectories") {
      document.items(path, { value, key: "sandbox.allow_write" });
    } else document.leave(path, "it has no counterpart", value);
  }
}

function takeRule(
  document: ForeignDocument,
  path: KeyPath,
  { rule, list }: { readonly rule: string; readonly list: RuleListName },
): void {
  const result = claudeRule(rule, list, document.scope);
  if ("why" in result) return document.leave(path, result.why, rule);
  document.add(path, `permissions.${list}`, result.rule, { shown: rule, note: result.note || undefined });
}

/** Values of `permissions.mode` by the modes of Claude Code. */
const MODES: Readonly<Record<string, readonly [mode: string, note?: string]>> = {
  default: ["ask"],
  dontAsk: ["deny"],
  plan: ["deny", "stricter; --permission-mode plan is a choice of each run"],
};

function planMode(document: ForeignDocument, mode: string): void {
  const path = ["permissions", "defaultMode"];
  const [value, note] = Object.hasOwn(MODES, mode) ? MODES[mode] ?? [] : [];
  if (value !== undefined) return document.set(path, "permissions.mode", value, { shown: mode, note });
  if (mode === "acceptEdits") return document.add(path, "permissions.allow", "Edit", { shown: mode });
  const why = "no file lifts every question; --permission-mode danger-full-access does for one run";
  document.leave(path, why, mode);
}

function planSandbox(document: ForeignDocument, sandbox: TomlTable): void {
  const targets: Readonly<Record<string, string>> = {
    "network.allowedDomains": "sandbox.network_hosts",
    "filesystem.allowWrite": "sandbox.allow_write",
    "filesystem.denyRead": "sandbox.forbid_read",
  };
  for (const [key, value] of Object.entries(sandbox)) {
    const path = ["sandbox", key];
    if (key === "enabled") {
      if (value === true) {
        document.set(path, "sandbox.bash", "enforce", { shown: value });
      } else document.leave(path, "the jail stays on", value);
      continue;
    }
    for (const [name, list] of isTable(value) ? Object.entries(value) : []) {
      const target = targets[`${key}.${name}`];
      if (target === undefined || !Array.isArray(list)) {
        document.leave([...path, name], "it has no counterpart");
        continue;
      }
      const tooWide = { why: "a * would allow other hosts here" };
      document.items([...path, name], {
        value: list,
        key: target,
        refuse: (text) => target === "sandbox.network_hosts" && text.includes("*") ? tooWide : undefined,
      });
    }
    if (!isTable(value)) document.leave(path, "it has no counterpart", value);
  }
}

function planModel(document: ForeignDocument, written: string): void {
  const origin = document.origin(["model"], written);
  const model = written.replace(/\[\w+\]$/, "");
  const vendor = VENDORS.find(({ name }) => name === "anthropic");
  if (!vendor || !model.startsWith("claude-")) {
    return document.plan.leave(
      origin,
      "it is a name of Claude Code's own; `reasonix setup` lists the models of a vendor",
    );
  }
  const entry = { ...vendorEntry(vendor), models: [model], default: model };
  document.plan.take(
    origin,
    { kind: "entry", list: "providers", entry },
    `its key is ${vendor.keyName}; a subscription cannot be used`,
  );
  document.plan.take(origin, { kind: "set", key: "default_model", value: `${vendor.name}/${model}` });
}

function planEnvironment(document: ForeignDocument, env: TomlTable): void {
  for (const [name, value] of Object.entries(env)) {
    const path = ["env", name];
    if (name === "ANTHROPIC_API_KEY" && typeof value === "string" && value !== "") {
      document.plan.key({ name, value, origin: document.origin(path) }, name);
      continue;
    }
    const why = name === "ANTHROPIC_BASE_URL"
      ? "it speaks Anthropic's own wire; `reasonix setup` takes an OpenAI-compatible address"
      : "a variable of that program; export it in your shell where commands need it";
    document.leave(path, why);
  }
}
