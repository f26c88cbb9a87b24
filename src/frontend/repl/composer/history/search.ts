import { displayWidth, fitDisplay } from "../../../../util/display_width.ts";
import { terminalSafe } from "../../../../util/terminal_text.ts";
import type { Palette } from "../../../../view/mod.ts";
import { nextCharacter, previousCharacter } from "../characters.ts";
import type { Piece } from "../parts.ts";
import type { Frame } from "../../screen/view.ts";
import type { InputEvent } from "../../terminal/terminal.ts";
import { type History, type HistoryMatch, searchHistory } from "./history.ts";

export interface SearchTexts {
  readonly searching: string;
  readonly nothingFound: string;
}

/** How a search goes on after a key: it stays, ends with an entry or without, or leaves the key to others. */
export type SearchStep = "stay" | "cancel" | { readonly take: readonly Piece[]; readonly again: boolean };

/** An incremental search in the history (Ctrl-R). */
export class HistorySearch {
  readonly #history: History;
  #wanted = "";
  #found: HistoryMatch | undefined;
  #failed = false;

  constructor(history: History) {
    this.#history = history;
  }

  input(event: InputEvent): SearchStep {
    if (event.kind === "paste") return this.#look(this.#wanted + event.text.replace(/\s+/g, " "));
    const { key, text } = event;
    if (key === "escape" || key === "ctrl+c" || key === "ctrl+g") return "cancel";
    if (key === "ctrl+r" || key === "up" || key === "ctrl+p") return this.#older();
    if (key === "ctrl+s" || key === "down" || key === "ctrl+n") return this.#newer();
    if (key === "backspace" || key === "ctrl+h") {
      return this.#look(this.#wanted.slice(0, previousCharacter(this.#wanted, this.#wanted.length)));
    }
    if (key === "ctrl+u") return this.#look("");
    if (text !== undefined) return this.#look(this.#wanted + text);
    if (!this.#found) return "cancel";
    // Every other key works on what was found; Enter only takes it, so that it is seen before it is sent.
    return { take: this.#found.pieces, again: key !== "enter" && key !== "tab" };
  }

  frame(columns: number, palette: Palette, texts: SearchTexts): Frame {
    const label = this.#failed ? texts.nothingFound : texts.searching;
    const prompt = `${label}: `;
    const room = Math.max(1, columns - displayWidth(prompt) - 1);
    const query = endOf(terminalSafe(this.#wanted), room);
    const lines = [
      this.#found ? excerpt(this.#found, this.#failed ? "" : this.#wanted, palette, columns) : "",
      `${this.#failed ? palette.warning(prompt) : palette.dim(prompt)}${query}`,
    ];
    return { lines, caret: { row: 1, column: displayWidth(prompt) + displayWidth(query) } };
  }

  #look(wanted: string): SearchStep {
    const from = wanted.startsWith(this.#wanted) && this.#found ? this.#found.entry + 1 : undefined;
    this.#wanted = wanted;
    this.#set(wanted === "" ? undefined : searchHistory(this.#history.entries, wanted, from));
    if (wanted === "") this.#found = undefined;
    this.#failed = wanted !== "" && this.#failed;
    return "stay";
  }

  #older(): SearchStep {
    this.#set(searchHistory(this.#history.entries, this.#wanted, this.#found?.entry));
    return "stay";
  }

  #newer(): SearchStep {
    const { entries } = this.#history;
    for (let end = (this.#found?.entry ?? entries.length) + 2; end <= entries.length; end++) {
      const match = searchHistory(entries.slice(0, end), this.#wanted);
      if (match && match.entry === end - 1) {
        this.#set(match);
        return "stay";
      }
    }
    this.#failed = true;
    return "stay";
  }

  /** What was found last stays to be seen when there is nothing more. */
  #set(found: HistoryMatch | undefined): void {
    this.#failed = found === undefined;
    if (found) this.#found = found;
  }
}

/** The line of the entry around what was searched for, which stands out. */
function excerpt(found: HistoryMatch, wanted: string, palette: Palette, columns: number): string {
  const flat = (text: string) => terminalSafe(text.replaceAll("\n", "↵").replaceAll("\t", " "));
  const before = flat(found.text.slice(0, found.at));
  const match = flat(found.text.slice(found.at, found.at + wanted.length));
  const after = flat(found.text.slice(found.at + wanted.length));
  const room = Math.max(0, columns - displayWidth(match) - 4);
  const left = endOf(before, Math.max(Math.floor(room / 2), room - displayWidth(after.slice(0, columns))));
  const right = fitDisplay(after.slice(0, columns * 2), Math.max(0, room - displayWidth(left)));
  const shown = palette.bold(palette.accent(match));
  // Without colours brackets show what was found.
  return `  ${left}${shown === match && match !== "" ? `[${match}]` : shown}${right}`;
}

/** The end of a text that fits. */
function endOf(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let kept = text.slice(-columns * 4);
  while (kept !== "" && displayWidth(kept) > columns - 1) kept = kept.slice(nextCharacter(kept, 0));
  return `…${kept}`;
}
