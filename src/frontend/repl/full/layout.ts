import type { Event } from "../../../core/mod.ts";
import { covered, over, padded } from "../overlay/box.ts";
import { typed } from "../overlay/search.ts";
import { type Frame, hintRows, sideBySide, stack } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import { ConversationPanel } from "./conversation.ts";
import type { Layout, LayoutDeps } from "../chat_layout.ts";
import type { PanelView } from "./panel_view.ts";
import type { SessionPanels } from "./session_panels.ts";
import { displayWidth, fitDisplay, padDisplay } from "../../../util/display_width.ts";
import { lazy } from "../../../util/lazy.ts";

const PANELS = ["chat", "files", "log"] as const;
const ORDER = ["composer", ...PANELS] as const;
type PanelName = (typeof PANELS)[number];
type Focus = (typeof ORDER)[number];

/** From these widths on there are two panels, and next to them the side bar; below this height neither. */
const WIDE = { panels: 90, side: 140, rows: 16 };
/** Widths of the side bar: at least, over a panel, and at least of a panel next to it. */
const SIDE = { least: 16, over: 40, panel: 40 };
/** Below this height there is no rule above the composer. */
const RULE_ROWS = 8;
/** Cells of the status line that hints leave to the status. */
const STATUS_COLUMNS = 24;

/** Keys that the chat handles while a panel has the focus. */
const CHAT_KEYS = new Set(["ctrl+c", "ctrl+d", "ctrl+z", "ctrl+o"]);
/** Keys that answer a question, by those of its entries: yes, no, and what is allowed for longer. */
const ANSWERS: Readonly<Record<string, readonly string[]>> = { y: ["y"], n: ["n"], a: ["a", "s"] };

/** A column of the view: the panels that can be in it, and the one that is. */
interface Region {
  readonly width: number;
  readonly panels: readonly PanelName[];
  readonly shown: PanelName | "side";
}

/** A search; `found` is absent while its text is typed. */
interface Search {
  readonly text: string;
  readonly found?: boolean;
}

type Key = InputEvent & { readonly kind: "key" };

/** The chat on the whole screen: side bar, panels, composer and status line. */
export class FullLayout implements Layout {
  readonly #deps: LayoutDeps;
  readonly #chat: ConversationPanel;
  /** The other panels, loaded with the session: the first frame comes earlier. */
  #session: SessionPanels | undefined;
  #focus: Focus = "composer";
  /** The panel that had the focus last, and the one next to the chat. */
  #panel: PanelName = "chat";
  #second: "files" | "log" = "files";
  /** The side bar is shown; absent: where it has space next to the panels. */
  #side: boolean | undefined;
  #search: Search | undefined;
  /** A report in the status line, until the next key. */
  #report = "";
  /** The size of the last frame, and the rows of its panels below their title. */
  #size: { readonly columns: number; readonly rows: number };
  #body = 0;

  constructor(deps: LayoutDeps) {
    this.#deps = deps;
    this.#size = deps.terminal;
    this.#chat = new ConversationPanel({
      ...deps,
      palette: deps.looks.palette,
      panelTexts: deps.full,
      marks: () => this.#session?.marks(),
      showsReasoning: () => this.#tui?.show_reasoning ?? false,
    });
    if (deps.live.assembly) this.opened();
  }

  get #tui() {
    return this.#deps.live.assembly?.loaded.config.tui;
  }

  #panelOf(name: PanelName): PanelView | undefined {
    return name === "chat" ? this.#chat : this.#session?.[name];
  }

  readonly #loadSession = lazy(async () => {
    const { loadSessionPanels } = await import("./session_panels.ts");
    this.#session = await loadSessionPanels(this.#deps);
    this.#session.opened();
    this.#deps.changed();
  });

  get columns(): number {
    const chat = this.#regions().find(({ panels }) => panels.includes("chat"));
    return chat?.width ?? this.#size.columns;
  }

  print(): void {
    this.#deps.changed();
  }

  event(event: Event): void {
    this.#session?.event(event);
  }

  opened(): void {
    if (this.#session) this.#session.opened();
    else this.#loadSession().catch(this.#deps.failed);
  }

  /** A line was sent: what answers it is in the conversation, and a message is followed to its end. */
  sent(line: string): void {
    if (/^\/view\b/.test(line)) return;
    this.#panel = "chat";
    if (!line.startsWith("/")) this.#chat.key("end");
  }

  key(event: InputEvent): boolean {
    const { composer, dialogs: { overlays }, redraw, nextMode } = this.#deps;
    const { key = "", text = undefined } = event.kind === "key" ? event : {};
    this.#report = "";
    if (key === "ctrl+l") redraw();
    else if (overlays.top) {
      return (ANSWERS[text ?? ""] ?? []).some((answer) => overlays.answerBy(answer));
    } else if (this.#search && this.#search.found === undefined) this.#write(event, this.#search.text);
    else if (event.kind === "paste") {
      this.#focus = "composer";
      return false;
    } else if (key === "ctrl+f") this.#beginSearch();
    else if (key === "ctrl+b") this.#toggleSide();
    else if (key === "ctrl+p" && !composer.modal) this.#openPalette().catch(this.#deps.failed);
    else if (key === "alt+m") nextMode();
    else if (key === "escape" && this.#sideIsOver && !composer.modal) this.#side = undefined;
    else return this.#focus === "composer" ? this.#composerKey(event) : this.#panelKey(event, this.#focus);
    return true;
  }

  /** Keys of the view while the composer has the focus. */
  #composerKey({ key, text, several }: Key): boolean {
    const { empty, modal } = this.#deps.composer;
    if (modal) return false;
    const scrolls = key === "pageUp" || key === "pageDown" || (several && (key === "up" || key === "down")) ||
      (empty && (key === "home" || key === "end"));
    if (scrolls) this.#panelOf(this.#visible)?.key(key);
    else return empty && this.#commonKey(key, text);
    return true;
  }

  #panelKey({ key, text }: Key, focus: PanelName): boolean {
    const panel = this.#panelOf(focus);
    if (this.#commonKey(key, text)) return true;
    if (key === "escape") {
      if (this.#search) this.#endSearch();
      else if (!panel?.key(key)) this.#focus = "composer";
    } else if (this.#search && (text === "n" || text === "N")) {
      this.#find(this.#search.text, text === "n" ? 1 : -1);
    } else if (text === "y") this.#copy().catch(this.#deps.failed);
    else if (!panel?.key(key)) {
      if (text !== undefined) this.#focus = "composer";
      return text === undefined && !CHAT_KEYS.has(key);
    }
    return true;
  }

  /** Keys of panels and of an empty composer. */
  #commonKey(key: string, text: string | undefined): boolean {
    if (text === "?") this.#showKeys().catch(this.#deps.failed);
    else if (key === "tab" || key === "shift+tab") {
      const at = ORDER.indexOf(this.#focus) + (key === "tab" ? 1 : -1);
      this.#focusOn(ORDER[(at + ORDER.length) % ORDER.length] ?? "composer");
    } else return false;
    return true;
  }

  #focusOn(focus: Focus): void {
    if (focus !== this.#focus) this.#endSearch();
    this.#focus = focus;
    if (focus === "composer") return;
    this.#panel = focus;
    if (focus !== "chat") this.#second = focus;
  }

  /** The panel that scrolls while the composer has the focus. */
  get #visible(): PanelName {
    return this.#regions().some(({ shown }) => shown === "chat") ? "chat" : this.#panel;
  }

  #toggleSide(): void {
    const isShown = !(this.#side ?? this.#sideDocks);
    this.#side = isShown === this.#sideDocks ? undefined : isShown;
  }

  #beginSearch(): void {
    if (this.#focus === "composer") this.#focusOn(this.#visible);
    this.#search = { text: "" };
  }

  #endSearch(): void {
    if (this.#search) this.#panelOf(this.#panel)?.find("", 1);
    this.#search = undefined;
  }

  #write(event: InputEvent, text: string): void {
    const key = event.kind === "key" ? event.key : "";
    if (key === "escape" || key === "ctrl+c" || (key === "enter" && text === "")) this.#endSearch();
    else if (key === "enter") this.#find(text, 1);
    else this.#search = { text: typed(text, event) ?? text };
  }

  #find(text: string, direction: 1 | -1): void {
    this.#search = { text, found: this.#panelOf(this.#panel)?.find(text, direction) ?? false };
  }

  /** Copies the entry under the cursor as /copy does. */
  async #copy(): Promise<void> {
    const { commands, changed } = this.#deps;
    const text = this.#panelOf(this.#panel)?.copied();
    if (text === undefined) return;
    const { loadCopy } = await import("../../../command/mod.ts");
    const { copyAndSay } = await loadCopy();
    await copyAndSay(commands, text, (line) => this.#report = line);
    changed();
  }

  async #openPalette(): Promise<void> {
    const { dialogs, composer, full, changed } = this.#deps;
    const type = (text: string) => {
      composer.input({ kind: "key", key: "text", text });
      this.#focusOn("composer");
    };
    const act = await dialogs.overlays.open(async () => {
      const { palettePanel } = await import("./session_panels.ts");
      return palettePanel({ ...this.#deps, style: await dialogs.style(), texts: full().palette, type });
    });
    act?.();
    changed();
  }

  async #showKeys(): Promise<void> {
    const { dialogs, full, texts } = this.#deps;
    await dialogs.overlays.open(async () => {
      const { keysPanel } = await import("../overlay/full_keys.ts");
      return keysPanel(full(), texts.composer, await dialogs.style());
    });
  }

  /** A click on a cell of the last frame. */
  click(row: number, column: number): void {
    if (this.#deps.dialogs.overlays.top) return;
    if (row > this.#body) return this.#focusOn("composer");
    let from = 0;
    for (const { width, panels, shown } of this.#regions()) {
      if (column >= from && column < from + width && shown !== "side") {
        this.#focusOn(row > 0 ? shown : panels[(panels.indexOf(shown) + 1) % panels.length] ?? shown);
        if (row > 0) this.#panelOf(shown)?.click?.(row - 1);
      }
      from += width + 1;
    }
  }

  /** The side bar has space next to the panels. */
  get #sideDocks(): boolean {
    return this.#size.columns >= WIDE.side && this.#size.rows >= WIDE.rows;
  }

  get #sideIsOver(): boolean {
    return this.#side === true && !this.#sideDocks;
  }

  /** The columns of the view from left to right, with a border between each two. */
  #regions(): readonly Region[] {
    const { columns, rows } = this.#size;
    if (rows < WIDE.rows || columns < WIDE.panels) {
      return [{ width: columns, panels: PANELS, shown: this.#panel }];
    }
    const percent = this.#tui?.sidebar_width ?? 20;
    const most = columns - 2 * (SIDE.panel + 1);
    const width = Math.max(SIDE.least, Math.min(Math.floor(columns * percent / 100), most));
    const side = this.#sideDocks && this.#side !== false ? [sideBar(width)] : [];
    const left = columns - side.reduce((sum, { width }) => sum + width + 1, 0);
    const second = Math.floor((left - 1) / 2);
    return [
      ...side,
      { width: left - 1 - second, panels: ["chat"], shown: "chat" },
      { width: second, panels: ["files", "log"], shown: this.#second },
    ];
  }

  frame(columns: number, rows: number): Frame {
    const { composer, waiting, dialogs: { overlays: { top, aside } }, looks: { palette: { dim } } } =
      this.#deps;
    this.#size = { columns, rows };
    const regions = this.#regions();
    const rule = regions.map(({ width }) => "─".repeat(width)).join("┴");
    const above = rows < RULE_ROWS ? [] : [dim(rule), ...waiting()];
    const space = rows - above.length - 1;
    // The draft grows to a third of the rows of the screen.
    const draft = composer.frame(columns, Math.max(1, Math.min(rows - 2, space)));
    const body = this.#bodyFrame(regions, Math.max(0, space - draft.lines.length));
    this.#body = body.lines.length - 1;
    const below = stack([
      { lines: above },
      this.#focus === "composer" ? draft : { lines: draft.lines },
      this.#statusLine(columns),
    ]);
    const whole = stack([body, below]);
    if (!top) return whole;
    if (!aside) return covered(whole.lines, top, { columns, dim });
    return stack([{ lines: covered(body.lines, top, { columns, dim }).lines }, below]);
  }

  /** The title line and the panels below it. */
  #bodyFrame(regions: readonly Region[], rows: number): Frame {
    const { dim } = this.#deps.looks.palette;
    const border = (row: number) => dim(row === 0 ? "┬" : "│");
    const body = sideBySide(regions.map((region) => this.#region(region, rows)), border);
    if (!this.#sideIsOver) return body;
    const { columns } = this.#size;
    const bar = this.#region(sideBar(Math.min(SIDE.over, columns - 1)), rows).lines;
    const lines = bar.map((line, row) =>
      over(body.lines[row] ?? "", line + border(row), { at: 0, columns, dim })
    );
    return { ...body, lines };
  }

  /** A region as wide as it is: its title, and its panel. */
  #region(region: Region, rows: number): Frame {
    const { width, shown } = region;
    const space = Math.max(0, rows - 1);
    const view = shown === "side" ? this.#session?.side : this.#panelOf(shown);
    const { lines, caret }: Frame = view && space > 0 ? view.frame(width, space) : { lines: [] };
    const content = Array.from({ length: space }, (_, row) => padded(lines[row] ?? "", width));
    return stack([
      { lines: rows > 0 ? [this.#title(region)] : [] },
      caret && shown === this.#focus ? { lines: content, caret } : { lines: content },
    ]);
  }

  /** The tabs of a region; where they have no space, only the one in view is named. */
  #title({ width, panels, shown }: Region): string {
    const { dim, bold, accent } = this.#deps.looks.palette;
    const names = this.#deps.full().panels;
    const taken = (of: readonly string[]) => of.reduce((sum, name) => sum + displayWidth(name) + 3, 0);
    const isNarrow = taken(panels.map((panel) => names[panel])) >= width;
    const named = isNarrow || shown === "side" ? [shown] : panels;
    const others = named.filter((panel) => panel !== shown).map((panel) => names[panel]);
    const title = shown === "side" ? names.side : this.#panelOf(shown)?.title() ?? names[shown];
    const fitting = fitDisplay(title, Math.max(0, width - 3 - taken(others)));
    const text = (shown === this.#focus ? accent : bold)(fitting);
    const tabs = named.map((panel) => `${dim("─")} ${panel === shown ? text : dim(names[panel])} `).join("");
    return tabs + dim("─".repeat(Math.max(0, width - displayWidth(tabs))));
  }

  /** A report, the search, or the status, and hints where there is space for them. */
  #statusLine(columns: number): Frame {
    const { looks: { palette: { dim } }, dialogs: { overlays }, texts: { chat } } = this.#deps;
    if (overlays.aside) return { lines: hintRows([chat.asideAnswer, chat.asideWrite], columns).slice(0, 1) };
    const most = Math.max(0, columns - STATUS_COLUMNS);
    const [row = ""] = overlays.top || this.#report !== "" ? [] : hintRows(this.#hints(), most);
    const hints = displayWidth(row) > most ? "" : row;
    const width = displayWidth(hints);
    const { lines: [line = ""], caret } = this.#statusText(columns - width - Math.min(2, width));
    const lines = [padDisplay(line, columns - width) + dim(hints)];
    return caret ? { lines, caret } : { lines };
  }

  #statusText(columns: number): Frame {
    const { status, full, looks: { palette: { accent, dim, good } } } = this.#deps;
    if (this.#report !== "") return { lines: [good(fitDisplay(this.#report, columns))] };
    if (!this.#search) return { lines: [status(columns)] };
    const { text, found } = this.#search;
    const written = fitDisplay(found === false ? `/${text} · ${full().notFound}` : `/${text}`, columns);
    if (found !== undefined) return { lines: [dim(written)] };
    return { lines: [accent(written)], caret: { row: 0, column: displayWidth(written) } };
  }

  #hints(): readonly string[] {
    const { hints } = this.#deps.full();
    const mouse = this.#deps.mouse() ? [hints.mouse] : [];
    if (this.#focus === "composer") return [hints.panels, ...mouse, hints.commands, hints.keys];
    const matches = this.#search?.found === undefined ? [] : [hints.matches];
    const others = this.#panelOf(this.#focus)?.hints() ?? [];
    return [hints.back, ...mouse, ...matches, ...others, hints.keys];
  }
}

function sideBar(width: number): Region {
  return { width, panels: [], shown: "side" };
}
