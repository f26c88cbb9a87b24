/** Finds the first time of a text on the screen by replaying the output to a terminal. */
import { VirtualTerminal } from "../../support/virtual_terminal.ts";
import { type Chunk, COLUMNS, ROWS } from "./pty.ts";

/** The times at which the screen first showed each text, looked for one after the other. */
export function screenTimes(chunks: readonly Chunk[], texts: readonly string[]): number[] {
  const terminal = new VirtualTerminal({ columns: COLUMNS, rows: ROWS, scrollback: 1000 });
  const times: number[] = [];
  for (const { time, text } of chunks) {
    terminal.write(text);
    const screen = terminal.screen().join("\n");
    for (let next; (next = texts[times.length]) !== undefined && screen.includes(next);) times.push(time);
    if (times.length === texts.length) return times;
  }
  throw new Error(`The screen never shows ${texts[times.length]}:\n${terminal.screen().join("\n")}`);
}
