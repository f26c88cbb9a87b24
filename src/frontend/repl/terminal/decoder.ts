import { after } from "../../../util/timer.ts";
import { parseKey } from "./keys.ts";
import type { InputEvent } from "./terminal.ts";

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/** A lone ESC is the key when nothing follows it for so long. */
const ESCAPE_MS = 50;
/** A sequence that is not whole after so long never will be. */
const SEQUENCE_MS = 300;
/** A paste that brings nothing for so long may have lost its end. */
const PASTE_MS = 2000;
/** So long after the end of a paste more may come of one that holds the mark of its end itself. */
const AFTER_PASTE_MS = 20;
/** Longer answers are none. */
const MAX_STRING = 64 * 1024;

/**
 * One escape sequence: CSI, SS3, strings (OSC, DCS, APC) up to their end, or ESC with one character. What
 * replies of the terminal bring is among them.
 */
const SEQUENCE =
  // deno-lint-ignore no-control-regex
  /\x1b(?:\[M[\s\S]{3}|\[\[[A-E]|\[(?!M)[\x20-\x3f]*[\x40-\x5a\x5c-\x7e]|O\d*[A-Za-z]|(?:\]\d|P[\d>!+$]|_G)[^\x07\x1b]*(?:\x07|\x1b\\)|[\]P_^X][^\x07\x1b]*\x1b\\|[^[\]OP_\x1b\ud800-\udbff]|[\ud800-\udbff][\s\S])/y;
/** What may become one, with more to come. */
const UNFINISHED =
  // deno-lint-ignore no-control-regex
  /^\x1b(?:$|\[(?:$|\[$|M[\s\S]{0,2}$|[\x20-\x3f]*$)|O\d*$|[\]P_]$|(?:\]\d|P[\d>!+$]|_G)[^\x07\x1b]*\x1b?$|[\ud800-\udbff]$)/;
/** Answers to questions, reports of the mouse and of the focus: everything that no key sends. */
const REPLY =
  // deno-lint-ignore no-control-regex
  /^\x1b(?:[\]P_]|[\^X][\s\S]|\[[<=>?]|\[M|\[[\d;]*[nty]$|\[(?!1;(?:[2-9]|1[0-6])R)\d+;\d+R$|\[[IO]$)/;
/** The beginning of an answer whose end has not come. */
// deno-lint-ignore no-control-regex
const CUT_REPLY = /^\x1b(?:\]\d|P[\d>!+$]|_G|\[[<=>?\d])/;
/** Keys that some terminals send with one ESC more when alt is held. */
// deno-lint-ignore no-control-regex
const PLAIN_KEY = /^\x1b(?:\[[A-FHZ]|O[A-FHP-S]|\[\d+~)$/;

/**
 * Where the paste ends; -1 when that has not come. A clipboard that holds the mark itself would end it early,
 * and the rest would be typed: so the last mark counts that comes before another paste begins, or before
 * nothing comes any more.
 */
function endOfPaste(text: string): number {
  const next = text.indexOf(PASTE_START, text.indexOf(PASTE_END));
  return text.slice(0, next < 0 ? text.length : next).lastIndexOf(PASTE_END);
}

export interface DecoderHandlers {
  readonly input: (event: InputEvent) => void;
  /** Takes what the terminal answers to questions, sequence by sequence. */
  readonly reply?: (sequence: string) => void;
}

/** Calls a task later; the returned function cancels it. */
export type Delay = (ms: number, task: () => void) => () => void;

/**
 * Turns the bytes that a terminal sends into keys and pastes. Sequences, characters and pastes may arrive in
 * pieces of any size: the events are the same.
 */
export class InputDecoder {
  readonly #handlers: DecoderHandlers;
  readonly #delay: Delay;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #pending = "";
  #paste: string[] | undefined;
  /** Nothing of the paste has come for long: a chunk that is one key ends it. */
  #stalled = false;
  #cancel: (() => void) | undefined;

  constructor(handlers: DecoderHandlers, delay: Delay = after) {
    this.#handlers = handlers;
    this.#delay = delay;
  }

  push(bytes: Uint8Array): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#stalled) this.#goOn(text);
    this.#stalled = false;
    this.#pending += text;
    this.#work();
  }

  /** Takes text up to the end of a paste; false when more has to come. */
  #pasted(parts: string[], isOver = false): boolean {
    const end = endOfPaste(this.#pending);
    if (end < 0) {
      // The end mark may be cut in two.
      const kept = Math.max(0, this.#pending.length - PASTE_END.length + 1);
      parts.push(this.#pending.slice(0, kept));
      this.#pending = this.#pending.slice(kept);
      return false;
    }
    const rest = this.#pending.slice(end + PASTE_END.length);
    // What follows the mark may belong to the paste, and another mark may be on its way, or cut in two.
    if (rest !== "" && !isOver && !rest.includes(PASTE_START)) return false;
    parts.push(this.#pending.slice(0, end));
    this.#pending = rest;
    this.#endPaste();
    return true;
  }

  #endPaste(): void {
    const text = this.#paste?.join("") ?? "";
    this.#paste = undefined;
    this.#handlers.input({ kind: "paste", text });
  }

  /** After a pause in a paste: a single key means that the end of the paste was lost. */
  #goOn(text: string): void {
    SEQUENCE.lastIndex = 0;
    const isKey = [...text].length === 1 || (SEQUENCE.exec(text)?.[0] === text && text !== PASTE_END);
    const all = this.#pending + text;
    const mayEnd = [1, 2, 3, 4, 5, 6].some((length) =>
      length >= text.length && all.endsWith(PASTE_END.slice(0, length))
    );
    if (!isKey || mayEnd) return;
    this.#paste?.push(this.#pending);
    this.#pending = "";
    this.#endPaste();
  }

  /** Takes keys up to the beginning of a paste or of a sequence that is not whole. */
  #keys(): boolean {
    const text = this.#pending;
    let at = 0;
    while (at < text.length) {
      const length = text[at] === "\x1b" ? this.#sequenceAt(text, at) : this.#characterAt(text, at);
      if (length === 0) break;
      at += length;
      if (this.#paste) {
        this.#pending = text.slice(at);
        return true;
      }
    }
    this.#pending = text.slice(at);
    return false;
  }

  #characterAt(text: string, at: number): number {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    this.#key(character);
    return character.length;
  }

  /** Takes the sequence that begins here; its length, or 0 when it is not whole. */
  #sequenceAt(text: string, at: number): number {
    if (text.startsWith("\x1b\x1b", at)) return this.#doubleEscape(text, at);
    SEQUENCE.lastIndex = at;
    const sequence = SEQUENCE.exec(text)?.[0];
    if (sequence !== undefined) {
      if (sequence === PASTE_START) this.#paste = [];
      else if (REPLY.test(sequence)) this.#handlers.reply?.(sequence);
      else this.#key(sequence);
      return sequence.length;
    }
    const rest = text.slice(at);
    if (UNFINISHED.test(rest) && rest.length < MAX_STRING) return 0;
    return this.#giveUp(rest);
  }

  /** Two ESC: the key twice, or once before a sequence; before a key of its own it stands for alt. */
  #doubleEscape(text: string, at: number): number {
    SEQUENCE.lastIndex = at + 1;
    const sequence = SEQUENCE.exec(text)?.[0];
    if (sequence === undefined && UNFINISHED.test(text.slice(at + 1))) return 0;
    const inner = sequence !== undefined && PLAIN_KEY.test(sequence) ? parseKey(sequence) : undefined;
    if (inner === undefined || sequence === undefined) {
      this.#key("\x1b");
      return 1;
    }
    this.#handlers.input({ kind: "key", key: inner.key.replace(/^(shift\+)?/, "$1alt+") });
    return 1 + sequence.length;
  }

  /** No sequence begins here: the length of what is dropped or taken as keys. */
  #giveUp(rest: string): number {
    if (CUT_REPLY.test(rest)) {
      // An answer that never ended; another sequence may begin in it.
      const next = rest.indexOf("\x1b", 1);
      return next < 0 ? rest.length : next;
    }
    const key = rest.slice(0, rest.length > 1 && rest[1] !== "\x1b" ? 2 : 1);
    this.#key(key);
    return key.length;
  }

  #key(data: string): void {
    const key = parseKey(data);
    if (key !== undefined) this.#handlers.input({ kind: "key", ...key });
  }

  /** What stays incomplete was no sequence: a lone ESC is the key of that name. */
  #waitForMore(): void {
    if (this.#paste && endOfPaste(this.#pending) >= 0) {
      this.#cancel = this.#delay(AFTER_PASTE_MS, () => this.#settle());
    } else if (this.#paste) {
      this.#cancel = this.#delay(PASTE_MS, () => this.#stalled = true);
    } else if (this.#pending !== "") {
      const ms = this.#pending === "\x1b" || this.#pending === "\x1b\x1b" ? ESCAPE_MS : SEQUENCE_MS;
      this.#cancel = this.#delay(ms, () => this.#flush());
    }
  }

  /** Nothing has come since the last mark: it was the end of the paste. */
  #settle(): void {
    if (this.#paste) this.#pasted(this.#paste, true);
    this.#work();
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = "";
    this.#pending = pending.slice(this.#giveUp(pending));
    this.#work();
  }

  #work(): void {
    while (this.#pending !== "" && (this.#paste ? this.#pasted(this.#paste) : this.#keys()));
    this.#waitForMore();
  }
}
