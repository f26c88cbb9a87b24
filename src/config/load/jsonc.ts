import type { ParseError } from "jsonc-parser";
import { readProjectText, readText } from "./layer.ts";
import type { ConfigProblem, KeyPath } from "../problem.ts";
import type { SourceLocation } from "../../core/mod.ts";

/** 1-based line and column. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A parsed text, and where its values stand. */
export interface Jsonc {
  readonly value: unknown;
  /** The place of a property or an item; of the nearest enclosing one when the path is not there. */
  find(path: KeyPath): TextPosition | undefined;
}

/** Says why a text is no JSON without any part of it, which may hold secrets. */
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

/** The problem of a file that is no JSON. */
interface Unusable {
  /** Of the problem; by default also that of a file that cannot be read. */
  readonly level?: ConfigProblem["level"];
  /** Follows the fault. */
  readonly consequence?: string;
  readonly remedy: string;
}

/** A JSON file in the form of another program: its value, places, and the problems found in it. */
export class JsonFile {
  readonly problems: ConfigProblem[] = [];
  readonly source: "user" | "project";
  readonly file: string;
  readonly value: unknown;
  readonly #json: Jsonc;

  private constructor(source: "user" | "project", file: string, json: Jsonc) {
    this.source = source;
    this.file = file;
    this.value = json.value;
    this.#json = json;
  }

  /** Opens a file if it is there; `wanted` tells by the text whether it has to be parsed. */
  static async open(
    { source, file }: Pick<JsonFile, "source" | "file">,
    { level = "warning", consequence = "", remedy }: Unusable,
    problems: ConfigProblem[],
    wanted: (text: string) => boolean = () => true,
  ): Promise<JsonFile | undefined> {
    const unread: ConfigProblem[] = [];
    const text = source === "project" ? readProjectText(file, unread) : readText(file, unread);
    problems.push(...unread.map((problem) => ({ ...problem, level })));
    if (text === undefined || !wanted(text)) return undefined;
    const json = await parseJsonc(text);
    if (!("fault" in json)) return new JsonFile(source, file, json);
    const { fault, ...position } = json;
    const message = `Cannot read the JSON here: ${fault}${consequence}`;
    problems.push({ level, message, remedy, place: { file, ...position } });
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
