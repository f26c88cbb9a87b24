/** An editor as the client of a session: buffers of files, saved or not, and ways to fail. */
import { ReasonixError } from "../../src/core/mod.ts";
import type { ClientFiles } from "../../src/tool/mod.ts";

export type Behavior = "honest" | "refuses" | "falsifies" | "stalls" | "dies" | "ignores" | "does not save";

export class FakeEditor implements ClientFiles {
  readonly directories: readonly string[];
  /** Texts that differ from the disk, by path. */
  readonly buffers = new Map<string, string>();
  /** Requests in their order, such as `read a.txt`. */
  readonly requests: string[] = [];
  reading: Behavior = "honest";
  writing: Behavior = "honest";
  /** Another write than the first one stalls. */
  stallsLater = false;
  /** Changes what is saved. */
  format = (text: string) => text;

  constructor(directory: string) {
    this.directories = [directory];
  }

  async read(path: string, signal: AbortSignal): Promise<string | undefined> {
    this.#note("read", path);
    await this.#fail(this.reading, signal);
    return this.buffers.get(path) ?? await Deno.readTextFile(path).catch(() => undefined);
  }

  async write(path: string, text: string, signal: AbortSignal): Promise<void> {
    this.#note("write", path);
    await this.#fail(this.writing, signal);
    if (this.writing === "ignores") return;
    if (this.writing === "does not save") return void this.buffers.set(path, text);
    this.buffers.delete(path);
    await Deno.writeTextFile(path, this.writing === "falsifies" ? "something else\n" : this.format(text));
  }

  #note(what: string, path: string): void {
    this.requests.push(`${what} ${path.replace(`${this.directories[0]}/`, "")}`);
  }

  async #fail(behavior: Behavior, signal: AbortSignal): Promise<void> {
    if (behavior === "refuses") throw new Error("disk is full");
    if (behavior === "dies") throw new ReasonixError("the connection to the editor has ended");
    if (behavior !== "stalls") return;
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => reject(signal.reason));
    await promise;
  }
}
