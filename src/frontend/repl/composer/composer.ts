import { fitDisplay } from "../../../util/display_width.ts";
import type { Texts } from "../../../i18n/mod.ts";
import { type ImagePart, ReasonixError } from "../../../core/mod.ts";
import { type Palette, palette } from "../../../view/mod.ts";
import { type Frame, stack, type View } from "../screen/view.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import type { NoImage } from "./clipboard.ts";
import { Completion, type CompletionSource } from "./completion/completion.ts";
import { DraftText, type DraftWindow } from "./draft_text.ts";
import { History, HistoryWalk } from "./history/history.ts";
import { HistorySearch } from "./history/search.ts";
import { type Action, actionOf, EDITS, keyHelp } from "./keymap.ts";
import { helpLines, menuLines } from "./menu.ts";
import { labelOf, messageOf, type Piece } from "./parts.ts";
import { readPaste } from "./paste.ts";

/** What the user sends off. */
export interface Draft {
  /** The message: pastes in full, references in place of images. */
  readonly text: string;
  /** Said into the running turn instead of after it. */
  readonly steer: boolean;
  /** Images of the clipboard. */
  readonly images?: readonly ImagePart[];
  /** What it was written as; for its way back into the composer. */
  readonly pieces?: readonly Piece[];
  /** Its beginning was pasted: a mark there is part of the text. */
  readonly pasted?: boolean | undefined;
}

export interface ComposerOptions {
  readonly onSubmit: (draft: Draft) => void;
  /** Something has changed that no key has done at once. */
  readonly changed?: () => void;
  /** Colours; none when absent. */
  readonly palette?: Palette;
  /** Absent: no placeholder and no help. */
  readonly texts?: () => Texts["composer"];
  readonly history?: History;
  readonly sources?: readonly CompletionSource[];
  /** The user's home directory, where it is known. */
  readonly home?: string | undefined;
  /** Lets the user change a text elsewhere; rejects when that fails. */
  readonly edit?: (text: string) => Promise<string>;
  /** The image of the clipboard, or why there is none. */
  readonly clipboardImage?: () => Promise<ImagePart | NoImage>;
  /** Tells the user what went wrong. */
  readonly problem?: (error: unknown) => void;
}

const PROMPT = "> ";
/** Cells that the text cannot have: the prompt, and one for the caret behind a full row. */
const MARGIN = PROMPT.length + 1;

/** The place where the user writes. */
export class Composer implements View {
  readonly #options: ComposerOptions;
  readonly #palette: Palette;
  readonly #history: History;
  readonly #draft: DraftText;
  readonly #completion: Completion;
  #search: HistorySearch | undefined;
  #walk: HistoryWalk | undefined;
  /** The first of two keys. */
  #prefix: string | undefined;
  /** The beginning of the draft was pasted. */
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

  /** The text as it would be sent. */
  get text(): string {
    return messageOf(this.#draft.pieces).text;
  }

  /** Puts a text in place of what is written; an empty one discards that. */
  set text(text: string) {
    if (text === "") this.discard();
    else this.#replace([text]);
  }

  get empty(): boolean {
    return this.#draft.empty;
  }

  /** A menu or a search is open: Esc and Ctrl-C are for that. */
  get modal(): boolean {
    return this.#search !== undefined || this.#completion.open;
  }

  /** Puts drafts before what is written. */
  putBack(drafts: readonly Pick<Draft, "text" | "pieces">[]): void {
    const all = [...drafts.map(({ text, pieces }) => pieces ?? [text]), this.#draft.pieces];
    const full = all.filter((pieces) => pieces.length > 0);
    this.#replace(full.flatMap((pieces, index) => index === 0 ? pieces : ["\n", ...pieces]));
  }

  /** Empties it; what was written is in the history, and undo brings it back. */
  discard(): void {
    const { pieces } = this.#draft;
    // A sign that only opened a menu is nothing to keep.
    if (this.text.trim().length > 1) this.#history.add(pieces);
    this.#replace([]);
  }

  /** Puts what is written into the history; resolves when that is on the disk. */
  close(): Promise<void> {
    this.discard();
    return this.#history.close();
  }

  /** Takes what was typed; false for keys that mean nothing here. */
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
    const room = rows - lines.length;
    const above = texts && this.#draft.buffer.text === "?"
      ? helpLines({ help: keyHelp(texts), more: texts.moreKeys }, palette, columns, room)
      : menuLines(this.#completion, palette, columns, room);
    return stack([{ lines: above }, { lines, caret: { row, column: column + PROMPT.length } }]);
  }

  /** What stands before a row: the prompt, or a sign that there is more. */
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

  /** Offers what can be put in at the caret. */
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

  /** Puts the chosen item in; false when there is none, or it stands there already. */
  #take(byEnter = false): boolean {
    const chosen = this.#completion.chosen();
    const { buffer } = this.#draft;
    if (!chosen) return false;
    const { item: { insert, sends, label }, from } = chosen;
    const typed = buffer.text.slice(from, buffer.caret);
    if (typed === insert.trimEnd() && byEnter) return false;
    buffer.replace(from, buffer.caret, insert);
    // What was only guessed is seen before it is sent.
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
    else EDITS[action](buffer);
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
    // Only texts can be said in between: what has to be read first waits for its turn.
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

  /** A row up or down; beyond the first and the last one through the history. */
  #vertical(by: 1 | -1): boolean {
    const { buffer } = this.#draft;
    const { caret, text } = buffer;
    const goesOn = this.#walk && (caret === 0 || caret === text.length);
    if (!goesOn && this.#draft.moveRow(by)) {
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

  /** Goes on when something that takes a while has come. */
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
