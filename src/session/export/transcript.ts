import type { Event, EventOf } from "../../core/mod.ts";
import { loadEvents } from "../log/log.ts";
import { branchEvents } from "../state/reduce.ts";
import type { SessionState } from "../state/state.ts";
import { moneyFigure, tokenFigures } from "../../view/mod.ts";

/** One call with its result, if there is one. */
export interface ToolBlock {
  readonly kind: "tool";
  readonly name: string;
  readonly arguments: string;
  readonly outcome: EventOf<"tool.end">["outcome"] | "unknown";
  readonly summary: string;
  readonly output: string;
  readonly diffs: readonly string[];
}

/** A part of an export, in reading order. */
export type Block =
  | { readonly kind: "turn"; readonly turn: number; readonly time: string }
  | { readonly kind: "user"; readonly text: string; readonly images: number }
  | { readonly kind: "harness"; readonly origin: string; readonly text: string }
  | {
    readonly kind: "assistant";
    readonly text: string;
    readonly reasoning: string;
    readonly interrupted: boolean;
  }
  | ToolBlock
  | { readonly kind: "note"; readonly text: string };

export interface Transcript {
  readonly state: SessionState;
  readonly title: string;
  readonly blocks: readonly Block[];
}

/**
 * Reads a session as its reader would tell it: the current branch, including what compactions took from the
 * model.
 */
export function readTranscript(path: string): Transcript {
  const ends = new Map<number, EventOf<"tool.end">>();
  const { state } = loadEvents(path, (event) => {
    if (event.type === "tool.end") ends.set(event.seq, event);
  });
  const events = branchEvents(state).map((event) => ends.get(event.seq) ?? event);
  const results = new Map<string, EventOf<"tool.end">>();
  const blocks: Block[] = [];
  // Ids may repeat from turn to turn, so that results are looked up only from the reply on that made the
  // call.
  for (const event of [...events].reverse()) {
    if (event.type === "tool.end") results.set(event.callId, event);
    blocks.push(...blocksOf(event, results).reverse());
  }
  const prompt = state.turns[0]?.prompt.trim().split("\n", 1)[0] ?? "";
  return { state, title: state.title ?? (prompt || state.session || "Session"), blocks: blocks.reverse() };
}

function blocksOf(event: Event, results: Map<string, EventOf<"tool.end">>): Block[] {
  switch (event.type) {
    case "turn.start":
      return [{ kind: "turn", turn: event.turn, time: event.time }];
    case "message.user":
      return [userBlock(event)];
    case "message.end":
      return replyBlocks(event, results);
    case "compaction":
      return [{ kind: "note", text: `Older messages were compacted here (${event.reason})` }];
    case "turn.end":
      return event.reason === "done"
        ? []
        : [{ kind: "note", text: `The turn ended: ${event.detail ?? event.reason}` }];
    default:
      return [];
  }
}

function userBlock(event: EventOf<"message.user">): Block {
  return event.origin === "user" || event.origin === "steer"
    ? { kind: "user", text: event.content, images: event.images?.length ?? 0 }
    : { kind: "harness", origin: event.origin, text: event.content };
}

function replyBlocks(event: EventOf<"message.end">, results: Map<string, EventOf<"tool.end">>): Block[] {
  const blocks: Block[] = [];
  const { content, reasoning = "", interrupted = false } = event;
  if (content !== "" || reasoning !== "") {
    blocks.push({ kind: "assistant", text: content, reasoning, interrupted });
  }
  for (const call of interrupted ? [] : event.calls ?? []) {
    const result = results.get(call.id);
    blocks.push({
      kind: "tool",
      name: call.name,
      arguments: call.arguments,
      outcome: result?.outcome ?? "unknown",
      summary: result?.summary ?? "no result",
      output: result?.content ?? "",
      diffs: (result?.changes ?? []).flatMap(({ diff }) => diff ?? []),
    });
  }
  return blocks;
}

/** "Tokens: in 1,200 (900 cached, 75 %), out 80", and the money as far as it is known. */
export function spendingLine(state: SessionState): string {
  const tokens = tokenFigures(state.usage).join(", ") || "unknown";
  return [`Tokens: ${tokens}`, moneyFigure(state) ?? "cost unknown"].join(" · ");
}
