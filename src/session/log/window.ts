import type { Event } from "../../core/mod.ts";
import { readPiece } from "../../util/file_bytes.ts";
import { parseJson } from "../../util/json.ts";
import { isUsable } from "../state/state.ts";

interface WindowOptions {
  /** It ends before the event with this number; absent: with the newest. */
  readonly before?: number | undefined;
  /** Most events, unless one message has more. */
  readonly limit: number;
}

/** A part of the history, oldest event first. It begins with a turn or with a reply. */
export interface EventWindow {
  readonly events: readonly Event[];
  /** Nothing comes before it. */
  readonly first: boolean;
}

/** Bytes that are read at once, and for which a window ends where it can. */
const [BLOCK, MAX_BYTES] = [1 << 17, 4 << 20];
/** Bytes of a line in which its number is. */
const HEAD = 48;
const LINE_FEED = 10;

/**
 * Reads a window from the end of a session file towards its beginning, so that the length of the session does
 * not matter. Another process may write it.
 */
export function eventWindow(path: string, { before = Infinity, limit }: WindowOptions): EventWindow {
  using file = Deno.openSync(path);
  const { size } = file.statSync();
  const end = before === Infinity ? size : endBefore(file, size, before);
  return windowOf(linesBackward(file, end), { before, limit });
}

function windowOf(
  lines: Iterable<string>,
  { before, limit }: { readonly before: number; readonly limit: number },
): EventWindow {
  const reversed: Event[] = [];
  /** Events up to the last place where the window can begin. */
  let whole = 0;
  let bytes = 0;
  for (const line of lines) {
    const event = parseJson(line);
    if (!isUsable(event) || event.seq >= before) continue;
    const isFull = reversed.length >= limit || bytes > MAX_BYTES;
    if (isFull && whole > 0) return { events: reversed.slice(0, whole).reverse(), first: false };
    reversed.push(event);
    bytes += line.length;
    if (event.type === "turn.start" || event.type === "message.end") whole = reversed.length;
  }
  return { events: reversed.reverse(), first: true };
}

/** The lines that end before an offset, last one first. */
function* linesBackward(file: Deno.FsFile, end: number): Generator<string> {
  const decoder = new TextDecoder();
  /** The beginning of the file up to here is not read. */
  let start = end;
  let rest = new Uint8Array(0);
  while (start > 0) {
    const length = Math.min(start, Math.max(BLOCK, rest.length));
    start -= length;
    const bytes = new Uint8Array(length + rest.length);
    bytes.set(readPiece(file, start, length));
    bytes.set(rest, length);
    let stop = bytes.length;
    for (
      let at = bytes.lastIndexOf(LINE_FEED, stop - 1);
      at >= 0;
      at = bytes.lastIndexOf(LINE_FEED, at - 1)
    ) {
      if (at + 1 < stop) yield decoder.decode(bytes.subarray(at + 1, stop));
      stop = at;
      if (at === 0) break;
    }
    rest = bytes.slice(0, stop);
  }
  if (rest.length > 0) yield decoder.decode(rest);
}

/** The offset of a line near the first event with this number or a later one. */
function endBefore(file: Deno.FsFile, size: number, seq: number): number {
  let [low, end, high] = [0, size, size];
  while (high - low > BLOCK) {
    const middle = low + Math.floor((high - low) / 2);
    const line = numberedLine(file, middle, high);
    if (line && line.seq < seq) low = line.offset;
    else [high, end] = [middle, line?.offset ?? end];
  }
  return end;
}

/** The first line that begins behind an offset and has a number. */
function numberedLine(file: Deno.FsFile, from: number, to: number) {
  for (let start = from; start < to; start += BLOCK / 2 - HEAD) {
    const bytes = readPiece(file, start, BLOCK / 2);
    for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
      const head = new TextDecoder().decode(bytes.subarray(at + 1, at + 1 + HEAD));
      const seq = /^\{"v":\d+,"seq":(\d+),/.exec(head)?.[1];
      if (seq !== undefined) return { seq: Number(seq), offset: start + at + 1 };
    }
  }
}
