import type { AssistantMessage, Message, NewEvent, Prefix, PreparedCall, ToolCall } from "../../core/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import type { SessionState } from "../../session/mod.ts";

/** The conversation a compaction works on. Recording an event is the only way it changes. */
export interface CompactedConversation {
  readonly prefix: Prefix;
  readonly state: Pick<SessionState, "messages" | "sources" | "lastUsage" | "todos">;
  record(event: NewEvent): void | Promise<void>;
}

/** `[compaction]` of the configuration. */
export interface CompactionSettings {
  /** Compact when the window fills up; without it only on demand and when the server refuses. */
  readonly auto: boolean;
  /** Part of the window that triggers it. */
  readonly ratio: number;
  readonly strategy: "summarize" | "prune";
  /** Shorten old tool outputs first. */
  readonly prune: boolean;
  /** Tokens; 0 = chosen from the window. */
  readonly maxSummaryTokens: number;
}

/** Programs of the user that run around a compaction. Contract: no method rejects. */
export interface CompactionHooks {
  /** Returns why nothing may be compacted; undefined: continue. */
  before(
    trigger: "auto" | "manual",
    hint: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /** Their instructions for the next summary. */
  guide(): string | undefined;
  /** The conversation is shorter now. */
  after(trigger: "auto" | "manual", signal: AbortSignal): Promise<void>;
}

export interface CompactionOptions {
  readonly provider: Provider;
  readonly conversation: CompactedConversation;
  readonly settings: CompactionSettings;
  /** Tokens the model accepts as far as known now; 0 turns automatic compaction off. */
  readonly window: () => number;
  /** Reports what an earlier call was about. */
  readonly describe: (call: ToolCall) => PreparedCall | undefined;
  /** Keeps the originals, one message a line, and returns where. A failure is a notice, nothing more. */
  readonly archive?: (messages: readonly Message[]) => string | Promise<string>;
  /** Another model that writes the summary (`compaction.summary_model`); asked for once. */
  readonly summaryProvider?: () => Promise<Provider>;
  readonly hooks?: CompactionHooks | undefined;
  /**
   * The part of a message that must outlive a compaction, such as an activated skill; it is sent again,
   * pinned.
   */
  readonly carry?: (message: Message) => string | undefined;
  /** Reports whether the reasoning of a reply is sent back to the model; absent: of none. */
  readonly sendsReasoning?: (message: AssistantMessage) => boolean;
}

/** The methods of compaction, best first. `none`: nothing could be left out. */
export type CompactionMethod =
  | "prune"
  | "summary"
  | "summary of shortened outputs"
  | "summary in parts"
  | "extract"
  | "drop"
  | "none";

export interface CompactionReport {
  readonly method: CompactionMethod;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly removed?: number;
  readonly archive?: string;
  /** The reason a better method was not used. */
  readonly problem?: string;
}

/**
 * Returns the fill at which compaction begins: a part of the window, and never so late that no answer fits.
 */
export function triggerOf(window: number, ratio: number, maxOutputTokens = 0): number {
  const most = maxOutputTokens < window / 2 ? window - maxOutputTokens : window;
  return Math.floor(Math.min(window * ratio, most));
}
