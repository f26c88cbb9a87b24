import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { readBytes } from "../../file/read_bytes.ts";
import { resolveRead, statRegular } from "../../file/target.ts";
import { decodeRemembering, stampOf } from "../../file/text_file.ts";
import { imageInfo } from "../../../util/image/image_info.ts";
import { describeBinary, describeImage } from "./describe.ts";
import { LineWindow, type Page, showPage } from "./page.ts";
import { readLarge } from "./large.ts";
import { eolStyle } from "../../text/eol.ts";

/** Up to this size a file is read in one piece; above it, it is streamed up to the last line wanted. */
const WHOLE_BYTES = 8 * 1024 * 1024;

export async function readFile(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const page = pageOf(args);
  const file = await statRegular(await resolveRead(context, String(args.path)), context);
  if (file.info.size > WHOLE_BYTES) {
    if (args.last === undefined) return await readLarge(context, file, page);
    return failure(`${file.shown} is too large to count its lines from the end`, "use bash: tail -n");
  }
  const bytes = await readBytes(file, context);
  const image = imageInfo(bytes);
  if (image) return describeImage(context, file, bytes, image);
  const decoded = decodeRemembering(bytes, context.seen.get(file.path)?.encoding);
  if (!decoded) return describeBinary(file, bytes);
  context.seen.set(stampOf(file.path, file.info, { bytes, encoding: decoded.encoding }));
  const wanted = typeof args.last === "number" ? lastPage(decoded.text, args.last, page) : page;
  return showPage(windowOf(decoded.text, wanted), wanted, {
    ...decoded,
    totalBytes: bytes.length,
    shown: file.shown,
  });
}

/** The page that begins so many lines before the end. */
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

/** The lines of a page, out of a whole text in memory. Only the lines of the page are cut out. */
function windowOf(text: string, page: Page): LineWindow {
  const style = eolStyle(text);
  const mark = style.dominant === "\r" ? "\r" : "\n";
  const window = new LineWindow(page, style);
  let start = 0;
  while (start < text.length) {
    const found = text.indexOf(mark, start);
    const end = found < 0 ? text.length : found;
    if (window.wantsMore) {
      const crlf = mark === "\n" && found > start && text.charCodeAt(found - 1) === 13;
      window.push(window.inPage ? text.slice(start, crlf ? end - 1 : end) : "");
    } else window.skip();
    start = end + 1;
  }
  window.finish(text.length > 0 && !text.endsWith(mark));
  return window;
}
