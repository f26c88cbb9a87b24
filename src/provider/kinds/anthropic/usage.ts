import type { Usage } from "../../../core/mod.ts";
import { isRecord } from "../../../util/json.ts";

/**
 * The counts of a reply. The server tells them at the beginning and again at the end, each time for all of
 * the reply so far: what comes later takes the place of what came before.
 */
export class ReplyUsage {
  #fresh = 0;
  #read = 0;
  #written = 0;
  #output = 0;
  #thinking = 0;
  /** True once the server has counted anything. */
  #counted = false;

  add(usage: unknown): void {
    if (!isRecord(usage)) return;
    this.#fresh = this.#latest(usage.input_tokens, this.#fresh);
    this.#read = this.#latest(usage.cache_read_input_tokens, this.#read);
    this.#written = this.#latest(usage.cache_creation_input_tokens, this.#written);
    this.#output = this.#latest(usage.output_tokens, this.#output);
    const { output_tokens_details: details } = usage;
    if (isRecord(details)) this.#thinking = this.#latest(details.thinking_tokens, this.#thinking);
  }

  /** Undefined when the server counted nothing. */
  get value(): Usage | undefined {
    if (!this.#counted) return undefined;
    return {
      inputTokens: this.#fresh + this.#read + this.#written,
      cachedTokens: this.#read,
      outputTokens: this.#output,
      reasoningTokens: Math.min(this.#thinking, this.#output),
      ...(this.#written > 0 ? { cacheWriteTokens: this.#written } : {}),
    };
  }

  #latest(value: unknown, before: number): number {
    if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return before;
    this.#counted = true;
    return Math.round(value);
  }
}
