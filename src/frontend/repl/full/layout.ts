import type { Assembly } from "../../../run/mod.ts";
import type { Event } from "../../../core/mod.ts";
import { type KeyHelp, keyHelp, keyRows } from "../composer/keymap.ts";
import { beginning, hangingRows, safeLine, withoutStyles } from "../screen/line.ts";
import { type Frame, hintRows, type Overlay, stack } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import { ConversationPanel } from "./conversation.ts";
import type { Layout, LayoutDeps, PanelView } from "./panel_view.ts";
import type { SessionPanels } from "./session_panels.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import { displayWidth, fitDisplay, padDisplay } from "../../../util/display_width.ts";
import { oneLine } from "../../../util/terminal_text.ts";

const PANELS = ["chat", "files", "log"] as const;
type PanelName = (typeof PANELS)[number];

/** Minimum width, in cells, of a panel next to the side bar, and of the side bar. */
const LEAST = { panel: 40, side: 16 };
/** The side bar over a panel. */
const SIDE_OVERLAY_COLUMNS = 40;
/** Below this height there is no rule above the composer. */
const RULE_ROWS = 8;
/** A larger screen shows overlays in a box, whose width has this limit. */
const BOXED = { columns: 60, rows: 12, most: 120 };
/** Cells of the status line that hints leave to the status. */
const STATUS_COLUMNS = 24;

/** Keys of the view in the order of the help, named as in `parseKey`. */
const KEYS = {
  panels: ["tab", "shift+tab"],
  back: ["escape"],
  palette: ["ctrl+p"],
  search: ["ctrl+f"],
  matches: ["n", "N"],
  move: ["up", "down"],
  page: ["pageUp", "pageDown"],
  ends: ["home", "end"],
  open: ["enter"],
  copy: ["y"],
  content: ["c"],
  level: ["l"],
  source: ["s"],
  side: ["ctrl+b"],
  mode: ["alt+m", "shift+tab"],
  redraw: ["ctrl+l"],
  help: ["?"],
  answers: ["y", "n", "a"],
};

/** Keys that the chat handles while a panel has the focus. */
const CHAT_KEYS = new Set(["ctrl+c", "ctrl+d", "ctrl+z", "ctrl+o"]);
/** Keys that answer a question, by those of its entries: yes, no, and what is allowed for longer. */
const ANSWERS: Readonly<Record<string, readonly string[]>> = { y: ["y"], n: ["n"], a: ["a", "s"] };

/** The help: keys of the view, and those of the composer and chat that stay as they are. */
export function fullKeyHelp(
  { keys }: Texts["full"],
  composer: Parameters<typeof keyHelp>[0],
): readonly KeyHelp[] {
  return [
    ...keyRows(KEYS, keys, composer.keyNames),
    ...keyHelp(composer, ["stop", "mode", "clearScreen"]),
  ];
}

/** A column of the view: the panels that can be in it, and the one that is. */
interface Region {
  readonly width: number;
  readonly panels: readonly PanelName[];
  readonly shown: PanelName | "side";
}

const SIDE_BAR = { panels: [], shown: "side" } as const;

/** The number of regions that a size allows; the third one is the side bar. */
function mostRegions(columns: number, rows: number): 1 | 2 | 3 {
  return rows < 16 || columns < 90 ? 1 : columns < 140 ? 2 : 3;
}

interface Search {
  readonly text: string;
  readonly writing: boolean;
  readonly found?: boolean;
}

/** The chat on the whole screen: side bar, panels, composer and status line. */
export class FullLayout implements Layout {
  readonly #deps: LayoutDeps;
  readonly #panels: Record<PanelName, PanelView>;
  /** Loaded with the session: the first frame comes earlier. */
  #session: SessionPanels | undefined;
  #loading: Promise<SessionPanels> | undefined;
  /** The texts until then. */
  readonly #first: Texts["full"];
  #assembly: Assembly | undefined;
  #focus: PanelName | "composer" = "composer";
  /** The panel that had the focus last, and the one next to the chat. */
  #panel: PanelName = "chat";
  #second: "files" | "log" = "files";
  /** The side bar next to the panels, and over them where they have no space for it. */
  #side = { docked: true, over: false };
  #search: Search | undefined;
  /** A report in the status line, until the next key. */
  #report = "";
  /** The last frame: its size, and the rows of the panels. */
  #drawn = { columns: 0, rows: 0, body: 0 };

  private constructor(deps: LayoutDeps, texts: Texts["full"]) {
    this.#deps = deps;
    this.#first = texts;
    const chat = new ConversationPanel({
      ...deps,
      palette: deps.looks.palette,
      links: deps.looks.links,
      texts: () => deps.texts.transcript,
      panelTexts: () => this.#texts,
      marks: () => this.#session?.diffMarks(),
      showsReasoning: () => this.#assembly?.loaded.config.tui.show_reasoning ?? false,
    });
    const empty = (panel: PanelName): PanelView => ({
      title: () => this.#texts.panels[panel],
      frame: () => ({ lines: [] }),
      key: () => false,
      find: () => false,
      copied: () => undefined,
      hints: () => [],
    });
    this.#panels = { chat, files: empty("files"), log: empty("log") };
  }

  static async load(deps: LayoutDeps): Promise<FullLayout> {
    return new FullLayout(deps, await loadTexts("full", deps.texts.locale));
  }

  get #texts(): Texts["full"] {
    return this.#session?.texts.full ?? this.#first;
  }

  #loadSession(): Promise<SessionPanels> {
    return this.#loading ??= import("./session_panels.ts").then(async ({ SessionPanels }) => {
      const session = this.#session = await SessionPanels.load(this.#deps);
      Object.assign(this.#panels, { files: session.files, log: session.log });
      if (this.#assembly) session.opened(this.#assembly);
      this.#deps.changed();
      return session;
    });
  }

  get columns(): number {
    const { columns, rows } = this.#drawn.columns > 0 ? this.#drawn : this.#deps.terminal;
    const chat = this.#regions(columns, rows).find(({ panels }) => panels.includes("chat"));
    return chat?.width ?? columns;
  }

  print(): void {
    this.#deps.changed();
  }

  event(event: Event): void {
    this.#session?.event(event);
  }

  opened(assembly: Assembly): void {
    this.#assembly = assembly;
    if (this.#session) this.#session.opened(assembly);
    else this.#loadSession().catch(this.#deps.failed);
  }

  key(event: InputEvent): boolean {
    const { composer, dialogs: { overlays } } = this.#deps;
    const { key = "", text = undefined } = event.kind === "key" ? event : {};
    this.#report = "";
    if (key === "ctrl+l") this.#deps.redraw();
    else if (overlays.top) {
      return (ANSWERS[text ?? ""] ?? []).some((answer) => overlays.answerBy(answer));
    } else if (this.#search?.writing) this.#write(event, this.#search.text);
    else if (event.kind === "paste") {
      this.#focus = "composer";
      return false;
    } else if (key === "ctrl+f") this.#beginSearch();
    else if (key === "ctrl+b") this.#toggleSide();
    else if (key === "ctrl+p" && !composer.modal) this.#openPalette().catch(this.#deps.failed);
    else if (key === "alt+m") this.#deps.nextMode();
    else if (key === "escape" && this.#sideIsOver() && !composer.modal) this.#side.over = false;
    else return this.#focus === "composer" ? this.#composerKey(event) : this.#panelKey(event, this.#focus);
    return true;
  }

  /** A line was sent: what answers it is in the conversation, and a message is followed to its end. */
  sent(line: string): void {
    if (/^\/view\b/.test(line)) return;
    this.#panel = "chat";
    if (!line.startsWith("/")) this.#panels.chat.key("end");
  }

  /** Keys of the view while the composer has the focus. */
  #composerKey({ key, text, several }: InputEvent & { readonly kind: "key" }): boolean {
    const { empty, modal } = this.#deps.composer;
    if (modal) return false;
    const scrolls = key === "pageUp" || key === "pageDown" || (several && (key === "up" || key === "down")) ||
      (empty && (key === "home" || key === "end"));
    if (scrolls) this.#panels[this.#visible()].key(key);
    else if (empty && (key === "tab" || key === "shift+tab")) this.#next(key === "tab" ? 1 : -1);
    else if (empty && text === "?") this.#showKeys().catch(this.#deps.failed);
    else return false;
    return true;
  }

  #panelKey({ key, text }: InputEvent & { readonly kind: "key" }, focus: PanelName): boolean {
    const panel = this.#panels[focus];
    if (key === "tab" || key === "shift+tab") this.#next(key === "tab" ? 1 : -1);
    else if (key === "escape") {
      if (this.#search) this.#endSearch();
      else if (!panel.key(key)) this.#focus = "composer";
    } else if (this.#search && (text === "n" || text === "N")) this.#find(text === "n" ? 1 : -1);
    else if (text === "?") this.#showKeys().catch(this.#deps.failed);
    else if (text === "y") this.#copy();
    else if (!panel.key(key)) {
      if (text !== undefined) this.#focus = "composer";
      return text === undefined && !CHAT_KEYS.has(key);
    }
    return true;
  }

  /** The panel that scrolls while the composer has the focus. */
  #visible(): PanelName {
    const { columns, rows } = this.#drawn;
    return this.#regions(columns, rows).some(({ shown }) => shown === "chat") ? "chat" : this.#panel;
  }

  #next(step: 1 | -1): void {
    const order = ["composer", ...PANELS] as const;
    const at = order.indexOf(this.#focus) + step;
    this.#focusOn(order[(at + order.length) % order.length] ?? "composer");
  }

  #focusOn(focus: PanelName | "composer"): void {
    if (focus !== this.#focus) this.#endSearch();
    this.#focus = focus;
    if (focus === "composer") return;
    this.#panel = focus;
    if (focus !== "chat") this.#second = focus;
  }

  #toggleSide(): void {
    const { columns, rows } = this.#drawn;
    const { docked, over } = this.#side;
    this.#side = mostRegions(columns, rows) === 3
      ? { docked: !docked, over: false }
      : { docked, over: !over };
  }

  /** The side bar is over a panel; where it has space it is next to the panels. */
  #sideIsOver(): boolean {
    return this.#side.over && mostRegions(this.#drawn.columns, this.#drawn.rows) < 3;
  }

  #beginSearch(): void {
    if (this.#focus === "composer") this.#focusOn(this.#visible());
    this.#search = { text: "", writing: true };
  }

  #endSearch(): void {
    if (this.#search) this.#panels[this.#panel].find("", 1);
    this.#search = undefined;
  }

  #write(event: InputEvent, text: string): void {
    const written = (text: string) => this.#search = { text, writing: true };
    if (event.kind === "paste") written(text + oneLine(event.text));
    else if (event.key === "escape" || event.key === "ctrl+c" || (event.key === "enter" && text === "")) {
      this.#endSearch();
    } else if (event.key === "backspace") written([...text].slice(0, -1).join(""));
    else if (event.key === "enter") {
      this.#search = { text, writing: false };
      this.#find(1);
    } else if (event.text !== undefined) written(text + event.text);
  }

  #find(direction: 1 | -1): void {
    const { text } = this.#search ?? { text: "" };
    this.#search = { text, writing: false, found: this.#panels[this.#panel].find(text, direction) };
  }

  #copy(): void {
    const text = this.#panels[this.#panel].copied();
    if (text === undefined) return;
    this.#session?.copy(text, (line) => this.#report = line).catch(this.#deps.failed);
  }

  async #openPalette(): Promise<void> {
    await (await this.#loadSession()).openPalette(() => this.#focusOn("composer"));
  }

  async #showKeys(): Promise<void> {
    const { dialogs: { overlays }, looks: { palette }, texts, changed } = this.#deps;
    overlays.called();
    const { Panel } = await import("../overlay/panel.ts");
    const rows = fullKeyHelp(this.#texts, texts.composer).map(({ keys, what }) => ({
      keys: (keys.every((key) => key.length === 1) ? keys : keys.slice(0, 2)).join(" · "),
      what,
    }));
    const width = Math.max(...rows.map(({ keys }) => displayWidth(keys)));
    const body = (columns: number) =>
      rows.flatMap(({ keys, what }) => hangingRows(`  ${padDisplay(keys, width)}  ${what}`, columns));
    const style = { palette, changed, texts: await loadTexts("overlay", texts.locale) };
    await overlays.show(new Panel<never>({ title: this.#texts.keysTitle, body }, style), undefined, true);
  }

  /** A click on a cell of the last frame. */
  click(row: number, column: number): void {
    const { columns, rows, body } = this.#drawn;
    if (this.#deps.dialogs.overlays.top) return;
    if (row > body) return this.#focusOn("composer");
    let from = 0;
    for (const { width, panels, shown } of this.#regions(columns, rows)) {
      if (column >= from && column < from + width && shown !== "side") {
        this.#focusOn(row > 0 ? shown : panels[(panels.indexOf(shown) + 1) % panels.length] ?? shown);
        if (row > 0) this.#panels[shown].click?.(row - 1);
      }
      from += width + 1;
    }
  }

  /** The columns of the view from left to right, with a border between each two. */
  #regions(columns: number, rows: number): readonly Region[] {
    const most = mostRegions(columns, rows);
    if (most === 1) return [{ width: columns, panels: PANELS, shown: this.#panel }];
    const side = most === 3 && this.#side.docked ? this.#sideWidth(columns) : 0;
    const left = columns - (side > 0 ? side + 1 : 0);
    const second = Math.floor((left - 1) / 2);
    return [
      ...(side > 0 ? [{ ...SIDE_BAR, width: side }] : []),
      { width: left - 1 - second, panels: ["chat"], shown: "chat" },
      { width: second, panels: ["files", "log"], shown: this.#second },
    ];
  }

  #sideWidth(columns: number): number {
    const percent = this.#assembly?.loaded.config.tui.sidebar_width ?? 20;
    const most = columns - 2 * (LEAST.panel + 1);
    return Math.max(LEAST.side, Math.min(Math.floor(columns * percent / 100), most));
  }

  frame(columns: number, rows: number): Frame {
    const { composer, waiting, dialogs: { overlays } } = this.#deps;
    this.#drawn = { ...this.#drawn, columns, rows };
    const regions = this.#regions(columns, rows);
    const rule = rows < RULE_ROWS ? [] : [this.#rule(regions)];
    const lines = rows < RULE_ROWS ? [] : waiting();
    const space = rows - rule.length - lines.length - 1;
    // The draft grows to a third of the rows of the screen.
    const bottom = composer.frame(columns, Math.max(1, Math.min(rows - 2, space)));
    const body = this.#body(regions, Math.max(0, space - bottom.lines.length));
    this.#drawn = { columns, rows, body: body.lines.length - 1 };
    const below = [
      { lines: [...rule, ...lines] },
      this.#focus === "composer" ? bottom : { lines: bottom.lines },
      { lines: [this.#statusLine(columns)] },
    ];
    const { top, aside } = overlays;
    if (!top) return stack([body, ...below]);
    if (!aside) return this.#covered(stack([body, ...below]).lines, top, columns);
    return stack([{ lines: this.#covered(body.lines, top, columns).lines }, ...below]);
  }

  /** The title line and the panels below it. */
  #body(regions: readonly Region[], rows: number): Frame {
    if (rows === 0) return { lines: [] };
    const { dim } = this.#deps.looks.palette;
    let caret: Frame["caret"];
    let from = 0;
    const columns = regions.map(({ width, shown }) => {
      const frame = this.#region(shown, width, rows - 1);
      if (frame.caret) caret = { row: frame.caret.row + 1, column: frame.caret.column + from };
      from += width + 1;
      return frame.lines;
    });
    const title = regions.map((region) => this.#title(region)).join(dim("┬"));
    const lines = Array.from(
      { length: rows - 1 },
      (_, row) => columns.map((each) => each[row]).join(dim("│")),
    );
    const shown = this.#sideIsOver() ? this.#withSideBar([title, ...lines]) : [title, ...lines];
    return caret ? { lines: shown, caret } : { lines: shown };
  }

  /** The rows of a region, each as wide as it; below a searched panel the search. */
  #region(shown: Region["shown"], width: number, rows: number): Frame {
    const { accent, dim } = this.#deps.looks.palette;
    const search = shown === this.#panel && rows > 1 ? this.#search : undefined;
    const space = rows - (search ? 1 : 0);
    const view = shown === "side" ? this.#session?.sideBar : this.#panels[shown];
    const { lines, caret }: Frame = view && space > 0 ? view.frame(width, space) : { lines: [] };
    const pad = (line = "") => padDisplay(safeLine(line, width), width);
    const padded = Array.from({ length: space }, (_, row) => pad(lines[row]));
    const cursor = caret && shown === this.#focus ? { caret } : {};
    if (!search) return { lines: padded, ...cursor };
    const text = `/${search.text}`;
    if (!search.writing) {
      const about = search.found === false ? ` · ${this.#texts.notFound}` : "";
      return { lines: [...padded, dim(pad(text + about))], ...cursor };
    }
    const column = Math.min(width - 1, displayWidth(text));
    return { lines: [...padded, accent(pad(text))], caret: { row: space, column } };
  }

  #withSideBar(lines: readonly string[]): string[] {
    const { dim } = this.#deps.looks.palette;
    const columns = displayWidth(lines[0] ?? "");
    const width = Math.min(SIDE_OVERLAY_COLUMNS, columns - 1);
    const bar = this.#region("side", width, lines.length - 1).lines;
    return [this.#title({ ...SIDE_BAR, width }), ...bar].map((line, row) =>
      over(lines[row] ?? "", line + dim(row === 0 ? "┬" : "│"), { at: 0, columns, dim })
    );
  }

  /** The tabs of a region; where they have no space, only the one in view is named. */
  #title({ width, panels, shown }: Region): string {
    const { dim, bold, accent } = this.#deps.looks.palette;
    const names = this.#texts.panels;
    const others = panels.filter((panel) => panel !== shown)
      .reduce((sum, panel) => sum + displayWidth(names[panel]) + 3, 0);
    const isNarrow = others + displayWidth(names[shown]) + 3 >= width;
    const space = Math.max(0, width - 3 - (isNarrow ? 0 : others));
    const tabs = (isNarrow || shown === "side" ? [shown] : panels).map((panel) => {
      if (panel !== shown) return `${dim("─")} ${dim(names[panel])} `;
      const text = panel === "side" ? names.side : this.#panels[panel].title(space);
      return `${dim("─")} ${(panel === this.#focus ? accent : bold)(fitDisplay(text, space))} `;
    }).join("");
    return tabs + dim("─".repeat(Math.max(0, width - displayWidth(tabs))));
  }

  #rule(regions: readonly Region[]): string {
    return this.#deps.looks.palette.dim(regions.map(({ width }) => "─".repeat(width)).join("┴"));
  }

  #statusLine(columns: number): string {
    const { status, hint, looks: { palette: { dim, good } }, dialogs: { overlays } } = this.#deps;
    const { chat } = this.#deps.texts;
    const text = hint();
    if (this.#report !== "") return good(fitDisplay(this.#report, columns));
    if (overlays.aside) return hintRows([chat.asideAnswer, chat.asideWrite], columns)[0] ?? "";
    if (text !== "") return dim(fitDisplay(text, columns));
    const [hints = ""] = overlays.top ? [] : hintRows(this.#hints(), Math.max(0, columns - STATUS_COLUMNS));
    const width = displayWidth(hints);
    if (width === 0 || width > columns - STATUS_COLUMNS) return status.line(columns);
    return padDisplay(status.line(columns - width - 2), columns - width) + dim(hints);
  }

  #hints(): readonly string[] {
    const { hints } = this.#texts;
    const mouse = this.#deps.mouse() ? [hints.mouse] : [];
    if (this.#focus === "composer") return [hints.panels, hints.commands, hints.keys, ...mouse];
    const matches = this.#search && !this.#search.writing ? [hints.matches] : [];
    return [hints.back, ...matches, ...this.#panels[this.#focus].hints(), hints.keys, ...mouse];
  }

  /** An overlay in the middle of dimmed lines. */
  #covered(lines: readonly string[], overlay: Overlay<unknown>, columns: number): Frame {
    const { dim } = this.#deps.looks.palette;
    const rows = lines.length;
    const boxed = columns >= BOXED.columns && rows >= BOXED.rows;
    const width = boxed ? Math.min(columns - 4, BOXED.most) : columns;
    const { lines: content, caret } = overlay.frame(width - (boxed ? 4 : 0), rows - (boxed ? 1 : 0));
    const box = boxed
      ? boxOf(content, width, dim).slice(0, rows)
      : content.map((line) => padDisplay(safeLine(line, width), width));
    const top = Math.floor((rows - box.length) / 2);
    const at = Math.floor((columns - width) / 2);
    const covered = lines.map((below, row) => {
      const line = box[row - top];
      return line === undefined ? dim(withoutStyles(below)) : over(below, line, { at, columns, dim });
    });
    if (!caret) return { lines: covered };
    const row = caret.row + top + (boxed && !isRule(content[0]) ? 1 : 0);
    return { lines: covered, caret: { row, column: caret.column + at + (boxed ? 2 : 0) } };
  }
}

function isRule(line = ""): boolean {
  return /^─+$/.test(withoutStyles(line));
}

/** Lines in a box; a rule in the first one becomes its upper border, with its color. */
function boxOf(content: readonly string[], width: number, dim: (text: string) => string): string[] {
  const [first = ""] = content;
  const hasRule = isRule(first);
  const color = hasRule ? (text: string) => first.replace(/─+/, text) : dim;
  const side = color("│");
  return [
    color(`┌${"─".repeat(width - 2)}┐`),
    ...content.slice(hasRule ? 1 : 0).map((line) =>
      `${side} ${padDisplay(safeLine(line, width - 4), width - 4)} ${side}`
    ),
    color(`└${"─".repeat(width - 2)}┘`),
  ];
}

/** A line over a part of another one, which is dimmed; half of a wide character becomes a blank. */
function over(
  below: string,
  line: string,
  { at, columns, dim }: {
    readonly at: number;
    readonly columns: number;
    readonly dim: (text: string) => string;
  },
): string {
  const plain = withoutStyles(below);
  const end = at + displayWidth(line);
  const hidden = beginning(plain, end);
  const right = displayWidth(hidden) === end
    ? plain.slice(hidden.length)
    : ` ${plain.slice(beginning(plain, end + 1).length)}`;
  return dim(padDisplay(beginning(plain, at), at)) + line + (end < columns ? dim(right) : "");
}
