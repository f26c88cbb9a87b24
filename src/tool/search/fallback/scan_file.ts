import type { SearchRequest } from "../request.ts";
import { type Matcher, scanText, type TextMatches } from "./scan_text.ts";

/** ripgrep reads this much at once and gives up a file at the piece that holds a NUL byte. */
const PIECE = 65_536;

/** Files larger than this are searched part by part, cut at line ends. */
const PART = 32 * 1024 * 1024;

/** A match across lines needs the text as a whole; larger files are left out. */
const MAX_WHOLE = 256 * 1024 * 1024;

const UTF8 = new TextDecoder();

/**
 * Most files fit; one buffer saves an allocation and a `stat` a file. Results are strings, so nothing keeps
 * it.
 */
const BUFFER = new Uint8Array(256 * 1024);

type Scanned = ReturnType<typeof scanText>;

/**
 * Searches one file as ripgrep does: by lines, broken UTF-8 tolerated, UTF-16 by its mark, binary files left
 * out.
 */
export function scanFile(path: string, matcher: Matcher, request: SearchRequest): Scanned {
  try {
    using file = Deno.openSync(path);
    const read = file.readSync(BUFFER) ?? 0;
    if (read < BUFFER.length) return scanBytes(BUFFER.subarray(0, read), matcher, request);
    const { size } = file.statSync();
    if (size > MAX_WHOLE && request.multiline) return undefined;
    if (size > PART && !request.multiline) return scanParts(path, matcher, request);
    return scanBytes(Deno.readFileSync(path), matcher, request);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
      return undefined;
    }
    if (error instanceof Deno.errors.NotCapable) return undefined;
    throw error;
  }
}

function scanBytes(bytes: Uint8Array, matcher: Matcher, request: SearchRequest): Scanned {
  const wide = wideEncoding(bytes);
  if (wide) return scanText(new TextDecoder(wide).decode(bytes), false, matcher, request);
  const end = textEnd(bytes, request);
  if (end === 0) return undefined;
  const part = end < bytes.length ? bytes.subarray(0, end) : bytes;
  const text = UTF8.decode(part);
  return scanText(text, text.length === part.length && !text.includes("\ufffd"), matcher, request);
}

function wideEncoding(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  return bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : undefined;
}

/**
 * Returns how much of a file is text to be searched: all of it, or the pieces before the one with a NUL byte.
 */
function textEnd(bytes: Uint8Array, request: SearchRequest): number {
  const nul = bytes.indexOf(0);
  if (nul < 0) return bytes.length;
  if (request.mode === "count") return 0;
  if (request.multiline) return nul < PIECE ? 0 : bytes.length;
  let start = 0;
  while (nul >= start + PIECE) {
    const newline = bytes.lastIndexOf(10, start + PIECE - 1);
    start = newline < start ? start + PIECE : newline + 1;
  }
  return start;
}

function scanParts(path: string, matcher: Matcher, request: SearchRequest): Scanned {
  using file = Deno.openSync(path);
  const buffer = new Uint8Array(PART);
  const lines: TextMatches["lines"][number][] = [];
  let [kept, count, line] = [0, 0, 0];
  while (true) {
    const read = file.readSync(buffer.subarray(kept));
    const end = kept + (read ?? 0);
    if (end === 0) break;
    const newline = buffer.lastIndexOf(10, end - 1);
    if (read !== null && newline < 0 && end < PART) {
      kept = end;
      continue;
    }
    const stop = read === null || newline < 0 ? end : newline + 1;
    const part = buffer.subarray(0, stop);
    if (part.includes(0)) break;
    const found = scanBytes(part, matcher, request);
    if (found === "long") return found;
    for (const hit of found?.lines ?? []) lines.push({ ...hit, number: hit.number + line });
    count += found?.count ?? 0;
    if (read === null || count > request.maxLines || (count > 0 && request.mode === "files")) break;
    line += countNewlines(part);
    buffer.copyWithin(0, stop, end);
    kept = end - stop;
  }
  return count === 0 ? undefined : { count, lines };
}

function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++;
  return count;
}
