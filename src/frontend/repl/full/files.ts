import { nameUnseen } from "../../../util/exact_text.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { after } from "../../../util/timer.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import { lineFigures, type StyledText } from "../../../view/mod.ts";
import type { SessionFile } from "../../session/rows.ts";
import { fileText, itemText, plainText, StyledLines } from "../overlay/styled_lines.ts";
import { rowsOfLine, safeLine } from "../screen/line.ts";
import type { Frame } from "../screen/view.ts";
import { ListPanel } from "./list_panel.ts";
import { isChanged } from "../../session/session_log.ts";

/** The lines of a file; until they are read, those that it had before. */
interface FileLines {
  readonly path: string;
  /** Another one for other lines. */
  readonly stamp: string;
  lines?: StyledLines | undefined;
}

/** Below this height the list has the panel alone. */
const LEAST_ROWS = 9;
/** The cursor rests on a file before it is read. */
const REST_MS = 80;
const MAX_LINE = 1000;

/** Files that the session has read or changed, newest first; below them the chosen one. */
export class FilesPanel extends ListPanel<SessionFile> {
  protected readonly newestIsLast = false;
  /** The content of changed files is shown in place of their diffs. */
  #showsContent = false;
  #read: FileLines = { path: "", stamp: "" };
  #cancel: () => void = () => {};

  protected entries(): readonly SessionFile[] {
    return this.deps.log.files;
  }

  protected keyOf({ path }: SessionFile): string {
    return path;
  }

  protected textOf(file: SessionFile): string {
    const { full: { changes } } = this.deps.texts();
    const figures = isChanged(file) ? ` ${lineFigures(file)}` : "";
    return `${changes[file.change]}${figures}  ${nameUnseen(file.path)}`;
  }

  protected colored(_file: SessionFile, line: string): string {
    return line.replace(/^.*?(?= {2})/, this.deps.palette.dim);
  }

  protected linesOf(file: SessionFile): StyledLines | undefined {
    const { path, seq } = file;
    const { assembly, marks, changed, palette, problem } = this.deps;
    const isDiff = isChanged(file) && !this.#showsContent;
    const stamp = [assembly()?.session.id, seq, isDiff, marks() !== undefined, path].join(" ");
    if (this.#read.stamp === stamp) return this.#read.lines;
    const lines = this.#read.path === path ? this.#read.lines : undefined;
    const read: FileLines = this.#read = { path, stamp, lines };
    this.#cancel();
    this.#cancel = after(REST_MS, async () => {
      const texts = await Promise.try(() => isDiff ? this.#diffs(file) : this.#content(path)).catch((
        error,
      ) => [
        plainText(problem(error).split("\n").map((line) => oneLine(line, MAX_LINE)), palette.warning),
      ]);
      read.lines = new StyledLines(texts);
      changed();
    });
    return lines;
  }

  #diffs(file: SessionFile): StyledText[] {
    const { log, palette, marks, texts } = this.deps;
    return log.diffsOf(file).flatMap(({ change, diff, ...figures }) => [
      plainText([`${texts().full.changes[change]} ${lineFigures(figures)}`], palette.dim),
      itemText({ kind: "diff", title: file.path, text: diff }, { palette, marks: marks() }),
    ]);
  }

  /** The content of a file as far as the session may read it. */
  async #content(path: string): Promise<StyledText[]> {
    const { palette, marks, texts } = this.deps;
    const assembly = this.deps.assembly();
    if (!assembly) return [];
    const { loadWorkspaceFile } = await import("../../../reports/mod.ts");
    const { workspaceFile } = await loadWorkspaceFile();
    const file = await workspaceFile(assembly, path);
    if (file.kind === "image") return [plainText([file.mime], palette.dim)];
    const shown = file.kind === "file"
      ? fileText(path, file.text, { palette, marks: marks() })
      : plainText(file.entries.map(({ name }) => oneLine(name, MAX_LINE)));
    return [shown, plainText(file.truncated ? [texts().details.truncated] : [], palette.dim)];
  }

  override frame(columns: number, rows: number): Frame {
    const { current: file } = this;
    if (!file || this.isOpen) return super.frame(columns, rows);
    const { lines } = super.frame(columns, rows < LEAST_ROWS ? rows : Math.floor(rows / 3));
    return { lines: [...lines, ...this.#below(file, columns, rows - lines.length)] };
  }

  /** A line, and below it the beginning of a file. */
  #below(file: SessionFile, columns: number, rows: number): readonly string[] {
    const { assembly, palette: { dim }, texts } = this.deps;
    const most = (assembly()?.loaded.config.tui.max_diff_lines || Infinity) + 1;
    const space = Math.min(rows, most) - 1;
    if (space < 2) return [];
    const lines = this.linesOf(file) ?? new StyledLines([plainText([texts().details.loading], dim)]);
    const shown: string[] = [];
    for (let at = 0; at < lines.length && shown.length <= space; at++) {
      shown.push(...rowsOfLine(lines.line(at), columns));
    }
    if (shown.length > space) shown.splice(space - 1, Infinity, dim(fitDisplay(texts().full.more, columns)));
    return [dim("─".repeat(columns)), ...shown.map((line) => safeLine(line, columns))];
  }

  protected copyOf(file: SessionFile): string {
    return this.isOpen ? this.linesOf(file)?.text ?? "" : file.path;
  }

  override key(key: string): boolean {
    if (key !== "c" || !this.current || !isChanged(this.current)) return super.key(key);
    this.#showsContent = !this.#showsContent;
    return this.isOpen ? super.key("home") : true;
  }

  title(): string {
    const { details } = this.deps.texts();
    if (this.isOpen && this.current) return `${details.files} · ${nameUnseen(this.current.path)}`;
    const files = this.entries();
    const changed = files.filter(isChanged);
    const sum = (of: "added" | "removed") => changed.reduce((all, file) => all + file[of], 0);
    const figures = changed.length > 0 ? [lineFigures({ added: sum("added"), removed: sum("removed") })] : [];
    return [details.files, details.count(files.length), ...figures].join(" · ");
  }

  protected get ownHints(): readonly string[] {
    return [this.deps.texts().full.entryKeys.content];
  }
}
