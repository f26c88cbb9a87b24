import type { Assembly, RunPaths } from "../../../run/mod.ts";
import type { CommandHost } from "../../../command/mod.ts";
import type { Event } from "../../../core/mod.ts";
import type { ChatTexts } from "../chat_texts.ts";
import type { Composer } from "../composer/composer.ts";
import { type KeyHelp, keyHelp, keyRows } from "../composer/keymap.ts";
import type { Looks } from "../looks.ts";
import type { Dialogs } from "../overlay/dialogs.ts";
import { beginning, hangingRows, rowsOfLine, safeLine, withoutStyles } from "../screen/line.ts";
import { type Frame, hintRows, type Overlay, stack } from "../screen/view.ts";
import type { LiveSession } from "../../session/live_session.ts";
import type { StatusLine } from "../status_line.ts";
import type { InputEvent, Terminal } from "../terminal/terminal.ts";
import type { Transcript } from "../transcript/transcript.ts";
import type { Layout, PanelView } from "./panel_view.ts";
import { SessionPanels } from "./session_panels.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import { displayWidth, fitDisplay, padDisplay } from "../../../util/display_width.ts";
import { oneLine } from "../../../util/terminal_text.ts";

/** The parts of a chat that its layout draws and uses. */
export interface LayoutDeps {
  readonly looks: Looks;
  readonly texts: ChatTexts;
  readonly terminal: Terminal;
  readonly paths: RunPaths;
  readonly composer: Composer;
  readonly dialogs: Dialogs;
  readonly status: StatusLine;
  readonly commands: CommandHost;
  readonly live: LiveSession;
  /** The running conversation. */
  readonly transcript: Transcript;
  /** Lines about waiting messages. */
  readonly waiting: () => readonly string[];
  /** A hint that replaces the status line, or an empty text. */
  readonly hint: () => string;
  /** Clicks are reported. */
  readonly mouse: () => boolean;
  /** Draws soon. */
  readonly changed: () => void;
  /** Writes every row again. */
  readonly redraw: () => void;
  /** Changes to the next approval mode. */
  readonly nextMode: () => void;
  /** Sends a message or a command line. */
  readonly submit: (text: string) => void;
  readonly failed: (error: unknown) => void;
}

const PANELS = ["chat", "files", "log"] as const;
type PanelName = (typeof PANELS)[number];

/** From these sizes on the view has two panels, and the side bar as well. */
const TWO_PANELS = { columns: 90, rows: 16 };
const SIDE_BAR_COLUMNS = 140;
/** The side bar leaves each panel at least so many cells, and has at least so many itself. */
const LEAST = { panel: 40, side: 16 };
/** The side bar over a panel. */
const SIDE_OVERLAY_COLUMNS = 40;
/** Below this height there is no rule above the composer. */
const RULE_ROWS = 8;
/** A larger screen shows overlays in a box of at most so many columns. */
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

interface Search {
  readonly text: string;
  readonly writing: boolean;
  readonly found?: boolean;
}

/** The chat on the whole screen: side bar, panels, composer and status line. */
export class FullLayout implements Layout {
  readonly #deps: LayoutDeps;
  readonly #session: SessionPanels;
  readonly #panels: Readonly<Record<PanelName, PanelView>>;
  readonly #conversation: PrintedRows;
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

  private constructor(deps: LayoutDeps, session: SessionPanels) {
    this.#deps = deps;
    this.#session = session;
    this.#conversation = new PrintedRows(deps, () => this.#texts.panels.chat);
    this.#panels = {
      chat: this.#conversation,
      files: session.files,
      log: session.log,
    };
  }

  static async load(deps: LayoutDeps): Promise<FullLayout> {
    return new FullLayout(deps, await SessionPanels.load(deps));
  }

  get #texts(): Texts["full"] {
    return this.#session.texts.full;
  }

  get columns(): number {
    const { columns, rows } = this.#drawn.columns > 0 ? this.#drawn : this.#deps.terminal;
    const chat = this.#regions(columns, rows).find(({ panels }) => panels.includes("chat"));
    return chat?.width ?? columns;
  }

  print(lines: readonly string[]): void {
    this.#conversation.print(lines);
    this.#deps.changed();
  }

  event(event: Event): void {
    this.#session.event(event);
  }

  opened(assembly: Assembly): void {
    this.#assembly = assembly;
    this.#session.opened(assembly);
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
    else if (key === "ctrl+p" && !composer.modal) this.#openPalette();
    else if (key === "alt+m") this.#deps.nextMode();
    else if (key === "escape" && this.#side.over && !composer.modal) this.#side.over = false;
    else return this.#focus === "composer" ? this.#composerKey(event) : this.#panelKey(event, this.#focus);
    return true;
  }

  /** Keys of the view while the composer has the focus. */
  #composerKey({ key, text, several }: InputEvent & { readonly kind: "key" }): boolean {
    const { empty, modal } = this.#deps.composer;
    if (modal) return false;
    // The answer to a message is in the conversation.
    if (key === "enter" && !empty) this.#panel = "chat";
    const scrolls = key === "pageUp" || key === "pageDown" || (several && (key === "up" || key === "down")) ||
      (empty && (key === "home" || key === "end"));
    if (scrolls) this.#panels[this.#visible()].key(key);
    else if (empty && (key === "tab" || key === "shift+tab")) this.#next(key === "tab" ? 1 : -1);
    else if (empty && text === "?") this.#showKeys();
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
    else if (text === "?") this.#showKeys();
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
    this.#side = this.#canDock(columns, rows) ? { docked: !docked, over: false } : { docked, over: !over };
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
    this.#session.copy(text, (line) => this.#report = line).catch(this.#deps.failed);
  }

  #openPalette(): void {
    this.#session.openPalette().catch(this.#deps.failed);
  }

  #showKeys(): void {
    void this.#help().catch(this.#deps.failed);
  }

  async #help(): Promise<void> {
    const { dialogs: { overlays }, looks: { palette }, texts, changed } = this.#deps;
    overlays.called();
    const { Panel } = await import("../overlay/panel.ts");
    const rows = fullKeyHelp(this.#texts, texts.composer).map(({ keys, what }) => ({
      keys: keys.slice(0, 2).join(" · "),
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

  #hasTwo(columns: number, rows: number): boolean {
    return columns >= TWO_PANELS.columns && rows >= TWO_PANELS.rows;
  }

  #canDock(columns: number, rows: number): boolean {
    return columns >= SIDE_BAR_COLUMNS && this.#hasTwo(columns, rows);
  }

  /** The columns of the view from left to right, with a border between each two. */
  #regions(columns: number, rows: number): readonly Region[] {
    if (!this.#hasTwo(columns, rows)) return [{ width: columns, panels: PANELS, shown: this.#panel }];
    const side = this.#canDock(columns, rows) && this.#side.docked ? this.#sideWidth(columns) : 0;
    const left = columns - (side > 0 ? side + 1 : 0);
    const second = Math.floor((left - 1) / 2);
    return [
      ...(side > 0 ? [{ width: side, panels: [], shown: "side" } as const] : []),
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
    const regions = this.#regions(columns, rows);
    const rule = rows < RULE_ROWS ? [] : [this.#rule(regions)];
    const lines = rows < RULE_ROWS ? [] : waiting();
    const space = rows - rule.length - lines.length - 1;
    // The draft grows to a third of the rows of the screen.
    const bottom = composer.frame(columns, Math.max(1, Math.min(rows - 2, space)));
    const body = this.#body(regions, Math.max(0, space - bottom.lines.length));
    this.#drawn = { columns, rows, body: body.lines.length - 1 };
    const caret = this.#focus === "composer" ? bottom.caret : undefined;
    const parts = [
      body,
      { lines: [...rule, ...lines] },
      caret ? { lines: bottom.lines, caret } : { lines: bottom.lines },
      { lines: [this.#statusLine(columns)] },
    ];
    if (!overlays.top) return stack(parts);
    if (!overlays.aside) return this.#covered(stack(parts).lines, overlays.top, { columns, rows });
    const [over, ...below] = parts;
    const { lines: covered } = this.#covered(over?.lines ?? [], overlays.top, {
      columns,
      rows: body.lines.length,
    });
    return stack([{ lines: covered }, ...below]);
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
    const shown = this.#side.over ? this.#withSideBar([title, ...lines]) : [title, ...lines];
    return caret ? { lines: shown, caret } : { lines: shown };
  }

  /** The rows of a region, each as wide as it; below a searched panel the search. */
  #region(shown: PanelName | "side", width: number, rows: number): Frame {
    const search = shown === this.#panel && rows > 1 ? this.#search : undefined;
    const space = rows - (search ? 1 : 0);
    const { lines, caret }: Frame = shown === "side"
      ? this.#session.sideBar.frame(width, space)
      : space > 0
      ? this.#panels[shown].frame(width, space)
      : { lines: [] };
    const padded = Array.from(
      { length: space },
      (_, row) => padDisplay(safeLine(lines[row] ?? "", width), width),
    );
    if (!search?.writing && caret && shown === this.#focus) return { lines: padded, caret };
    if (!search) return { lines: padded };
    const text = `/${search.text}`;
    const about = search.found === false ? ` · ${this.#texts.notFound}` : "";
    const line = padDisplay(fitDisplay(text + about, width), width);
    const { accent, dim } = this.#deps.looks.palette;
    if (!search.writing) return { lines: [...padded, dim(line)] };
    return {
      lines: [...padded, accent(line)],
      caret: { row: space, column: Math.min(width - 1, displayWidth(text)) },
    };
  }

  #withSideBar(lines: readonly string[]): string[] {
    const { dim, bold } = this.#deps.looks.palette;
    const { columns } = this.#drawn;
    const width = Math.min(SIDE_OVERLAY_COLUMNS, columns - 1);
    const bar = this.#region("side", width, lines.length - 1).lines;
    const border = width < columns;
    const title = fitDisplay(this.#texts.panels.side, width - 4);
    const head = `${dim("─")} ${bold(title)} ${
      dim("─".repeat(Math.max(0, width - displayWidth(title) - 3)))
    }`;
    return [head, ...bar].map((line, row) =>
      over(lines[row] ?? "", {
        columns,
        at: 0,
        width: width + 1,
        line: line + (border ? dim(row === 0 ? "┬" : "│") : ""),
      }, dim)
    );
  }

  #title({ width, panels, shown }: Region): string {
    const { dim, bold, accent } = this.#deps.looks.palette;
    const names = shown === "side" ? ["side"] as const : panels;
    const isShown = (name: PanelName | "side") => name === shown;
    const texts = names.map((name) => {
      const short = this.#texts.panels[name];
      return {
        name,
        short,
        text: isShown(name) && name !== "side" ? this.#panels[name].title(width - 4) : short,
      };
    });
    // Where the tabs have no space, the one in view stands for all.
    const isNarrow = texts.reduce((sum, { short }) => sum + displayWidth(short) + 3, 0) >= width;
    let line = "";
    let used = 0;
    for (const { name, text } of isNarrow ? texts.filter(({ name }) => isShown(name)) : texts) {
      const later = isNarrow ? [] : texts.slice(texts.findIndex((each) => each.name === name) + 1);
      const left = later.reduce((space, { short }) => space - displayWidth(short) - 3, width - used - 3);
      const part = fitDisplay(text, Math.max(0, left));
      const color = name === this.#focus ? accent : isShown(name) ? bold : dim;
      line += `${dim("─")} ${color(part)} `;
      used += displayWidth(part) + 3;
    }
    return line + dim("─".repeat(Math.max(0, width - used)));
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
  #covered(
    lines: readonly string[],
    overlay: Overlay<unknown>,
    { columns, rows }: { readonly columns: number; readonly rows: number },
  ): Frame {
    const { dim } = this.#deps.looks.palette;
    const boxed = columns >= BOXED.columns && rows >= BOXED.rows;
    const width = boxed ? Math.min(columns - 4, BOXED.most) : columns;
    const { lines: content, caret } = overlay.frame(boxed ? width - 4 : width, boxed ? rows - 1 : rows);
    const box = boxed
      ? boxOf(content, width, dim).slice(0, rows)
      : content.map((line) => padDisplay(safeLine(line, width), width));
    const top = Math.floor((rows - box.length) / 2);
    const at = Math.floor((columns - width) / 2);
    const shift = boxed
      ? { row: top + (isRule(content[0]) ? 0 : 1), column: at + 2 }
      : { row: top, column: 0 };
    const covered = Array.from({ length: rows }, (_, row) => {
      const line = box[row - top];
      const below = lines[row] ?? "";
      return line === undefined ? dim(withoutStyles(below)) : over(below, { columns, at, width, line }, dim);
    });
    return caret
      ? { lines: covered, caret: { row: caret.row + shift.row, column: caret.column + shift.column } }
      : { lines: covered };
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
  { columns, at, width, line }: {
    readonly columns: number;
    readonly at: number;
    readonly width: number;
    readonly line: string;
  },
  dim: (text: string) => string,
): string {
  const plain = withoutStyles(below);
  const left = padDisplay(beginning(plain, at), at);
  const hidden = beginning(plain, at + width);
  const isWhole = displayWidth(hidden) === at + width;
  const right = isWhole
    ? plain.slice(hidden.length)
    : ` ${plain.slice(beginning(plain, at + width + 1).length)}`;
  return dim(left) + line + (at + width < columns ? dim(right) : "");
}

/** Lines that were printed, the last of them in view. */
class PrintedRows implements PanelView {
  readonly #deps: Pick<LayoutDeps, "transcript">;
  readonly #name: () => string;
  readonly #lines: string[] = [];

  constructor(deps: Pick<LayoutDeps, "transcript">, name: () => string) {
    this.#deps = deps;
    this.#name = name;
  }

  print(lines: readonly string[]): void {
    this.#lines.push(...lines);
  }

  title(): string {
    return this.#name();
  }

  frame(columns: number, rows: number): Frame {
    const live = this.#deps.transcript.live(columns, rows);
    const printed = this.#lines.slice(-rows).flatMap((line) => rowsOfLine(line, columns));
    return { lines: rows > 0 ? [...printed, ...live].slice(-rows) : [] };
  }

  key(): boolean {
    return false;
  }

  find(): boolean {
    return false;
  }

  copied(): string | undefined {
    return undefined;
  }

  hints(): readonly string[] {
    return [];
  }
}
