import {
  type AgentName,
  type ImportPlan,
  type Origin,
  type Scope,
  type ServerDescription,
  takeServer,
} from "./plan.ts";
import { JsonFile, lineAndColumn } from "../load/jsonc.ts";
import { type Layer, locationOf, parseToml } from "../load/layer.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { isTable, tableOf, type TomlTable } from "../schema/json_schema.ts";
import { errorMessage, message, type SourceLocation, type Text, withRemedy } from "../../core/mod.ts";
import { parseFrontmatter } from "../../util/frontmatter.ts";
import { parseJson } from "../../util/json.ts";

export interface SourceFile {
  readonly agent: AgentName;
  readonly path: string;
  readonly scope: Scope;
}

interface Contents {
  readonly table: TomlTable;
  readonly place: (path: KeyPath) => SourceLocation;
}

interface Shown {
  readonly shown?: unknown;
  readonly note?: Text | undefined;
}

export type Plan<Value = unknown> = (
  document: SourceDocument,
  value: Value,
  path: KeyPath,
) => void | Promise<void>;

/** Plans of settings by their dotted paths. */
export type Mapping = Readonly<Record<string, Plan>>;

/** Nothing is to be done: the setting has no meaning, or is planned together with another one. */
export const planned: Plan = () => {};

export function left(why: () => Text): Plan {
  return (document, _, path) => document.leave(path, why());
}

/** Takes over the texts of a list as items of our list `key`, unless `refuse` returns a reason. */
export function items(
  key: string,
  refuse: (text: string, document: SourceDocument) => Text | undefined = () => undefined,
): Plan {
  return (document, value, path) => {
    for (const { path: here, text } of document.texts(path, value)) {
      const why = refuse(text, document);
      if (why === undefined) document.add(here, key, text, { shown: text });
      else document.leave(here, why, text);
    }
  };
}

export function text(plan: Plan<string> = planned): Plan {
  return (document, value, path) =>
    typeof value === "string" ? plan(document, value, path) : document.leave(path, message`it is no text`);
}

export function table(plan: Plan<TomlTable> = planned): Plan {
  return (document, value, path) =>
    isTable(value) ? plan(document, value, path) : document.leave(path, message`it is no table`);
}

/** A parsed file, and the plan that takes its settings. */
export class SourceDocument {
  readonly path: string;
  readonly scope: Scope;
  readonly table: TomlTable;
  readonly plan: ImportPlan;
  readonly #file: SourceFile;
  readonly #place: Contents["place"];

  constructor(file: SourceFile, { table, place }: Contents, plan: ImportPlan) {
    this.path = file.path;
    this.scope = file.scope;
    this.table = table;
    this.plan = plan;
    this.#file = file;
    this.#place = place;
  }

  get agent(): AgentName {
    return this.#file.agent;
  }

  withScope(scope: Scope): SourceDocument {
    return new SourceDocument({ ...this.#file, scope }, { table: this.table, place: this.#place }, this.plan);
  }

  /** Plans every setting of the file; one that the mapping does not have is left. */
  async apply(mapping: Mapping, within: TomlTable = this.table, path: KeyPath = []): Promise<void> {
    for (const [name, value] of Object.entries(within)) {
      const here = [...path, name];
      const key = here.join(".");
      const isSection = Object.keys(mapping).some((other) => other.startsWith(`${key}.`));
      if (Object.hasOwn(mapping, key)) await mapping[key]?.(this, value, here);
      else if (isSection && isTable(value)) await this.apply(mapping, value, here);
      else this.leave(here, isSection ? message`it is no table` : message`it has no counterpart`);
    }
  }

  /** Makes the origin of a setting; `value` is added where it may be shown. */
  origin(path: KeyPath, value?: unknown): Origin {
    const named = path.filter((part, index) => typeof part === "string" || index < path.length - 1);
    const shown = value === undefined ? "" : ` ${JSON.stringify(value) ?? String(value)}`;
    return { text: `${formatKey(named)}${shown}`, place: this.#place(path), scope: this.scope };
  }

  leave(path: KeyPath, why: Text, value?: unknown): void {
    this.plan.leave(this.origin(path, value), why);
  }

  /** Takes over a setting as our setting `key`. */
  set(path: KeyPath, key: string, value: unknown, { shown, note }: Shown = {}): void {
    this.plan.take(this.origin(path, shown), { kind: "set", key, value }, note);
  }

  /** Takes over a setting as an item of our list `key`. */
  add(path: KeyPath, key: string, item: string | TomlTable, { shown, note }: Shown = {}): void {
    this.plan.take(this.origin(path, shown), { kind: "item", key, item }, note);
  }

  /** Returns the texts of a list with their paths, and leaves the other items. */
  texts(path: KeyPath, value: unknown): { readonly path: KeyPath; readonly text: string }[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.leave(path, message`it is no list`);
      return [];
    }
    return value.flatMap((text: unknown, index) => {
      if (typeof text === "string") return [{ path: [...path, index], text }];
      this.leave([...path, index], message`it is no text`);
      return [];
    });
  }

  /**
   * Takes over the servers of the table at a path; `describe` returns undefined for what is none. `shown` is
   * the path in reports.
   */
  servers(
    servers: unknown,
    path: KeyPath,
    describe: (server: TomlTable, name: string) => ServerDescription | undefined,
    shown: KeyPath = path,
  ): void {
    for (const [name, server] of Object.entries(tableOf(servers))) {
      const origin = { ...this.origin([...shown, name]), place: this.#place([...path, name]) };
      const described = isTable(server) ? describe(server, name) : undefined;
      if (described) takeServer(this.plan, origin, name, described);
      else this.plan.leave(origin, message`it is no description of a server`);
    }
  }
}

/** State files of other agents hold whole histories. */
const MAX_BYTES = 64 << 20;

/**
 * Reads a file, in the format of its name. Undefined when it is missing, or unusable, which adds a problem.
 */
export async function readSource(file: SourceFile, plan: ImportPlan): Promise<SourceDocument | undefined> {
  const { path } = file;
  const { problems } = plan;
  const text = readText(path, problems);
  if (text === undefined) return undefined;
  const contents = path.endsWith(".rules")
    ? fromRules(path, text)
    : path.endsWith(".md")
    ? fromMarkdown(path, text, problems)
    : path.endsWith(".toml")
    ? fromToml(path, text, problems)
    : await fromJson(path, text, problems);
  return contents && new SourceDocument(file, contents, plan);
}

const STRING = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const CALL = new RegExp(String.raw`\bprefix_rule\s*\((?<body>(?:${STRING}|[^)"'])*)\)`, "g");
const ITEM = String.raw`${STRING}|[^\[\]"']`;
const PATTERN = new RegExp(String.raw`\bpattern\s*=\s*(\[(?:${ITEM}|\[(?:${ITEM})*\])*\])`);

/**
 * Reads the rules of codex, which are calls in a small language: `rules` holds `pattern` (undefined when it
 * is no plain list) and `decision` of each.
 */
function fromRules(file: string, text: string): Contents {
  const plain = text.replace(/^[ \t]*#.*$/gm, (comment) => " ".repeat(comment.length));
  const calls = [...plain.matchAll(CALL)];
  const rules = calls.map(({ groups: { body = "" } = {} }) => ({
    pattern: parseJson(jsonList(PATTERN.exec(body)?.[1] ?? "")),
    decision: /\bdecision\s*=\s*["'](\w+)["']/.exec(body)?.[1] ?? "allow",
  }));
  const place = ([, index]: KeyPath): SourceLocation => {
    const offset = typeof index === "number" ? calls[index]?.index : undefined;
    return { file, ...(offset === undefined ? {} : lineAndColumn(text, offset)) };
  };
  return { table: { rules }, place };
}

/** Reads an agent or a command of opencode, by the directory it is in, as its settings would hold it. */
function fromMarkdown(file: string, text: string, problems: ConfigProblem[]): Contents | undefined {
  const { fields, body, problems: notes } = parseFrontmatter(text);
  // A text with a colon that should be in quotes is understood nevertheless.
  const problem = notes.find(({ text }) => !text.includes("colon"));
  if (problem) {
    problems.push({ ...unusable(file, problem.text), place: { file, line: problem.line } });
    return undefined;
  }
  const [, directory, name = ""] = /(agent|command)s?[\\/]([^\\/]+)\.md$/.exec(file) ?? [];
  const table = directory === "command"
    ? { command: { [name]: { ...fields, template: body } } }
    : { agent: { [name]: { ...fields, prompt: body } } };
  return { table, place: () => ({ file, line: 1, column: 1 }) };
}

function jsonList(text: string): string {
  return text.replace(
    /'((?:[^'\\]|\\.)*)'/g,
    (_, inner: string) => JSON.stringify(inner.replace(/\\'/g, "'")),
  )
    .replace(/,(\s*\])/g, "$1");
}

function fromToml(file: string, text: string, problems: ConfigProblem[]): Contents | undefined {
  const found: ConfigProblem[] = [];
  const table = parseToml(text, file, found);
  problems.push(
    ...found.map((problem) => ({ ...problem, remedy: `${problem.remedy}; nothing is imported from it` })),
  );
  if (!table) return undefined;
  const layer: Layer = { source: "user", table, file, text };
  return { table, place: (path) => locationOf(layer, path) ?? { file } };
}

async function fromJson(
  file: string,
  text: string,
  problems: ConfigProblem[],
): Promise<Contents | undefined> {
  const remedy = "Correct it; nothing is imported from this file";
  const json = await JsonFile.parse({ source: "user", file }, text, { level: "error", remedy }, problems);
  if (!json) return undefined;
  if (isTable(json.value)) return { table: json.value, place: (path) => json.place(path) };
  problems.push(unusable(file, "it holds no JSON object"));
  return undefined;
}

function readText(path: string, problems: ConfigProblem[]): string | undefined {
  try {
    const info = Deno.statSync(path);
    const reason = !info.isFile
      ? "it is not a regular file"
      : info.size > MAX_BYTES
      ? "it is larger than 64 MiB"
      : undefined;
    if (reason === undefined) {
      return new TextDecoder("utf-8", { fatal: true }).decode(Deno.readFileSync(path));
    }
    problems.push(unusable(path, reason));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    problems.push(unusable(path, error instanceof TypeError ? "it is not UTF-8" : errorMessage(error)));
  }
  return undefined;
}

function unusable(file: string, reason: string): ConfigProblem {
  return {
    level: "error",
    ...withRemedy(
      message`Cannot import from this file: ${reason}`,
      message`Correct it, or name another file with --from`,
    ),
    place: { file },
  };
}
