import type { Assembly, RunPaths } from "../../../run/mod.ts";
import type { CommandHost } from "../../../command/mod.ts";
import { type ImagePart, ReasonixError } from "../../../core/mod.ts";
import type { NoImage } from "../../../util/clipboard.ts";
import { completionSources } from "../../session/completion_sources.ts";
import { Completion, type CompletionSource } from "../../session/completion.ts";
import { DraftText, type DraftWindow, labelOf, messageOf, type Piece, readPaste } from "./draft.ts";
import { History, HistorySearch, HistoryWalk } from "./history.ts";
import { type Action, actionOf, EDITS, type KeyHelp, keyHelp } from "./keymap.ts";
import { type Frame, stack, type View } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import type { Draft } from "../../session/submissions.ts";
import type { Texts } from "../../../i18n/mod.ts";
import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import { type Palette, palette } from "../../../view/mod.ts";

const MAX_ROWS = 8;
/** Maximum share of the width for labels; the rest is for details. */
const LABEL_SHARE = 0.5;

/** The lines of a completion menu, at most `rows`, around the selected item. */
function menuLines(completion: Completion, palette: Palette, columns: number, rows: number): string[] {
  const { items, selected } = completion;
  const space = Math.min(MAX_ROWS, rows);
  if (items.length === 0 || space < 1) return [];
  const isLong = items.length > space;
  const count = isLong && space > 1 ? space - 1 : Math.min(space, items.length);
  const first = Math.max(0, Math.min(selected - Math.floor(count / 2), items.length - count));
  const shown = items.slice(first, first + count);
  const labels = shown.map(({ label }) => fitDisplay(terminalSafe(label), Math.max(1, columns - 4)));
  const most = shown.some(({ detail }) => detail !== undefined) ? Math.floor(columns * LABEL_SHARE) : columns;
  const width = Math.min(most, Math.max(...labels.map(displayWidth)));
  const lines = shown.map(({ detail }, index) => {
    const isChosen = first + index === selected;
    const label = fitDisplay(labels[index] ?? "", width);
    const blanks = " ".repeat(Math.max(0, width - displayWidth(label)));
    const left = columns - width - 5;
    const rest = detail !== undefined && left > 8
      ? `${blanks}  ${palette.dim(fitDisplay(detail, left))}`
      : "";
    return isChosen ? `${palette.accent(`› ${label}`)}${rest}` : `  ${label}${rest}`;
  });
  if (!isLong || space === 1) return lines;
  const more = `  ${Math.max(1, selected + 1)}/${items.length}${completion.cut ? "+" : ""}`;
  return [...lines, palette.dim(more)];
}

/** The key help; `more` replaces keys for which there is no space. */
function helpLines(
  { help, more }: { readonly help: readonly KeyHelp[]; readonly more: string },
  palette: Palette,
  columns: number,
  rows: number,
): string[] {
  if (rows < 1) return [];
  const shown = help.length > rows ? help.slice(0, rows - 1) : help;
  const keys = shown.map((each) => each.keys.slice(0, 2).join(" · "));
  const width = Math.min(Math.max(0, ...keys.map(displayWidth)), Math.floor(columns / 2));
  const lines = shown.map(({ what }, index) => {
    const key = fitDisplay(keys[index] ?? "", width);
    const blanks = " ".repeat(Math.max(0, width - displayWidth(key)) + 2);
    return `  ${palette.accent(key)}${blanks}${
      palette.dim(fitDisplay(what, Math.max(1, columns - width - 4)))
    }`;
  });
  return shown === help ? lines : [...lines, palette.dim(fitDisplay(`  ${more}`, columns))];
}

export interface ComposerDraft extends Draft {
  /** The draft as it was written, to return it to the composer. */
  readonly pieces?: readonly Piece[];
}

export interface ComposerOptions {
  readonly onSubmit: (draft: ComposerDraft) => void;
  /** Called after a change that no key made directly. */
  readonly changed?: () => void;
  readonly palette?: Palette;
  /** Absent: no placeholder and no help. */
  readonly texts?: () => Texts["composer"];
  readonly history?: History;
  readonly sources?: readonly CompletionSource[];
  readonly home?: string | undefined;
  /** Lets the user edit a text in an editor; rejects when that fails. */
  readonly edit?: (text: string) => Promise<string>;
  readonly clipboardImage?: () => Promise<ImagePart | NoImage>;
  readonly problem?: (error: unknown) => void;
}

const PROMPT = "> ";
/** Cells for the prompt, and for the caret behind a full row. */
const MARGIN = PROMPT.length + 1;

export class Composer implements View {
  readonly #options: ComposerOptions;
  readonly #palette: Palette;
  readonly #history: History;
  readonly #draft: DraftText;
  readonly #completion: Completion;
  #search: HistorySearch | undefined;
  #walk: HistoryWalk | undefined;
  /** The first key of a two-key sequence. */
  #prefix: string | undefined;
  #pasted = false;

  constructor(options: ComposerOptions) {
    this.#options = options;
    this.#palette = options.palette ?? palette(false);
    this.#history = options.history ?? new History();
    this.#draft = new DraftText({
      label: (part, number) => labelOf(part, number, options.texts?.()),
      mark: this.#palette.accent,
    });
    this.#completion = new Completion(options.sources ?? [], () => this.#changed());
  }

  get text(): string {
    return messageOf(this.#draft.pieces).text;
  }

  /** Replaces the draft; an empty text discards it. */
  set text(text: string) {
    if (text === "") this.discard();
    else this.#replace([text]);
  }

  get empty(): boolean {
    return this.#draft.empty;
  }

  /** A menu or a search is open, which takes Esc and Ctrl-C. */
  get modal(): boolean {
    return this.#search !== undefined || this.#completion.open;
  }

  /** Inserts drafts before the current one. */
  putBack(drafts: readonly Pick<ComposerDraft, "text" | "pieces">[]): void {
    const all = [...drafts.map(({ text, pieces }) => pieces ?? [text]), this.#draft.pieces];
    const full = all.filter((pieces) => pieces.length > 0);
    this.#replace(full.flatMap((pieces, index) => index === 0 ? pieces : ["\n", ...pieces]));
  }

  /** Discards the draft: it goes to the history, and undo restores it. */
  discard(): void {
    const { pieces } = this.#draft;
    // A single character only opened a menu.
    if (this.text.trim().length > 1) this.#history.add(pieces);
    this.#replace([]);
  }

  /** Adds the draft to the history; resolves when it is written to disk. */
  close(): Promise<void> {
    this.discard();
    return this.#history.close();
  }

  /** Handles a key or paste; false for keys without a meaning here. */
  input(event: InputEvent): boolean {
    if (this.#search) return this.#searchInput(this.#search, event);
    if (event.kind === "paste") this.#paste(event.text);
    else {
      const prefix = this.#prefix;
      this.#prefix = undefined;
      const action = actionOf(event.key, prefix);
      if (this.#menuKey(event.key)) return true;
      if (action === "prefix") this.#prefix = event.key;
      else if (action !== undefined) return this.#act(action);
      else if (event.text !== undefined) this.#draft.buffer.type(event.text);
      else return false;
      if (this.#prefix === undefined) this.#walk = undefined;
    }
    this.#complete();
    return true;
  }

  frame(columns: number, rows: number): Frame {
    const texts = this.#options.texts?.();
    const palette = this.#palette;
    if (this.#search && texts) return this.#search.frame(columns, palette, texts);
    const shown = this.#draft.window(Math.max(2, columns - MARGIN), Math.max(1, Math.floor((rows + 2) / 3)));
    const lines = this.empty
      ? [palette.accent(PROMPT) + palette.dim(fitDisplay(texts?.placeholder ?? "", columns - PROMPT.length))]
      : shown.rows.map((row, index) => this.#margin(shown, index) + row);
    const { row, column } = shown.caret;
    const space = rows - lines.length;
    const above = texts && this.#draft.buffer.text === "?"
      ? helpLines({ help: keyHelp(texts), more: texts.moreKeys }, palette, columns, space)
      : menuLines(this.#completion, palette, columns, space);
    return stack([{ lines: above }, { lines, caret: { row, column: column + PROMPT.length } }]);
  }

  /** The margin of a row: the prompt, or an arrow where there are more rows. */
  #margin({ above, below, rows }: DraftWindow, index: number): string {
    const { dim, accent } = this.#palette;
    if (index === 0 && above === 0) return accent(PROMPT);
    if (index === 0) return dim("↑ ");
    return index === rows.length - 1 && below > 0 ? dim("↓ ") : "  ";
  }

  #replace(pieces: readonly Piece[]): void {
    this.#draft.replaceAll(pieces);
    this.#pasted = false;
    this.#walk = undefined;
    this.#completion.update("");
  }

  #complete(): void {
    const { text, caret } = this.#draft.buffer;
    if (text === "") this.#pasted = false;
    this.#completion.update(text.slice(0, caret));
  }

  #paste(text: string): void {
    if (this.#draft.buffer.caret === 0) this.#pasted = true;
    this.#draft.insert(readPaste(text, this.#options));
  }

  /** Keys of an open menu; false for all others. */
  #menuKey(key: string): boolean {
    const menu = this.#completion;
    if (!menu.open) return false;
    if (key === "down" || key === "ctrl+n") menu.step(1);
    else if (key === "up" || key === "ctrl+p") menu.step(-1);
    else if (key === "escape") menu.leave();
    else if (key === "ctrl+c") this.discard();
    else if (key === "tab") {
      if (menu.selected < 0) menu.step(1);
      this.#take();
    } else if (key === "enter") return this.#take(true);
    else if (key === "/") return menu.descends && this.#take();
    else return false;
    return true;
  }

  /** Inserts the selected item; false when there is none, or it is typed already. */
  #take(byEnter = false): boolean {
    const chosen = this.#completion.chosen();
    const { buffer } = this.#draft;
    if (!chosen) return false;
    const { item: { insert, sends, label }, from } = chosen;
    const typed = buffer.text.slice(from, buffer.caret);
    if (typed === insert.trimEnd() && byEnter) return false;
    buffer.replace(from, buffer.caret, insert);
    // A fuzzy match is shown before it is sent.
    const isBegun = label.toLowerCase().startsWith(typed.slice(1).toLowerCase());
    if (sends && isBegun && byEnter && buffer.caret === buffer.text.length) this.#submit(false);
    else this.#complete();
    return true;
  }

  #act(action: Action): boolean {
    const { buffer } = this.#draft;
    if (action === "up" || action === "down") return this.#vertical(action === "up" ? -1 : 1);
    this.#walk = undefined;
    if (this.empty && (action === "eraseRight" || action === "discard")) return false;
    if (action === "send" && buffer.text[buffer.caret - 1] === "\\") {
      buffer.replace(buffer.caret - 1, buffer.caret, "\n");
    } else if (action === "send" || action === "steer") this.#submit(action === "steer");
    else if (action === "search") this.#openSearch();
    else if (action === "editor") this.#edit();
    else if (action === "pasteImage") this.#pasteImage();
    else if (action === "discard") this.discard();
    else if (action === "complete") this.#completion.reopen();
    else EDITS[action].apply(buffer);
    this.#complete();
    return true;
  }

  #submit(steer: boolean): void {
    const { pieces } = this.#draft;
    const { text, images } = messageOf(pieces);
    if (text.trim() === "") return;
    this.#history.add(pieces);
    this.#draft.reset();
    this.#completion.update("");
    // Only plain text can steer; the rest waits for its turn.
    const says = pieces.every((piece) => typeof piece === "string" || piece.kind === "paste");
    const pasted = this.#pasted;
    this.#pasted = false;
    this.#options.onSubmit({
      text,
      steer: steer && says,
      pieces,
      ...(pasted ? { pasted } : {}),
      ...(images.length > 0 ? { images } : {}),
    });
  }

  /** Moves a row up or down; beyond the first and last one through the history. */
  #vertical(by: 1 | -1): boolean {
    const { buffer } = this.#draft;
    const { caret, text } = buffer;
    const continues = this.#walk && (caret === 0 || caret === text.length);
    if (!continues && this.#draft.moveRow(by)) {
      this.#complete();
      return true;
    }
    if (!this.#walk && by > 0) return false;
    if (!this.#history.loaded) {
      void this.#history.load().then(() => this.#vertical(by)).then(() => this.#changed());
      return true;
    }
    this.#walk ??= new HistoryWalk(this.#history.entries, this.#draft.pieces, text.slice(0, caret));
    const walk = this.#walk;
    const pieces = by < 0 ? walk.older() : walk.newer();
    if (!pieces) return true;
    this.#replace(pieces);
    this.#walk = walk;
    return true;
  }

  #openSearch(): void {
    if (!this.#options.texts) return;
    this.#search = new HistorySearch(this.#history);
    if (!this.#history.loaded) void this.#history.load().then(() => this.#changed());
  }

  #searchInput(search: HistorySearch, event: InputEvent): boolean {
    const step = search.input(event);
    if (step === "stay") return true;
    this.#search = undefined;
    if (step === "cancel") return true;
    this.#replace(step.take);
    return step.again ? this.input(event) : true;
  }

  #edit(): void {
    this.#later(this.#options.edit?.(this.#draft.editable), (text) => this.#draft.edited(text));
  }

  #pasteImage(): void {
    this.#later(this.#options.clipboardImage?.(), (image) => {
      if (typeof image !== "string") this.#draft.insert([{ kind: "image", image }, " "]);
      else throw new ReasonixError(this.#options.texts?.()[image] ?? image);
    });
  }

  /** Takes a value when it has arrived. */
  #later<T>(coming: Promise<T> | undefined, take: (value: T) => void): void {
    coming?.then((value) => {
      take(value);
      this.#changed();
    }).catch((error) => this.#options.problem?.(error));
  }

  #changed(): void {
    this.#options.changed?.();
  }
}

type Given = "onSubmit" | "palette" | "texts" | "changed" | "problem";

interface CreateComposerOptions extends Required<Pick<ComposerOptions, Given>> {
  readonly paths: RunPaths;
  readonly commands: CommandHost;
  /** Provides secrets to redact, MCP resources, and hidden paths. */
  readonly session: () => Promise<
    Pick<Assembly, "redact" | "servers" | "workspace" | "paths" | "loaded" | "session">
  >;
  readonly lend: <T>(run: () => Promise<T>) => Promise<T>;
}

/** Creates the composer of a directory, with its history, completion and the user's editor. */
export function createComposer(options: CreateComposerOptions): Composer {
  const { paths: { cwd, env, home: reasonixHome }, commands, session, lend, ...rest } = options;
  const home = env("HOME") ?? env("USERPROFILE");
  const history = new History({
    path: async () => {
      const { projectDir } = await import("../../../session/mod.ts");
      return `${projectDir(reasonixHome, cwd)}/history.jsonl`;
    },
    redactor: async () => (await session()).redact,
  });
  return new Composer({
    ...rest,
    history,
    home,
    sources: completionSources({ cwd, home, commands, session }),
    edit: async (text) => {
      const { editText } = await import("../../../util/editor.ts");
      return await editText(text, { env, lend });
    },
    clipboardImage: async () => {
      const { clipboardImage } = await import("../../../util/clipboard.ts");
      return await clipboardImage({ env, untrusted: [cwd] });
    },
  });
}
