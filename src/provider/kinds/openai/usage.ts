import type { Usage } from "../../../core/mod.ts";

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
}

/** Reads a usage object in any of the spellings vendors use, or undefined when it counts nothing. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = record(value);
  const cached = count(record(usage.prompt_tokens_details).cached_tokens) ??
    count(usage.prompt_cache_hit_tokens) ??
    count(usage.cached_tokens) ?? count(usage.cache_read_input_tokens) ?? 0;
  const missed = count(usage.prompt_cache_miss_tokens);
  const input = count(usage.prompt_tokens) ?? count(usage.input_tokens) ??
    (missed === undefined ? undefined : cached + missed);
  const said = count(usage.completion_tokens) ?? count(usage.output_tokens);
  if (input === undefined && said === undefined) return undefined;
  const reasoning = count(record(usage.completion_tokens_details).reasoning_tokens) ??
    count(usage.reasoning_tokens) ?? 0;
  // Some vendors leave reasoning out of the completion count; their total gives it away.
  const apart = reasoning > 0 && count(usage.total_tokens) === (input ?? 0) + (said ?? 0) + reasoning;
  const output = (said ?? 0) + (apart ? reasoning : 0);
  return {
    inputTokens: input ?? 0,
    cachedTokens: Math.min(cached, input ?? 0),
    outputTokens: output,
    reasoningTokens: Math.min(reasoning, output),
  };
}
