import { message, ReasonixError, type Text, textOf } from "../../../core/mod.ts";
import { MAX_IMAGE_FILE_BYTES } from "../../../path/reference_text.ts";
import { osReason } from "../../file/os_reason.ts";
import {
  decodeRemembering,
  type ExistingFile,
  loadCurrent,
  readBytes,
  resolveRead,
  stampOf,
  statRegular,
  type Target,
} from "../../file/text_file.ts";
import { detectEncoding, type Encoding, encodingName } from "../../text/encoding.ts";
import { type EolStyle, eolStyle } from "../../text/eol.ts";
import { failure, type ToolContext, type ToolResult, type Truncation } from "../../tool.ts";
import { cutLine } from "../../truncation.ts";
import { byteLength } from "../../../util/bytes.ts";
import { ascii, type ImageInfo, imageInfo, starts } from "../../../util/image/image_info.ts";

/** Up to this size a file is read in one piece; above it, it is streamed up to the last line wanted. */
const WHOLE_BYTES = 8 * 1024 * 1024;

export async function readFile(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const page = pageOf(args);
  const file = await statRegular(await resolveRead(context, String(args.path)), context);
  if (file.info.size > WHOLE_BYTES) {
    if (args.last === undefined) return await readLarge(context, file, page);
    return failure(`${file.shown} is too large to count its lines from the end`, "use bash: tail -n");
  }
  const { bytes, unsaved, conflict } = await loadCurrent(context, file);
  const image = imageInfo(bytes);
  if (image) return describeImage(context, file, bytes, image);
  const decoded = decodeRemembering(bytes, context.seen.get(file.path)?.encoding);
  if (!decoded) return describeBinary(file, bytes);
  if (!conflict) {
    context.seen.set(file.path, stampOf(file.path, file.info, { bytes, encoding: decoded.encoding }));
  }
  const wanted = typeof args.last === "number" ? lastPage(decoded.text, args.last, page) : page;
  return showPage(windowOf(decoded.text, wanted), wanted, {
    ...decoded,
    totalBytes: bytes.length,
    shown: file.shown,
    ...(unsaved ? { note: "text of the editor, not saved: commands and searches see an older one" } : {}),
    ...(conflict ? { note: `${conflict.message}; this is the text on the disk` } : {}),
  });
}

function lastPage(text: string, count: number, { limit }: Page): Page {
  const total = windowOf(text, { offset: Infinity, limit: 1 }).total;
  return { offset: Math.max(1, total - count + 1), limit: limit ?? count };
}

function pageOf(args: Record<string, unknown>): Page {
  return {
    offset: typeof args.offset === "number" ? args.offset : 1,
    limit: typeof args.limit === "number" ? args.limit : undefined,
  };
}

/** The lines of a page of a whole text, whose lines are all counted. */
function windowOf(text: string, page: Page): LineWindow {
  const window = new LineWindow(page, eolStyle(text), true);
  window.end(text);
  return window;
}

const DEFAULT_LINES = 2000;
const MAX_BYTES = 32 * 1024;
const MAX_LINE_BYTES = 2000;

interface Page {
  readonly offset: number;
  readonly limit: number | undefined;
}

/** A line longer than this is not collected any further; only its beginning can be shown. */
const LINE_CHARS = 64 * 1024;

/** Cuts text into lines and keeps those of the page, numbered and within the byte cap. */
class LineWindow {
  readonly rows: string[] = [];
  total = 0;
  bytes = 0;
  cutLines = 0;
  full = false;
  noFinalNewline = false;
  /** The text was taken to its end, so that all its lines are counted. */
  complete = false;
  readonly style: EolStyle;
  readonly #page: Page;
  readonly #countsAll: boolean;
  #rest = "";

  constructor(page: Page, style: EolStyle, countsAll = false) {
    this.#page = page;
    this.style = style;
    this.#countsAll = countsAll;
  }

  get wantsMore(): boolean {
    return !this.full && this.rows.length < (this.#page.limit ?? DEFAULT_LINES);
  }

  feed(text: string): void {
    const mark = this.style.dominant === "\r" ? "\r" : "\n";
    let start = 0;
    for (let end = text.indexOf(mark); end >= 0; end = text.indexOf(mark, start)) {
      if (this.wantsMore) {
        const isShown = this.total + 1 >= this.#page.offset;
        const line = isShown ? this.#rest + text.slice(start, end) : "";
        this.#push(line.endsWith("\r") ? line.slice(0, -1) : line);
      } else if (this.#countsAll) this.total++;
      else return;
      this.#rest = "";
      start = end + 1;
    }
    if (this.#rest.length < LINE_CHARS) this.#rest += text.slice(start);
  }

  end(text: string): void {
    this.feed(text);
    if (!this.wantsMore && !this.#countsAll) return;
    this.complete = true;
    this.noFinalNewline = this.#rest !== "";
    if (this.#rest === "") return;
    if (this.wantsMore) this.#push(this.#rest);
    else this.total++;
  }

  #push(line: string): void {
    this.total++;
    if (this.total < this.#page.offset) return;
    const shown = cutLine(line.toWellFormed(), MAX_LINE_BYTES);
    const row = `${String(this.total).padStart(4)}→${shown}`;
    const size = byteLength(row) + 1;
    if (this.bytes + size > MAX_BYTES && this.rows.length > 0) {
      this.full = true;
      return;
    }
    if (shown !== line && shown.endsWith("bytes in all]")) this.cutLines++;
    this.bytes += size;
    this.rows.push(row);
  }
}

interface PageFile {
  readonly shown: string;
  readonly encoding: Encoding;
  readonly bom: boolean;
  readonly totalBytes: number;
  /** The rest of the file was not read, so the number of lines is a lower bound. */
  readonly open?: boolean;
  /** The editor that shows the file has another text. */
  readonly note?: string;
}

function showPage(window: LineWindow, page: Page, file: PageFile): ToolResult {
  const notes = fileNotes(window, file);
  if (window.total === 0) return { content: ["(empty file)", ...notes].join("\n"), summary: message`empty` };
  if (window.rows.length === 0) {
    const content = `(offset ${page.offset} is past the end: ${file.shown} has ${window.total} lines)`;
    return { content, summary: message`past the end of ${window.total} lines` };
  }
  const last = page.offset + window.rows.length - 1;
  const whole = file.open !== true && last === window.total;
  const total = file.open ? message`more than ${window.total}` : String(window.total);
  if (!whole) {
    notes.unshift(`[lines ${page.offset}–${last} of ${textOf(total)}; continue with offset ${last + 1}]`);
  }
  const truncated = truncationOf(window, page, file, whole);
  return {
    content: [...window.rows, ...notes].join("\n"),
    summary: whole && page.offset === 1
      ? lines(window.rows.length)
      : message`lines ${page.offset}–${last} of ${total}`,
    ...(truncated ? { truncated } : {}),
  };
}

function lines(count: number): Text {
  return count === 1 ? message`1 line` : message`${count} lines`;
}

/** Anything but plain UTF-8 with LF, which edits have to keep. */
function fileNotes(window: LineWindow, file: PageFile): string[] {
  const notes: string[] = [];
  if (file.encoding !== "utf-8" || file.bom) notes.push(`encoding ${encodingName(file.encoding, file.bom)}`);
  if (window.style.mixed) notes.push("mixed CRLF and LF line ends");
  else if (window.style.dominant !== "\n") {
    notes.push(`${window.style.dominant === "\r" ? "CR" : "CRLF"} line ends`);
  }
  if (window.noFinalNewline) notes.push("no newline at the end");
  return [
    ...(notes.length > 0 ? [`[${notes.join("; ")}; kept by edits]`] : []),
    ...(file.note === undefined ? [] : [`[${file.note}]`]),
  ];
}

/** A page the model chose itself is not a truncation. */
function truncationOf(
  window: LineWindow,
  page: Page,
  file: PageFile,
  whole: boolean,
): Truncation | undefined {
  const totals = {
    totalBytes: file.totalBytes,
    ...(file.open ? {} : { totalLines: window.total }),
    keptBytes: window.bytes,
  };
  if (window.full) return { cut: "tail", reason: "bytes", ...totals };
  if (!whole && page.limit === undefined) return { cut: "tail", reason: "lines", ...totals };
  if (window.cutLines > 0) return { cut: "lines", reason: "line_length", ...totals };
  return undefined;
}

const CHUNK_BYTES = 256 * 1024;

/** Reads one page of a file of any size in bounded memory, and not past the page. */
async function readLarge(context: ToolContext, file: ExistingFile, page: Page): Promise<ToolResult> {
  using handle = await opened(file);
  await context.paths.verifyOpened?.(handle, file.path);
  const chunk = new Uint8Array(CHUNK_BYTES);
  const first = chunk.slice(0, await handle.read(chunk) ?? 0);
  const image = imageInfo(first);
  if (image) {
    const fits = file.info.size <= MAX_IMAGE_FILE_BYTES;
    return describeImage(context, file, fits ? await readBytes(file, context) : undefined, image);
  }
  const found = detectEncoding(first, false);
  if (!found) return describeBinary(file, first);
  const decoder = new TextDecoder(labelOf(found.encoding), { ignoreBOM: false });
  const head = decoder.decode(first, { stream: true });
  const window = new LineWindow(page, eolStyle(head));
  window.feed(head);
  while (window.wantsMore) {
    context.signal.throwIfAborted();
    const count = await handle.read(chunk);
    if (count === null) {
      window.end(decoder.decode());
      break;
    }
    window.feed(decoder.decode(chunk.subarray(0, count), { stream: true }));
  }
  context.seen.set(file.path, stampOf(file.path, file.info));
  return showPage(window, page, {
    ...found,
    shown: file.shown,
    totalBytes: file.info.size,
    open: !window.complete,
  });
}

async function opened(file: Target): Promise<Deno.FsFile> {
  try {
    return await Deno.open(file.path, { read: true });
  } catch (error) {
    throw new ReasonixError(`Cannot read ${file.shown}: ${osReason(error)}`);
  }
}

function labelOf(encoding: Encoding): string {
  return encoding === "utf-8-escaped" ? "utf-8" : encoding;
}

/** The image for a model that sees, else a description. Without bytes it is too large. */
function describeImage(
  context: ToolContext,
  file: ExistingFile,
  bytes: Uint8Array | undefined,
  image: ImageInfo,
): ToolResult {
  const kind = image.mime.slice("image/".length).toUpperCase();
  const size = image.width === undefined ? "" : `, ${image.width}×${image.height} pixels`;
  const summary = `${kind} image${size}, ${bytes?.length ?? file.info.size} bytes`;
  const what = `${file.shown}: ${summary}`;
  if (!context.settings.vision) return { content: `${what}; this model cannot see images`, summary };
  if (!bytes) {
    return { content: `${what}; too large to show (at most ${MAX_IMAGE_FILE_BYTES})`, summary };
  }
  return { content: what, summary, images: [{ mime: image.mime, data: bytes.toBase64() }] };
}

function describeBinary(file: ExistingFile, bytes: Uint8Array): ToolResult {
  const size = file.info.size || bytes.length;
  const what = `binary file, ${binaryKind(bytes)}, ${size} bytes`;
  return {
    content: `${file.shown}: ${what}; use bash (file, xxd, strings, unzip -l) to look inside`,
    summary: what,
  };
}

const MAGIC: readonly (readonly [string, readonly number[]])[] = [
  ["PDF document", [0x25, 0x50, 0x44, 0x46, 0x2d]],
  ["zip archive (also docx, xlsx, jar)", [0x50, 0x4b, 0x03, 0x04]],
  ["gzip data", [0x1f, 0x8b]],
  ["bzip2 data", [0x42, 0x5a, 0x68]],
  ["xz data", [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ["zstd data", [0x28, 0xb5, 0x2f, 0xfd]],
  ["7-zip archive", [0x37, 0x7a, 0xbc, 0xaf]],
  ["ELF program", [0x7f, 0x45, 0x4c, 0x46]],
  ["Mach-O program", [0xcf, 0xfa, 0xed, 0xfe]],
  ["Windows program", [0x4d, 0x5a]],
  ["Java class or Mach-O universal program", [0xca, 0xfe, 0xba, 0xbe]],
  ["WebAssembly module", [0x00, 0x61, 0x73, 0x6d]],
  ["SQLite database", [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65, 0x20, 0x66]],
  ["Ogg media", [0x4f, 0x67, 0x67, 0x53]],
  ["MP3 audio", [0x49, 0x44, 0x33]],
  ["TIFF image", [0x49, 0x49, 0x2a, 0x00]],
  ["BMP image", [0x42, 0x4d]],
  ["icon", [0x00, 0x00, 0x01, 0x00]],
  ["OpenType font", [0x4f, 0x54, 0x54, 0x4f]],
  ["WOFF font", [0x77, 0x4f, 0x46]],
];

function binaryKind(bytes: Uint8Array): string {
  if (ascii(bytes, 257, 5) === "ustar") return "tar archive";
  if (ascii(bytes, 4, 4) === "ftyp") return "MP4 or HEIF media";
  return MAGIC.find(([, magic]) => starts(bytes, magic))?.[0] ?? "unknown kind";
}
