import type { ParseError } from "jsonc-parser";
import type { KeyPath } from "../problem.ts";

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
