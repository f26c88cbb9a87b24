import type { ImagePart } from "../../../core/mod.ts";
import type { Texts } from "../../../i18n/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";

/** A part of a draft that is shown as a mark and behaves as one character. */
export type Part =
  /** A long text that was pasted. */
  | { readonly kind: "paste"; readonly content: string }
  /** An image that is read when the draft is sent. */
  | { readonly kind: "file"; readonly path: string }
  /** An image of the clipboard. */
  | { readonly kind: "image"; readonly image: ImagePart };

/** The content of a draft: texts, and parts between them. */
export type Piece = string | Part;

/** Says how a part is shown; parts of a draft are told apart by their number. */
export type PartLabel = (part: Part, number: number) => string;

/**
 * A lone second half of a surrogate pair stands for a part within the text of the draft: text from a terminal
 * or a file never has one.
 */
const FIRST_MARK = 0xdc00;
const MARKS = 0x400;
const MARK = /[\udc00-\udfff]/;
const LONE = /\p{Surrogate}/gu;

/** The parts that marks in a text stand for. */
export class Parts {
  readonly #label: PartLabel;
  readonly #entries = new Map<string, { readonly part: Part; readonly number: number }>();
  #next = 0;

  constructor(label: PartLabel) {
    this.#label = label;
  }

  /** Returns the mark of a new part; `text` is the draft that it comes into. */
  add(part: Part, text: string): string {
    const mark = String.fromCharCode(FIRST_MARK + this.#next);
    this.#next = (this.#next + 1) % MARKS;
    const numbers = (text.match(LONE) ?? []).map((each) => this.#entries.get(each)?.number ?? 0);
    this.#entries.set(mark, { part, number: 1 + Math.max(0, ...numbers) });
    return mark;
  }

  /** The label of a mark; undefined for every other character. */
  labelOf(character: string): string | undefined {
    const entry = this.#entries.get(character);
    return entry && this.#label(entry.part, entry.number);
  }

  /** The pieces of a text with marks. */
  pieces(text: string): Piece[] {
    return split(text).map((piece) => this.#entries.get(piece)?.part ?? piece);
  }

  /** The text with marks for pieces; `before` is the draft that they come into. */
  marked(pieces: readonly Piece[], before = ""): string {
    let text = "";
    for (const piece of pieces) text += typeof piece === "string" ? piece : this.add(piece, before + text);
    return text;
  }

  /** The text as it is shown in one line of a list, or to an editor: labels in place of marks. */
  labelled(text: string): string {
    return split(text).map((piece) => this.labelOf(piece) ?? piece).join("");
  }

  /** The text for an editor: pastes in full, images as their labels. */
  editable(text: string): string {
    return split(text).map((piece) => {
      const part = this.#entries.get(piece)?.part;
      return part?.kind === "paste" ? part.content : this.labelOf(piece) ?? piece;
    }).join("");
  }

  /** The edited text with marks, for all parts of the former text that are still in it as they were. */
  remarked(edited: string, former: string): string {
    let text = "";
    let rest = edited;
    for (const mark of former.match(LONE) ?? []) {
      const shown = this.editable(mark);
      const at = rest.indexOf(shown);
      if (at < 0 || shown === mark) continue;
      text += rest.slice(0, at) + mark;
      rest = rest.slice(at + shown.length);
    }
    return text + rest;
  }

  /** Forgets all parts but those that a text has. */
  keepOnly(text: string): void {
    for (const mark of this.#entries.keys()) if (!text.includes(mark)) this.#entries.delete(mark);
  }
}

/** Cuts a text at its marks; a mark is an element of its own. */
function split(text: string): string[] {
  if (!MARK.test(text)) return text === "" ? [] : [text];
  return text.split(/(\p{Surrogate})/u).filter((piece) => piece !== "");
}

/** The message that is sent for pieces. */
export function messageOf(pieces: readonly Piece[]): { text: string; images: ImagePart[] } {
  const images: ImagePart[] = [];
  let text = "";
  for (const piece of pieces) {
    if (typeof piece === "string") text += piece;
    else if (piece.kind === "paste") text += piece.content;
    else if (piece.kind === "image") text += `[image ${images.push(piece.image)}]`;
    else {
      // A reference begins behind a blank; in quotes it ends whatever follows.
      text += `${text === "" || /\s$/.test(text) ? "" : " "}@"${piece.path}"`;
    }
  }
  return { text, images };
}

/** How a part is shown. */
export function labelOf(part: Part, number: number, texts: Texts["composer"] | undefined): string {
  if (!texts) return `[${part.kind} #${number}]`;
  if (part.kind === "image") return texts.image(texts.clipboard, number);
  if (part.kind === "file") {
    return texts.image(oneLine(part.path.split(/[\\/]/).at(-1) ?? part.path, 40), number);
  }
  const lines = lineCount(part.content);
  return lines > 1 ? texts.pasted(lines, number) : texts.pastedCharacters(part.content.length, number);
}

/** Number of lines; the end of the last one begins no other. */
export function lineCount(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return text.endsWith("\n") && lines > 1 ? lines - 1 : lines;
}
