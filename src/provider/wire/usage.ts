import type { Usage } from "../../core/mod.ts";
import { isRecord } from "../../util/json.ts";

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** Reads a usage object in any of the spellings vendors use, or undefined when it counts nothing. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = record(value);
  const inputDetails = record(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const outputDetails = record(usage.completion_tokens_details ?? usage.output_tokens_details);
  const cached = count(inputDetails.cached_tokens) ??
    count(usage.prompt_cache_hit_tokens) ??
    count(usage.cached_tokens) ?? count(usage.cache_read_input_tokens) ?? 0;
  const missed = count(usage.prompt_cache_miss_tokens);
  const input = count(usage.prompt_tokens) ?? count(usage.input_tokens) ??
    (missed === undefined ? undefined : cached + missed);
  const said = count(usage.completion_tokens) ?? count(usage.output_tokens);
  if (input === undefined && said === undefined) return undefined;
  const reasoning = count(outputDetails.reasoning_tokens) ??
    count(usage.reasoning_tokens) ?? 0;
  // Some vendors leave reasoning out of the completion count; their total gives it away.
  const apart = reasoning > 0 && count(usage.total_tokens) === (input ?? 0) + (said ?? 0) + reasoning;
  const output = (said ?? 0) + (apart ? reasoning : 0);
  const read = Math.min(cached, input ?? 0);
  const written = Math.min(count(inputDetails.cache_write_tokens) ?? 0, (input ?? 0) - read);
  return {
    inputTokens: input ?? 0,
    cachedTokens: read,
    ...(written > 0 ? { cacheWriteTokens: written } : {}),
    outputTokens: output,
    reasoningTokens: Math.min(reasoning, output),
  };
}
