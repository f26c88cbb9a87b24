import { oneLine } from "../../../util/terminal_text.ts";
import { callLine, grouped } from "../../../view/mod.ts";
import { LOG_SOURCES, logLevel, type LogRow, logSource, logText } from "../../session/rows.ts";
import { itemText, plainText, StyledLines } from "../overlay/styled_lines.ts";
import { ListPanel } from "./list_panel.ts";

const SOURCES = ["all", ...LOG_SOURCES] as const;
/** The least level that is shown. */
const LEVELS = ["info", "warning", "error"] as const;
const MARKS = { info: "·", warning: "!", error: "✗" } as const;
const MAX_LINE = 400;
/** Characters of an entry that are shown; `y` copies all. */
const MAX_SHOWN = 200_000;

/** The log of a session, newest last: calls, servers, hooks, jobs, notices and retries. */
export class LogPanel extends ListPanel<LogRow> {
  protected readonly newestIsLast = true;
  #source: (typeof SOURCES)[number] = "all";
  #level: (typeof LEVELS)[number] = "info";
  #found: { readonly version: number; readonly rows: readonly LogRow[] } | undefined;
  /** Number of the last event whose entry was shown before the end was left. */
  #seen = Infinity;
  /** The entry that was read last. */
  #read: { readonly of: readonly unknown[]; readonly lines: StyledLines } | undefined;

  protected entries(): readonly LogRow[] {
    const { rows, version } = this.deps.log;
    if (this.#found?.version !== version) {
      const passes = (row: LogRow) =>
        (this.#source === "all" || logSource(row) === this.#source) &&
        LEVELS.indexOf(logLevel(row)) >= LEVELS.indexOf(this.#level);
      const all = rows.filter((row) => row.kind === "call" || row.kind === "note");
      this.#found = { version, rows: all.filter(passes) };
    }
    return this.#found.rows;
  }

  protected keyOf({ key }: LogRow): string {
    return key;
  }

  protected textOf(row: LogRow): string {
    const time = new Date(row.time).toTimeString().slice(0, 8);
    if (row.kind === "note") return `${time} ${MARKS[row.level]} ${oneLine(row.text, MAX_LINE)}`;
    const { mark, result } = row.end
      ? callLine(row.title, row.end, this.deps.texts().rows)
      : { mark: "…", result: "" };
    return `${time} ${mark} ${oneLine([row.title, result].filter(Boolean).join(" · "), MAX_LINE)}`;
  }

  protected colored(row: LogRow, line: string): string {
    const { dim, bad, warning } = this.deps.palette;
    const color = { info: String, warning, error: bad }[logLevel(row)];
    return dim(line.slice(0, 8)) + color(line.slice(8));
  }

  protected linesOf(row: LogRow): StyledLines {
    const marks = this.deps.marks();
    const of = [row, marks];
    if (this.#read?.of.every((part, at) => part === of[at])) return this.#read.lines;
    const { palette, log, texts } = this.deps;
    const style = { palette, marks };
    const whole = log.whole(row);
    const [text, title] = [logText(whole), row.kind === "call" ? row.title : ""];
    const diffs = whole.kind === "call" ? whole.end?.changes?.flatMap(({ diff }) => diff ?? []) ?? [] : [];
    const lines = new StyledLines([
      itemText({ kind: "output", title, text: text.slice(0, MAX_SHOWN) }, style),
      plainText(text.length > MAX_SHOWN ? [texts().details.truncated] : [], palette.dim),
      ...diffs.flatMap((diff) => [plainText([""]), itemText({ kind: "diff", title: "", text: diff }, style)]),
    ]);
    this.#read = { of, lines };
    return lines;
  }

  protected copyOf(row: LogRow): string {
    return logText(this.deps.log.whole(row));
  }

  override key(key: string): boolean {
    if (this.isOpen || (key !== "l" && key !== "s")) return super.key(key);
    if (key === "l") this.#level = next(LEVELS, this.#level);
    else this.#source = next(SOURCES, this.#source);
    this.#found = undefined;
    return true;
  }

  title(): string {
    const { details, full } = this.deps.texts();
    const count = this.#newEntries();
    return [
      details.log,
      ...(this.#source === "all" ? [] : [details.kinds[this.#source]]),
      ...(this.#level === "info" ? [] : [full.levels[this.#level]]),
      details.count(this.entries().length),
      ...(count > 0 ? [full.newEntries(grouped(count))] : []),
    ].join(" · ");
  }

  /** Counts the entries that came while the end was not followed. */
  #newEntries(): number {
    const rows = this.entries();
    const seq = (row: LogRow | undefined) => Number.parseInt(row?.key ?? "");
    if (this.follows) this.#seen = seq(rows.at(-1)) || 0;
    return rows.length - 1 - rows.findLastIndex((row) => !(seq(row) > this.#seen));
  }

  protected get ownHints(): readonly string[] {
    const { entryKeys: keys, follow } = this.deps.texts().full;
    return this.isOpen ? [] : [keys.level, keys.source, ...(this.follows ? [] : [follow])];
  }
}

function next<T>(all: readonly T[], now: T): T {
  return all[(all.indexOf(now) + 1) % all.length] ?? now;
}
