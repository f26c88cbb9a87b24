import type { InputEvent, TerminalHandlers } from "./terminal.ts";
import { after } from "../../../util/timer.ts";

/** A key by name, and the text that it types, if any. */
interface Key {
  readonly key: string;
  readonly text?: string;
}

const SHIFT = 1;
const ALT = 2;
const CTRL = 4;
/** Super, hyper and meta have one name: the last two are not bound. */
const SUPER = 8 | 16 | 32;

/** Final letters of `CSI 1 ; modifiers letter` and `SS3 letter`. */
const LETTERS: Readonly<Record<string, string>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  E: "clear",
  F: "end",
  H: "home",
  M: "enter",
  P: "f1",
  Q: "f2",
  R: "f3",
  S: "f4",
};
/** Numbers of `CSI number ; modifiers ~`: VT220, xterm, rxvt, the Linux console. */
const NUMBERS: readonly (string | undefined)[] = [
  ...[
    undefined,
    "home",
    "insert",
    "delete",
    "end",
    "pageUp",
    "pageDown",
    "home",
    "end",
    undefined,
    undefined,
  ],
  ...["f1", "f2", "f3", "f4", "f5", undefined, "f6", "f7", "f8", "f9", "f10", undefined, "f11", "f12"],
  ...["f13", "f14", undefined, "f15", "f16", undefined, "f17", "f18", "f19", "f20"],
];
const CHARACTERS: Readonly<Record<number, string>> = {
  8: "backspace",
  9: "tab",
  10: "ctrl+j",
  13: "enter",
  27: "escape",
  32: "space",
  127: "backspace",
};
/** Kitty's numbers of the keypad from 57399 on: what they type, or the key they are. */
const KEYPAD = [
  ...["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", ".", "/", "*", "-", "+", "enter", "=", ","],
  ...["left", "right", "up", "down", "pageUp", "pageDown", "home", "end", "insert", "delete", "clear"],
];
const KEYPAD_FIRST = 57399;
/** Letters that SS3 sends for the keypad in its application mode, from `j` on. */
const APPLICATION_KEYPAD = "*+,-./0123456789";

// deno-lint-ignore no-control-regex
const CSI = /^\x1b\[([\d;:]*)([A-Za-z~^$@])$/;
// deno-lint-ignore no-control-regex
const SS3 = /^\x1bO(\d*)([A-Za-z])$/;
// deno-lint-ignore no-control-regex
const CONSOLE_F_KEY = /^\x1b\[\[([A-E])$/;

/**
 * Reads what a terminal sends for one key: a character, a control character, ESC with one, or a sequence in
 * the forms of kitty, xterm (modifyOtherKeys and function keys), rxvt and the Linux console. Undefined for
 * key releases and for what is no key.
 *
 * Names: `a`, `A`, `漢` as typed, else modifiers in the order shift, ctrl, alt, super before the key:
 * `enter`, `tab`, `space`, `escape`, `backspace`, `delete`, `insert`, `home`, `end`, `pageUp`, `pageDown`,
 * `up`, `down`, `left`, `right`, `clear`, `f1` … `f35`, or the character in lower case (`ctrl+c`,
 * `shift+alt+a`). Line feed is `ctrl+j`, and all keys that send the unit separator are `ctrl+-`.
 */
export function parseKey(sequence: string): Key | undefined {
  if (!sequence.startsWith("\x1b") || sequence === "\x1b") return character(sequence);
  const csi = CSI.exec(sequence);
  if (csi) return control(csi[1] ?? "", csi[2] ?? "");
  const ss3 = SS3.exec(sequence);
  if (ss3) return application(Number(ss3[1] || 1) - 1, ss3[2] ?? "");
  const fKey = CONSOLE_F_KEY.exec(sequence);
  if (fKey) return { key: `f${(fKey[1] ?? "").charCodeAt(0) - 64}` };
  return alternative(sequence.slice(1));
}

/** A key whose modifiers are known by number. */
function named(name: string, modifiers: number): Key {
  const words = [
    modifiers & SHIFT ? "shift+" : "",
    modifiers & CTRL ? "ctrl+" : "",
    modifiers & ALT ? "alt+" : "",
    modifiers & SUPER ? "super+" : "",
  ];
  return { key: words.join("") + name };
}

/** A key that is sent as a character. */
function character(text: string): Key | undefined {
  const code = text.codePointAt(0) ?? 0;
  if (text === " ") return { key: "space", text };
  const name = CHARACTERS[code];
  if (name !== undefined) return { key: name };
  if (code === 0) return { key: "ctrl+space" };
  if (code === 31) return { key: "ctrl+-" };
  if (code < 27) return { key: `ctrl+${String.fromCharCode(code + 96)}` };
  if (code < 32) return { key: `ctrl+${String.fromCharCode(code + 64)}` };
  return code >= 0x80 && code < 0xa0 ? undefined : { key: text, text };
}

/** ESC before a character: the key with alt. */
function alternative(text: string): Key | undefined {
  if (/^[A-Z]$/.test(text)) return named(text.toLowerCase(), SHIFT | ALT);
  const key = character(text)?.key;
  if (key === undefined) return undefined;
  return { key: key.startsWith("ctrl+") ? `ctrl+alt+${key.slice(5)}` : `alt+${key}` };
}

function application(modifiers: number, letter: string): Key | undefined {
  const name = LETTERS[letter];
  if (name !== undefined) return named(name, modifiers);
  // rxvt: control with an arrow.
  if (/[a-e]/.test(letter)) return named(LETTERS[letter.toUpperCase()] ?? "", CTRL);
  const text = APPLICATION_KEYPAD[letter.charCodeAt(0) - 106];
  return text === undefined ? undefined : { key: text, text };
}

/** A control sequence: numbers separated by semicolons, within them by colons, and a final character. */
function control(parameters: string, final: string): Key | undefined {
  const numbers = parameters.split(";").map((part) => part.split(":").map((number) => Number(number)));
  const [[number = 0, ...alternates] = [], [modifierNumber = 1, event = 1] = [], third = []] = numbers;
  if (event === 3) return undefined;
  const modifiers = Math.max(0, modifierNumber - 1);
  if (final === "u") return unicode({ number, alternates, modifiers, typed: third });
  if (final === "~" && number === 27 && third[0]) {
    return unicode({ number: third[0], alternates: [], modifiers, typed: [] });
  }
  const name = NUMBERS[number];
  if (final === "~") return name === undefined ? undefined : named(name, modifiers);
  // rxvt: the final character is the modifiers.
  if (final === "$" || final === "^" || final === "@") {
    const held = (final === "^" ? 0 : SHIFT) | (final === "$" ? 0 : CTRL);
    return name === undefined ? undefined : named(name, held);
  }
  if (final === "Z") return named("tab", modifiers | SHIFT);
  if (/[a-e]/.test(final)) return named(LETTERS[final.toUpperCase()] ?? "", SHIFT);
  const letter = final === "M" ? undefined : LETTERS[final];
  return letter === undefined ? undefined : named(letter, modifiers);
}

interface UnicodeKey {
  readonly number: number;
  /** The character with shift, and the one at the same position of a Latin keyboard. */
  readonly alternates: readonly number[];
  readonly modifiers: number;
  /** The text as code points, where the terminal reports it. */
  readonly typed: readonly number[];
}

/** A key as kitty and modifyOtherKeys report it: by its character without modifiers. */
function unicode({ number, alternates, modifiers, typed }: UnicodeKey): Key | undefined {
  const held = modifiers & (SHIFT | ALT | CTRL | SUPER);
  const special = number === 10 ? "enter" : CHARACTERS[number];
  const keypad = KEYPAD[number - KEYPAD_FIRST];
  if (special !== undefined || (keypad !== undefined && keypad.length > 1)) {
    const key = named(special ?? keypad ?? "", held);
    return special === "space" && (held & ~SHIFT) === 0 ? { key: "space", text: " " } : key;
  }
  if (number >= 57376 && number <= 57398) return named(`f${number - 57363}`, held);
  if (keypad === undefined && !isCharacter(number)) return undefined;
  const plain = keypad ?? String.fromCodePoint(number);
  if ((held & ~SHIFT) === 0) {
    const shifted = held ? shiftedText(plain, alternates[0]) : plain;
    const text = typed[0] ? String.fromCodePoint(...typed.filter(isCharacter)) : shifted;
    return { key: text, text };
  }
  return shortcut(plain.toLowerCase(), held | (plain === plain.toLowerCase() ? 0 : SHIFT), alternates[1]);
}

/** Shortcuts use the position of a key where its character is not Latin (`ctrl+с` is c). */
function shortcut(plain: string, held: number, base: number | undefined): Key {
  const latin = plain > "\x7f" && base && isCharacter(base) ? String.fromCodePoint(base) : plain;
  const separator = (held & ~SHIFT) === CTRL && (latin === "_" || latin === "-");
  return separator ? { key: "ctrl+-" } : named(latin, held);
}

function shiftedText(plain: string, shifted: number | undefined): string {
  return shifted && isCharacter(shifted) ? String.fromCodePoint(shifted) : plain.toUpperCase();
}

/** Neither a control character nor one of the private numbers that kitty gives to keys without text. */
function isCharacter(code: number): boolean {
  return code >= 32 && code < 0x110000 && !(code >= 0x7f && code < 0xa0) &&
    !(code >= 57344 && code <= 63743) &&
    !(code >= 0xd800 && code < 0xe000);
}

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/** A lone ESC is the Escape key when nothing follows in this time. */
const ESCAPE_MS = 50;
/** After this time an incomplete sequence is given up. */
const SEQUENCE_MS = 300;
/** After this pause a paste may have lost its end. */
const PASTE_MS = 2000;
/** Time after an end mark in which the rest of a paste that contains the mark may arrive. */
const AFTER_PASTE_MS = 20;
/** Maximum length of a report. */
const MAX_STRING = 64 * 1024;

/**
 * One escape sequence: CSI, SS3, strings (OSC, DCS, APC) up to their end, or ESC with one character;
 * reports of the terminal included.
 */
const SEQUENCE =
  // deno-lint-ignore no-control-regex
  /\x1b(?:\[M[\s\S]{3}|\[\[[A-E]|\[(?!M)[\x20-\x3f]*[\x40-\x5a\x5c-\x7e]|O\d*[A-Za-z]|(?:\]\d|P[\d>!+$]|_G)[^\x07\x1b]*(?:\x07|\x1b\\)|[\]P_^X][^\x07\x1b]*\x1b\\|[^[\]OP_\x1b\ud800-\udbff]|[\ud800-\udbff][\s\S])/y;
/** The start of a sequence. */
const UNFINISHED =
  // deno-lint-ignore no-control-regex
  /^\x1b(?:$|\[(?:$|\[$|M[\s\S]{0,2}$|[\x20-\x3f]*$)|O\d*$|[\]P_]$|(?:\]\d|P[\d>!+$]|_G)[^\x07\x1b]*\x1b?$|[\ud800-\udbff]$)/;
/** Reports of the terminal, the mouse and the focus: everything that no key sends. */
const REPLY =
  // deno-lint-ignore no-control-regex
  /^\x1b(?:[\]P_]|[\^X][\s\S]|\[[<=>?]|\[M|\[[\d;]*[nty]$|\[(?!1;(?:[2-9]|1[0-6])R)\d+;\d+R$|\[[IO]$)/;
/** A pressed button of the mouse, or its wheel: button, column, row. */
// deno-lint-ignore no-control-regex
const PRESSED = /^\x1b\[<(\d+);(\d+);(\d+)M$/;
const WHEEL: Readonly<Record<string, string>> = { 64: "up", 65: "down" };
/** The start of a report without its end. */
// deno-lint-ignore no-control-regex
const CUT_REPLY = /^\x1b(?:\]\d|P[\d>!+$]|_G|\[[<=>?\d])/;
/** Keys that some terminals send with another ESC when alt is held. */
// deno-lint-ignore no-control-regex
const PLAIN_KEY = /^\x1b(?:\[[A-FHZ]|O[A-FHP-S]|\[\d+~)$/;

/**
 * Offset of the end of the paste, or -1. A clipboard that contains the end mark would end it early, and the
 * rest would be typed: so the last mark counts before another paste begins, or before input pauses.
 */
function endOfPaste(text: string): number {
  const next = text.indexOf(PASTE_START, text.indexOf(PASTE_END));
  return text.slice(0, next < 0 ? text.length : next).lastIndexOf(PASTE_END);
}

interface DecoderHandlers {
  readonly input: (event: InputEvent) => void;
  readonly clicked?: TerminalHandlers["clicked"];
  /** Takes the reports of the terminal, sequence by sequence. */
  readonly reply?: (sequence: string) => void;
}

/** Calls a task later; the returned function cancels it. */
type Delay = (ms: number, task: () => void) => () => void;

/**
 * Decodes the bytes of a terminal into keys and pastes. Sequences, characters and pastes may arrive in
 * pieces of any size: the events are the same.
 */
export class InputDecoder {
  readonly #handlers: DecoderHandlers;
  readonly #delay: Delay;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #pending = "";
  #paste: string[] | undefined;
  /** The paste has paused for long: a chunk that is one key ends it. */
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
    if (this.#stalled) this.#resumePaste(text);
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
  #resumePaste(text: string): void {
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

  /** Takes keys up to a paste or an incomplete sequence. */
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

  /** Takes the sequence that begins here; returns its length, or 0 when it is incomplete. */
  #sequenceAt(text: string, at: number): number {
    if (text.startsWith("\x1b\x1b", at)) return this.#doubleEscape(text, at);
    SEQUENCE.lastIndex = at;
    const sequence = SEQUENCE.exec(text)?.[0];
    if (sequence !== undefined) {
      const pressed = PRESSED.exec(sequence)?.slice(1);
      if (sequence === PASTE_START) this.#paste = [];
      else if (pressed) this.#mouse(pressed);
      else if (REPLY.test(sequence)) this.#handlers.reply?.(sequence);
      else {
        const end = at + sequence.length;
        this.#key(sequence, text.startsWith(sequence, end) || text.slice(0, at).endsWith(sequence));
      }
      return sequence.length;
    }
    const rest = text.slice(at);
    if (UNFINISHED.test(rest) && rest.length < MAX_STRING) return 0;
    return this.#giveUp(rest);
  }

  /** Two ESC: the key twice, or once before a sequence; before a plain key it means alt. */
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

  /** No sequence begins here; returns the length of what is dropped or taken as keys. */
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

  #mouse([button = "", column = "", row = ""]: readonly string[]): void {
    const key = WHEEL[button];
    if (key !== undefined) this.#handlers.input({ kind: "key", key, several: true });
    else if (button === "0") this.#handlers.clicked?.(Number(row) - 1, Number(column) - 1);
  }

  /** Takes a key; `several` when the same is next to it. */
  #key(data: string, several = false): void {
    const key = parseKey(data);
    if (key === undefined) return;
    const isArrow = key.key === "up" || key.key === "down";
    this.#handlers.input({ kind: "key", ...key, ...(several && isArrow ? { several } : {}) });
  }

  /** Waits for the rest of a sequence or paste. */
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

  /** No input followed the last mark: it was the end of the paste. */
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
