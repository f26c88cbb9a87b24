/** Shortens text for the model: every cut leaves a marker in the text and a record. */
import { byteLength } from "../util/bytes.ts";
import type { ToolContext, Truncation } from "./tool.ts";

export interface Caps {
  readonly maxBytes: number;
  readonly maxLines?: number;
}

/** Text within its caps. `truncated` is absent when nothing was left out. */
export interface Cut {
  readonly text: string;
  readonly truncated?: Truncation;
}

export interface CutOptions {
  readonly next?: string;
  readonly fullText?: string;
  readonly totalBytes?: number;
  readonly totalLines?: number;
}

export const DEFAULT_CAPS: Caps = { maxBytes: 16_000, maxLines: 2_000 };

export function keepHead(text: string, caps: Caps, options: CutOptions = {}): Cut {
  if (fits(text, caps)) return { text };
  const kept = text.slice(0, headEnd(text, caps));
  return marked(kept, "", { cut: "tail", reason: reasonFor(text, caps) }, { text, options });
}

export function keepTail(text: string, caps: Caps, options: CutOptions = {}): Cut {
  if (fits(text, caps)) return { text };
  const kept = text.slice(tailStart(text, caps));
  return marked("", kept, { cut: "head", reason: reasonFor(text, caps) }, { text, options });
}

/** Keeps the beginning and the end, half of the caps each. */
export function keepEnds(text: string, caps: Caps, options: CutOptions = {}): Cut {
  if (fits(text, caps)) return { text };
  const half = halved(caps);
  const head = text.slice(0, headEnd(text, half));
  const rest = text.slice(head.length);
  const tail = rest.slice(tailStart(rest, half));
  return marked(head, tail, { cut: "middle", reason: reasonFor(text, caps) }, { text, options });
}

/** Shortens one line to about `maxBytes` and notes its whole length. */
export function cutLine(line: string, maxBytes: number): string {
  if (line.length * 3 <= maxBytes) return line;
  const total = byteLength(line);
  if (total <= maxBytes) return line;
  const kept = line.slice(0, byteIndex(line, maxBytes));
  return `${kept}… [line cut: ${total} bytes in all]`;
}

export function spillPath(context: ToolContext): string {
  const name = context.callId.replace(/[^A-Za-z0-9_-]/g, "_").slice(-80) || "output";
  return `${context.outputDir}/${name}.txt`;
}

/** Points to the file with everything, which file tools and jailed commands can read. */
export function whereFullText(path: string): string {
  return `full text: ${path}`;
}

function marked(
  head: string,
  tail: string,
  record: Pick<Truncation, "cut" | "reason">,
  whole: { readonly text: string; readonly options: CutOptions },
): Cut {
  const { options } = whole;
  const totalBytes = options.totalBytes ?? byteLength(whole.text);
  const totalLines = options.totalLines ?? newlines(whole.text) + 1;
  const keptBytes = byteLength(head) + byteLength(tail);
  const next = options.next ??
    (options.fullText ? whereFullText(options.fullText) : "narrow the request to see more");
  const lines = newlines(head) + newlines(tail) + 1;
  const what = `${totalBytes - keptBytes} of ${totalBytes} bytes, about ${
    Math.max(0, totalLines - lines)
  } of ${totalLines} lines`;
  const marker = `[${record.cut} cut: ${what} left out; ${next}]`;
  const text = [head.replace(/\n$/, ""), marker, tail.replace(/^\n/, "")].filter((part) => part !== "").join(
    "\n",
  );
  return {
    text,
    truncated: {
      ...record,
      totalBytes,
      totalLines,
      keptBytes,
      ...(options.fullText ? { fullText: options.fullText } : {}),
    },
  };
}

function fits(text: string, caps: Caps): boolean {
  if (caps.maxLines !== undefined && newlines(text) > caps.maxLines) return false;
  return text.length * 3 <= caps.maxBytes || byteLength(text) <= caps.maxBytes;
}

function reasonFor(text: string, caps: Caps): "bytes" | "lines" {
  return byteLength(text) > caps.maxBytes ? "bytes" : "lines";
}

function halved(caps: Caps): Caps {
  return {
    maxBytes: Math.floor(caps.maxBytes / 2),
    ...(caps.maxLines === undefined ? {} : { maxLines: Math.floor(caps.maxLines / 2) }),
  };
}

/** At the last line end within the caps, or inside a line that is too long alone. */
function headEnd(text: string, caps: Caps): number {
  let end = byteIndex(text, caps.maxBytes);
  if (caps.maxLines !== undefined) {
    let at = -1;
    for (let line = 0; line < caps.maxLines; line++) {
      at = text.indexOf("\n", at + 1);
      if (at < 0) break;
    }
    if (at >= 0 && at + 1 < end) return at + 1;
  }
  const lineEnd = text.lastIndexOf("\n", end - 1) + 1;
  if (end < text.length && lineEnd > end / 2) end = lineEnd;
  return end;
}

function tailStart(text: string, caps: Caps): number {
  let bytes = 0;
  let start = text.length;
  while (start > 0) {
    const unit = text.charCodeAt(start - 1);
    const pair = unit >= 0xdc00 && unit < 0xe000 && start > 1;
    const size = unit < 0x80 ? 1 : unit < 0x800 ? 2 : pair ? 4 : 3;
    if (bytes + size > caps.maxBytes) break;
    bytes += size;
    start -= pair ? 2 : 1;
  }
  if (caps.maxLines !== undefined) {
    let at = text.endsWith("\n") ? text.length - 1 : text.length;
    for (let line = 0; line < caps.maxLines && at >= 0; line++) {
      at = at === 0 ? -1 : text.lastIndexOf("\n", at - 1);
    }
    if (at >= start) return at + 1;
  }
  const lineStart = text.indexOf("\n", start) + 1;
  return start > 0 && lineStart > 0 && text.length - lineStart > (text.length - start) / 2
    ? lineStart
    : start;
}

/** The index up to which the text takes at most `maxBytes` in UTF-8, never inside a surrogate pair. */
function byteIndex(text: string, maxBytes: number): number {
  let bytes = 0;
  for (let index = 0; index < text.length;) {
    const unit = text.charCodeAt(index);
    const pair = unit >= 0xd800 && unit < 0xdc00 && index + 1 < text.length;
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : pair ? 4 : 3;
    if (bytes > maxBytes) return index;
    index += pair ? 2 : 1;
  }
  return text.length;
}

function newlines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
