import { characterEnds, soloWidth } from "../../../util/display_width.ts";

function isSoloAt(text: string, at: number): boolean {
  return soloWidth(text.charCodeAt(at)) > 0;
}

/** End of the character that begins at, or contains, this offset. */
export function nextCharacter(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const end = at + 1;
  if (text[at] === "\n" || (isSoloAt(text, at) && (end === text.length || isSoloAt(text, end)))) return end;
  const { start, line } = lineAt(text, at);
  return start + (characterEnds(line).find((each) => start + each > at) ?? line.length);
}

/** Start of the character that ends at, or contains, this offset. */
export function previousCharacter(text: string, at: number): number {
  if (at <= 1) return 0;
  const last = at - 1;
  if (text[last] === "\n" || (isSoloAt(text, last) && isSoloAt(text, last - 1))) return last;
  const { start, line } = lineAt(text, last);
  return start + (characterEnds(line).findLast((end) => start + end < at) ?? 0);
}

/** The line, without its end, that holds an offset. */
function lineAt(text: string, at: number): { readonly start: number; readonly line: string } {
  const start = at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
  const end = text.indexOf("\n", at);
  return { start, line: text.slice(start, end < 0 ? text.length : end) };
}

let words: Intl.Segmenter | undefined;

/** A word, for moves and deletions: letters, digits and underscores; CJK by dictionary. */
interface Word {
  readonly start: number;
  readonly end: number;
}

function wordsOf(line: string): Word[] {
  // deno-lint-ignore no-control-regex
  if (/^[\x00-\x7f]*$/.test(line)) {
    return [...line.matchAll(/\w+/g)].map(({ index, 0: word }) => ({
      start: index,
      end: index + word.length,
    }));
  }
  words ??= new Intl.Segmenter(undefined, { granularity: "word" });
  // The mark of a paste and an emoji are words, too.
  return [...words.segment(line)].filter(({ isWordLike, segment }) =>
    isWordLike || /\p{Extended_Pictographic}|\p{Surrogate}/u.test(segment)
  ).map(({ index, segment }) => ({ start: index, end: index + segment.length }));
}

function previousWord(text: string, at: number): number {
  for (let from = at; from > 0;) {
    const { start, line } = lineAt(text, from);
    const word = wordsOf(line).findLast((each) => start + each.start < from);
    if (word) return start + word.start;
    if (start === 0) return 0;
    from = start - 1;
  }
  return 0;
}

function nextWord(text: string, at: number): number {
  for (let from = at; from < text.length;) {
    const { start, line } = lineAt(text, from);
    const word = wordsOf(line).find((each) => start + each.end > from);
    if (word) return start + word.end;
    from = start + line.length + 1;
  }
  return text.length;
}

/** One replacement in a text, and the caret before and after it. */
interface Edit {
  readonly at: number;
  readonly removed: string;
  readonly inserted: string;
  readonly before: number;
  readonly after: number;
  readonly grows: boolean;
}

export type Motion =
  | "left"
  | "right"
  | "wordLeft"
  | "wordRight"
  | "lineStart"
  | "lineEnd"
  | "start"
  | "end";

const MAX_UNDO = 1000;

/**
 * A text with a caret. Offsets count UTF-16 units; the caret is never inside of a grapheme cluster. Every
 * change can be undone.
 */
export class TextBuffer {
  #text = "";
  #caret = 0;
  #done: Edit[] = [];
  #undone: Edit[] = [];
  /** The text that was cut last; consecutive cuts are one. */
  #killed = "";
  #killing = false;

  get text(): string {
    return this.#text;
  }

  get killed(): string {
    return this.#killed;
  }

  get caret(): number {
    return this.#caret;
  }

  /** Moves the caret to this offset, or before the character that it is inside of. */
  set caret(offset: number) {
    const at = Math.max(0, Math.min(offset, this.#text.length));
    const start = previousCharacter(this.#text, at);
    this.#caret = at === 0 || nextCharacter(this.#text, start) === at ? at : start;
    this.#killing = false;
  }

  /** Types at the caret; letters of one word are undone together. */
  type(text: string): void {
    this.replace(this.#caret, this.#caret, text, /^\S$/u.test(text));
  }

  replace(from: number, to: number, text: string, grows = false): void {
    const removed = this.#text.slice(from, to);
    this.#killing = false;
    if (removed === "" && text === "") return;
    const after = from + text.length;
    const edit = { at: from, removed, inserted: text, before: this.#caret, after, grows };
    const last = this.#done.at(-1);
    if (grows && removed === "" && last?.grows && last.after === from && this.#undone.length === 0) {
      this.#done[this.#done.length - 1] = { ...last, inserted: last.inserted + text, after };
    } else this.#done.push(edit);
    if (this.#done.length > MAX_UNDO) this.#done.shift();
    this.#undone = [];
    this.#apply(from, to, text);
    // What comes behind may join with what was put in.
    this.caret = after;
    if (this.#caret !== after) this.#caret = nextCharacter(this.#text, this.#caret);
  }

  move(motion: Motion): void {
    this.#caret = this.#offset(motion);
    this.#killing = false;
    this.#stopGrowing();
  }

  erase(motion: Motion): void {
    const [from, to] = this.#range(motion);
    this.replace(from, to, "");
  }

  /** Cuts the text between the caret and a position; `yank` inserts it again. */
  kill(motion: Motion): void {
    let [from, to] = this.#range(motion);
    // At the end of a line its end is taken, at its start the end of the one before.
    if (from === to && motion === "lineEnd") to = nextCharacter(this.#text, to);
    if (from === to && motion === "lineStart") from = previousCharacter(this.#text, from);
    const text = this.#text.slice(from, to);
    if (text === "") return;
    const earlier = this.#killing ? this.#killed : "";
    this.#killed = to > this.#caret ? earlier + text : text + earlier;
    this.replace(from, to, "");
    this.#killing = true;
  }

  yank(): void {
    this.replace(this.#caret, this.#caret, this.#killed);
  }

  undo(): void {
    const edit = this.#done.pop();
    if (!edit) return;
    this.#apply(edit.at, edit.at + edit.inserted.length, edit.removed);
    this.#undone.push({ ...edit, grows: false });
    this.#caret = edit.before;
    this.#killing = false;
    this.#stopGrowing();
  }

  redo(): void {
    const edit = this.#undone.pop();
    if (!edit) return;
    this.#apply(edit.at, edit.at + edit.removed.length, edit.inserted);
    this.#done.push(edit);
    this.#caret = edit.after;
    this.#killing = false;
  }

  /** Empties the buffer and its undo history; the cut text stays. */
  reset(): void {
    this.#text = "";
    this.#caret = 0;
    this.#done = [];
    this.#undone = [];
    this.#killing = false;
  }

  #apply(from: number, to: number, text: string): void {
    this.#text = this.#text.slice(0, from) + text + this.#text.slice(to);
  }

  #stopGrowing(): void {
    const last = this.#done.at(-1);
    if (last?.grows) this.#done[this.#done.length - 1] = { ...last, grows: false };
  }

  #range(motion: Motion): [number, number] {
    const other = this.#offset(motion);
    return [Math.min(this.#caret, other), Math.max(this.#caret, other)];
  }

  #offset(motion: Motion): number {
    const [text, at] = [this.#text, this.#caret];
    switch (motion) {
      case "left":
        return previousCharacter(text, at);
      case "right":
        return nextCharacter(text, at);
      case "wordLeft":
        return previousWord(text, at);
      case "wordRight":
        return nextWord(text, at);
      case "lineStart":
        return lineAt(text, at).start;
      case "lineEnd": {
        const { start, line } = lineAt(text, at);
        return start + line.length;
      }
      case "start":
        return 0;
      case "end":
        return text.length;
    }
  }
}
