import { type FoundFile, type SearchRequest } from "./request.ts";
import { scanFile } from "./scan_file.ts";
import { compileMatcher, type Matcher } from "./scan_text.ts";

/** Searches a list of files one after the other, in steps of a given time. */
export class ScanRun {
  total = 0;
  next = 0;
  #found: FoundFile[] = [];
  readonly #files: readonly string[];
  readonly #request: SearchRequest;
  readonly #matcher: Matcher;

  constructor(files: readonly string[], request: SearchRequest) {
    this.#files = files;
    this.#request = request;
    this.#matcher = compileMatcher(request);
  }

  get full(): boolean {
    return this.total > this.#request.maxLines;
  }

  get done(): boolean {
    return this.full || this.next >= this.#files.length;
  }

  /** Goes on for about `milliseconds` and returns what was found in that time. */
  step(milliseconds: number): FoundFile[] {
    const end = performance.now() + milliseconds;
    while (!this.done) {
      const path = this.#files[this.next++] ?? "";
      const found = scanFile(path, this.#matcher, this.#request);
      if (found) {
        this.total += found.count;
        this.#found.push({ path, ...found });
      }
      // The clock costs as much as a small file.
      if (this.next % 16 === 0 && performance.now() > end) break;
    }
    const out = this.#found;
    this.#found = [];
    return out;
  }
}
