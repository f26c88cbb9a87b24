import type { Assembly } from "../../../run/mod.ts";
import type { CommandHost } from "../../../command/mod.ts";
import type { Event } from "../../../core/mod.ts";
import type { ChatTexts } from "../chat_texts.ts";
import type { Composer } from "../composer/composer.ts";
import type { Looks } from "../looks.ts";
import type { Dialogs } from "../overlay/dialogs.ts";
import { rowsOfLine, safeLine } from "../screen/line.ts";
import { type Frame, stack } from "../screen/view.ts";
import type { LiveSession } from "../../session/live_session.ts";
import type { StatusLine } from "../status_line.ts";
import type { InputEvent, Terminal } from "../terminal/terminal.ts";
import type { Transcript } from "../transcript/transcript.ts";
import type { Layout, PanelView } from "./panel_view.ts";
import { loadTexts, type Texts } from "../../../i18n/mod.ts";
import { displayWidth, fitDisplay, padDisplay } from "../../../util/display_width.ts";

/** The parts of a chat that its layout draws and uses. */
export interface LayoutDeps {
  readonly looks: Looks;
  readonly texts: ChatTexts;
  readonly terminal: Terminal;
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
  /** Draws soon. */
  readonly changed: () => void;
  /** Sends a message or a command line. */
  readonly submit: (text: string) => void;
  readonly failed: (error: unknown) => void;
}

const PANELS = ["chat", "files", "log"] as const;
type PanelName = (typeof PANELS)[number];

/** From these sizes on the view has two panels, and the side bar as well. */
const TWO_PANELS = { columns: 90, rows: 16 };
const SIDE_BAR_COLUMNS = 140;
/** Below this height there is no rule above the composer. */
const RULE_ROWS = 8;

/** A column of the view: the panels that can be in it, and the one that is. */
interface Region {
  readonly width: number;
  readonly panels: readonly PanelName[];
  readonly shown: PanelName | "side";
}

/** The chat on the whole screen: side bar, panels, composer and status line. */
export class FullLayout implements Layout {
  readonly #deps: LayoutDeps;
  #texts: Texts["full"];
  readonly #panels: Readonly<Record<PanelName, PanelView>>;
  readonly #conversation: PrintedRows;
  #focus: PanelName | "composer" = "composer";
  /** The panel that had the focus last, and the one next to the chat. */
  #panel: PanelName = "chat";
  #second: "files" | "log" = "files";
  /** The size of the last frame. */
  #size = { columns: 0, rows: 0 };

  private constructor(deps: LayoutDeps, texts: Texts["full"]) {
    this.#deps = deps;
    this.#texts = texts;
    this.#conversation = new PrintedRows(deps, () => this.#texts.panels.chat);
    this.#panels = {
      chat: this.#conversation,
      files: new PrintedRows(undefined, () => this.#texts.panels.files),
      log: new PrintedRows(undefined, () => this.#texts.panels.log),
    };
  }

  static async load(deps: LayoutDeps): Promise<FullLayout> {
    return new FullLayout(deps, await loadTexts("full", deps.texts.locale));
  }

  get columns(): number {
    const { columns, rows } = this.#size.columns > 0 ? this.#size : this.#deps.terminal;
    const chat = this.#regions(columns, rows).find(({ panels }) => panels.includes("chat"));
    return chat?.width ?? columns;
  }

  print(lines: readonly string[]): void {
    this.#conversation.print(lines);
    this.#deps.changed();
  }

  event(_event: Event): void {}

  opened(_assembly: Assembly): void {}

  key(event: InputEvent): boolean {
    const { composer, dialogs } = this.#deps;
    if (dialogs.overlays.top || event.kind !== "key") return false;
    const { key } = event;
    const isPanel = this.#focus !== "composer";
    if ((key === "tab" || key === "shift+tab") && (isPanel || (composer.empty && !composer.modal))) {
      this.#next(key === "tab" ? 1 : -1);
      return true;
    }
    if (!isPanel) return false;
    if (key === "escape") this.#focus = "composer";
    else if (!this.#panels[this.#panel].key(key)) {
      if (event.text !== undefined) this.#focus = "composer";
      return false;
    }
    return true;
  }

  #next(step: 1 | -1): void {
    const order = ["composer", ...PANELS] as const;
    const at = order.indexOf(this.#focus) + step;
    this.#focus = order[(at + order.length) % order.length] ?? "composer";
    if (this.#focus === "composer") return;
    this.#panel = this.#focus;
    if (this.#focus !== "chat") this.#second = this.#focus;
  }

  /** The columns of the view from left to right, with a border between each two. */
  #regions(columns: number, rows: number): readonly Region[] {
    if (columns < TWO_PANELS.columns || rows < TWO_PANELS.rows) {
      return [{ width: columns, panels: PANELS, shown: this.#panel }];
    }
    const side = columns < SIDE_BAR_COLUMNS ? 0 : Math.floor(columns / 5);
    const left = columns - (side > 0 ? side + 1 : 0);
    const second = Math.floor((left - 1) / 2);
    return [
      ...(side > 0 ? [{ width: side, panels: [], shown: "side" } as const] : []),
      { width: left - 1 - second, panels: ["chat"], shown: "chat" },
      { width: second, panels: ["files", "log"], shown: this.#second },
    ];
  }

  frame(columns: number, rows: number): Frame {
    this.#size = { columns, rows };
    const { composer, dialogs: { overlays } } = this.#deps;
    const status = { lines: [this.#statusLine(columns)] };
    const regions = this.#regions(columns, rows);
    const rule = rows < RULE_ROWS ? [] : [this.#rule(regions)];
    const waiting = rows < RULE_ROWS ? [] : this.#deps.waiting();
    const space = rows - rule.length - waiting.length - 1;
    const bottom = (overlays.top ?? composer).frame(columns, Math.max(1, space - (space > 2 ? 2 : 0)));
    const body = this.#body(regions, Math.max(0, space - bottom.lines.length));
    const frame = stack([{ lines: [...body, ...rule, ...waiting] }, bottom, status]);
    return overlays.top || this.#focus === "composer" ? frame : { lines: frame.lines };
  }

  /** The title line and the panels below it. */
  #body(regions: readonly Region[], rows: number): string[] {
    if (rows === 0) return [];
    const { dim } = this.#deps.looks.palette;
    const columns = regions.map(({ width, shown }) => {
      const { lines } = shown === "side"
        ? { lines: [] as string[] }
        : this.#panels[shown].frame(width, rows - 1);
      return Array.from(
        { length: rows - 1 },
        (_, row) => padDisplay(safeLine(lines[row] ?? "", width), width),
      );
    });
    const title = regions.map((region) => this.#title(region)).join(dim("┬"));
    return [title, ...columns[0]?.map((_, row) => columns.map((lines) => lines[row]).join(dim("│"))) ?? []];
  }

  #title({ width, panels, shown }: Region): string {
    const { dim, bold, accent } = this.#deps.looks.palette;
    let line = "";
    let used = 0;
    for (const panel of shown === "side" ? [] : panels) {
      const isShown = panel === shown;
      const text = isShown ? this.#panels[panel].title(width - 4) : this.#texts.panels[panel];
      const part = fitDisplay(text, Math.max(0, width - used - 4));
      if (part === "") break;
      const color = panel === this.#focus ? accent : isShown ? bold : dim;
      line += `${dim("─")} ${color(part)} `;
      used += displayWidth(part) + 3;
    }
    return line + dim("─".repeat(Math.max(0, width - used)));
  }

  #rule(regions: readonly Region[]): string {
    return this.#deps.looks.palette.dim(regions.map(({ width }) => "─".repeat(width)).join("┴"));
  }

  #statusLine(columns: number): string {
    const { status, hint, looks: { palette } } = this.#deps;
    const text = hint();
    return text === "" ? status.line(columns) : palette.dim(fitDisplay(text, columns));
  }
}

/** Lines that were printed, the last of them in view. */
class PrintedRows implements PanelView {
  readonly #deps: Pick<LayoutDeps, "transcript"> | undefined;
  readonly #name: () => string;
  readonly #lines: string[] = [];

  constructor(deps: Pick<LayoutDeps, "transcript"> | undefined, name: () => string) {
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
    const live = this.#deps?.transcript.live(columns, rows) ?? [];
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
