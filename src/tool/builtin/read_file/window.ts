import { eolStyle } from "../../text/eol.ts";
import { LineWindow, type Page } from "./page.ts";

/** The lines of a page, out of a whole text in memory. Only the lines of the page are cut out. */
export function windowOf(text: string, page: Page): LineWindow {
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
