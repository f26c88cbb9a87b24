import { SIZE_QUESTION } from "./size_reports.ts";
import type { Terminal } from "./terminal.ts";

/** Bracketed paste; no wrapping at the right edge, since a line of ours takes one row by itself. */
const MODES_ON = "\x1b[?2004h\x1b[?7l";
const MODES_OFF = "\x1b[?7h\x1b[?2004l\x1b[?25h";
/**
 * What another program may have left on, switched off: its screen, where the cursor goes back to where it was
 * before (the one that is saved first, where there is no such screen), a part of the rows that scrolls,
 * colours, line drawing, inserting, keys of applications, and reports of mouse and focus.
 */
export const LEFT_BEHIND_OFF = "\x1b7\x1b[?1049l\x1b7\x1b[r\x1b8\x1b[m\x0f\x1b(B\x1b[4l\x1b[?1l\x1b>" +
  [1000, 1002, 1003, 1004, 1005, 1006, 1015].map((mode) => `\x1b[?${mode}l`).join("");
/** Kitty's keyboard protocol: keys are told apart (1), with their place on a Latin keyboard (4). */
const KITTY_ON = "\x1b[>5u";
const KITTY_OFF = "\x1b[<u";
/** The older way of xterm and tmux to tell modified keys apart. */
const OTHER_KEYS_ON = "\x1b[>4;1m";
const OTHER_KEYS_OFF = "\x1b[>4;0m";
/** Primary device attributes: every terminal answers this, after what was asked before it. */
const ATTRIBUTES = "\x1b[c";
const QUESTIONS = `\x1b[?u\x1b[?2026$p\x1b[>0q\x1b]11;?\x1b\\${ATTRIBUTES}`;

const RESIZE_MS = 30;
/** tmux announces the first of several changes at once, the others together 250 ms later. */
const TMUX_RESIZE_MS = 280;
/** A terminal that has not answered the first questions after so long never will. */
const SILENT_MS = 1000;

/** The settings of the environment that tell which terminal this is. */
export interface TerminalEnvironment {
  readonly TERM?: string | undefined;
  readonly TERM_PROGRAM?: string | undefined;
  /** Set inside of tmux. */
  readonly TMUX?: string | undefined;
  /** Set inside of GNU screen. */
  readonly STY?: string | undefined;
}

/**
 * What a terminal can do, learnt from its answers. Nothing waits for them: until they come the terminal is
 * taken for one that can do little.
 */
export class Capabilities {
  synchronized = false;
  /** After so long, in ms, a change of the size that was announced is the last. */
  readonly resizeMs: number;
  reflow: Terminal["reflow"] = "all";
  /** What it says of its background colour (OSC 11). */
  background: Terminal["background"];
  #keyboard: "unknown" | "kitty" | "other-keys" | "plain" = "unknown";
  /** Terminals that print a part of a question that they do not know are asked nothing. */
  readonly #mayAsk: boolean;
  readonly #inTmux: boolean;
  #open = 0;
  #answers = false;
  #asked = 0;

  constructor({ TERM = "", TERM_PROGRAM, TMUX, STY }: TerminalEnvironment) {
    this.#inTmux = !!TMUX;
    this.resizeMs = TMUX ? TMUX_RESIZE_MS : RESIZE_MS;
    this.#mayAsk = !/^(?:linux|dumb|vt\d)/.test(TERM) && TERM_PROGRAM !== "Apple_Terminal";
    if (STY || /^(?:linux|st\b|vt\d)/.test(TERM)) this.reflow = "none";
    if (TERM_PROGRAM === "vscode") this.reflow = "other-lines";
  }

  /** It has answered already, or had no time for it: an answer is worth waiting for. */
  get mayAnswer(): boolean {
    return this.#answers || (this.#mayAsk && performance.now() - this.#asked < SILENT_MS);
  }

  /** Questions whose answer has not come. */
  get waiting(): boolean {
    return this.#open > 0;
  }

  /** Text that puts the terminal into our modes; with questions the first time. */
  get on(): string {
    if (this.#keyboard !== "unknown") return MODES_ON + this.#keys(KITTY_ON, OTHER_KEYS_ON);
    if (!this.#mayAsk) return MODES_ON;
    this.#open++;
    this.#asked = performance.now();
    return MODES_ON + KITTY_ON + (this.#inTmux ? SIZE_QUESTION : "") + QUESTIONS;
  }

  get off(): string {
    return this.#keys(KITTY_OFF, OTHER_KEYS_OFF) + MODES_OFF;
  }

  /** Text that makes the terminal send something, once it has done everything before. */
  get echo(): string {
    if (!this.#mayAsk) return "";
    this.#open++;
    return ATTRIBUTES;
  }

  /** Answers that have not come are not expected any more. */
  waitNoLonger(): void {
    this.#open = 0;
  }

  /** Takes an answer; the text to send now, if any. */
  reply(sequence: string): string {
    // deno-lint-ignore no-control-regex
    const version = /^\x1bP>\|([^\x1b]*)/.exec(sequence)?.[1];
    if (/\[\?\d+u$/.test(sequence)) this.#keyboard = "kitty";
    else if (/\[\?2026;[123]\$y$/.test(sequence)) this.synchronized = true;
    else if (sequence.startsWith("\x1b]11;")) this.background = backgroundOf(sequence);
    else if (version?.startsWith("XTerm(")) this.reflow = "none";
    else if (version?.startsWith("xterm.js")) this.reflow = "other-lines";
    else if (/\[\?[\d;]*c$/.test(sequence)) {
      this.#open = Math.max(0, this.#open - 1);
      this.#answers = true;
      if (this.#keyboard === "unknown") {
        this.#keyboard = "other-keys";
        return OTHER_KEYS_ON;
      }
    }
    return "";
  }

  #keys(kitty: string, otherKeys: string): string {
    if (!this.#mayAsk) return "";
    return this.#keyboard === "other-keys" ? otherKeys : kitty;
  }
}

/** Whether a colour as X11 writes it (`rgb:ffff/ffff/ffff`) is light; undefined where it is none. */
function backgroundOf(sequence: string): Terminal["background"] {
  const parts = /rgba?:([0-9a-f]{1,4})\/([0-9a-f]{1,4})\/([0-9a-f]{1,4})/i.exec(sequence)?.slice(1);
  if (!parts) return undefined;
  const [red = 0, green = 0, blue = 0] = parts.map((part) => parseInt(part, 16) / (16 ** part.length - 1));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 ? "light" : "dark";
}
