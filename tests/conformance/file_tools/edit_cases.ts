/** Generated edit cases: a file, an edit as requested by a model, and the expected bytes. */
import { encodeText, type Encoding } from "../../../src/tool/text/encoding.ts";

interface RawLine {
  readonly text: string;
  readonly eol: string;
}

export interface EditCase {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly args: { readonly old_string: string; readonly new_string: string; readonly replace_all?: boolean };
  /** Undefined: the edit must be refused without a change. */
  readonly expected: Uint8Array<ArrayBuffer> | undefined;
}

interface Format {
  readonly name: string;
  readonly encoding: Encoding;
  readonly bom: boolean;
  readonly cjk: boolean;
}

const FORMATS: readonly Format[] = [
  { name: "utf-8", encoding: "utf-8", bom: false, cjk: true },
  { name: "utf-8 with mark", encoding: "utf-8", bom: true, cjk: true },
  { name: "utf-16 le with mark", encoding: "utf-16le", bom: true, cjk: true },
  { name: "utf-16 be with mark", encoding: "utf-16be", bom: true, cjk: true },
  { name: "utf-16 le", encoding: "utf-16le", bom: false, cjk: true },
  { name: "gbk", encoding: "gb18030", bom: false, cjk: true },
  { name: "latin-1", encoding: "windows-1252", bom: false, cjk: false },
];

const EOLS: Readonly<Record<string, (line: number) => string>> = {
  lf: () => "\n",
  crlf: () => "\r\n",
  mixed: (line) => line % 3 === 1 ? "\r\n" : "\n",
  cr: () => "\r",
};

/** The lines of every file. Edited lines are unique; the `dup` block occurs three times. */
function linesOf(format: Format, eol: (line: number) => string, finalNewline: boolean): RawLine[] {
  const special = format.cjk ? "// 中文注释，全角　空格" : "// Grüße, naïve café";
  const hidden = format.encoding.startsWith("utf") ? "zero\u200bwidth \u00a0 nbsp" : "plain";
  const dup = ["  dup();", "\tdup_tab();", ""];
  const texts = [
    "first line",
    ...dup,
    special,
    "function alpha(a) {",
    "\tconst target = a;   ",
    "\t\tdeep(target);",
    "\treturn target;\t",
    "}",
    "",
    ...dup,
    hidden,
    "    four = 4",
    ...dup,
    "last line",
  ];
  return texts.map((text, index) => ({
    text,
    eol: index === texts.length - 1 && !finalNewline ? "" : eol(index),
  }));
}

/** An edit of some lines, given as indexes into the file. */
interface Operation {
  readonly name: string;
  readonly args: (lines: readonly RawLine[]) => EditCase["args"];
  readonly result: (lines: readonly RawLine[]) => readonly RawLine[] | undefined;
}

const AT = { special: 4, alpha: 5, target: 6, deep: 7, back: 8, close: 9, four: 15 };

function texts(lines: readonly RawLine[], from: number, to: number): string {
  return lines.slice(from, to + 1).map((line) => line.text).join("\n");
}

function changed(lines: readonly RawLine[], at: number, put: readonly RawLine[], remove = 1): RawLine[] {
  return [...lines.slice(0, at), ...put, ...lines.slice(at + remove)];
}

const OPERATIONS: readonly Operation[] = [
  {
    name: "changes part of a line",
    args: () => ({ old_string: "const target = a", new_string: "let target = b" }),
    result: (lines) =>
      changed(lines, AT.target, [{ text: "\tlet target = b;   ", eol: lines[AT.target]?.eol ?? "" }]),
  },
  {
    name: "inserts lines after a context line",
    args: (lines) => ({
      old_string: texts(lines, AT.alpha, AT.deep),
      new_string: `${texts(lines, AT.alpha, AT.target)}\n\tadded();\n\n${lines[AT.deep]?.text}`,
    }),
    result: (lines) => {
      const eol = lines[AT.target]?.eol ?? "";
      return changed(lines, AT.deep, [{ text: "\tadded();", eol }, { text: "", eol }], 0);
    },
  },
  {
    name: "deletes lines",
    args: (lines) => ({ old_string: `${texts(lines, AT.target, AT.back)}\n`, new_string: "" }),
    result: (lines) => changed(lines, AT.target, [], 3),
  },
  {
    name: "is written without blanks at line ends",
    args: () => ({
      old_string: "\tconst target = a;\n\t\tdeep(target);\n\treturn target;\n}",
      new_string: "\tconst target = a;\n\t\tdeeper(target);\n\treturn target;\n}",
    }),
    result: (lines) =>
      changed(lines, AT.deep, [{ text: "\t\tdeeper(target);", eol: lines[AT.deep]?.eol ?? "" }]),
  },
  {
    name: "is written with less indentation",
    args: () => ({
      old_string: "const target = a;\n\tdeep(target);\n",
      new_string: "const target = a;\n\tdeep(target);\n\tmore(target);\n",
    }),
    result: (lines) =>
      changed(lines, AT.back, [{ text: "\t\tmore(target);", eol: lines[AT.deep]?.eol ?? "" }], 0),
  },
  {
    name: "is written with spaces for tabs",
    args: () => ({
      old_string: "    const target = a;\n        deep(target);",
      new_string: "    const target = a;\n        other(target);",
    }),
    result: (lines) =>
      changed(lines, AT.deep, [{ text: "\t\tother(target);", eol: lines[AT.deep]?.eol ?? "" }]),
  },
  {
    name: "is ambiguous",
    args: () => ({ old_string: "  dup();\n\tdup_tab();", new_string: "x" }),
    result: () => undefined,
  },
  {
    name: "replaces all of a duplicated block",
    args: () => ({ old_string: "  dup();\n\tdup_tab();\n", new_string: "  one();\n", replace_all: true }),
    result: (lines) =>
      lines.flatMap((line) =>
        line.text === "\tdup_tab();"
          ? []
          : line.text === "  dup();"
          ? [{ ...line, text: "  one();" }]
          : [line]
      ),
  },
  {
    name: "does not exist",
    args: () => ({ old_string: "\tconst target = c;\n\t\tdeep(c);", new_string: "x" }),
    result: () => undefined,
  },
];

function encoded(lines: readonly RawLine[], format: Format): Uint8Array<ArrayBuffer> {
  const bytes = encodeText(lines.map((line) => line.text + line.eol).join(""), format.encoding, format.bom);
  if (typeof bytes === "string") throw new Error(`${format.name} has no ${bytes}`);
  return bytes;
}

function caseOf(format: Format, eol: string, finalNewline: boolean, operation: Operation): EditCase {
  const lines = linesOf(format, EOLS[eol] ?? (() => "\n"), finalNewline);
  const result = operation.result(lines);
  return {
    name: `${format.name}, ${eol}, ${finalNewline ? "final newline" : "open end"}: ${operation.name}`,
    bytes: encoded(lines, format),
    args: operation.args(lines),
    expected: result && encoded(result, format),
  };
}

/** All combinations of format, line ends, end of file and operation. */
export function editCases(): EditCase[] {
  const cases: EditCase[] = [];
  for (const format of FORMATS) {
    for (const eol of Object.keys(EOLS)) {
      for (const finalNewline of [true, false]) {
        for (const operation of OPERATIONS) cases.push(caseOf(format, eol, finalNewline, operation));
      }
    }
  }
  return cases;
}

/** The same operations in the middle of 5 MB. */
export function largeCases(): EditCase[] {
  const filler = (name: string): RawLine[] =>
    Array.from(
      { length: 25_000 },
      (_, index) => ({ text: `${name} ${index} ${"x".repeat(90)}`, eol: "\r\n" }),
    );
  const format: Format = { name: "5 MB", encoding: "utf-8", bom: false, cjk: true };
  return OPERATIONS.map((operation) => {
    const lines = linesOf(format, () => "\r\n", true);
    const result = operation.result(lines);
    const whole = (middle: readonly RawLine[]) =>
      encoded([...filler("before"), ...middle, ...filler("after")], format);
    return {
      name: `5 MB: ${operation.name}`,
      bytes: whole(lines),
      args: operation.args(lines),
      expected: result && whole(result),
    };
  });
}
