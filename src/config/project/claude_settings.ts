/**
 * The permission rules of Claude Code's settings, as far as a project brings them. They become layers like
 * those of our own file, so that they narrow at once, and widen once the user trusts them.
 */
import type { SourcePlace } from "../../core/mod.ts";
import { join } from "../../path/lexical.ts";
import { isFault, readRule } from "../../rule/mod.ts";
import { isRecord } from "../../util/json.ts";
import { suggestNames } from "../../util/suggest.ts";
import { type Jsonc, parseJsonc, type TextPosition } from "../load/jsonc.ts";
import { checkLayer, type Layer } from "../load/layer.ts";
import { readProjectText } from "../load/read_text.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { claudeRule } from "../import/agents/claude_rules.ts";

/** The weaker first. */
const FILES = [".claude/settings.json", ".claude/settings.local.json"] as const;
const LISTS = ["deny", "ask", "allow"] as const;
/** What is read of `permissions`. */
const READ: ReadonlySet<string> = new Set([...LISTS, "additionalDirectories", "defaultMode"]);
/** What somebody reads of the file; hooks are read beside this. */
const KNOWN: ReadonlySet<string> = new Set(["$schema", "permissions", "hooks", "disableAllHooks"]);
const OFF = "set permissions.claude_settings = false in your own file to leave such files alone";

export interface ClaudeSettings {
  readonly layers: readonly Layer[];
  /** Parts of the files that nothing reads, such as ".claude/settings.json (env)". */
  readonly unused: readonly string[];
}

/** Reads the files that are there. What cannot be read may hold a refusal, so that it is an error. */
export async function readClaudeSettings(cwd: string, problems: ConfigProblem[]): Promise<ClaudeSettings> {
  const layers: Layer[] = [];
  const unused: string[] = [];
  for (const name of FILES) {
    const file = join(cwd, name);
    const text = readProjectText(file, problems);
    if (text === undefined) continue;
    const reader = new Reader(file);
    const layer = await reader.read(text);
    problems.push(...reader.problems);
    if (reader.unused.length > 0) unused.push(`${name} (${reader.unused.join(", ")})`);
    if (layer) layers.push(layer);
  }
  return { layers, unused };
}

class Reader {
  readonly problems: ConfigProblem[] = [];
  readonly unused: string[] = [];
  readonly #file: string;
  #json: Jsonc | undefined;
  readonly #lists = { deny: [] as string[], ask: [] as string[], allow: [] as string[] };
  readonly #other: { mode?: "deny"; writes?: "deny"; allow_write?: string[] } = {};
  /** Where the file says what the layer holds, by the key in the layer. */
  readonly #origins = new Map<string, KeyPath>();

  constructor(file: string) {
    this.#file = file;
  }

  async read(text: string): Promise<Layer | undefined> {
    const json = await parseJsonc(text);
    if ("fault" in json) {
      const { fault, ...position } = json;
      const place = { file: this.#file, ...position };
      const message = `Cannot read the JSON here: ${fault}`;
      this.problems.push({ level: "error", message, remedy: `correct it, or ${OFF}`, place });
      return undefined;
    }
    this.#json = json;
    const { value } = json;
    if (!isRecord(value)) return this.#wrong("error", [], "a JSON object is expected");
    this.unused.push(...Object.keys(value).filter((key) => !KNOWN.has(key)));
    const { permissions } = value;
    if (permissions === undefined) return undefined;
    if (!isRecord(permissions)) return this.#wrong("error", ["permissions"], "permissions must be an object");
    this.unused.push(
      ...Object.keys(permissions).filter((key) => !READ.has(key)).map((key) => `permissions.${key}`),
    );
    for (const list of LISTS) this.#rules(list, permissions[list]);
    this.#directories(permissions.additionalDirectories);
    this.#mode(permissions.defaultMode);
    return this.#layer();
  }

  #layer(): Layer {
    const { mode, writes, allow_write } = this.#other;
    const lists = Object.fromEntries(Object.entries(this.#lists).filter(([, rules]) => rules.length > 0));
    const layer: Layer = {
      source: "project",
      file: this.#file,
      table: {
        permissions: { ...lists, ...(mode === undefined ? {} : { mode }) },
        ...(writes === undefined ? {} : { tools: { writes } }),
        ...(allow_write === undefined ? {} : { sandbox: { allow_write } }),
      },
      find: (path) => this.#find(path),
    };
    this.problems.push(...checkLayer(layer));
    return layer;
  }

  #find(path: KeyPath): TextPosition {
    for (let length = path.length; length > 0; length--) {
      const origin = this.#origins.get(formatKey(path.slice(0, length)));
      if (origin) return this.#position(origin);
    }
    return this.#position(["permissions"]);
  }

  #position(path: KeyPath): TextPosition {
    return this.#json?.find(path) ?? { line: 1, column: 1 };
  }

  #wrong(level: ConfigProblem["level"], path: KeyPath, message: string, remedy?: string): undefined {
    const place: SourcePlace = { file: this.#file, ...this.#position(path) };
    this.problems.push({
      level,
      message: capital(message),
      remedy: remedy ?? `correct it, or ${OFF}`,
      place,
    });
    return undefined;
  }

  #add(list: typeof LISTS[number], rule: string, origin: KeyPath): void {
    const rules = this.#lists[list];
    this.#origins.set(formatKey(["permissions", list, rules.length]), origin);
    rules.push(rule);
  }

  #rules(list: typeof LISTS[number], value: unknown): void {
    if (value === undefined) return;
    const level = list === "allow" ? "warning" : "error";
    if (!Array.isArray(value)) {
      this.#wrong(level, ["permissions", list], `permissions.${list} must be an array`);
      return;
    }
    for (const [index, written] of value.entries()) {
      const path = ["permissions", list, index];
      if (typeof written !== "string") {
        this.#wrong(level, path, `${formatKey(path)} must be a text`);
        continue;
      }
      this.#rule(list, written, path);
    }
  }

  /** A refusal without a counterpart stays as it is, so that the check of all layers says what it does. */
  #rule(list: typeof LISTS[number], written: string, path: KeyPath): void {
    if (isForeignTool(written)) return;
    const translated = claudeRule(written, list, "project");
    if ("rule" in translated) this.#add(list, translated.rule, path);
    else if (list !== "allow") this.#add(list, written, path);
    else {this.#wrong(
        "warning",
        path,
        `The rule ${quoted(written)} allows nothing: ${translated.why}`,
        "correct or remove it",
      );}
  }

  #directories(value: unknown): void {
    if (value === undefined) return;
    const path = ["permissions", "additionalDirectories"];
    if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) {
      this.#wrong("warning", path, "additionalDirectories must be an array of texts; it is ignored");
      return;
    }
    this.#other.allow_write = value.map(String);
    for (const index of value.keys()) {
      this.#origins.set(formatKey(["sandbox", "allow_write", index]), [...path, index]);
    }
  }

  /** A mode that narrows counts at once; the ones that lift every question never do. */
  #mode(mode: unknown): void {
    const path = ["permissions", "defaultMode"];
    if (mode === undefined || mode === "default" || mode === "manual") return;
    if (mode === "acceptEdits") this.#add("allow", "Edit", path);
    else if (mode === "dontAsk") {
      this.#other.mode = "deny";
      this.#origins.set("permissions.mode", path);
    } else if (mode === "plan") {
      this.#other.writes = "deny";
      this.#origins.set("tools.writes", path);
    } else if (mode === "bypassPermissions" || mode === "auto") {
      this.#wrong("warning", path, `A project cannot set the mode "${mode}"; it is ignored`, "remove it");
    } else {
      const known = "default, acceptEdits, dontAsk or plan";
      this.#wrong(
        "error",
        path,
        `${JSON.stringify(mode)?.slice(0, 60)} is no permission mode`,
        `write ${known}, or ${OFF}`,
      );
    }
  }
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

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
