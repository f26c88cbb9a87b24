import type { Chunk } from "../../core/mod.ts";
import { safeText } from "../../util/json.ts";

export type Channel = "text" | "reasoning";

/** Joins the pieces of a reply's text into chunks that can be shown, whole characters only. */
export class SpokenText {
  #channel: Channel = "text";
  #pending = "";
  #chunks: Chunk[] = [];
  /** First half of a surrogate pair whose second half is due in the next piece. */
  #half = "";

  append(channel: Channel, text: string): void {
    if (text === "") return;
    if (channel !== this.#channel) {
      this.#flush(true);
      this.#channel = channel;
    }
    this.#pending += text;
  }

  /** Returns what has come since the last call, adjacent pieces joined. */
  take(): readonly Chunk[] {
    this.#flush(false);
    return this.#taken();
  }

  /** Returns what is left when nothing follows. */
  end(): readonly Chunk[] {
    this.#flush(true);
    return this.#taken();
  }

  #taken(): readonly Chunk[] {
    const chunks = this.#chunks;
    if (chunks.length > 0) this.#chunks = [];
    return chunks;
  }

  /**
   * Makes a chunk of the pending text. Unless it is `final`, half a surrogate pair at its end waits for the
   * other half.
   */
  #flush(final: boolean): void {
    if (this.#pending === "" && !(final && this.#half !== "")) return;
    let text = this.#half + this.#pending;
    this.#half = "";
    this.#pending = "";
    if (!final && endsInHalf(text)) {
      this.#half = text.slice(-1);
      text = text.slice(0, -1);
    }
    if (text !== "") this.#chunks.push({ type: this.#channel, text: safeText(text) });
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
