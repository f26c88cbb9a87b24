import { type FoundFile, type SearchRequest } from "../request.ts";
import { scanFile } from "./scan_file.ts";
import { compileMatcher, type Matcher } from "./scan_text.ts";

/** Searches a list of files one after the other, in steps of a given time. */
export class ScanJob {
  total = 0;
  next = 0;
  /** Files that were left out because searching them may take long. */
  readonly left: string[] = [];
  #found: FoundFile[] = [];
  readonly #files: readonly string[];
  readonly #request: SearchRequest;
  readonly #matcher: Matcher;
  readonly #isQuick: boolean;

  /** `timeBoxed`: no step takes much longer than it should; files that could do that are left out. */
  constructor(files: readonly string[], request: SearchRequest, timeBoxed = false) {
    this.#files = files;
    this.#request = request;
    this.#matcher = compileMatcher(request, timeBoxed);
    this.#isQuick = this.#matcher.pattern.matchCost.repetitions === 0;
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
      if (found === "long") this.left.push(path);
      else if (found) {
        this.total += found.count;
        this.#found.push({ path, ...found });
      }
      // The clock costs as much as a small file.
      if ((!this.#isQuick || this.next % 16 === 0) && performance.now() > end) break;
    }
    const out = this.#found;
    this.#found = [];
    return out;
  }
}
