import { decodePrintableKey, isKeyRelease, parseKey } from "@earendil-works/pi-tui/dist/keys.js";
import { after } from "../../../util/timer.ts";
import type { InputEvent } from "./terminal.ts";

const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";
/** A lone ESC is the key when nothing follows it for so long. */
const ESCAPE_MS = 25;

/**
 * One escape sequence: CSI, SS3, strings (OSC, DCS, APC) up to their end, or ESC with one character. What
 * replies of the terminal bring is among them.
 */
const SEQUENCE =
  // deno-lint-ignore no-control-regex
  /\x1b(?:\[M[\s\S]{3}|\[[\x20-\x3f]*[\x40-\x7e]|O[\s\S]|[\]P_][\s\S]*?(?:\x07|\x1b\\)|[^[\]OP_\x1b])/y;

/** Turns the text that a terminal sends into keys and pastes; sequences may arrive in pieces. */
export class InputDecoder {
  readonly #emit: (event: InputEvent) => void;
  readonly #reply: (sequence: string) => void;
  readonly #decoder = new TextDecoder();
  #pending = "";
  #paste: string[] | undefined;
  #generation = 0;

  /** `reply` takes what the terminal answers to questions. */
  constructor(emit: (event: InputEvent) => void, reply: (sequence: string) => void = () => {}) {
    this.#emit = emit;
    this.#reply = reply;
  }

  push(bytes: Uint8Array): void {
    this.#generation++;
    this.#pending += this.#decoder.decode(bytes, { stream: true });
    while (this.#pending !== "" && (this.#paste ? this.#pasted(this.#paste) : this.#keys()));
    this.#waitForMore();
  }

  /** Takes text up to the end of a paste; false when more has to come. */
  #pasted(parts: string[]): boolean {
    const end = this.#pending.indexOf(PASTE_END);
    if (end < 0) {
      // The end mark may be cut in two.
      const kept = Math.max(0, this.#pending.length - PASTE_END.length + 1);
      parts.push(this.#pending.slice(0, kept));
      this.#pending = this.#pending.slice(kept);
      return false;
    }
    parts.push(this.#pending.slice(0, end));
    this.#pending = this.#pending.slice(end + PASTE_END.length);
    this.#paste = undefined;
    this.#emit({ kind: "paste", text: parts.join("") });
    return true;
  }

  /** Takes keys up to the beginning of a paste or of a sequence that is not whole. */
  #keys(): boolean {
    const text = this.#pending;
    let at = 0;
    while (at < text.length) {
      if (text[at] !== "\x1b") {
        const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
        at += character.length;
        this.#key(character);
        continue;
      }
      if (text.startsWith(PASTE_START, at)) {
        this.#paste = [];
        this.#pending = text.slice(at + PASTE_START.length);
        return true;
      }
      SEQUENCE.lastIndex = at;
      const sequence = SEQUENCE.exec(text)?.[0];
      if (sequence === undefined) {
        if (!text.startsWith("\x1b\x1b", at)) break;
        at++;
        this.#key("\x1b");
        continue;
      }
      at += sequence.length;
      this.#sequence(sequence);
    }
    this.#pending = text.slice(at);
    return false;
  }

  #sequence(sequence: string): void {
    // deno-lint-ignore no-control-regex
    if (/^\x1b(?:[\]P_]|\[\?|\[\d+;\d+R)/.test(sequence)) this.#reply(sequence);
    else this.#key(sequence);
  }

  #key(data: string): void {
    if (isKeyRelease(data)) return;
    const key = parseKey(data);
    const text = decodePrintableKey(data) ??
      (data >= " " && data !== "\x7f" && !data.startsWith("\x1b") ? data : undefined);
    if (key === undefined && text === undefined) return;
    this.#emit({ kind: "key", key: key ?? text ?? "", ...(text === undefined ? {} : { text }) });
  }

  /** What stays incomplete was no sequence: a lone ESC is the key of that name. */
  #waitForMore(): void {
    if (!this.#pending.startsWith("\x1b") || this.#paste) return;
    const generation = this.#generation;
    after(ESCAPE_MS, () => {
      if (generation !== this.#generation) return;
      const pending = this.#pending;
      this.#pending = "";
      this.#key(pending);
    });
  }
}
