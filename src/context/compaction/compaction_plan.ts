import type { Message } from "../../core/mod.ts";
import type { MessageSource, SessionState } from "../../session/mod.ts";
import { prunedOutput } from "../../session/mod.ts";

/** A conversation as plans see it; `weigh` gives the tokens of a message. */
export interface Plannable {
  readonly messages: readonly Message[];
  readonly sources: readonly MessageSource[];
  readonly weigh: (message: Message) => number;
}

export function plannable(
  state: Pick<SessionState, "messages" | "sources">,
  weigh: (message: Message) => number,
): Plannable {
  return { messages: state.messages, sources: state.sources, weigh };
}

/** The messages a compaction may remove. */
export interface CompactionDepth {
  /** Tokens of the newest messages that stay as they are. */
  readonly tail: number;
  /** User turns longer than this many characters are removed too. */
  readonly keepBelow: number;
  readonly summaries: boolean;
}

/** A range of events and the messages of it that will be gone. */
export interface CompactionPlan extends CompactionDepth {
  readonly from: number;
  readonly to: number;
  readonly removed: readonly Message[];
  /** Tokens of these messages. */
  readonly freed: number;
}

/**
 * Plans the removal of everything before the newest messages, by the survival rules of docs/context.md;
 * undefined when nothing can go. Results the model has not seen yet are never part of it, and no result is
 * separated from its call.
 */
export function planCompaction(state: Plannable, depth: CompactionDepth): CompactionPlan | undefined {
  const boundary = tailStart(state, depth.tail);
  const indexes = range(0, boundary).filter((i) => isRemovable(state, i, depth));
  return planOf(state, depth, indexes);
}

/** The plan that removes these messages, which are in order; undefined when there are none. */
function planOf(
  state: Plannable,
  depth: CompactionDepth,
  indexes: readonly number[],
): CompactionPlan | undefined {
  const first = indexes[0];
  const last = indexes.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const removed = indexes.flatMap((i) => state.messages[i] ?? []);
  return {
    ...depth,
    from: seqAt(state, first),
    to: seqAt(state, last),
    removed,
    freed: sum(removed, state.weigh),
  };
}

function isRemovable(state: Plannable, index: number, depth: CompactionDepth): boolean {
  const message = state.messages[index];
  switch (state.sources[index]?.kind) {
    case "user":
      return message !== undefined && message.content.length > depth.keepBelow;
    case "summary":
      return depth.summaries;
    case "pinned":
    case undefined:
      return false;
    default:
      return true;
  }
}

/**
 * Returns where the part begins that stays: enough of the newest messages, never beginning with a result,
 * never cutting unseen ones off.
 */
export function tailStart(state: Plannable, tokens: number): number {
  const { messages } = state;
  let boundary = messages.length;
  for (let left = tokens; boundary > 0; boundary--) {
    const message = messages[boundary - 1];
    left -= message ? state.weigh(message) : 0;
    if (left < 0) break;
  }
  boundary = Math.min(boundary, pendingStart(messages));
  while (boundary > 0 && messages[boundary]?.role === "tool") boundary--;
  return boundary;
}

/** Index of the last reply when its results have not been answered yet, else of what came after it. */
export function pendingStart(messages: readonly Message[]): number {
  const last = messages.findLastIndex((message) => message.role === "assistant");
  const reply = messages[last];
  return reply?.role === "assistant" && reply.calls?.length ? last : last + 1;
}

/** Shortens the outputs of a range of events. */
export interface PrunePlan {
  readonly from: number;
  readonly to: number;
  readonly keepBelow: number;
  readonly keepHead: number;
  readonly keepTail: number;
  readonly digest: string;
  readonly freed: number;
}

export interface PruneDepth {
  /** Index of the first message that stays as it is. */
  readonly end: number;
  readonly keepHead: number;
  readonly keepTail: number;
  readonly isKept?: (message: Message) => boolean;
}

const MARKER = "\n[… output shortened to make room; run the call again if the rest is needed …]\n";

/** Prunes of the outputs before `end`: one per stretch between outputs that must stay whole. */
export function planPrune(state: Plannable, depth: PruneDepth): PrunePlan[] {
  const shape = { ...depth, keepBelow: 2 * (depth.keepHead + depth.keepTail), digest: MARKER };
  const plans: PrunePlan[] = [];
  let open: { from: number; to: number; freed: number } | undefined;
  const close = () => {
    if (open) {
      const { keepBelow, keepHead, keepTail, digest } = shape;
      plans.push({ ...open, keepBelow, keepHead, keepTail, digest });
    }
    open = undefined;
  };
  for (let i = 0; i < depth.end; i++) {
    const message = state.messages[i];
    if (message?.role !== "tool" || message.content.length <= shape.keepBelow) continue;
    if (depth.isKept?.(message)) {
      close();
      continue;
    }
    const short = { ...message, content: prunedOutput(message.content, shape) };
    const freed = (open?.freed ?? 0) + state.weigh(message) - state.weigh(short);
    open = { from: open?.from ?? seqAt(state, i), to: seqAt(state, i), freed };
  }
  close();
  return plans;
}

/** The oldest part after the first task, so that about `tokens` stay; undefined when nothing can go. */
export function planDrop(state: Plannable, tokens: number): CompactionPlan | undefined {
  const { messages, sources } = state;
  const task = sources.findIndex((source) => source.kind === "user");
  const end = pendingStart(messages);
  const after = weightsFromEnd(state);
  const starts = range(task + 2, end + 1).filter((i) => i < messages.length && messages[i]?.role !== "tool");
  const enough = starts.find((i) => (after[i] ?? 0) <= tokens) ?? starts.at(-1);
  if (enough === undefined) return undefined;
  // What the user says after an answer; the harness may say it for them.
  const begins = (i: number) => messages[i]?.role === "user" && messages[i - 1]?.role !== "user";
  const turn = starts.find((i) => i >= enough && begins(i));
  const boundary = turn !== undefined && (after[turn] ?? 0) >= tokens / 2 ? turn : enough;
  const depth = { tail: 0, keepBelow: 0, summaries: true };
  const indexes = range(task + 1, boundary).filter((i) => isRemovable(state, i, depth));
  return planOf(state, depth, indexes);
}

/** For each index the tokens of the message there and all that follow. */
function weightsFromEnd({ messages, weigh }: Plannable): number[] {
  const weights = Array.from({ length: messages.length }, () => 0);
  for (let i = messages.length - 1, total = 0; i >= 0; i--) {
    const message = messages[i];
    weights[i] = total += message ? weigh(message) : 0;
  }
  return weights;
}

function seqAt(state: Plannable, index: number): number {
  return state.sources[index]?.seq ?? 0;
}

function sum(messages: readonly Message[], weigh: (message: Message) => number): number {
  return messages.reduce((total, message) => total + weigh(message), 0);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}
