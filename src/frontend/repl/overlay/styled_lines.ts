import { rowsOfLine } from "../screen/line.ts";
import type { CollapsedItem } from "../transcript/printed.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import {
  CONTEXT,
  type DiffMarks,
  diffText,
  languageOf,
  type Palette,
  type StyledText,
} from "../../../view/mod.ts";

export interface TextStyle {
  readonly palette: Palette;
  readonly marks?: DiffMarks | undefined;
}

/** Rows of a text; all of them only where it is searched. */
export interface TextRows {
  readonly length: number;
  slice(from: number, to: number): readonly string[];
  /** Every row, without styles. */
  plain(): readonly string[];
}

/** Lines that get their colors together, and how many times as many keep them. */
const [PART, KEPT_PARTS] = [64, 8];

/** The lines of some texts. Only those that are seen get their colors, however many there are. */
export class StyledLines {
  readonly length: number;
  readonly #texts: readonly { readonly from: number; readonly text: StyledText }[];
  readonly #parts = new Map<number, readonly string[]>();

  constructor(texts: readonly StyledText[]) {
    let length = 0;
    this.#texts = texts.map((text) => ({ text, from: (length += text.length) - text.length }));
    this.length = length;
  }

  plain(at: number): string {
    const { text, from = 0 } = this.#textAt(at);
    return text?.plain(at - from) ?? "";
  }

  line(at: number): string {
    const { text, from: begin = 0 } = this.#textAt(at);
    const from = at - (at - begin) % PART;
    let part = this.#parts.get(from);
    if (!part) {
      if (this.#parts.size >= KEPT_PARTS) this.#parts.clear();
      part = text?.styled(from - begin, Math.min(from - begin + PART, text.length)) ?? [];
      this.#parts.set(from, part);
    }
    return part[at - from] ?? "";
  }

  #textAt(at: number): { readonly from?: number; readonly text?: StyledText } {
    return this.#texts.findLast(({ from }) => from <= at) ?? {};
  }

  /** All lines, without styles. */
  get text(): string {
    return Array.from({ length: this.length }, (_, at) => this.plain(at)).join("\n");
  }

  /** The lines in rows of a width. */
  rows(columns: number): TextRows {
    const plainRows = (at: number) => rowsOfLine(this.plain(at), columns);
    const ends: number[] = [];
    for (let at = 0; at < this.length; at++) ends.push((ends.at(-1) ?? 0) + plainRows(at).length);
    return {
      length: ends.at(-1) ?? 0,
      slice: (from, to) => {
        const rows: string[] = [];
        const first = ends.findIndex((end) => end > from);
        const start = ends[first - 1] ?? 0;
        for (let at = first; at >= 0 && at < this.length && start + rows.length < to; at++) {
          const own = rowsOfLine(this.line(at), columns);
          const isWhole = own.length === (ends[at] ?? 0) - (ends[at - 1] ?? 0);
          // Styles within one character may break a line elsewhere.
          rows.push(...(isWhole ? own : plainRows(at)));
        }
        return rows.slice(from - start, to - start);
      },
      plain: () => ends.flatMap((_, at) => plainRows(at)),
    };
  }
}

/** Lines that are as they are. */
export function plainText(lines: readonly string[], color: (line: string) => string = String): StyledText {
  return {
    length: lines.length,
    plain: (at) => lines[at] ?? "",
    styled: (from, to) => lines.slice(from, to).map(color),
  };
}

const READ = /^read(?:_file)? (.+?)(?: from line \d+)?$/;

/** The text of an item, with the colors of a diff or of the code of a file. */
export function itemText({ kind, title, text }: CollapsedItem, style: TextStyle): StyledText {
  if (kind === "diff") return diffText(text, style);
  const lines = terminalSafe(text.replaceAll("\t", "  ")).split("\n");
  const path = kind === "output" ? READ.exec(title)?.[1] : undefined;
  if (path === undefined) return plainText(lines);
  return codeText(lines.length, (at) => {
    const line = lines[at] ?? "";
    const head = /^ *\d+→/.exec(line)?.[0] ?? "";
    return { head, code: line.slice(head.length) };
  }, { language: languageOf(path), ...style });
}

/** The lines of a file, numbered, with syntax highlighting. */
export function fileText(path: string, text: string, style: TextStyle): StyledText {
  const lines = text.replace(/\n$/, "").split("\n");
  const width = String(lines.length).length;
  return codeText(lines.length, (at) => ({
    head: `${String(at + 1).padStart(width)}→`,
    code: terminalSafe(lines[at]?.replaceAll("\t", "  ") ?? ""),
  }), { language: languageOf(path), ...style });
}

/** Maximum characters of lines that get their colors together. */
const MAX_CODE = 30_000;

/** Lines of code behind their numbers; one without a number is no code. */
function codeText(
  length: number,
  line: (at: number) => { readonly head: string; readonly code: string },
  { language, palette, marks }: TextStyle & { readonly language: string },
): StyledText {
  const plain = ({ head, code }: ReturnType<typeof line>) => head + code;
  return {
    length,
    plain: (at) => plain(line(at)),
    styled(from, to) {
      const first = Math.max(0, from - CONTEXT);
      const lines = Array.from({ length: to - first }, (_, at) => line(first + at));
      const code = lines.map(({ head, code }) => head === "" ? "" : code).join("\n");
      const colored = code.length > MAX_CODE ? undefined : marks?.highlight?.(code, language);
      const isWhole = colored?.length === lines.length;
      return lines.map((each, at) =>
        isWhole && each.head !== "" ? palette.dim(each.head) + colored[at] : plain(each)
      ).slice(from - first);
    },
  };
}
