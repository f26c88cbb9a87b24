/**
 * The hooks of a `settings.json`: the form of Claude Code, whose groups hold handlers with a `timeout` in
 * seconds, and the flat form of earlier versions of this program, with `match` and a `timeout` in
 * milliseconds. They become a layer of `[[hooks]]`, so that trust and merging are those of our own files.
 */
import { isRecord } from "../../util/json.ts";
import { type Jsonc, parseJsonc } from "../load/jsonc.ts";
import type { Layer } from "../load/layer.ts";
import { readProjectText, readText } from "../load/read_text.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import type { TomlTable } from "../schema/json_schema.ts";

interface SettingsFile {
  readonly source: "user" | "project";
  readonly file: string;
  /** Somebody else reads the file too, and has reported that it is no JSON. */
  readonly shared?: boolean;
}

/** Reads the hooks of a file, if it is there and has some. What is wrong with one is a warning. */
export async function readSettingsHooks(
  { source, file, shared = false }: SettingsFile,
  problems: ConfigProblem[],
): Promise<Layer | undefined> {
  const found: ConfigProblem[] = [];
  const text = source === "project" ? readProjectText(file, found) : readText(file, found);
  if (!shared) problems.push(...found.map((problem) => ({ ...problem, level: "warning" as const })));
  // Most such files have none, and need no parser.
  if (text === undefined || !text.includes('"hooks"')) return undefined;
  const json = await parseJsonc(text);
  if (!("fault" in json)) return new Reader({ source, file }, json).read(problems);
  const { fault, ...position } = json;
  if (!shared) {
    const message = `Cannot read the JSON here: ${fault}; no hook of this file runs`;
    problems.push({ level: "warning", message, remedy: "correct it", place: { file, ...position } });
  }
  return undefined;
}

/** What a handler or a group can say. */
const GROUP_KEYS = ["matcher", "match", "hooks", "description"];
const HANDLER_KEYS = ["type", "command", "timeout", "failure", "statusMessage", "description", "name"];
export const SETTINGS_KEYS: readonly string[] = [...GROUP_KEYS, ...HANDLER_KEYS];
/** What another program does with a hook afterwards: without it the same hook runs for the same calls. */
const IGNORED_KEYS = ["async", "asyncRewake"];

interface HandlerContext {
  readonly event: string;
  readonly matcher: string;
  /** Units of `timeout` in a second. */
  readonly perSecond: number;
  /** A key without a meaning here. */
  readonly unknown: string | undefined;
}

class Reader {
  readonly #file: SettingsFile;
  readonly #json: Jsonc;
  readonly #problems: ConfigProblem[] = [];
  readonly #entries: TomlTable[] = [];
  /** Where the file has each entry. */
  readonly #origins: KeyPath[] = [];

  constructor(file: SettingsFile, json: Jsonc) {
    this.#file = file;
    this.#json = json;
  }

  read(problems: ConfigProblem[]): Layer | undefined {
    const { value } = this.#json;
    const hooks = isRecord(value) ? value.hooks : undefined;
    if (isRecord(value) && value.disableAllHooks === true) return undefined;
    if (isRecord(hooks)) {
      for (const [event, groups] of Object.entries(hooks)) this.#event(event, groups);
    } else if (hooks !== undefined) this.#wrong(["hooks"], `"hooks" is no object`, FORM);
    problems.push(...this.#problems);
    if (this.#entries.length === 0) return undefined;
    return {
      source: this.#file.source,
      file: this.#file.file,
      table: { hooks: this.#entries },
      find: ([, index, ...rest]) => {
        const origin = typeof index === "number" ? this.#origins[index] ?? [] : [];
        return this.#json.find([...origin, ...rest]) ?? { line: 1, column: 1 };
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
    const position = this.#json.find(path) ?? { line: 1, column: 1 };
    const place = { file: this.#file.file, ...position };
    this.#problems.push({ level: "warning", message, remedy, place });
  }
}

const FORM = 'write { "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", ' +
  '"command": "…" }] }] } }';
