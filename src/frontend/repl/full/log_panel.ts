import { oneLine } from "../../../util/terminal_text.ts";
import { callLine } from "../../../view/mod.ts";
import { LOG_SOURCES, logLevel, type LogRow, logSource, logText } from "../../session/rows.ts";
import { textLines } from "../overlay/expand.ts";
import { ListPanel, type PanelDeps } from "./list_panel.ts";
import type { SessionLog } from "../../session/session_log.ts";

const SOURCES = ["all", ...LOG_SOURCES] as const;
/** The least level that is shown. */
const LEVELS = ["info", "warning", "error"] as const;
const MARKS = { info: "·", warning: "!", error: "✗" } as const;
const MAX_LINE = 400;
/** Characters of an entry that are shown; `y` copies all. */
const MAX_SHOWN = 200_000;

/** The log of a session, newest last: calls, servers, hooks, jobs, notices and retries. */
export class LogPanel extends ListPanel<LogRow> {
  readonly #log: SessionLog;
  #source: (typeof SOURCES)[number] = "all";
  #level: (typeof LEVELS)[number] = "info";
  #found: { readonly version: number; readonly rows: readonly LogRow[] } | undefined;

  constructor(deps: PanelDeps, log: SessionLog) {
    super(deps, true);
    this.#log = log;
  }

  protected entries(): readonly LogRow[] {
    const { rows, version } = this.#log;
    if (this.#found?.version !== version) {
      this.#found = { version, rows: rows.filter((row): row is LogRow => this.#passes(row)) };
    }
    return this.#found.rows;
  }

  #passes(row: SessionLog["rows"][number]): boolean {
    if (row.kind !== "call" && row.kind !== "note") return false;
    return (this.#source === "all" || logSource(row) === this.#source) &&
      LEVELS.indexOf(logLevel(row)) >= LEVELS.indexOf(this.#level);
  }

  protected get empty(): string {
    const { details, full } = this.deps.texts();
    return this.#log.loading ? details.loading : full.nothing;
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

  protected linesOf(row: LogRow): readonly string[] {
    const { palette, marks, texts } = this.deps;
    const whole = this.#log.whole(row);
    const style = { palette, marks: marks(), texts: texts().rows };
    const text = logText(whole);
    const more = text.length > MAX_SHOWN ? [palette.dim(texts().details.truncated)] : [];
    const diffs = whole.kind === "call" ? whole.end?.changes?.flatMap(({ diff }) => diff ?? []) ?? [] : [];
    return [
      ...textLines({
        kind: "output",
        title: row.kind === "call" ? row.title : "",
        text: text.slice(0, MAX_SHOWN),
      }, style),
      ...more,
      ...diffs.flatMap((diff) => ["", ...textLines({ kind: "diff", title: "", text: diff }, style)]),
    ];
  }

  protected override copyOf(row: LogRow): string {
    return logText(this.#log.whole(row));
  }

  override key(key: string): boolean {
    if (this.opened || (key !== "l" && key !== "s")) return super.key(key);
    if (key === "l") this.#level = next(LEVELS, this.#level);
    else this.#source = next(SOURCES, this.#source);
    this.#found = undefined;
    return true;
  }

  title(): string {
    const { details, full } = this.deps.texts();
    return [
      details.log,
      ...(this.#source === "all" ? [] : [details.kinds[this.#source]]),
      ...(this.#level === "info" ? [] : [full.levels[this.#level]]),
      details.count(this.entries().length),
      ...(this.unseen > 0 ? [full.newEntries(this.unseen)] : []),
    ].join(" · ");
  }

  hints(): readonly string[] {
    const { entryKeys: keys } = this.deps.texts().full;
    return this.opened
      ? [keys.scroll, keys.close, keys.copy]
      : [keys.move, keys.open, keys.level, keys.source, keys.copy];
  }
}

function next<T>(all: readonly T[], now: T): T {
  return all[(all.indexOf(now) + 1) % all.length] ?? now;
}
