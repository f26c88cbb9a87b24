import type { ToolSchema } from "../../core/mod.ts";
import { readBlockCall } from "./block_call.ts";
import { type Ending, LONGEST_GAP, MOST_TRIES, OPEN, TEXT, type Unit, type UnitRead } from "./units.ts";

type Tools = ReadonlyMap<string, ToolSchema>;

/** `%%CMD%% … %%END%%`, the form that models are taught. */
export class BlockUnit implements Unit {
  readonly trust = "certain";
  readonly ends = /[\n\r\u2028\u2029][ \t]*%%(?:END%%|CMD%%)|%%(?:CMD|BLOCK)[^\n]*%%END%%/i;
  readonly #tools: Tools;
  #searched = 0;
  #tries = 0;
  #read: UnitRead | undefined;
  blocks = false;
  name: string | undefined;

  constructor(tools: Tools) {
    this.#tools = tools;
  }

  read(held: string, ending: Ending): UnitRead {
    const begin = held.slice(0, LONGEST_GAP);
    if (!/^%%CMD%%(?:\s+[A-Za-z_{]|\s*$)/i.test(begin)) return TEXT;
    this.name ??= /^%%CMD%%\s+name\s*=\s*"([^"\\\n]{1,100})"/i.exec(begin)?.[1];
    this.#read ??= this.#find(held, ending);
    return this.#read ?? OPEN;
  }

  #find(held: string, ending: Ending): UnitRead | undefined {
    for (;;) {
      const end = this.#tries < MOST_TRIES ? this.#nextEnd(held) : -1;
      if (end >= 0) this.#tries++;
      if (end < 0 && ending === "open") return undefined;
      const found = readBlockCall(end < 0 ? held : held.slice(0, end), this.#tools);
      if (found.state === "bad") return { state: "bad", length: found.length, name: found.name };
      if (found.state === "read") {
        this.blocks = found.blocks;
        return { state: "read", length: found.length, calls: [found.call] };
      }
      if (end < 0) return { state: "bad", length: held.length, name: found.name };
    }
  }

  /** End of the next `%%END%%` that may close the call; -1 when there is none. */
  #nextEnd(held: string): number {
    for (;;) {
      const at = indexOfMark(held, "%%END%%", this.#searched);
      if (at < 0) {
        this.#searched = Math.max(this.#searched, held.length - "%%END%%".length);
        return -1;
      }
      this.#searched = at + "%%END%%".length;
      const line = held.slice(held.lastIndexOf("\n", at) + 1, at);
      // In the middle of a line of content it closes nothing.
      if (line.trim() === "" || /^[ \t]*%%(?:CMD|BLOCK)/i.test(line) || !hasBlock(held, at)) {
        return this.#searched;
      }
    }
  }
}

function hasBlock(held: string, before: number): boolean {
  const at = indexOfMark(held, "%%BLOCK:", 0);
  return at >= 0 && at < before;
}

function indexOfMark(text: string, mark: string, from: number): number {
  const pattern = new RegExp(mark, "gi");
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? -1;
}
