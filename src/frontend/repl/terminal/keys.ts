/** A key by its name, and the text that it types, where it types something. */
export interface Key {
  readonly key: string;
  readonly text?: string;
}

const SHIFT = 1;
const ALT = 2;
const CTRL = 4;
/** Super, hyper and meta: nobody binds the last two, so they have one name. */
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

/** A character as keyboards have always sent it. */
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

/** A control sequence: numbers, separated by semicolons and within them by colons, and a final character. */
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
  // rxvt: the final character tells the modifiers.
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
  /** The character with shift, and the one of the same place on a Latin keyboard. */
  readonly alternates: readonly number[];
  readonly modifiers: number;
  /** The text as code points, where the terminal reports it. */
  readonly typed: readonly number[];
}

/** A key as kitty and modifyOtherKeys tell it: by the character it has without modifiers. */
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

/** Shortcuts go by the place of a key where its character is not of the Latin keyboard (`ctrl+с` is c). */
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
