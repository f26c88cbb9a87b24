import {
  addSpending,
  addUsage,
  type Event,
  type EventOf,
  isMessage,
  type NewEvent,
  NO_USAGE,
  type ToolMessage,
} from "../../core/mod.ts";
import {
  descriptionKey,
  kindOf,
  type LogOffset,
  type MessageEntry,
  messageOf,
  type MessageSource,
  openTurn,
  type PlanRecord,
  type SessionState,
} from "./state.ts";

/** The location of the applied event in the file, and whether its message stays there. */
interface Filed {
  readonly place: LogOffset;
  readonly later: boolean;
}

/**
 * Takes one event into the state, in place, and returns it. Kinds it does not know change nothing but
 * `lastSeq`. One that is in a file may be left there as long as the state has a reader.
 *
 * Contract: deterministic; the cost does not grow with the session, except for a compaction or a rewind.
 */
export function apply(state: SessionState, event: Event, filed?: Filed): SessionState {
  if (event.seq > state.lastSeq) state.lastSeq = event.seq;
  if (event.seq > 0) state.updated = event.time;
  applyFacts(state, event);
  if (event.type === "rewind") rewind(state, event);
  else if (SHAPES_CONVERSATION.has(event.type)) {
    const kept = stripPayload(state, event);
    const parent = state.head;
    const place = filed && state.events.filed && isLarge(event) ? filed.place : undefined;
    state.head = state.events.push({ event: kept, parent, place });
    applyConversation(state, kept, place && filed?.later ? state.head : undefined);
  }
  return state;
}

const SHAPES_CONVERSATION: ReadonlySet<string> = new Set(
  [
    "turn.start",
    "turn.end",
    "message.user",
    "message.end",
    "tool.start",
    "tool.end",
    "todo.update",
    "plan.change",
    "compaction",
    "checkpoint",
  ] satisfies Event["type"][],
);

/** Reports whether an event has long texts that only a rewind needs. */
function isLarge(event: Event): boolean {
  return event.type === "turn.end" ? event.reason === "done" : LARGE.has(event.type);
}

const LARGE: ReadonlySet<string> = new Set(
  [
    "message.user",
    "message.end",
    "tool.start",
    "tool.end",
    "todo.update",
    "plan.change",
    "compaction",
  ] satisfies Event["type"][],
);

/**
 * Keeps what a rewind needs to rebuild the conversation, without the diffs that only readers look at. The
 * answer of a turn is nearly always its last message, which a file that was read holds as a second copy.
 */
function stripPayload(state: SessionState, event: Event): Event {
  if (event.type === "turn.end") {
    const last = state.messageList.entries.at(-1);
    return typeof last === "object" && last.content === event.answer
      ? { ...event, answer: last.content }
      : event;
  }
  if (event.type !== "tool.end" || !(event.changes || event.truncated)) return event;
  const { changes: _changes, truncated: _truncated, ...rest } = event;
  return rest;
}

/** Applies what stays true when the conversation is rewound: identity, settings, and money that was spent. */
function applyFacts(state: SessionState, event: Event): void {
  switch (event.type) {
    case "session.start":
      state.session = event.session;
      state.cwd = event.cwd;
      state.version = event.version;
      state.parent = event.parent;
      state.created = event.time;
      break;
    case "context.prefix":
      state.prefix = { system: event.system, tools: event.tools };
      state.model = event.model;
      state.provider = event.provider;
      state.toolMode = event.toolMode;
      break;
    case "mode.change":
      state.posture = event.posture ?? state.posture;
      state.mode = event.mode ?? state.mode;
      if (state.turns.length === 0) state.firstMode = state.mode;
      state.collaboration = event.collaboration ?? state.collaboration;
      break;
    case "goal.change":
      state.goal = event;
      break;
    case "session.rename":
      state.title = event.title;
      break;
    case "image.described":
      if (event.text !== "") state.descriptions.set(descriptionKey(event), event.text);
      if (event.usage) Object.assign(state, addSpending(state, event));
      break;
    case "message.end":
      if (event.usage) Object.assign(state, addSpending(state, event));
      break;
    case "subagent.start":
      state.agents.set(event.id, event);
      break;
    case "subagent.end":
      state.agents.delete(event.id);
      if (event.usage) Object.assign(state, addSpending(state, event));
      break;
    case "turn.end":
      state.durationMs += event.durationMs ?? 0;
      break;
  }
}

function applyConversation(state: SessionState, event: Event, index?: number): void {
  switch (event.type) {
    case "turn.start":
      state.turns.push({
        turn: event.turn,
        from: event.seq,
        started: event.time,
        prompt: "",
        steps: 0,
        usage: NO_USAGE,
      });
      break;
    case "turn.end":
      endTurn(state, event);
      break;
    case "message.user":
      takeUserMessage(state, event, index);
      break;
    case "message.end":
      takeReply(state, event, index);
      break;
    case "tool.start":
      startCall(state, event);
      break;
    case "tool.end":
      if (state.pending.delete(event.callId)) push(state, event, index);
      break;
    case "todo.update":
      state.todos = event.items;
      break;
    case "plan.change":
      state.plan = planAfter(state.plan, event);
      break;
    case "checkpoint": {
      const turn = state.turns.at(-1);
      if (turn) turn.checkpoint ??= event.id;
      break;
    }
    case "compaction":
      compact(state, event);
      state.lastUsage = undefined;
      break;
  }
}

/** A proposal is another plan; every other change is one of the latest. */
function planAfter(
  before: PlanRecord | undefined,
  { state, plan, file, note }: EventOf<"plan.change">,
): PlanRecord {
  const kept = state === "proposed" ? {} : before?.file === undefined ? {} : { file: before.file };
  return {
    state,
    plan: plan ?? before?.plan ?? "",
    ...(file === undefined ? kept : { file }),
    ...(note === undefined ? {} : { note }),
  };
}

function push(state: SessionState, event: Event, index?: number): void {
  const message = messageOf(event);
  if (!message) return;
  state.messageList.push(index ?? message);
  state.sources.push({ seq: event.seq, kind: kindOf(event) });
}

function startCall(state: SessionState, event: EventOf<"tool.start">): void {
  const call = state.pending.get(event.call.id);
  if (call) call.started = true;
}

function endTurn(state: SessionState, event: EventOf<"turn.end">): void {
  state.outOfBand = false;
  const turn = openTurn(state);
  if (!turn) return;
  turn.to = event.seq;
  turn.reason = event.reason;
  turn.answer = event.answer;
  turn.steps = event.steps;
  turn.usage = event.usage;
  if (event.cost) turn.cost = event.cost;
}

function takeUserMessage(state: SessionState, event: EventOf<"message.user">, index?: number): void {
  state.outOfBand = event.origin === "summary";
  if (state.outOfBand) return;
  const turn = openTurn(state);
  const begins = event.origin === "user" || event.origin === "continue";
  if (turn && begins && turn.prompt === "") turn.prompt = event.content;
  push(state, event, index);
}

function takeReply(state: SessionState, event: EventOf<"message.end">, index?: number): void {
  if (state.outOfBand) {
    state.outOfBand = false;
    return;
  }
  const turn = openTurn(state);
  if (turn && event.usage) turn.usage = addUsage(turn.usage, event.usage);
  if (!isMessage(event)) return;
  push(state, event, index);
  if (event.usage) state.lastUsage = event.usage;
  if (turn) turn.steps += 1;
  if (event.interrupted) return;
  for (const call of event.calls ?? []) {
    state.pending.set(call.id, { id: call.id, name: call.name, started: false });
  }
}

/**
 * Goes back (or, after a rewind, forward again: redo) to the branch that ends with event `to`. Nothing is
 * forgotten: the events left behind keep their place in the file and can be returned to.
 */
function rewind(state: SessionState, event: EventOf<"rewind">): void {
  let branch = state.head;
  if (event.scope !== "code") {
    // Read once, however many more there are.
    state.events.bringIn();
    branch = headAt(state, event.to);
    clearConversation(state);
    for (const past of branchEvents(state, branch)) applyConversation(state, past);
  }
  state.head = state.events.push({ event, parent: branch });
}

/**
 * The events that made the conversation what it is, oldest first; those of branches that were left are not
 * among them.
 */
export function branchEvents(state: SessionState, tip = state.head): Event[] {
  return state.events.read(state.events.branch(tip));
}

/** Index of the last node whose event is `seq` or older, in file order. */
function headAt({ events }: SessionState, seq: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events.seq(middle) <= seq) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function clearConversation(state: SessionState): void {
  state.messages = [];
  state.sources = [];
  state.turns = [];
  state.todos = [];
  state.plan = undefined;
  state.pending = new Map();
  state.lastUsage = undefined;
  state.outOfBand = false;
}

/**
 * Applies a compaction to the conversation. A removal takes the assistant and tool messages out of the
 * range, and the harness's ephemeral remarks; what the user wrote, pinned context and earlier summaries stay
 * as they are, and the new summary follows them. A prune only shortens tool outputs. Neither can leave a tool
 * result without its call.
 */
function compact(state: SessionState, event: EventOf<"compaction">): void {
  if (event.action === "prune") prune(state, event);
  else removeRange(state, event);
}

function removeRange(state: SessionState, event: EventOf<"compaction">): void {
  const { messageList: list } = state;
  const messages: MessageEntry[] = [];
  const sources: MessageSource[] = [];
  let at = 0;
  let replyRemoved = false;
  list.entries.forEach((message, i) => {
    const source = state.sources[i];
    if (!source) return;
    // Results share the fate of the reply that asked for them, wherever the range begins or ends.
    const removed = source.kind === "tool"
      ? replyRemoved
      : isRemoved(source, event, () => list.at(i)?.content.length ?? 0);
    if (source.kind === "assistant") replyRemoved = removed;
    if (removed) return;
    messages.push(message);
    sources.push(source);
    if (source.seq <= event.to) at = messages.length;
  });
  // Nothing may stand between a reply and its results.
  while (sources[at]?.kind === "tool") at += 1;
  if (event.digest !== "") {
    messages.splice(at, 0, { role: "user", content: event.digest });
    sources.splice(at, 0, { seq: Math.max(event.to, sources[at - 1]?.seq ?? 0), kind: "summary" });
  }
  list.replace(messages);
  state.sources = sources;
}

function isRemoved(
  source: MessageSource,
  event: EventOf<"compaction">,
  characters: () => number,
): boolean {
  if (source.seq < event.from || source.seq > event.to) return false;
  switch (source.kind) {
    case "user":
      return event.keepBelow !== undefined && characters() > event.keepBelow;
    case "pinned":
      return false;
    case "summary":
      return event.digests === true;
    default:
      return true;
  }
}

function prune(state: SessionState, event: EventOf<"compaction">): void {
  const { messageList: list } = state;
  list.replace(list.entries.map((entry, i) => {
    const { seq = 0, kind } = state.sources[i] ?? {};
    if (kind !== "tool" || seq < event.from || seq > event.to) return entry;
    const message = list.at(i);
    if (message?.role !== "tool") return entry;
    const content = prunedOutput(message.content, event);
    return content === message.content
      ? entry
      : { role: "tool", callId: message.callId, name: message.name, content } satisfies ToolMessage;
  }));
  state.sources = [...state.sources];
}

/** Shortens one tool output to its beginning and end around the marker; a short one comes back as it is. */
export function prunedOutput(
  content: string,
  prune: Pick<EventOf<"compaction">, "digest" | "keepBelow" | "keepHead" | "keepTail">,
): string {
  const { digest, keepBelow = 0, keepHead = 0, keepTail = 0 } = prune;
  if (content.length <= Math.max(keepBelow, keepHead + digest.length + keepTail)) return content;
  const head = content.slice(0, keepHead).replace(/[\uD800-\uDBFF]$/, "");
  const tail = content.slice(content.length - keepTail).replace(/^[\uDC00-\uDFFF]/, "");
  return `${head}${digest}${tail}`;
}

/**
 * Events that close what a crash (or a rewind into the middle of a turn) left open, so that the next request
 * is valid: one result for each call without one, the ends of other agents, then the end of the turn. Empty
 * when nothing is open, so repairing twice adds nothing.
 */
export function repair(state: SessionState): NewEvent[] {
  const events: NewEvent[] = [];
  for (const call of state.pending.values()) {
    events.push({
      type: "tool.end",
      callId: call.id,
      name: call.name,
      outcome: "aborted",
      content: resumable(state, call.id) ??
        (call.started
          ? "error: the program ended before the result was known; the call may have taken effect, so check before repeating it"
          : "error: the program ended before this call began; nothing was done"),
      summary: "no result",
      durationMs: 0,
    });
  }
  for (const { id, agent, callId } of state.agents.values()) {
    events.push({
      type: "subagent.end",
      id,
      agent,
      outcome: "aborted",
      summary: "The program ended before it was done",
      ...(callId === undefined ? {} : { callId }),
      steps: 0,
      durationMs: 0,
    });
  }
  const turn = openTurn(state);
  if (turn) {
    events.push({
      type: "turn.end",
      turn: turn.turn,
      reason: "interrupted",
      detail: "The program ended before the turn was finished",
      answer: lastText(state, turn.from),
      steps: turn.steps,
      usage: turn.usage,
      durationMs: state.updated ? Math.max(0, Date.parse(state.updated) - Date.parse(turn.started)) : 0,
    });
  }
  return events;
}

/** The message to the model about the interrupted task of an agent. */
function resumable({ agents }: SessionState, callId: string): string | undefined {
  const its = [...agents.values()].find((agent) => agent.callId === callId);
  return its &&
    `error: the program ended while the agent ${its.agent} was working; its conversation is kept: ` +
      `task with agent ${its.agent} and resume ${its.id} goes on with it`;
}

function lastText(state: SessionState, from: number): string {
  for (let i = state.messageList.length - 1; i >= 0 && (state.sources[i]?.seq ?? 0) > from; i--) {
    const message = state.messageList.at(i);
    if (message?.role === "assistant" && message.content !== "") return message.content;
  }
  return "";
}
