import type { Usage } from "../../../core/mod.ts";
import { isRecord } from "../../../util/json.ts";

/**
 * The counts of a reply. Each event counts all of the reply so far; one that leaves a count out does not take
 * it back.
 */
export class ReplyUsage {
  readonly #counts: Record<string, number> = {};

  add(usage: unknown): void {
    if (!isRecord(usage)) return;
    for (const [name, value] of Object.entries(usage)) {
      if (typeof value === "number" && Number.isFinite(value) && value >= 0) {
        this.#counts[name] = Math.round(value);
      }
    }
  }

  /** Undefined when the server counted nothing. */
  get value(): Usage | undefined {
    const {
      promptTokenCount: prompt,
      toolUsePromptTokenCount: tools = 0,
      cachedContentTokenCount: cached = 0,
      candidatesTokenCount: said,
      thoughtsTokenCount: thoughts = 0,
      totalTokenCount: total,
    } = this.#counts;
    if (prompt === undefined && said === undefined) return undefined;
    const input = (prompt ?? 0) + tools;
    // Thoughts are counted apart from what was said; the total gives away a server that does not.
    const within = thoughts > 0 && total === input + (said ?? 0);
    const output = (said ?? 0) + (within ? 0 : thoughts);
    return {
      inputTokens: input,
      cachedTokens: Math.min(cached, input),
      outputTokens: output,
      reasoningTokens: Math.min(thoughts, output),
    };
  }
}
