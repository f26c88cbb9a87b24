import type { TranscriptTexts } from "../chat_texts.ts";
import { dealRows, type Frame, hintRows, type Overlay, stack } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import type { Folded } from "../transcript/printed.ts";
import { rowsOfLine, styledParts, withoutStyles } from "../screen/line.ts";
import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { oneLine, terminalSafe } from "../../../util/terminal_text.ts";
import { diffLines, type DiffMarks, languageOf, type Palette } from "../../../view/mod.ts";

const [ON, OFF] = ["\x1b[7m", "\x1b[27m"];

/** A part of a line, from the first character to the one behind the last, in UTF-16 units. */
type Range = readonly [from: number, to: number];

/** Where a text is found in a line without colours; upper and lower case are the same. */
function occurrences(plain: string, query: string): Range[] {
  if (query === "") return [];
  const [line, wanted] = [folded(plain), folded(query)];
  const found: Range[] = [];
  for (let at = line.indexOf(wanted); at >= 0; at = line.indexOf(wanted, at + wanted.length)) {
    found.push([at, at + wanted.length]);
  }
  return found;
}

/** Small letters, one for one: the places of a text stay what they are. */
function folded(text: string): string {
  const small = text.toLowerCase();
  if (small.length === text.length) return small;
  return [...text].map((char) => char.toLowerCase().length === char.length ? char.toLowerCase() : char).join(
    "",
  );
}

/** A coloured line in which the parts are reversed; its own colours stay. */
function emphasised(line: string, ranges: readonly Range[]): string {
  if (ranges.length === 0) return line;
  let text = "";
  let at = 0;
  let inside = false;
  for (const part of styledParts(line)) {
    if (part.startsWith("\x1b")) {
      // Colours that end take the emphasis along.
      text += inside ? part + ON : part;
      continue;
    }
    const end = at + part.length;
    const edges = ranges.flat().filter((edge) => edge > at && edge < end);
    for (
      const [from, to] of [at, ...edges].map((edge, index, all) => [edge, all[index + 1] ?? end] as const)
    ) {
      const within = from < to && ranges.some(([first, last]) => from >= first && to <= last);
      if (within !== inside && from < to) text += within ? ON : OFF;
      if (from < to) inside = within;
      text += part.slice(from - at, to - at);
    }
    at = end;
  }
  return inside ? text + OFF : text;
}

interface ExpandOptions {
  readonly palette: Palette;
  readonly marks?: DiffMarks | undefined;
  readonly texts: TranscriptTexts;
  /** What was folded, newest last. */
  readonly folded: readonly Folded[];
}

/** A line of the view: the head of an entry (-1), or one of its text. */
interface Place {
  readonly entry: number;
  readonly line: number;
}

/** What the transcript shows a part of, in full: entries that are opened and closed, and searched. */
export class ExpandPanel implements Overlay<never> {
  readonly answer: Promise<undefined>;
  readonly #options: ExpandOptions;
  readonly #open = new Set<number>();
  readonly #lines = new Map<number, readonly string[]>();
  #at: Place;
  /** The line in the first row, and which of its rows that is. */
  #top = 0;
  #page = 1;
  #query = "";
  /** What is being searched for, while it is written. */
  #writing: string | undefined;
  #resolve: (value: undefined) => void = () => {};

  constructor(options: ExpandOptions) {
    this.#options = options;
    this.#at = { entry: options.folded.length - 1, line: -1 };
    this.answer = new Promise((resolve) => this.#resolve = resolve);
  }

  wants(): boolean {
    return true;
  }

  cancel(): void {
    this.#resolve(undefined);
  }

  input(event: InputEvent): void {
    if (this.#writing !== undefined) return this.#write(event, this.#writing);
    if (event.kind !== "key") return;
    const { key, text } = event;
    if (text === "N") return this.#search(-1);
    const steps: Readonly<Record<string, number>> = {
      up: -1,
      k: -1,
      down: 1,
      j: 1,
      pageUp: -this.#page,
      b: -this.#page,
      pageDown: this.#page,
      space: this.#page,
      home: -Infinity,
      end: Infinity,
    };
    const step = steps[key];
    if (step !== undefined) this.#move(step);
    else if (key === "enter" || key === "tab") this.#toggle();
    else if (text === "e") this.#toggleAll();
    else if (text === "/") this.#writing = "";
    else if (text === "n") this.#search(1);
    else if (["escape", "ctrl+c", "ctrl+o", "q"].includes(key)) this.cancel();
  }

  #write(event: InputEvent, written: string): void {
    if (event.kind === "paste") this.#writing = written + oneLine(event.text);
    else if (event.key === "escape" || event.key === "ctrl+c") this.#writing = undefined;
    else if (event.key === "backspace") this.#writing = [...written].slice(0, -1).join("");
    else if (event.key === "enter") {
      [this.#query, this.#writing] = [written, undefined];
      if (!this.#isMatch(this.#at)) this.#search(1);
    } else if (event.text !== undefined) this.#writing = written + event.text;
  }

  #toggle(): void {
    const { entry } = this.#at;
    if (!this.#open.delete(entry)) this.#open.add(entry);
    else this.#at = { entry, line: -1 };
  }

  #toggleAll(): void {
    const { folded } = this.#options;
    if (this.#open.size < folded.length) folded.forEach((_, entry) => this.#open.add(entry));
    else {
      this.#open.clear();
      this.#at = { entry: this.#at.entry, line: -1 };
    }
  }

  #move(by: number): void {
    const places = this.#places();
    const at = this.#index(places) + by;
    this.#at = places[Math.max(0, Math.min(places.length - 1, at))] ?? this.#at;
  }

  #index(places: readonly Place[]): number {
    return places.findIndex(({ entry, line }) => entry === this.#at.entry && line === this.#at.line);
  }

  /** Goes to the next line with the text, around the end; an entry that it is in is opened. */
  #search(direction: 1 | -1): void {
    const places = this.#places(true).filter((place) => this.#isMatch(place));
    const isAfter = ({ entry, line }: Place) =>
      entry > this.#at.entry || (entry === this.#at.entry && line > this.#at.line);
    const isSame = ({ entry, line }: Place) => entry === this.#at.entry && line === this.#at.line;
    const found = direction === 1
      ? places.find(isAfter) ?? places[0]
      : places.findLast((place) => !isAfter(place) && !isSame(place)) ?? places.at(-1);
    if (!found) return;
    this.#at = found;
    if (found.line >= 0) this.#open.add(found.entry);
  }

  #isMatch(place: Place): boolean {
    return occurrences(withoutStyles(this.#text(place)), this.#query).length > 0;
  }

  /** The lines that can be gone to; `all` with those of closed entries. */
  #places(all = false): Place[] {
    return this.#options.folded.flatMap((_, entry) => [
      { entry, line: -1 },
      ...(all || this.#open.has(entry) ? this.#linesOf(entry).map((_, line) => ({ entry, line })) : []),
    ]);
  }

  #text({ entry, line }: Place): string {
    if (line >= 0) return this.#linesOf(entry)[line] ?? "";
    const folded = this.#options.folded[entry];
    return folded ? oneLine(folded.title, 1000) : "";
  }

  #linesOf(entry: number): readonly string[] {
    const known = this.#lines.get(entry);
    if (known) return known;
    const folded = this.#options.folded[entry];
    const lines = folded ? textLines(folded, this.#options) : [];
    this.#lines.set(entry, lines);
    return lines;
  }

  frame(columns: number, rows: number): Frame {
    const { palette, texts: { expand }, folded } = this.#options;
    const hints = folded.length === 0 ? [expand.leave] : expand.hints;
    const hint = hintRows([this.#matches(), ...hints].filter((text) => text !== ""), columns);
    const given = dealRows(rows, [
      ["body", 1],
      ["input", this.#writing === undefined ? 0 : 1],
      ["title", 1],
      ["body", 4],
      ["hint", hint.length],
      ["rule", 1],
      ["body", rows],
    ]);
    const input = `/${this.#writing ?? ""}`;
    return stack([
      { lines: given.rule > 0 ? ["─".repeat(columns)] : [] },
      { lines: given.title > 0 ? [palette.bold(fitDisplay(expand.title, columns))] : [] },
      { lines: folded.length === 0 ? [fitDisplay(expand.empty, columns)] : this.#body(columns, given.body) },
      given.input > 0
        ? {
          lines: [fitDisplay(input, columns)],
          caret: { row: 0, column: Math.min(columns - 1, displayWidth(input)) },
        }
        : { lines: [] },
      { lines: hint.slice(0, given.hint).map(palette.dim) },
    ]);
  }

  /** Which of the lines that match is the current one. */
  #matches(): string {
    if (this.#query === "") return "";
    const { texts: { expand } } = this.#options;
    const found = this.#places(true).filter((place) => this.#isMatch(place));
    const at = found.findIndex(({ entry, line }) => entry === this.#at.entry && line === this.#at.line);
    return found.length === 0 ? expand.notFound(this.#query) : expand.match(at + 1, found.length);
  }

  /** The rows around the current line; only those in view are laid out. */
  #body(columns: number, room: number): string[] {
    this.#page = Math.max(1, room - 1);
    const places = this.#places();
    const at = Math.max(0, this.#index(places));
    this.#top = Math.max(0, Math.min(this.#top, at, places.length - 1));
    const rowsFrom = (top: number) => {
      const rows: string[] = [];
      for (const place of places.slice(top, top + room)) {
        if (rows.length >= room) break;
        rows.push(...this.#rows(place, columns));
      }
      return rows;
    };
    const reaches = (top: number) => {
      let used = 0;
      for (const place of places.slice(top, at)) used += this.#rows(place, columns).length;
      return used < room;
    };
    // Far away the view jumps, near it moves by as much as it must.
    if (at - this.#top > room) this.#top = Math.max(0, at - room + 1);
    while (this.#top < at && !reaches(this.#top)) this.#top++;
    return rowsFrom(this.#top).slice(0, room);
  }

  #rows(place: Place, columns: number): string[] {
    const { palette, texts: { expand }, folded } = this.#options;
    const { entry, line } = place;
    const current = entry === this.#at.entry && line === this.#at.line;
    const pointer = current ? palette.accent("› ") : "  ";
    const text = this.#text(place);
    const marked = emphasised(text, occurrences(withoutStyles(text), this.#query));
    if (line >= 0) return rowsOfLine(marked, columns - 4).map((row) => `${pointer}  ${row}`);
    const { kind = "output" } = folded[entry] ?? {};
    const sign = this.#open.has(entry) ? "▾" : "▸";
    const about = `${expand[kind]} · ${expand.lines(this.#linesOf(entry).length)}`;
    const wide = displayWidth(text) + displayWidth(about) + 6 <= columns;
    const head = rowsOfLine(marked, columns - 4).map((row, index) =>
      `${pointer}${index === 0 ? sign : " "} ${palette.bold(row)}`
    );
    return wide
      ? [`${head[0] ?? ""}  ${palette.dim(about)}`]
      : [...head, `    ${palette.dim(fitDisplay(about, columns - 4))}`];
  }
}

/** The title of a call that has read a file. */
const READ = /^read(?:_file)? (.+?)(?: from line \d+)?$/;
/** Characters of a file above which its syntax would take too long. */
const MAX_CODE = 100_000;

function textLines(folded: Folded, { palette, marks, texts }: ExpandOptions): string[] {
  const { kind, title, text } = folded;
  if (kind === "diff") {
    return diffLines(text, {
      palette,
      marks,
      maxLines: Infinity,
      more: texts.moreLines,
      fit: (line) => line,
    });
  }
  const lines = terminalSafe(text.replaceAll("\t", "  ")).split("\n");
  const path = kind === "output" && text.length <= MAX_CODE ? READ.exec(title)?.[1] : undefined;
  return path === undefined ? lines : readLines(lines, languageOf(path), { palette, marks });
}

/** The lines of a file behind their numbers, in the colours of its syntax. */
function readLines(
  lines: string[],
  language: string,
  { palette, marks }: Pick<ExpandOptions, "palette" | "marks">,
): string[] {
  const parts = lines.map((line) => /^ *\d+→/.exec(line)?.[0] ?? "");
  const code = lines.map((line, at) => parts[at] === "" ? "" : line.slice(parts[at]?.length));
  const coloured = marks?.highlight?.(code.join("\n"), language);
  if (coloured?.length !== lines.length) return lines;
  return lines.map((line, at) => parts[at] ? palette.dim(parts[at]) + coloured[at] : line);
}
