/** Shapes that several event kinds share; see event_schema.ts. */
import * as z from "zod/mini";
import type { WrittenMessage } from "./texts.ts";

export const toolCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() });
export const image = z.object({ mime: z.string(), data: z.string() });
export const usage = z.object({
  inputTokens: z.number(),
  cachedTokens: z.number(),
  outputTokens: z.number(),
  reasoningTokens: z.number(),
  cacheWriteTokens: z.optional(z.number()),
  scripted: z.optional(z.literal(true)),
});
/** What one wire wants back exactly as it came. */
export const providerPart = z.object({
  kind: z.string(),
  provider: z.string(),
  model: z.string(),
  data: z.unknown(),
});
export const cost = z.object({ amount: z.number(), currency: z.string() });
export const spent = { usage: z.optional(usage), cost: z.optional(cost), durationMs: z.number() };
export const finishReason = z.enum(["stop", "tool_calls", "length", "content_filter", "unknown"]);
export const toolSchema = z.object({
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()),
});
export const todoItem = z.object({
  content: z.string(),
  status: z.enum(["pending", "in_progress", "completed"]),
});

/** The part of a tool output that was left out before it was stored, and where the whole is. */
export const truncation = z.object({
  /** The part that was cut away. */
  cut: z.enum(["head", "middle", "tail", "lines"]),
  reason: z.enum(["bytes", "lines", "matches", "line_length"]),
  totalBytes: z.optional(z.number()),
  totalLines: z.optional(z.number()),
  keptBytes: z.number(),
  /** File with the full text. */
  fullText: z.optional(z.string()),
});

/** A file a call created, changed, moved or removed, for front ends, checkpoints and statistics. */
export const fileChange = z.object({
  path: z.string(),
  change: z.enum(["created", "updated", "unchanged", "deleted", "moved"]),
  from: z.optional(z.string()),
  added: z.number(),
  removed: z.number(),
  /** False: only computed, the file is as it was. */
  written: z.optional(z.boolean()),
  /** Bounded unified diff. */
  diff: z.optional(z.string()),
});

/** What is and what is not confined around commands. */
export const confinement = z.object({
  /** The jail; absent: there is none. */
  backend: z.optional(z.string()),
  /** Why there is none. */
  why: z.optional(z.string()),
  /** File tools are not confined either. */
  full: z.optional(z.boolean()),
  /** What stands without a jail. */
  standing: z.optional(z.array(
    z.enum(["denyRules", "destructive", "askRules", "workspace", "forbidRead", "environment", "trust"]),
  )),
  /** Nothing of the workspace can be written. */
  readOnly: z.optional(z.boolean()),
  /** Directories that can be written, the project as an empty text. */
  roots: z.optional(z.array(z.string())),
  /** Commands have a `/tmp` of their own. */
  privateTmp: z.optional(z.boolean()),
  network: z.optional(z.enum(["none", "filtered", "open"])),
  /** Why the network cannot be confined though it should be. */
  openNetwork: z.optional(z.string()),
  /** Paths hidden by forbid_read. */
  forbidden: z.optional(z.number()),
  /** Paths hidden by Read rules. */
  ruled: z.optional(z.number()),
  /** More than that match Read rules, and stay visible. */
  capped: z.optional(z.boolean()),
});

const writtenMessage: z.ZodMiniType<WrittenMessage> = z.lazy(() =>
  z.readonly(z.array(z.union([z.string(), writtenMessage])))
);

/**
 * The text of the event for people who speak another language: messages in a row, each `[template,
 * ...values]`. Sessions of earlier versions hold codes in place of templates.
 */
export const said = z.optional(z.readonly(z.array(writtenMessage)));

/** What a session is doing; `idle` is before its first turn. */
export const turnState = z.enum([
  "idle",
  "preparing",
  "generating",
  "awaiting_approval",
  "awaiting_answer",
  "running_tools",
  "compacting",
  "verifying",
  "done",
  "failed",
  "stopped",
]);
