import type { ParseError } from "jsonc-parser";
import { type Layer, readProjectText, readText } from "./layer.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import type { TomlTable } from "../schema/json_schema.ts";
import type { SourceLocation } from "../../core/mod.ts";

/** 1-based line and column. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

export interface Jsonc {
  readonly value: unknown;
  /** The location of a property or an item; of the nearest enclosing one when the path is not there. */
  find(path: KeyPath): TextPosition | undefined;
}

/** The reason why a text is no JSON, without any part of it: it may hold secrets. */
export interface JsoncFault extends TextPosition {
  readonly fault: string;
}

/** Reads JSON with comments, commas at the end of lists and a byte order mark. */
export async function parseJsonc(text: string): Promise<Jsonc | JsoncFault> {
  const { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode } = await import("jsonc-parser");
  const plain = text.replace(/^\uFEFF/, " ");
  const errors: ParseError[] = [];
  try {
    const root = parseTree(plain, errors, { allowTrailingComma: true });
    const [first] = errors;
    if (first) {
      return { fault: spaced(printParseErrorCode(first.error)), ...lineAndColumn(plain, first.offset) };
    }
    if (!root) return { fault: "value expected", line: 1, column: 1 };
    return {
      value: getNodeValue(root),
      find(path) {
        for (let length = path.length; length > 0; length--) {
          const node = findNodeAtLocation(root, [...path.slice(0, length)]);
          if (!node) continue;
          return lineAndColumn(plain, node.parent?.type === "property" ? node.parent.offset : node.offset);
        }
        return undefined;
      },
    };
  } catch (error) {
    // The parser calls itself for each bracket.
    if (error instanceof RangeError) return { fault: "it is nested too deeply", line: 1, column: 1 };
    throw error;
  }
}

/** `PropertyNameExpected` in words. */
function spaced(code: string): string {
  return code.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toLowerCase();
}

/** Counts in UTF-16 units. */
export function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split(/\r\n|\r|\n/).length, column: offset - before.search(/[^\r\n]*$/) + 1 };
}

interface Unusable {
  /** Of the problem; by default also that of a file that cannot be read. */
  readonly level?: ConfigProblem["level"];
  /** Follows the fault. */
  readonly consequence?: string;
  readonly remedy: string;
}

type JsonSource = Pick<JsonFile, "source" | "file">;

/** A JSON file in the form of another program: its value, locations, and the problems found in it. */
export class JsonFile {
  readonly source: "user" | "project";
  readonly file: string;
  readonly value: unknown;
  readonly problems: ConfigProblem[];
  readonly #json: Jsonc;

  private constructor({ source, file }: JsonSource, json: Jsonc, problems: ConfigProblem[]) {
    this.source = source;
    this.file = file;
    this.value = json.value;
    this.problems = problems;
    this.#json = json;
  }

  /** Opens a file if it is there; `wanted` reports by the text whether it has to be parsed. */
  static async open(
    source: JsonSource,
    unusable: Unusable,
    problems: ConfigProblem[],
    wanted: (text: string) => boolean = () => true,
  ): Promise<JsonFile | undefined> {
    const { level = "warning" } = unusable;
    const unread: ConfigProblem[] = [];
    const read = source.source === "project" ? readProjectText : readText;
    const text = read(source.file, unread);
    problems.push(...unread.map((problem) => ({ ...problem, level })));
    return text === undefined || !wanted(text)
      ? undefined
      : await JsonFile.parse(source, text, unusable, problems);
  }

  static async parse(
    source: JsonSource,
    text: string,
    { level = "warning", consequence = "", remedy }: Unusable,
    problems: ConfigProblem[],
  ): Promise<JsonFile | undefined> {
    const json = await parseJsonc(text);
    if (!("fault" in json)) return new JsonFile(source, json, problems);
    const { fault, ...position } = json;
    const message = `Cannot read the JSON here: ${fault}${consequence}`;
    problems.push({ level, message, remedy, place: { file: source.file, ...position } });
    return undefined;
  }

  find(path: KeyPath): TextPosition {
    return this.#json.find(path) ?? { line: 1, column: 1 };
  }

  place(path: KeyPath): SourceLocation {
    return { file: this.file, ...this.find(path) };
  }

  report(
    path: KeyPath,
    message: string,
    remedy: string,
    level: ConfigProblem["level"] = "warning",
  ): undefined {
    this.problems.push({ level, message, remedy, place: this.place(path) });
  }
}

/** A layer made of a JSON file in another form; each of its parts is located where the file has it. */
export class LayerBuilder {
  readonly #json: JsonFile;
  readonly #table: TomlTable = {};
  readonly #origins = new Map<string, KeyPath>();

  constructor(json: JsonFile) {
    this.#json = json;
  }

  /** Sets a key; `origin` is its path in the file. */
  set(path: readonly string[], value: unknown, origin: KeyPath): void {
    const last = path.at(-1) ?? "";
    this.#tableOf(path)[last] = value;
    this.#origins.set(formatKey(path), origin);
  }

  add(path: readonly string[], item: unknown, origin: KeyPath): void {
    const table = this.#tableOf(path);
    const last = path.at(-1) ?? "";
    const list = Array.isArray(table[last]) ? table[last] : [];
    this.#origins.set(formatKey([...path, list.length]), origin);
    table[last] = [...list, item];
  }

  /** The layer; parts without an origin are at `start`. `names` maps keys of items to those of the file. */
  layer(start: KeyPath, names: Readonly<Record<string, string>> = {}): Layer {
    const { source, file } = this.#json;
    return {
      source,
      file,
      table: this.#table,
      find: (path) => this.#json.find(this.#inFile(path, names) ?? start),
    };
  }

  #tableOf(path: readonly string[]): TomlTable {
    return path.slice(0, -1).reduce((table, name) => (table[name] ??= {}) as TomlTable, this.#table);
  }

  #inFile(path: KeyPath, names: Readonly<Record<string, string>>): KeyPath | undefined {
    for (let length = path.length; length > 0; length--) {
      const origin = this.#origins.get(formatKey(path.slice(0, length)));
      if (!origin) continue;
      const [key, ...rest] = path.slice(length);
      return key === undefined ? origin : [...origin, names[key] ?? key, ...rest];
    }
    return undefined;
  }
}
