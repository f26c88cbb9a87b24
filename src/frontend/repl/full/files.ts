import { nameUnseen } from "../../../util/exact_text.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { after } from "../../../util/timer.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import type { Assembly } from "../../../run/mod.ts";
import { lineFigures } from "../../../view/mod.ts";
import type { SessionFile } from "../../session/rows.ts";
import { textLines } from "../overlay/expand.ts";
import { rowsOfLine, safeLine } from "../screen/line.ts";
import { ListPanel, type PanelDeps } from "./list_panel.ts";
import { isChanged, type SessionLog } from "../../session/session_log.ts";

interface FilesOptions {
  readonly log: SessionLog;
  readonly assembly: () => Assembly | undefined;
  /** Lines of a diff below the list. */
  readonly maxLines: () => number;
  /** An error for the user. */
  readonly problem: (error: unknown) => string;
}

/** The lines of a file that are shown. */
interface Shown {
  readonly path: string;
  readonly stamp: string;
  readonly lines: readonly string[];
}

/** Below this height the list has the panel alone. */
const LEAST_ROWS = 9;
/** The cursor rests on a file before it is read. */
const REST_MS = 80;

/** Files that the session has read or changed, newest first; below them the chosen one. */
export class FilesPanel extends ListPanel<SessionFile> {
  readonly #options: FilesOptions;
  /** The content of changed files is shown in place of their diffs. */
  #showsContent = false;
  #shown: Shown | undefined;
  /** The lines that are being read. */
  #wanted = "";
  #cancel: () => void = () => {};
  #found: { readonly version: number; readonly files: readonly SessionFile[] } | undefined;

  constructor(deps: PanelDeps, options: FilesOptions) {
    super(deps);
    this.#options = options;
  }

  protected entries(): readonly SessionFile[] {
    const { files, version } = this.#options.log;
    if (this.#found?.version !== version) this.#found = { version, files };
    return this.#found.files;
  }

  protected get empty(): string {
    const { details, full } = this.deps.texts();
    return this.#options.log.loading ? details.loading : full.noFiles;
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
    const { dim } = this.deps.palette;
    const end = line.indexOf("  ");
    return end < 0 ? line : dim(line.slice(0, end)) + line.slice(end);
  }

  protected linesOf(file: SessionFile): readonly string[] | undefined {
    const { path, seq } = file;
    const isDiff = isChanged(file) && !this.#showsContent;
    const session = this.#options.assembly()?.session.id;
    const stamp = `${session} ${seq} ${isDiff} ${this.deps.marks() !== undefined}`;
    if (this.#shown?.stamp === stamp && this.#shown.path === path) return this.#shown.lines;
    const wanted = `${path} ${stamp}`;
    if (this.#wanted === wanted) return undefined;
    this.#cancel();
    this.#wanted = wanted;
    this.#cancel = after(REST_MS, async () => {
      const read = Promise.try(() => isDiff ? this.#diffs(file) : this.#content(path));
      const lines = await read.catch((error) => this.#problem(error));
      if (this.#wanted !== wanted) return;
      [this.#shown, this.#wanted] = [{ path, stamp, lines }, ""];
      this.deps.changed();
    });
    return undefined;
  }

  #diffs(file: SessionFile): readonly string[] {
    const { palette, texts } = this.deps;
    return this.#options.log.diffsOf(file).flatMap(({ change, diff, ...figures }) => [
      palette.dim(`${texts().full.changes[change]} ${lineFigures(figures)}`),
      ...this.#styled({ kind: "diff", title: file.path, text: diff }),
    ]);
  }

  #styled(item: Parameters<typeof textLines>[0]): readonly string[] {
    const { palette, marks, texts } = this.deps;
    return textLines(item, { palette, marks: marks(), texts: texts().rows });
  }

  #problem(error: unknown): readonly string[] {
    const { warning } = this.deps.palette;
    return this.#options.problem(error).split("\n").map((line) => warning(oneLine(line, 1000)));
  }

  /** The content of a file as far as the session may read it. */
  async #content(path: string): Promise<readonly string[]> {
    const assembly = this.#options.assembly();
    if (!assembly) return [];
    const { loadWorkspaceFile } = await import("../../../reports/mod.ts");
    const { workspaceFile } = await loadWorkspaceFile();
    const file = await workspaceFile(assembly, path);
    const { palette, texts } = this.deps;
    if (file.kind === "image") return [palette.dim(file.mime)];
    const more = file.truncated ? [palette.dim(texts().details.truncated)] : [];
    if (file.kind === "directory") return [...file.entries.map(({ name }) => oneLine(name, 1000)), ...more];
    const lines = file.text.replace(/\n$/, "").split("\n");
    const width = String(lines.length).length;
    const numbered = lines.map((line, at) => `${String(at + 1).padStart(width)}→${line}`).join("\n");
    return [...this.#styled({ kind: "output", title: `read ${path}`, text: numbered }), ...more];
  }

  protected override listRows(rows: number): number {
    const most = rows < LEAST_ROWS ? rows : Math.floor(rows / 3);
    return Math.min(most, this.entries().length);
  }

  protected override below(file: SessionFile, columns: number, rows: number): readonly string[] {
    const space = Math.min(rows, this.#options.maxLines() + 1);
    if (space < 3) return [];
    const { palette, texts } = this.deps;
    // Until the next ones are read, the last ones stay.
    const last = this.#shown?.path === file.path ? this.#shown.lines : undefined;
    const found = this.linesOf(file) ?? last ?? [palette.dim(texts().details.loading)];
    const shown: string[] = [];
    for (const line of found) {
      if (shown.length >= space) break;
      shown.push(...rowsOfLine(line, columns));
    }
    const cut = found.length > space - 1 || shown.length > space - 1;
    const more = cut ? [palette.dim(fitDisplay(texts().full.more, columns))] : [];
    return [
      palette.dim("─".repeat(columns)),
      ...shown.slice(0, space - 1 - more.length).map((line) => safeLine(line, columns)),
      ...more,
    ];
  }

  protected override copyOf({ path }: SessionFile): string {
    return path;
  }

  override key(key: string): boolean {
    const { current } = this;
    if (key !== "c" || !current || !isChanged(current)) return super.key(key);
    this.#showsContent = !this.#showsContent;
    if (this.opened) this.reopen();
    return true;
  }

  title(): string {
    const { details } = this.deps.texts();
    const { current } = this;
    if (this.opened && current) return `${details.files} · ${nameUnseen(current.path)}`;
    const files = this.entries();
    const changed = files.filter(isChanged);
    const sum = (of: "added" | "removed") => changed.reduce((all, file) => all + file[of], 0);
    const figures = changed.length > 0 ? [lineFigures({ added: sum("added"), removed: sum("removed") })] : [];
    return [details.files, details.count(files.length), ...figures].join(" · ");
  }

  hints(): readonly string[] {
    const { entryKeys: keys } = this.deps.texts().full;
    return this.opened
      ? [keys.scroll, keys.close, keys.content, keys.copy]
      : [keys.move, keys.open, keys.content, keys.copy];
  }
}
