/**
 * The settings of Claude Code: its permission rules and its hooks in our words. `config import` copies them;
 * those of a project are read in place and become layers like those of our own file, so that they restrict
 * immediately, and grant once the user trusts them.
 */
import type { Scope } from "./plan.ts";
import { JsonFile } from "../load/jsonc.ts";
import { checkLayer, type Layer } from "../load/layer.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import type { TomlTable } from "../schema/json_schema.ts";
import { join } from "../../path/lexical.ts";
import { isFault, lintRule, readRule } from "../../rule/mod.ts";
import { isRecord } from "../../util/json.ts";
import { suggestNames } from "../../util/suggest.ts";

/** The weaker first. */
const FILES = [".claude/settings.json", ".claude/settings.local.json"] as const;
const LISTS = ["deny", "ask", "allow"] as const;
/** Keys of `permissions` with a meaning. */
const PERMISSIONS: ReadonlySet<string> = new Set([...LISTS, "additionalDirectories", "defaultMode"]);
/** Keys of the file with a meaning. */
const KNOWN: ReadonlySet<string> = new Set(["$schema", "permissions", "hooks", "disableAllHooks"]);
const OFF = "set permissions.claude_settings = false in your own file to leave such files alone";

export interface ClaudeSettings {
  readonly layers: readonly Layer[];
  /** Unused parts of the files, such as ".claude/settings.json (env)". */
  readonly unused: readonly string[];
}

/** Reads the files of a project. One that cannot be read may hold a refusal, so that it is an error. */
export async function readClaudeSettings(cwd: string, problems: ConfigProblem[]): Promise<ClaudeSettings> {
  const layers: Layer[] = [];
  const unused: string[] = [];
  for (const name of FILES) {
    const json = await JsonFile.open({ source: "project", file: join(cwd, name) }, {
      level: "error",
      remedy: `correct it, or ${OFF}`,
    }, problems);
    if (!json) continue;
    const permissions = new ClaudePermissions(json);
    const layer = permissions.layer();
    problems.push(...json.problems);
    if (permissions.unused.length > 0) unused.push(`${name} (${permissions.unused.join(", ")})`);
    if (layer) layers.push(layer);
  }
  return { layers, unused };
}

/** The permissions of a project's file as a layer. */
class ClaudePermissions {
  readonly unused: string[] = [];
  readonly #json: JsonFile;
  readonly #table = { permissions: {} as TomlTable } as TomlTable & { permissions: TomlTable };
  /** Place in the file of each part of the layer. */
  readonly #origins = new Map<string, KeyPath>();

  constructor(json: JsonFile) {
    this.#json = json;
  }

  layer(): Layer | undefined {
    const { value, source, file } = this.#json;
    if (!isRecord(value)) return this.#wrong("error", [], "A JSON object is expected");
    this.unused.push(...Object.keys(value).filter((key) => !KNOWN.has(key)));
    const { permissions } = value;
    if (permissions === undefined) return undefined;
    if (!isRecord(permissions)) return this.#wrong("error", ["permissions"], "Permissions must be an object");
    const others = Object.keys(permissions).filter((key) => !PERMISSIONS.has(key));
    this.unused.push(...others.map((key) => `permissions.${key}`));
    for (const list of LISTS) this.#rules(list, permissions[list]);
    this.#directories(permissions.additionalDirectories);
    this.#mode(permissions.defaultMode);
    const layer: Layer = {
      source,
      file,
      table: this.#table,
      find: (path) => {
        const origins = path.map((_, index) => formatKey(path.slice(0, path.length - index)));
        const found = origins.find((key) => this.#origins.has(key));
        return this.#json.find(found === undefined ? ["permissions"] : this.#origins.get(found) ?? []);
      },
    };
    this.#json.problems.push(...checkLayer(layer));
    return layer;
  }

  #wrong(level: ConfigProblem["level"], path: KeyPath, message: string, remedy?: string): undefined {
    this.#json.report(path, message, remedy ?? `correct it, or ${OFF}`, level);
  }

  /** Sets a key of the layer; `origin` is its place in the file. */
  #set(path: readonly [table: string, key: string], value: unknown, origin: KeyPath): void {
    const [name, key] = path;
    this.#table[name] = { ...this.#table[name] as TomlTable | undefined, [key]: value };
    this.#origins.set(formatKey(path), origin);
  }

  #add(list: RuleListName, rule: string, origin: KeyPath): void {
    const { permissions } = this.#table;
    const rules = Array.isArray(permissions[list]) ? permissions[list] : [];
    this.#origins.set(formatKey(["permissions", list, rules.length]), origin);
    permissions[list] = [...rules, rule];
  }

  #rules(list: RuleListName, value: unknown): void {
    if (value === undefined) return;
    const level = list === "allow" ? "warning" : "error";
    const at = ["permissions", list];
    if (!Array.isArray(value)) return this.#wrong(level, at, `Permissions.${list} must be an array`);
    for (const [index, written] of value.entries()) {
      const path = [...at, index];
      if (typeof written === "string") this.#rule(list, written, path);
      else this.#wrong(level, path, `Permissions.${list}[${index}] must be a text`);
    }
  }

  /** A refusal without a counterpart stays as it is, so that the check of all layers reports it. */
  #rule(list: RuleListName, written: string, path: KeyPath): void {
    if (isForeignTool(written)) return;
    const translated = claudeRule(written, list, "project");
    if ("rule" in translated) return this.#add(list, translated.rule, path);
    if (list !== "allow") return this.#add(list, written, path);
    const message = `The rule ${quoted(written)} allows nothing: ${translated.why}`;
    this.#wrong("warning", path, message, "correct or remove it");
  }

  #directories(value: unknown): void {
    if (value === undefined) return;
    const path = ["permissions", "additionalDirectories"];
    if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) {
      const message = "AdditionalDirectories must be an array of texts; it is ignored";
      return this.#wrong("warning", path, message);
    }
    this.#set(["sandbox", "allow_write"], value.map(String), path);
    for (const index of value.keys()) {
      this.#origins.set(formatKey(["sandbox", "allow_write", index]), [...path, index]);
    }
  }

  /** A mode that restricts counts immediately; the ones that lift every prompt never do. */
  #mode(mode: unknown): void {
    const path = ["permissions", "defaultMode"];
    if (mode === undefined || mode === "default" || mode === "manual") return;
    if (mode === "acceptEdits") return this.#add("allow", "Edit", path);
    if (mode === "dontAsk") return this.#set(["permissions", "mode"], "deny", path);
    if (mode === "plan") return this.#set(["tools", "writes"], "deny", path);
    if (mode === "bypassPermissions" || mode === "auto") {
      return this.#wrong(
        "warning",
        path,
        `A project cannot set the mode "${mode}"; it is ignored`,
        "remove it",
      );
    }
    const message = `${JSON.stringify(mode)?.slice(0, 60)} is no permission mode`;
    this.#wrong("error", path, message, `write default, acceptEdits, dontAsk or plan, or ${OFF}`);
  }
}

export type RuleListName = "deny" | "ask" | "allow";

/** The rule of ours that says no more than the foreign one allows, and no less than it forbids. */
export type Translation =
  | { readonly rule: string; readonly note?: string }
  | { readonly why: string };

/** A parsed rule of Claude Code with its list and scope. */
interface ClaudeRule {
  readonly tool: string;
  readonly inner: string;
  readonly list: RuleListName;
  readonly scope: Scope;
}

/** Turns a permission rule of Claude Code into ours. */
export function claudeRule(text: string, list: RuleListName, scope: Scope): Translation {
  const split = /^\s*([^\s(]+?)\s*(?:\(([\s\S]*)\))?\s*$/.exec(text);
  if (!split) return { why: "it is no rule: Tool or Tool(what)" };
  const [, tool = "", between] = split;
  const inner = between?.trim();
  if (inner === "") return { why: "nothing stands in its parentheses" };
  const foreign = { tool, inner: inner ?? "*", list, scope };
  return checked(translated(foreign), list);
}

function translated(foreign: ClaudeRule): Translation {
  const { tool, inner, list } = foreign;
  if (tool === "Bash" || tool === "PowerShell") return commandRule(foreign);
  if (/^(?:Read|Edit|Write|MultiEdit|NotebookEdit|NotebookRead|Grep|Glob|LS)$/.test(tool)) {
    return pathRule(foreign);
  }
  if (tool === "WebFetch") return fetchRule(foreign);
  if (tool === "Task" || tool === "Agent") return { rule: inner === "*" ? "Task" : `Task(${inner})` };
  if (inner === "*") return { rule: tool };
  if (list !== "allow") return { rule: tool, note: "stricter: it names every call of the tool" };
  if (tool === "Skill" && !/[*?:[{]/.test(inner)) return { rule: `Skill(${inner})` };
  return { why: `an allowance for ${tool} with arguments has no counterpart` };
}

/** Rules that cannot be read here, or would only earn a warning, are not written. */
function checked(result: Translation, list: RuleListName): Translation {
  if ("why" in result) return result;
  const read = readRule(result.rule);
  if (isFault(read)) return { why: lowered(read.message) };
  const remark = lintRule(read);
  if (remark) return { why: lowered(remark.message) };
  return list === "allow" || result.note === undefined || result.note !== "" ? result : { rule: result.rule };
}

function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

const OPERATORS = /\s*(?:&&|\|\|?|;|\n)/;

function commandRule({ inner, list }: ClaudeRule): Translation {
  if (inner === "*") return { rule: "Bash" };
  const head = inner.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, (quoted) => "x".repeat(quoted.length));
  const at = head.search(OPERATORS);
  if (at >= 0) {
    if (list === "allow") return { why: "it names a whole line; a rule here names one command of it" };
    const first = inner.slice(0, at).trim();
    if (first === "") return { why: "it begins with an operator of the shell" };
    return { rule: `Bash(${first})`, note: "stricter: a rule names one command of a line, here the first" };
  }
  if (list === "allow" && inner.includes("?")) {
    return { why: "a ? is any character here, so it would allow more" };
  }
  return { rule: `Bash(${inner})` };
}

function pathRule({ tool, inner, list, scope }: ClaudeRule): Translation {
  const name = list === "allow" ? OWN_TOOL[tool] ?? tool : tool === "NotebookRead" ? "Read" : tool;
  if (inner === "*" || inner === "**") return { rule: name };
  const fromProject = /^\/(?!\/)/.test(inner);
  if (list === "allow") {
    if (fromProject && scope === "user") return { why: "it counts from the directory of its settings file" };
    if (allowsMore(inner)) {
      return { why: "a * also matches / here, so it would allow more; ** says the same in both" };
    }
  }
  const glob = fromProject ? inner.slice(1) : inner.replace(/^\.\//, "");
  const note = fromProject && scope === "user" ? "counts from the working directory here" : undefined;
  return { rule: `${name}(${glob})`, ...(note === undefined ? {} : { note }) };
}

/** There an allowance for one of these tools is none for the others of the family. */
const OWN_TOOL: Readonly<Record<string, string>> = {
  Write: "write_file",
  MultiEdit: "multi_edit",
  NotebookEdit: "notebook_edit",
  NotebookRead: "Read",
};

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

function fetchRule({ inner, list }: ClaudeRule): Translation {
  if (inner === "*") return { rule: "WebFetch" };
  const host = /^domain:([\w.*-]+)$/.exec(inner)?.[1];
  if (host === undefined) {
    return list === "allow"
      ? { why: "only domain:HOST has a counterpart" }
      : { rule: "WebFetch", note: "stricter: it names every address" };
  }
  if (list !== "allow") return { rule: `web_fetch(*${host.replace(/^\*\.?/, "")}*)`, note: "" };
  if (host.includes("*")) return { why: "a * also matches / here, so it would allow more" };
  return { rule: `web_fetch(https://${host}/*)`, note: "https only" };
}

/** Tools of Claude Code that rules name most; a name near to one of them is a slip of the pen. */
const COMMON = ["Bash", "Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Grep", "Glob", "WebFetch"];
/** Those that have a counterpart under another name. */
const RENAMED = /^(?:Agent|NotebookRead|PowerShell|Task)$/;

/**
 * Reports whether a rule of Claude Code names a tool that does not exist here: what it refuses nothing does,
 * and what it allows nothing needs.
 */
function isForeignTool(rule: string): boolean {
  const [, name = ""] = /^\s*([A-Z]\w*)\s*(?:\([\s\S]*\))?\s*$/.exec(rule) ?? [];
  if (name === "" || RENAMED.test(name) || !isFault(readRule(name))) return false;
  return name === "Cd" || suggestNames(name, COMMON, 1).length === 0;
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}

interface SettingsFile {
  readonly source: "user" | "project";
  readonly file: string;
  /** Another reader of the file has reported that it is no JSON. */
  readonly shared?: boolean;
}

/**
 * Reads the hooks of a `settings.json`, if it is there and has some, as a layer of `[[hooks]]`: the form of
 * Claude Code, whose groups hold handlers with a `timeout` in seconds, and the flat form of earlier versions
 * of this program, with `match` and a `timeout` in milliseconds. A faulty hook is a warning.
 */
export async function readSettingsHooks(
  { source, file, shared = false }: SettingsFile,
  problems: ConfigProblem[],
): Promise<Layer | undefined> {
  const unusable = { consequence: "; no hook of this file runs", remedy: "correct it" };
  // Most such files have none, and need no parser.
  const holdsHooks = (text: string) => text.includes('"hooks"');
  const json = await JsonFile.open({ source, file }, unusable, shared ? [] : problems, holdsHooks);
  const layer = json && new SettingsHooks(json).layer();
  problems.push(...json?.problems ?? []);
  return layer;
}

/** Keys of a group, and of a handler. */
const GROUP_KEYS = ["matcher", "match", "hooks", "description"];
const HANDLER_KEYS = ["type", "command", "timeout", "failure", "statusMessage", "description", "name"];
export const SETTINGS_KEYS: readonly string[] = [...GROUP_KEYS, ...HANDLER_KEYS];
/** Keys without which the same hook runs for the same calls. */
const IGNORED_KEYS = ["async", "asyncRewake"];

interface HandlerContext {
  readonly event: string;
  readonly matcher: string;
  /** Units of `timeout` in a second. */
  readonly perSecond: number;
  /** A key without a meaning here. */
  readonly unknown: string | undefined;
}

/** The hooks of a file as a layer. */
class SettingsHooks {
  readonly #json: JsonFile;
  readonly #entries: TomlTable[] = [];
  /** Place in the file of each entry. */
  readonly #origins: KeyPath[] = [];

  constructor(json: JsonFile) {
    this.#json = json;
  }

  layer(): Layer | undefined {
    const { value, source, file } = this.#json;
    const hooks = isRecord(value) ? value.hooks : undefined;
    if (isRecord(value) && value.disableAllHooks === true) return undefined;
    if (isRecord(hooks)) {
      for (const [event, groups] of Object.entries(hooks)) this.#event(event, groups);
    } else if (hooks !== undefined) this.#wrong(["hooks"], `"hooks" is no object`, FORM);
    if (this.#entries.length === 0) return undefined;
    return {
      source,
      file,
      table: { hooks: this.#entries },
      find: ([, index, ...rest]) => {
        const origin = typeof index === "number" ? this.#origins[index] ?? [] : [];
        return this.#json.find([...origin, ...rest]);
      },
    };
  }

  #event(event: string, groups: unknown): void {
    const path = ["hooks", event];
    if (!Array.isArray(groups)) return this.#wrong(path, `${formatKey(path)} is no array`, FORM);
    for (const [index, group] of groups.entries()) this.#group(event, group, [...path, index]);
  }

  #group(event: string, group: unknown, path: KeyPath): void {
    if (!isRecord(group)) return this.#wrong(path, `${formatKey(path)} is no object`, FORM);
    const matcher = group.matcher ?? group.match ?? "";
    if (typeof matcher !== "string") {
      return this.#wrong([...path, "matcher"], "The matcher of a hook must be a text", "correct it");
    }
    if (typeof group.command === "string") {
      const unknown = this.#unknown(group, SETTINGS_KEYS, path);
      return this.#handler({ event, matcher, perSecond: 1000, unknown }, group, path);
    }
    const { hooks } = group;
    if (!Array.isArray(hooks)) return this.#wrong(path, `${formatKey(path)} has no "hooks" array`, FORM);
    const ofGroup = this.#unknown(group, GROUP_KEYS, path);
    for (const [index, handler] of hooks.entries()) {
      const here = [...path, "hooks", index];
      if (!isRecord(handler)) this.#wrong(here, `${formatKey(here)} is no object`, FORM);
      else {
        const unknown = this.#unknown(handler, HANDLER_KEYS, here) ?? ofGroup;
        this.#handler({ event, matcher, perSecond: 1, unknown }, handler, here);
      }
    }
  }

  #handler(
    { event, matcher, perSecond, unknown }: HandlerContext,
    { type = "command", command, timeout, failure }: Readonly<Record<string, unknown>>,
    path: KeyPath,
  ): void {
    if (type !== "command") {
      const message = `A hook of the type ${JSON.stringify(type)} does not run here: it was left out`;
      return this.#wrong(
        [...path, "type"],
        message,
        'write a program: { "type": "command", "command": "…" }',
      );
    }
    if (typeof command !== "string" || command.trim() === "") {
      return this.#wrong(path, 'A hook without "command" was left out', 'add "command"');
    }
    if (timeout !== undefined && (typeof timeout !== "number" || timeout < 0)) {
      return this.#wrong([...path, "timeout"], "The timeout of a hook must be a number", "correct it");
    }
    if (failure !== undefined && failure !== "open" && failure !== "closed") {
      const message = `The failure of a hook is "open" or "closed", not ${JSON.stringify(failure)}`;
      this.#wrong([...path, "failure"], `${message}; it counts as "closed"`, "correct it");
    }
    this.#origins.push(path);
    this.#entries.push({
      ...(unknown === undefined ? {} : { unknown }),
      event,
      matcher,
      command,
      ...(timeout === undefined ? {} : { timeout_seconds: timeout / perSecond }),
      ...(failure === undefined ? {} : { failure: failure === "open" ? "open" : "closed" }),
    });
  }

  /** Returns the key that keeps a hook from running; what it can do without is a warning. */
  #unknown(
    value: Readonly<Record<string, unknown>>,
    known: readonly string[],
    path: KeyPath,
  ): string | undefined {
    const unknown = Object.keys(value).filter((key) => !known.includes(key));
    const ignored = unknown.filter((key) => IGNORED_KEYS.includes(key));
    for (const key of ignored) {
      this.#wrong([...path, key], `${JSON.stringify(key)} of a hook has no effect here`, "remove it");
    }
    return unknown.find((key) => !ignored.includes(key));
  }

  #wrong(path: KeyPath, message: string, remedy: string): void {
    this.#json.report(path, message, remedy);
  }
}

const FORM = 'write { "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", ' +
  '"command": "…" }] }] } }';
