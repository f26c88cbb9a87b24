import { type ExistingFile, type Target } from "../../file/target.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { MAX_IMAGE_FILE_BYTES } from "../../../path/reference_text.ts";
import { imageInfo } from "../../../util/image/image_info.ts";
import { readBytes } from "../../file/read_bytes.ts";
import { osReason } from "../../file/os_reason.ts";
import { stampOf } from "../../file/text_file.ts";
import { detectEncoding, type Encoding } from "../../text/encoding.ts";
import { eolStyle } from "../../text/eol.ts";
import type { ToolContext, ToolResult } from "../../tool.ts";
import { describeBinary, describeImage } from "./describe.ts";
import { LineWindow, type Page, showPage } from "./page.ts";

const CHUNK_BYTES = 256 * 1024;
/** A line longer than this is not collected any further; only its beginning can be shown. */
const LINE_CHARS = 64 * 1024;

/** Reads one page of a file of any size in bounded memory, and not past the page. */
export async function readLarge(context: ToolContext, file: ExistingFile, page: Page): Promise<ToolResult> {
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
  const feeder = new LineFeeder(window);
  feeder.feed(head);
  while (window.wantsMore) {
    context.signal.throwIfAborted();
    const count = await handle.read(chunk);
    if (count === null) {
      feeder.end(decoder.decode());
      break;
    }
    feeder.feed(decoder.decode(chunk.subarray(0, count), { stream: true }));
  }
  context.seen.set(stampOf(file.path, file.info));
  return showPage(window, page, {
    ...found,
    shown: file.shown,
    totalBytes: file.info.size,
    open: !feeder.ended,
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

/** Cuts a stream of text into lines for a window. */
class LineFeeder {
  ended = false;
  #rest = "";
  readonly #window: LineWindow;
  readonly #mark: string;

  constructor(window: LineWindow) {
    this.#window = window;
    this.#mark = window.style.dominant === "\r" ? "\r" : "\n";
  }

  feed(text: string): void {
    let start = 0;
    for (let end = text.indexOf(this.#mark); end >= 0; end = text.indexOf(this.#mark, start)) {
      if (!this.#window.wantsMore) return;
      const line = this.#rest + text.slice(start, end);
      this.#rest = "";
      this.#window.push(line.endsWith("\r") ? line.slice(0, -1) : line);
      start = end + 1;
    }
    if (this.#rest.length < LINE_CHARS) this.#rest += text.slice(start);
  }

  end(text: string): void {
    this.feed(text);
    if (!this.#window.wantsMore) return;
    this.ended = true;
    if (this.#rest !== "") this.#window.push(this.#rest);
    this.#window.finish(this.#rest !== "");
  }
}
