/** A captured terminal as a picture (SVG 1.1): every stretch of text is in its columns, in any font. */
import { displayWidth } from "../../src/util/display_width.ts";
import type { Background, Span, Style } from "./spans.ts";

export interface Theme {
  readonly background: string;
  readonly border: string;
  readonly text: string;
  readonly dim: string;
  /** Behind lines and words of a diff. */
  readonly backgrounds: Readonly<Record<Background, string>>;
  /** By the names of the terminal's colors. */
  readonly colors: Readonly<Record<string, string>>;
}

export interface Picture {
  readonly lines: readonly (readonly Span[])[];
  readonly columns: number;
  /** For who cannot see it. */
  readonly title: string;
  readonly description: string;
}

/** Pixels of a cell, of the space around all of them, and of the part of a cell above the base line. */
export const CELL = { width: 8, height: 18, margin: 16, ascent: 13 } as const;

const FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace";

export function svgOf({ lines, columns, title, description }: Picture, theme: Theme): string {
  const width = columns * CELL.width + 2 * CELL.margin;
  const height = lines.length * CELL.height + 2 * CELL.margin;
  const texts = lines.flatMap((line, row) => rowOf(line, CELL.margin + row * CELL.height + CELL.ascent));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="t d">`,
    `<title id="t">${escaped(title)}</title>`,
    `<desc id="d">${escaped(description)}</desc>`,
    `<style>${styleSheet(theme, lines.flat().map(({ style }) => style))}</style>`,
    `<rect x=".5" y=".5" width="${width - 1}" height="${
      height - 1
    }" rx="8" fill="${theme.background}" stroke="${theme.border}"/>`,
    ...texts,
    "</svg>",
    "",
  ].join("\n");
}

function styleSheet({ text, dim, backgrounds, colors }: Theme, styles: readonly Style[]): string {
  const behind = new Set(styles.flatMap(({ background }) => background ?? []));
  const used = new Set(styles.flatMap(({ color }) => color ?? []));
  return [
    `text{font:13px ${FONTS};fill:${text};white-space:pre}`,
    `.dim{fill:${dim}}.bold{font-weight:700}.italic{font-style:italic}.underline{text-decoration:underline}`,
    ...[...behind].map((name) => `.on-${name}{fill:${backgrounds[name]}}`),
    ...[...used].map((name) => `.${name}{fill:${colors[name] ?? text}}`),
  ].join("");
}

/** The texts of a line. The blanks between them are left out: each text says where it begins. */
function rowOf(line: readonly Span[], y: number): string[] {
  let column = 0;
  return line.flatMap(({ text, style }) =>
    piecesOf(text).flatMap((piece) => {
      const [start, columns] = [column, displayWidth(piece)];
      column += columns;
      return [
        ...(style.background ? [backgroundElement({ piece, start, columns, style, y })] : []),
        ...(piece.trim() === "" ? [] : [textElement({ piece, start, columns, style, y })]),
      ];
    })
  );
}

interface Piece {
  readonly piece: string;
  readonly start: number;
  readonly columns: number;
  readonly style: Style;
  readonly y: number;
}

function backgroundElement({ start, columns, style, y }: Piece): string {
  const x = CELL.margin + start * CELL.width;
  const [width, height] = [columns * CELL.width, CELL.height];
  return `<rect x="${x}" y="${
    y - CELL.ascent
  }" width="${width}" height="${height}" class="on-${style.background}"/>`;
}

function textElement({ piece, start, columns, style, y }: Piece): string {
  const { color, background: _, ...flags } = style;
  const names = [...color ? [color] : [], ...Object.entries(flags).flatMap(([name, on]) => on ? [name] : [])];
  const x = CELL.margin + start * CELL.width;
  const look = names.length === 0 ? "" : ` class="${names.join(" ")}"`;
  // The length holds text in its columns where the font is narrower or wider than a cell.
  return `<text x="${x}" y="${y}" textLength="${columns * CELL.width}"${look}>${escaped(piece)}</text>`;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Stretches of narrow characters, the blanks around them, and each wide character for itself. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  let narrow = "";
  for (const { segment } of graphemes.segment(text)) {
    if (displayWidth(segment) === 1) narrow += segment;
    else {
      pieces.push(narrow, segment);
      narrow = "";
    }
  }
  return [...pieces, narrow].flatMap((piece) => piece.split(/(^ +| {2,}| +$)/)).filter((piece) =>
    piece !== ""
  );
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
