import { errorMessage, type SourcePlace } from "../../core/mod.ts";
import { lineAndColumn, parseJsonc } from "../load/jsonc.ts";
import { type Layer, parseToml, placeOf } from "../load/layer.ts";
import { parseFrontmatter } from "../../util/frontmatter.ts";
import { parseJson } from "../../util/json.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";
import {
  type AgentName,
  type ForeignServer,
  type ImportPlan,
  type Origin,
  type Scope,
  takeServer,
} from "./plan.ts";

/** A file of another agent. */
export interface ForeignFile {
  readonly agent: AgentName;
  readonly path: string;
  readonly scope: Scope;
}

/** A file that was read. */
export interface ForeignDocument extends ForeignFile {
  readonly table: TomlTable;
  readonly place: (path: KeyPath) => SourcePlace;
}

/** State files of other agents hold whole histories. */
const MAX_BYTES = 64 << 20;

/**
 * Reads a file, JSON with comments or TOML by its name. Undefined when it is missing, or when it cannot be
 * used: then a problem says where and why.
 */
export async function readForeign(
  file: ForeignFile,
  problems: ConfigProblem[],
): Promise<ForeignDocument | undefined> {
  const text = readText(file.path, problems);
  if (text === undefined) return undefined;
  if (file.path.endsWith(".rules")) return fromRules(file, text);
  if (file.path.endsWith(".md")) return fromMarkdown(file, text, problems);
  return file.path.endsWith(".toml") ? fromToml(file, text, problems) : await fromJson(file, text, problems);
}

const STRING = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const CALL = new RegExp(String.raw`\bprefix_rule\s*\((?<body>(?:${STRING}|[^)"'])*)\)`, "g");
const ITEM = String.raw`${STRING}|[^\[\]"']`;
const PATTERN = new RegExp(String.raw`\bpattern\s*=\s*(\[(?:${ITEM}|\[(?:${ITEM})*\])*\])`);

/**
 * Reads the rules of codex, which are calls in a small language: `rules` holds `pattern` (undefined when it
 * is no plain list) and `decision` of each.
 */
function fromRules(file: ForeignFile, text: string): ForeignDocument {
  const plain = text.replace(/^[ \t]*#.*$/gm, (comment) => " ".repeat(comment.length));
  const calls = [...plain.matchAll(CALL)];
  const rules = calls.map(({ groups: { body = "" } = {} }) => ({
    pattern: parseJson(jsonList(PATTERN.exec(body)?.[1] ?? "")),
    decision: /\bdecision\s*=\s*["'](\w+)["']/.exec(body)?.[1] ?? "allow",
  }));
  const place = ([, index]: KeyPath): SourcePlace => {
    const offset = typeof index === "number" ? calls[index]?.index : undefined;
    return { file: file.path, ...(offset === undefined ? {} : lineAndColumn(text, offset)) };
  };
  return { ...file, table: { rules }, place };
}

/** Reads an agent or a command of opencode, by the directory it is in, as its settings would hold it. */
function fromMarkdown(
  file: ForeignFile,
  text: string,
  problems: ConfigProblem[],
): ForeignDocument | undefined {
  const { fields, body, problems: notes } = parseFrontmatter(text);
  // A text with a colon that should be in quotes is understood all the same.
  const problem = notes.find(({ text }) => !text.includes("colon"));
  if (problem) {
    problems.push({ ...unusable(file.path, problem.text), place: { file: file.path, line: problem.line } });
    return undefined;
  }
  const [, directory, name = ""] = /(agent|command)s?[\\/]([^\\/]+)\.md$/.exec(file.path) ?? [];
  const table = directory === "command"
    ? { command: { [name]: { ...fields, template: body } } }
    : { agent: { [name]: { ...fields, prompt: body } } };
  return { ...file, table, place: () => ({ file: file.path, line: 1, column: 1 }) };
}

function jsonList(text: string): string {
  return text.replace(
    /'((?:[^'\\]|\\.)*)'/g,
    (_, inner: string) => JSON.stringify(inner.replace(/\\'/g, "'")),
  )
    .replace(/,(\s*\])/g, "$1");
}

function fromToml(file: ForeignFile, text: string, problems: ConfigProblem[]): ForeignDocument | undefined {
  const found: ConfigProblem[] = [];
  const table = parseToml(text, file.path, found);
  problems.push(
    ...found.map((problem) => ({ ...problem, remedy: `${problem.remedy}; nothing is imported from it` })),
  );
  if (!table) return undefined;
  const layer: Layer = { source: "user", table, file: file.path, text };
  return { ...file, table, place: (path) => placeOf(layer, path) ?? { file: file.path } };
}

async function fromJson(
  file: ForeignFile,
  text: string,
  problems: ConfigProblem[],
): Promise<ForeignDocument | undefined> {
  const json = await parseJsonc(text);
  if ("fault" in json) {
    const { fault, ...position } = json;
    problems.push({
      level: "error",
      message: `Cannot read the JSON here: ${fault}`,
      remedy: "Correct it; nothing is imported from this file",
      place: { file: file.path, ...position },
    });
    return undefined;
  }
  if (!isTable(json.value)) {
    problems.push(unusable(file.path, "it holds no JSON object"));
    return undefined;
  }
  return { ...file, table: json.value, place: (path) => ({ file: file.path, ...json.find(path) }) };
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
    message: `Cannot import from this file: ${reason}`,
    remedy: "Correct it, or name another file with --from",
    place: { file },
  };
}

/** The origin of a setting; `value` is added where it may be shown. */
export function originOf(document: ForeignDocument, path: KeyPath, value?: unknown): Origin {
  const named = path.filter((part, index) => typeof part === "string" || index < path.length - 1);
  const shown = value === undefined
    ? ""
    : ` ${typeof value === "string" ? JSON.stringify(value) : plain(value)}`;
  return { text: `${formatKey(named)}${shown}`, place: document.place(path), scope: document.scope };
}

function plain(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}

/** Returns the texts of a list with their paths, and leaves the other items. */
export function textsOf(
  plan: ImportPlan,
  document: ForeignDocument,
  path: KeyPath,
  value: unknown,
): { readonly path: KeyPath; readonly text: string }[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    plan.leave(originOf(document, path), "it is no list");
    return [];
  }
  return value.flatMap((text: unknown, index) => {
    const here = [...path, index];
    if (typeof text === "string") return [{ path: here, text }];
    plan.leave(originOf(document, here), "it is no text");
    return [];
  });
}

/** Names the settings of the top of a file whose values are of another type than they have to be. */
export function leaveMistyped(
  plan: ImportPlan,
  document: ForeignDocument,
  types: Readonly<Record<string, "table" | "text">>,
): void {
  for (const [key, type] of Object.entries(types)) {
    const value = document.table[key];
    if (value === undefined || (type === "table" ? isTable(value) : typeof value === "string")) continue;
    plan.leave(originOf(document, [key]), `it is no ${type}`);
  }
}

/** Names the settings of the top of a file that are not `known`, each with its reason. */
export function leaveOthers(
  plan: ImportPlan,
  document: ForeignDocument,
  known: readonly string[],
  reasons: Readonly<Record<string, string>>,
): void {
  for (const key of Object.keys(document.table)) {
    if (known.includes(key)) continue;
    plan.leave(originOf(document, [key]), reasons[key] ?? "it has no counterpart");
  }
}

/** Takes over the texts of a list as items of our setting `key`, unless `refuse` gives a reason. */
export function takeItems(
  plan: ImportPlan,
  document: ForeignDocument,
  path: KeyPath,
  { value, key, refuse = () => undefined }: {
    readonly value: unknown;
    readonly key: string;
    readonly refuse?: (text: string) => { readonly why: string } | undefined;
  },
): void {
  for (const { path: here, text } of textsOf(plan, document, path, value)) {
    const origin = originOf(document, here, text);
    const refused = refuse(text);
    if (refused) plan.leave(origin, refused.why);
    else plan.take(origin, { kind: "item", key, item: text });
  }
}

/** Takes over the servers of a table; `describe` turns one into our words, undefined when it is none. */
export function takeServers(
  plan: ImportPlan,
  document: ForeignDocument,
  { path, shown = path }: { readonly path: KeyPath; readonly shown?: KeyPath },
  describe: (server: TomlTable, name: string) => Omit<ForeignServer, "name" | "origin"> | undefined,
): void {
  const servers = path.reduce<unknown>(
    (value, part) => isTable(value) ? value[part] : undefined,
    document.table,
  );
  for (const [name, server] of Object.entries(isTable(servers) ? servers : {})) {
    const origin = { ...originOf(document, [...shown, name]), place: document.place([...path, name]) };
    const described = isTable(server) ? describe(server, name) : undefined;
    if (described) takeServer(plan, { ...described, name, origin });
    else plan.leave(origin, "it is no description of a server");
  }
}
