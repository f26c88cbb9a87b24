/**
 * The settings of Claude Code: its permission rules and hooks in our words. Those of a project are read in
 * place and become layers like those of our files: they restrict immediately, and grant once the user
 * trusts them. `config import` copies those of the user.
 */
import { type LocalizedMessage, message, type Text, textOf } from "../../core/mod.ts";
import { mcpJsonFile } from "../config_paths.ts";
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
import { readOauth } from "./mcp_json.ts";
import { lowered, type Scope } from "./plan.ts";
import { JsonFile, LayerBuilder } from "../load/jsonc.ts";
import { checkLayer, type Layer } from "../load/layer.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { isTable, type TomlTable, valueAt } from "../schema/json_schema.ts";
import { vendorEntry, VENDORS } from "../vendors.ts";
import { join, slashed } from "../../path/lexical.ts";
import { isFault, lintRule, readRule } from "../../rule/mod.ts";
import { isRecord, recordOf } from "../../util/json.ts";
import { suggestNames } from "../../util/suggest.ts";
import { cutText } from "../../util/terminal_text.ts";

/** The weaker first. */
const FILES = [".claude/settings.json", ".claude/settings.local.json"] as const;
const LISTS = ["deny", "ask", "allow"] as const;
/** Keys of `permissions`, and of the file, with a meaning. */
const PERMISSIONS: readonly string[] = [...LISTS, "additionalDirectories", "defaultMode"];
const KNOWN = ["$schema", "permissions", "hooks", "disableAllHooks"];
const OFF = "set permissions.claude_settings = false in your own file to leave such files alone";
const CORRECT = `correct it, or ${OFF}`;

export interface ClaudeSettings {
  readonly permissions: readonly Layer[];
  readonly hooks: readonly Layer[];
  /** Unused parts of the files, such as ".claude/settings.json (env)". */
  readonly unused: readonly string[];
}

/** Reads the files of a project. One that cannot be read may hold a refusal, so that it is an error. */
export async function readClaudeSettings(cwd: string, problems: ConfigProblem[]): Promise<ClaudeSettings> {
  const [permissions, hooks, unused]: [Layer[], Layer[], string[]] = [[], [], []];
  for (const name of FILES) {
    const unusable = { level: "error", remedy: CORRECT } as const;
    const json = await JsonFile.open({ source: "project", file: join(cwd, name) }, unusable, problems);
    if (!json) continue;
    const { value } = json;
    if (!isRecord(value)) {
      json.report([], "A JSON object is expected", CORRECT, "error");
      continue;
    }
    const layer = permissionLayer(json, value.permissions);
    if (layer) permissions.push(layer);
    const hookLayer = hooksOf(json);
    if (hookLayer) hooks.push(hookLayer);
    const others = isRecord(value.permissions) ? Object.keys(value.permissions) : [];
    const keys = [
      ...Object.keys(value).filter((key) => !KNOWN.includes(key)),
      ...others.filter((key) => !PERMISSIONS.includes(key)).map((key) => `permissions.${key}`),
    ];
    if (keys.length > 0) unused.push(`${name} (${keys.join(", ")})`);
  }
  return { permissions, hooks, unused };
}

/** Settings by the modes that restrict or grant a little; the ones that lift every prompt never count. */
const LIVE_MODES: Readonly<Record<string, readonly [key: string, value: string] | undefined>> = {
  default: undefined,
  manual: undefined,
  acceptEdits: ["permissions.allow", "Edit"],
  dontAsk: ["permissions.mode", "deny"],
  plan: ["tools.writes", "deny"],
};

function permissionLayer(json: JsonFile, permissions: unknown): Layer | undefined {
  if (permissions === undefined) return undefined;
  if (!isRecord(permissions)) {
    return json.report(["permissions"], "Permissions must be an object", CORRECT, "error");
  }
  const builder = new LayerBuilder(json);
  for (const list of LISTS) addRules(json, builder, list, permissions[list]);
  const { additionalDirectories: directories, defaultMode: mode } = permissions;
  if (Array.isArray(directories) && directories.every((item) => typeof item === "string")) {
    directories.forEach((item, index) =>
      builder.add(["sandbox", "allow_write"], item, ["permissions", "additionalDirectories", index])
    );
  } else if (directories !== undefined) {
    const message = "AdditionalDirectories must be an array of texts; it is ignored";
    json.report(["permissions", "additionalDirectories"], message, CORRECT);
  }
  const path = ["permissions", "defaultMode"];
  if (mode === "bypassPermissions" || mode === "auto") {
    json.report(path, `A project cannot set the mode "${mode}"; it is ignored`, "remove it");
  } else if (typeof mode === "string" && Object.hasOwn(LIVE_MODES, mode)) {
    const [key = "", value] = LIVE_MODES[mode] ?? [];
    if (key.endsWith("allow")) builder.add(key.split("."), value, path);
    else if (key !== "") builder.set(key.split("."), value, path);
  } else if (mode !== undefined) {
    const message = `${JSON.stringify(mode)?.slice(0, 60)} is no permission mode`;
    json.report(path, message, `write default, acceptEdits, dontAsk or plan, or ${OFF}`, "error");
  }
  const layer = builder.layer(["permissions"]);
  json.problems.push(...checkLayer(layer));
  return layer;
}

/** A refusal without a counterpart stays as it is, so that the check of all layers reports it. */
function addRules(json: JsonFile, builder: LayerBuilder, list: RuleListName, value: unknown): void {
  if (value === undefined) return;
  const level = list === "allow" ? "warning" : "error";
  const at = ["permissions", list];
  if (!Array.isArray(value)) return json.report(at, `Permissions.${list} must be an array`, CORRECT, level);
  for (const [index, written] of value.entries()) {
    const path = [...at, index];
    if (typeof written !== "string") {
      json.report(path, `Permissions.${list}[${index}] must be a text`, CORRECT, level);
      continue;
    }
    if (isUnknownTool(written)) continue;
    const result = claudeRule(written, list, "project");
    if ("rule" in result) builder.add(at, result.rule, path);
    else if (list !== "allow") builder.add(at, written, path);
    else {
      const shown = JSON.stringify(cutText(written, 80));
      json.report(path, `The rule ${shown} allows nothing: ${textOf(result.why)}`, "correct or remove it");
    }
  }
}

export type RuleListName = "deny" | "ask" | "allow";

/** A rule of ours that allows no more than the one of Claude Code, and forbids no less. */
export type Translation =
  | { readonly rule: string; readonly note?: Text | undefined }
  | { readonly why: Text };

/** Turns a permission rule of Claude Code into ours: one that can be read, and earns no warning. */
export function claudeRule(written: string, list: RuleListName, scope: Scope): Translation {
  const split = /^\s*([^\s(]+?)\s*(?:\(([\s\S]*)\))?\s*$/.exec(written);
  if (!split) return { why: message`it is no rule: Tool or Tool(what)` };
  const [, tool = "", between = "*"] = split;
  const inner = between.trim();
  if (inner === "") return { why: message`its parentheses are empty` };
  const result = translated(tool, inner, list, scope);
  if ("why" in result) return result;
  const read = readRule(result.rule);
  if (isFault(read)) return { why: lowered(read.texts.message) };
  const warning = lintRule(read);
  return warning ? { why: lowered(warning.texts.message) } : result;
}

function translated(tool: string, inner: string, list: RuleListName, scope: Scope): Translation {
  const isAllow = list === "allow";
  if (tool === "Bash" || tool === "PowerShell") return commandRule(inner, isAllow);
  if (tool === "NotebookEdit" && isAllow) return { why: message`it has no counterpart` };
  if (/^(?:Read|Edit|Write|MultiEdit|NotebookEdit|NotebookRead|Grep|Glob|LS)$/.test(tool)) {
    return pathRule(tool, inner, isAllow, scope);
  }
  if (tool === "WebFetch" && inner !== "*" && isFault(readRule(`WebFetch(${inner})`))) {
    return isAllow
      ? { why: message`only domain:HOST has a counterpart` }
      : { rule: "WebFetch", note: message`stricter: it names every address` };
  }
  if ((tool === "WebFetch" || tool === "WebSearch") && inner !== "*") return { rule: `${tool}(${inner})` };
  if (tool === "Task" || tool === "Agent") return { rule: inner === "*" ? "Task" : `Task(${inner})` };
  if (inner === "*") return { rule: tool };
  if (!isAllow) return { rule: tool, note: message`stricter: it names every call of the tool` };
  if (tool === "Skill" && !/[*?:[{]/.test(inner)) return { rule: `Skill(${inner})` };
  return { why: message`an allowance for ${tool} with arguments has no counterpart` };
}

const OPERATORS = /\s*(?:&&|\|\|?|;|\n)/;

function commandRule(inner: string, isAllow: boolean): Translation {
  if (inner === "*") return { rule: "Bash" };
  const head = inner.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, (quoted) => "x".repeat(quoted.length));
  const at = head.search(OPERATORS);
  if (at >= 0) {
    if (isAllow) return { why: message`it names a whole line; a rule here names one command of it` };
    const first = inner.slice(0, at).trim();
    if (first === "") return { why: message`it begins with an operator of the shell` };
    const note = message`stricter: a rule names one command of a line, here the first`;
    return { rule: `Bash(${first})`, note };
  }
  return isAllow && inner.includes("?")
    ? { why: message`a ? is any character here, so it would allow more` }
    : { rule: `Bash(${inner})` };
}

/** Allowing one of these tools there does not allow the others of its family. */
const SINGLE_TOOLS: Readonly<Record<string, string>> = {
  Write: "write_file",
  MultiEdit: "multi_edit",
  NotebookRead: "Read",
};

function pathRule(tool: string, inner: string, isAllow: boolean, scope: Scope): Translation {
  const name = isAllow ? SINGLE_TOOLS[tool] ?? tool : tool === "NotebookRead" ? "Read" : tool;
  if (inner === "*" || inner === "**") return { rule: name };
  const isElsewhere = /^\/(?!\/)/.test(inner) && scope === "user";
  if (isAllow && isElsewhere) return { why: message`it counts from the directory of its settings file` };
  if (isAllow && allowsMore(inner)) {
    return { why: message`a * also matches / here, so it would allow more; ** says the same in both` };
  }
  const glob = inner.replace(/^\/(?!\/)|^\.\//, "");
  const note = isElsewhere ? message`counts from the working directory here` : undefined;
  return { rule: `${name}(${glob})`, note };
}

/**
 * Reports whether a path pattern as in .gitignore files would match more here, where `*` and `?` also match
 * `/`. They say the same in the last part when it may lie at any depth, and as the whole last part.
 */
function allowsMore(glob: string): boolean {
  if (glob.includes("?")) return true;
  const parts = glob.replace(/^\.?\/+|^~\//, "").split("/");
  const anywhere = !/^(?:~|\.?\/)/.test(glob) && parts.length === 1;
  return parts.some((part, index) => {
    if (!/[*[{]/.test(part) || part === "**") return false;
    const isLast = index === parts.length - 1;
    return !isLast || !(part === "*" || anywhere || parts[index - 1] === "**");
  });
}

/** Tools of Claude Code that rules name most; a similar name is a typing error. */
const COMMON = ["Bash", "Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Grep", "Glob", "WebFetch"];
/** Those that have a counterpart under another name. */
const RENAMED = /^(?:Agent|NotebookRead|PowerShell|Task)$/;

/**
 * Reports whether a rule names a tool of Claude Code that does not exist here: it restricts and allows
 * nothing.
 */
function isUnknownTool(rule: string): boolean {
  const [, name = ""] = /^\s*([A-Z]\w*)\s*(?:\([\s\S]*\))?\s*$/.exec(rule) ?? [];
  if (name === "" || RENAMED.test(name) || !isFault(readRule(name))) return false;
  return name === "Cd" || suggestNames(name, COMMON, 1).length === 0;
}

/**
 * Reads the hooks of a `settings.json`, if it is there and has some, as a layer of `[[hooks]]`: the form of
 * Claude Code, whose groups hold handlers with a `timeout` in seconds, and the flat form of earlier versions
 * of this program, with `match` and a `timeout` in milliseconds. A faulty hook is a warning.
 */
export async function readSettingsHooks(
  file: { readonly source: "user" | "project"; readonly file: string },
  problems: ConfigProblem[],
): Promise<Layer | undefined> {
  const unusable = { consequence: "; no hook of this file runs", remedy: "correct it" };
  // Most such files have none, and need no parser.
  const json = await JsonFile.open(file, unusable, problems, (text) => text.includes('"hooks"'));
  return json && hooksOf(json);
}

/** Keys of a group, and of a handler. */
const GROUP_KEYS = ["matcher", "match", "hooks", "description"];
const HANDLER_KEYS = ["type", "command", "timeout", "failure", "statusMessage", "description", "name"];
export const SETTINGS_KEYS: readonly string[] = [...GROUP_KEYS, ...HANDLER_KEYS];
/** Keys without which the same hook runs for the same calls. */
const IGNORED_KEYS = ["async", "asyncRewake"];
const FORM = 'write { "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", ' +
  '"command": "…" }] }] } }';

function hooksOf(json: JsonFile): Layer | undefined {
  const { hooks, disableAllHooks } = recordOf(json.value);
  if (hooks === undefined || disableAllHooks === true) return undefined;
  if (!isRecord(hooks)) return json.report(["hooks"], `"hooks" is no object`, FORM);
  const builder = new LayerBuilder(json);
  let count = 0;
  for (const [event, groups] of Object.entries(hooks)) {
    const path = ["hooks", event];
    if (!Array.isArray(groups)) json.report(path, `${formatKey(path)} is no array`, FORM);
    else {for (const [index, group] of groups.entries()) {
        for (const [entry, here] of readGroup(json, group, [...path, index])) {
          builder.add(["hooks"], { event, ...entry }, here);
          count++;
        }
      }}
  }
  return count > 0 ? builder.layer([]) : undefined;
}

function* readGroup(json: JsonFile, group: unknown, path: KeyPath): Iterable<[TomlTable, KeyPath]> {
  if (!isRecord(group)) return json.report(path, `${formatKey(path)} is no object`, FORM);
  const matcher = group.matcher ?? group.match ?? "";
  if (typeof matcher !== "string") {
    return json.report([...path, "matcher"], "The matcher of a hook must be a text", "correct it");
  }
  const isFlat = typeof group.command === "string";
  const handlers = isFlat ? [group] : group.hooks;
  if (!Array.isArray(handlers)) return json.report(path, `${formatKey(path)} has no "hooks" array`, FORM);
  const ofGroup = isFlat ? undefined : unknownKey(json, group, GROUP_KEYS, path);
  for (const [index, handler] of handlers.entries()) {
    const here = isFlat ? path : [...path, "hooks", index];
    if (!isRecord(handler)) {
      json.report(here, `${formatKey(here)} is no object`, FORM);
      continue;
    }
    const unknown = unknownKey(json, handler, isFlat ? SETTINGS_KEYS : HANDLER_KEYS, here) ?? ofGroup;
    const entry = readHandler(json, handler, here, isFlat ? 1000 : 1);
    if (entry) yield [{ ...(unknown === undefined ? {} : { unknown }), matcher, ...entry }, here];
  }
}

/** Reads a handler; its `timeout` has `perSecond` units in a second. */
function readHandler(
  json: JsonFile,
  { type = "command", command, timeout, failure }: Readonly<Record<string, unknown>>,
  path: KeyPath,
  perSecond: number,
): TomlTable | undefined {
  if (type !== "command") {
    const message = `A hook of the type ${JSON.stringify(type)} does not run here: it was left out`;
    return json.report([...path, "type"], message, 'write a program: { "type": "command", "command": "…" }');
  }
  if (typeof command !== "string" || command.trim() === "") {
    return json.report(path, 'A hook without "command" was left out', 'add "command"');
  }
  if (timeout !== undefined && (typeof timeout !== "number" || timeout < 0)) {
    return json.report([...path, "timeout"], "The timeout of a hook must be a number", "correct it");
  }
  if (failure !== undefined && failure !== "open" && failure !== "closed") {
    const message = `The failure of a hook is "open" or "closed", not ${JSON.stringify(failure)}`;
    json.report([...path, "failure"], `${message}; it counts as "closed"`, "correct it");
  }
  return {
    command,
    ...(timeout === undefined ? {} : { timeout_seconds: timeout / perSecond }),
    ...(failure === undefined ? {} : { failure: failure === "open" ? "open" : "closed" }),
  };
}

/** Returns the key that keeps a hook from running; what it can do without is a warning. */
function unknownKey(
  json: JsonFile,
  value: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: KeyPath,
): string | undefined {
  const unknown = Object.keys(value).filter((key) => !known.includes(key));
  for (const key of unknown.filter((name) => IGNORED_KEYS.includes(name))) {
    json.report([...path, key], `${JSON.stringify(key)} of a hook has no effect here`, "remove it");
  }
  return unknown.find((key) => !IGNORED_KEYS.includes(key));
}

/** Plans the settings; `cwd` is the project whose servers of `.claude.json` count. */
export async function planClaude(documents: readonly SourceDocument[], cwd: string): Promise<void> {
  const switchedOff = documents.flatMap((document) =>
    document.texts(["disabledMcpjsonServers"], document.table.disabledMcpjsonServers)
  ).map(({ text }) => text);
  for (const document of documents) {
    const path = slashed(document.path);
    if (path === slashed(mcpJsonFile(cwd))) document.leave(["mcpServers"], readInPlace("mcp list"));
    else if (path.endsWith(".mcp.json")) planServers(document, ["mcpServers"], switchedOff);
    else if (path.endsWith(".claude.json")) await planState(document, cwd);
    else {
      // Those of this project apply in place, and a person's own (`settings.local.json`) are not shared.
      const isRead = /^\/\.claude\/settings(?:\.local)?\.json$/.test(path.replace(slashed(cwd), ""));
      await document.apply(isRead ? { ...SETTINGS, ...READ_IN_PLACE } : SETTINGS);
    }
  }
}

function readInPlace(command: string): LocalizedMessage {
  return message`they are read from this file; see \`reasonix ${command}\` and \`reasonix trust\``;
}

async function planState(document: SourceDocument, cwd: string): Promise<void> {
  planServers(document, ["mcpServers"]);
  const shared = document.withScope("project");
  planServers(shared, ["projects", cwd, "mcpServers"]);
  const path = ["projects", cwd, "allowedTools"];
  await planRules("allow")(shared, valueAt(document.table, path), path);
}

function planServers(document: SourceDocument, path: KeyPath, switchedOff: readonly string[] = []): void {
  document.servers(valueAt(document.table, path), path, (server, name) => {
    const { type, command, args, env, url, headers, cwd, headersHelper, timeout } = server;
    const oauth = readOauth(server.oauth);
    return {
      entry: {
        ...{ type, command, args, env, url, headers, cwd, headers_helper: headersHelper, oauth },
        call_timeout_seconds: typeof timeout === "number" ? timeout / 1000 : undefined,
        enabled: server.disabled !== true && !switchedOff.includes(name),
      },
      without: [...(oauth ? [] : ["oauth"]), "alwaysAllow"].filter((key) => server[key] !== undefined),
    };
  }, path.slice(-1));
}

function planRules(list: RuleListName): Plan {
  return (document, value, path) => {
    for (const { path: here, text } of document.texts(path, value)) {
      const result = claudeRule(text, list, document.scope);
      if ("why" in result) document.leave(here, result.why, text);
      else document.add(here, `permissions.${list}`, result.rule, { shown: text, note: result.note });
    }
  };
}

const MODES: Readonly<Record<string, readonly [mode: string, note?: Text]>> = {
  default: ["ask"],
  dontAsk: ["deny"],
  plan: ["deny", message`stricter; --permission-mode plan is a choice of each run`],
};

const SETTINGS: Mapping = {
  $schema: planned,
  "permissions.allow": planRules("allow"),
  "permissions.ask": planRules("ask"),
  "permissions.deny": planRules("deny"),
  "permissions.additionalDirectories": items("sandbox.allow_write"),
  "permissions.defaultMode": (document, value, path) => {
    const mode = String(value);
    const [ours, note] = Object.hasOwn(MODES, mode) ? MODES[mode] ?? [] : [];
    if (ours !== undefined) return document.set(path, "permissions.mode", ours, { shown: mode, note });
    if (mode === "acceptEdits") return document.add(path, "permissions.allow", "Edit", { shown: mode });
    const why = message`no file lifts every question; --permission-mode danger-full-access does for one run`;
    document.leave(path, why, mode);
  },
  "sandbox.enabled": (document, value, path) =>
    value === true
      ? document.set(path, "sandbox.bash", "enforce", { shown: value })
      : document.leave(path, message`the jail stays on`, value),
  "sandbox.network.allowedDomains": items(
    "sandbox.network_hosts",
    (host) => host.includes("*") ? message`a * would allow other hosts here` : undefined,
  ),
  "sandbox.filesystem.allowWrite": items("sandbox.allow_write"),
  "sandbox.filesystem.denyRead": items("sandbox.forbid_read"),
  model: text(planModel),
  env: table(planEnvironment),
  hooks: planHooks,
  disableAllHooks: planned,
  disabledMcpjsonServers: planned,
  apiKeyHelper: left(() =>
    message`a program that prints the key is not asked; put the key into .env or the environment`
  ),
  enabledPlugins: left(() => message`there are no plugins of this kind`),
  enabledMcpjsonServers: left(() => message`\`reasonix trust\` decides about the servers of a project`),
  enableAllProjectMcpServers: left(() => message`\`reasonix trust\` decides about the servers of a project`),
};

const READ_IN_PLACE: Mapping = {
  permissions: left(() => readInPlace("permissions list")),
  hooks: left(() => readInPlace("hooks list")),
};

async function planHooks({ path: file, scope, table, plan }: SourceDocument): Promise<void> {
  if (table.disableAllHooks === true) {
    return plan.leave({ text: "hooks", place: { file }, scope }, message`disableAllHooks switches them off`);
  }
  const problems: ConfigProblem[] = [];
  const layer = await readSettingsHooks({ source: scope, file }, problems);
  for (const { message: problem, texts, place = { file } } of problems) {
    plan.leave({ text: "hooks", place, scope }, lowered(texts?.message ?? problem));
  }
  const entries = Array.isArray(layer?.table.hooks) ? layer.table.hooks.filter(isTable) : [];
  entries.forEach((item, index) => {
    const place = { file, ...layer?.find?.(["hooks", index]) };
    const text = `hooks.${item.event} ${JSON.stringify(item.command)}`;
    plan.take({ text, place, scope }, { kind: "item", key: "hooks", item });
  });
}

function planModel(document: SourceDocument, written: string, path: KeyPath): void {
  const model = written.replace(/\[\w+\]$/, "");
  const vendor = VENDORS.find(({ name }) => name === "anthropic");
  if (!vendor || !model.startsWith("claude-")) {
    const why = message`it is a name of Claude Code's own; \`reasonix setup\` lists the models of a vendor`;
    return document.leave(path, why, written);
  }
  const entry = { ...vendorEntry(vendor), models: [model], default: model };
  const note = message`its key is ${vendor.keyName}; a subscription cannot be used`;
  document.plan.take(document.origin(path, written), { kind: "entry", list: "providers", entry }, note);
  document.set(path, "default_model", `${vendor.name}/${model}`, { shown: written });
}

function planEnvironment(document: SourceDocument, env: TomlTable): void {
  for (const [name, value] of Object.entries(env)) {
    const path = ["env", name];
    if (name === "ANTHROPIC_API_KEY" && typeof value === "string" && value !== "") {
      document.plan.key({ name, value, origin: document.origin(path) }, name);
      continue;
    }
    const why = name === "ANTHROPIC_BASE_URL"
      ? message`it speaks Anthropic's own wire; \`reasonix setup\` takes an OpenAI-compatible address`
      : message`a variable of that program; export it in your shell where commands need it`;
    document.leave(path, why);
  }
}
