import { errorMessage, ReasonixError } from "../../core/mod.ts";
import { parseJson } from "../../util/json.ts";
import { isUsable } from "../state/messages.ts";
import type { EventReader, LogOffset } from "../state/event_nodes.ts";

/** Bytes that are read at once; places that are wanted together mostly lie together. */
const WINDOW = 1 << 17;

/** Reads events again that a scan of the file has seen. What was written there is never changed. */
export function eventReader(path: string): EventReader {
  return (places) => {
    let file: Deno.FsFile | undefined;
    try {
      file = Deno.openSync(path, { read: true });
      const window = new Window(file);
      return places.map((place) => {
        const event = parseJson(window.text(place));
        if (!isUsable(event) || event.seq !== place.seq) {
          throw new Error(`Event ${place.seq} is not where it was`);
        }
        return event;
      });
    } catch (error) {
      throw new ReasonixError(`Cannot read session ${path} again: ${errorMessage(error)}`, {
        remedy: "bring the file back as it was; its messages are read when they are needed",
        cause: error,
      });
    } finally {
      file?.close();
    }
  };
}

/** A piece of a file, moved to where something is wanted. */
class Window {
  readonly #file: Deno.FsFile;
  readonly #decoder = new TextDecoder();
  #buffer = new Uint8Array(0);
  #start = 0;
  #filled = 0;

  constructor(file: Deno.FsFile) {
    this.#file = file;
  }

  text({ offset, length }: LogOffset): string {
    if (offset < this.#start || offset + length > this.#start + this.#filled) this.#move(offset, length);
    const at = offset - this.#start;
    return this.#decoder.decode(this.#buffer.subarray(at, Math.min(at + length, this.#filled)));
  }

  #move(offset: number, length: number): void {
    const size = this.#buffer.length === 0 ? length : Math.max(WINDOW, length);
    if (this.#buffer.length < size) this.#buffer = new Uint8Array(size);
    this.#file.seekSync(offset, Deno.SeekMode.Start);
    [this.#start, this.#filled] = [offset, 0];
    while (this.#filled < this.#buffer.length) {
      const count = this.#file.readSync(this.#buffer.subarray(this.#filled));
      if (count === null) return;
      this.#filled += count;
    }
  }
}
