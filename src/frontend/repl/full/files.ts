import { nameUnseen } from "../../../util/exact_text.ts";
import { fitDisplay } from "../../../util/display_width.ts";
import { after } from "../../../util/timer.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import { loadWorkspaceFile, type WorkspaceFile } from "../../../reports/mod.ts";
import type { Assembly } from "../../../run/mod.ts";
import { lineFigures } from "../../../view/mod.ts";
import type { SessionFile } from "../../session/rows.ts";
import { textLines } from "../overlay/expand.ts";
import { rowsOfLine, safeLine } from "../screen/line.ts";
import { ListPanel, type PanelDeps } from "./list_panel.ts";
import type { SessionLog } from "./session_log.ts";

interface FilesOptions {
  readonly log: SessionLog;
  readonly assembly: () => Assembly | undefined;
  /** Lines of a diff below the list. */
  readonly maxLines: () => number;
  /** An error for the user. */
  readonly problem: (error: unknown) => string;
}

/** What is shown of a file at a time. */
interface Shown {
  readonly stamp: string;
  readonly lines: readonly string[];
}

/** Diffs of a file that are shown, the newest ones. */
const MAX_DIFFS = 20;
/** The cursor rests on a file before it is read. */
const REST_MS = 80;
/** Files whose lines are kept. */
const KEPT = 4;

/** Files that the session has read or changed, newest first; below them the chosen one. */
export class FilesPanel extends ListPanel<SessionFile> {
  readonly #options: FilesOptions;
  /** The content of changed files is shown in place of their diffs. */
  #content = false;
  readonly #shown = new Map<string, Shown>();
  /** What is being read. */
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
    const figures = file.ends.length > 0 ? ` ${lineFigures(file)}` : "";
    return `${changes[file.change]}${figures}  ${nameUnseen(file.path)}`;
  }

  protected colored(_file: SessionFile, line: string): string {
    const { dim } = this.deps.palette;
    const end = line.indexOf("  ");
    return end < 0 ? line : dim(line.slice(0, end)) + line.slice(end);
  }

  protected linesOf(file: SessionFile): readonly string[] | undefined {
    const { path, seq, ends } = file;
    const isDiff = ends.length > 0 && !this.#content;
    const session = this.#options.assembly()?.session.id;
    const stamp = `${session} ${seq} ${isDiff} ${this.deps.marks() !== undefined}`;
    const known = this.#shown.get(path);
    const wanted = `${path} ${stamp}`;
    if (known?.stamp === stamp) return known.lines;
    if (this.#wanted === wanted) return undefined;
    this.#cancel();
    this.#wanted = wanted;
    this.#cancel = after(REST_MS, () => {
      const read = isDiff ? Promise.resolve(this.#diffs(file)) : this.#read(path);
      void read.then((lines) => {
        this.#shown.delete(path);
        this.#shown.set(path, { stamp, lines });
        const [oldest = ""] = this.#shown.keys();
        if (this.#shown.size > KEPT) this.#shown.delete(oldest);
        this.#wanted = "";
        this.deps.changed();
      });
    });
    return undefined;
  }

  /** The diffs of the calls that changed the file, newest first. */
  #diffs({ path, ends }: SessionFile): readonly string[] {
    const { log } = this.#options;
    const { palette, texts } = this.deps;
    return ends.slice(-MAX_DIFFS).reverse().flatMap((seq) => {
      const event = log.recorded(seq);
      const changes = event?.type === "tool.end" ? event.changes ?? [] : [];
      const diffs = changes.filter((change) => log.shown(change.path) === path);
      return diffs.flatMap(({ diff = "", ...change }) => [
        palette.dim(`${texts().full.changes[change.change]} ${lineFigures(change)}`),
        ...this.#styled({ kind: "diff", title: path, text: diff }),
      ]);
    });
  }

  #styled(item: Parameters<typeof textLines>[0]): readonly string[] {
    const { palette, marks, texts } = this.deps;
    return textLines(item, { palette, marks: marks(), texts: texts().rows });
  }

  /** The content of a file as far as the session may read it, else the reason. */
  async #read(path: string): Promise<readonly string[]> {
    const { palette } = this.deps;
    const assembly = this.#options.assembly();
    if (!assembly) return [];
    try {
      const { workspaceFile } = await loadWorkspaceFile();
      return this.#contentLines(path, await workspaceFile(assembly, path));
    } catch (error) {
      return this.#options.problem(error).split("\n").map((line) => palette.warning(oneLine(line, 1000)));
    }
  }

  #contentLines(path: string, file: WorkspaceFile): readonly string[] {
    const { palette, texts } = this.deps;
    if (file.kind === "image") return [palette.dim(file.mime)];
    const more = file.truncated ? [palette.dim(texts().details.truncated)] : [];
    if (file.kind === "directory") return [...file.entries.map(({ name }) => oneLine(name, 1000)), ...more];
    const lines = file.text.replace(/\n$/, "").split("\n");
    const width = String(lines.length).length;
    const numbered = lines.map((line, at) => `${String(at + 1).padStart(width)}→${line}`).join("\n");
    return [...this.#styled({ kind: "output", title: `read ${path}`, text: numbered }), ...more];
  }

  protected override below(file: SessionFile, columns: number, rows: number): readonly string[] {
    const list = Math.max(Math.floor(rows / 3), Math.min(3, rows));
    const space = Math.min(rows - Math.min(list, this.entries().length), this.#options.maxLines() + 1);
    if (space < 3) return [];
    const { palette, texts } = this.deps;
    // Until the next ones are read, the last ones stay.
    const found = this.linesOf(file) ?? this.#shown.get(file.path)?.lines ??
      [palette.dim(texts().details.loading)];
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
    const isChange = key === "c" && (this.current?.ends.length ?? 0) > 0;
    if (!isChange) return super.key(key);
    this.#content = !this.#content;
    if (this.opened) this.reopen();
    return true;
  }

  title(): string {
    const { details } = this.deps.texts();
    const files = this.entries();
    const changed = files.filter(({ ends }) => ends.length > 0);
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
