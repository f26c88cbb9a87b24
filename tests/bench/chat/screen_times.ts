/** Finds the first time of a text on the screen by replaying the output to a terminal. */
import { VirtualTerminal } from "../../support/virtual_terminal.ts";
import { type Chunk, SIZE, type Size } from "./pty.ts";

/** The times at which the screen first showed each text, looked for one after the other. */
export function screenTimes(chunks: readonly Chunk[], texts: readonly string[]): number[] {
  const terminal = new VirtualTerminal({ ...SIZE, scrollback: 1000 });
  const times: number[] = [];
  for (const { time, text } of chunks) {
    terminal.write(text);
    const screen = terminal.screen().join("\n");
    for (let next; (next = texts[times.length]) !== undefined && screen.includes(next);) times.push(time);
    if (times.length === texts.length) return times;
  }
  throw new Error(`The screen never shows ${texts[times.length]}:\n${terminal.screen().join("\n")}`);
}

/** Rows and columns of the screen; of a text in wide characters the columns are fewer. */
export interface Part {
  readonly rows: readonly [from: number, to: number];
  readonly columns: readonly [from: number, to: number];
}

/** For each time of a key, when a part of the screen first had another text than then. */
export function changeTimes(
  chunks: readonly Chunk[],
  keys: readonly { readonly time: number; readonly part: Part }[],
  size: Size,
): number[] {
  const terminal = new VirtualTerminal({ ...size, scrollback: 1000 });
  const text = ({ rows, columns }: Part) =>
    terminal.screen().slice(...rows).map((row) => row.slice(...columns)).join("\n");
  let next = 0;
  return keys.map(({ time, part }) => {
    for (let chunk; (chunk = chunks[next]) && chunk.time <= time; next++) terminal.write(chunk.text);
    const before = text(part);
    for (let at = next; at < chunks.length; at++) {
      terminal.write(chunks[at]?.text ?? "");
      next = at + 1;
      if (text(part) !== before) return chunks[at]?.time ?? NaN;
    }
    return NaN;
  });
}
