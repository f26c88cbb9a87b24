import type { EventBodies } from "../../core/event_schema.ts";
import {
  addSpending,
  addUsage,
  type Cost,
  type Event,
  type EventOf,
  isMessage,
  type Message,
  message,
  type NewEvent,
  NO_USAGE,
  type Prefix,
  ReasonixError,
  type ToolMessage,
  type Usage,
} from "../../core/mod.ts";
import { cutText } from "../../util/terminal_text.ts";

/** The location of an event in the session file: bytes from its beginning, without the line feed. */
export interface LogOffset {
  readonly seq: number;
  readonly offset: number;
  readonly length: number;
}

/** Reads events at offsets of a file, in their order. Throws ReasonixError when they are not there. */
export type EventReader = (locations: readonly LogOffset[]) => Event[];

interface NewNode {
  readonly event: Event;
  /** Index of the event before it on its branch; -1: none. */
  readonly parent: number;
  readonly place?: LogOffset | undefined;
}

const NUMBERS = 4;
/** Events whose numbers are kept together; an array that grows would leave its smaller selves behind. */
const BLOCK = 1024;

/**
 * The events that shape a conversation, by their index in the order of the file. Those of a session that was
 * opened stay in its file, of which this holds a few numbers for each: an object for each of the thousands
 * of events costs far more than its bytes, and only a rewind wants them back.
 */
class EventNodes {
  #read: EventReader | undefined;
  /** Parent, seq, offset and length of each. */
  readonly #blocks: Float64Array[] = [];
  readonly #kept = new Map<number, Event>();
  #length = 0;

  constructor(read?: EventReader) {
    this.#read = read;
  }

  get length(): number {
    return this.#length;
  }

  /** Events may stay in the file. */
  get filed(): boolean {
    return this.#read !== undefined;
  }

  push({ event, parent, place }: NewNode): number {
    const index = this.#length++;
    if (index % BLOCK === 0) this.#blocks.push(new Float64Array(BLOCK * NUMBERS));
    const numbers = [parent, event.seq, place?.offset ?? 0, place?.length ?? 0];
    this.#blocks.at(-1)?.set(numbers, index % BLOCK * NUMBERS);
    if (!place) this.#kept.set(index, event);
    return index;
  }

  parent(index: number): number {
    return this.#number(index, 0);
  }

  seq(index: number): number {
    return this.#number(index, 1);
  }

  kept(index: number): Event | undefined {
    return this.#kept.get(index);
  }

  /** The events that are in memory: turns' beginnings, ends that are not as usual, rewinds, all new ones. */
  get known(): Iterable<Event> {
    return this.#kept.values();
  }

  read(indexes: readonly number[]): Event[] {
    const absent = indexes.filter((index) => !this.#kept.has(index));
    const read = absent.length > 0 ? this.#read?.(absent.map((index) => this.#place(index))) ?? [] : [];
    let at = 0;
    return indexes.flatMap((index) => this.#kept.get(index) ?? read[at++] ?? []);
  }

  /** Indexes of the events of a branch that ends with one, oldest first; the last `most` of them. */
  branch(tip: number, most = Infinity): number[] {
    const branch: number[] = [];
    for (let at = tip; at >= 0 && branch.length < most; at = this.parent(at)) branch.push(at);
    return branch.reverse();
  }

  /** The last events of a branch, oldest first: those of `most.turns` turns, at most `most.events`. */
  recent(tip: number, most: { readonly turns: number; readonly events: number }): Event[] {
    const branch = this.branch(tip, most.events);
    let turns = 0;
    const isFirst = (at: number) => this.kept(at)?.type === "turn.start" && ++turns === most.turns;
    return this.read(branch.slice(Math.max(0, branch.findLastIndex(isFirst))));
  }

  /** Brings all events into memory, for good. */
  bringIn(): void {
    if (!this.#read) return;
    const indexes = Array.from({ length: this.#length }, (_, index) => index);
    const events = this.read(indexes);
    this.#kept.clear();
    events.forEach((event, index) => this.#kept.set(index, event));
    this.#read = undefined;
  }

  #place(index: number): LogOffset {
    return { seq: this.seq(index), offset: this.#number(index, 2), length: this.#number(index, 3) };
  }

  #number(index: number, which: number): number {
    return this.#blocks[Math.floor(index / BLOCK)]?.[index % BLOCK * NUMBERS + which] ?? -1;
  }
}

/**
 * The treatment of a message by compaction: it keeps what the user wrote, what is pinned and earlier
 * summaries.
 */
export type MessageKind = "user" | "pinned" | "summary" | "ephemeral" | "assistant" | "tool";

/**
 * The message an event adds to the conversation, or undefined when it adds none. This is the whole mapping;
 * live turns and resumed sessions both go through it, which is what keeps their requests byte-identical.
 */
function messageOf(event: Event): Message | undefined {
  switch (event.type) {
    case "message.user":
      return {
        role: "user",
        content: event.content,
        ...(event.images?.length ? { images: event.images } : {}),
      };
    case "message.end":
      return assistantMessage(event);
    case "tool.end":
      return {
        role: "tool",
        callId: event.callId,
        name: event.name,
        content: event.content,
        ...(event.images?.length ? { images: event.images } : {}),
      };
    default:
      return undefined;
  }
}

/**
 * A reply that broke off keeps what was shown; its calls were never acted on and would wait for results
 * forever.
 */
function assistantMessage(event: EventOf<"message.end">): Message | undefined {
  if (!isMessage(event)) return undefined;
  const calls = event.interrupted ? [] : event.calls ?? [];
  return {
    role: "assistant",
    content: event.content,
    ...(event.reasoning ? { reasoning: event.reasoning } : {}),
    ...(calls.length > 0 ? { calls } : {}),
    ...(!event.interrupted && event.parts?.length ? { parts: event.parts } : {}),
  };
}

/** Says how a compaction treats the message of this event. */
function kindOf(event: Event): MessageKind {
  if (event.type === "message.end") return "assistant";
  if (event.type !== "message.user") return "tool";
  switch (event.origin) {
    case "user":
    case "steer":
      return "user";
    case "context":
      return "pinned";
    default:
      return "ephemeral";
  }
}

const isText = (value: unknown): value is string => typeof value === "string";

/**
 * Reports whether a parsed line can be used. Only what the conversation is made of is looked at: a field that
 * is missing there would make every later request invalid, so such a line counts as damaged.
 */
export function isUsable(value: unknown): value is Event {
  if (typeof value !== "object" || value === null) return false;
  const event = value as Record<string, unknown>;
  if (!isText(event.type) || !Number.isSafeInteger(event.seq)) return false;
  switch (event.type) {
    case "message.user":
      return isText(event.content);
    case "image.described":
      return isText(event.image) && isText(event.provider) && isText(event.model) && isText(event.text);
    case "message.end":
      return isText(event.content) && (event.calls === undefined || areCalls(event.calls));
    case "tool.end":
      return isText(event.callId) && isText(event.name) && isText(event.content);
    case "tool.start":
      return areCalls([event.call]);
    case "context.prefix":
      return isText(event.system) && Array.isArray(event.tools);
    case "compaction":
      return Number.isFinite(event.from) && Number.isFinite(event.to) && isText(event.digest);
    case "rewind":
      return Number.isFinite(event.to);
    case "todo.update":
      return Array.isArray(event.items);
    default:
      return true;
  }
}

function areCalls(value: unknown): boolean {
  return Array.isArray(value) && value.every((call: unknown) => {
    if (typeof call !== "object" || call === null) return false;
    const { id, name, arguments: args } = call as Record<string, unknown>;
    return isText(id) && isText(name) && isText(args);
  });
}

/** A message, or the index of the event in the file that it comes from. */
type MessageEntry = Message | number;

/**
 * The messages of a conversation. Those of a session that was opened may stay in its file until someone
 * wants them: a session of any length can then be opened without having all its texts in memory.
 *
 * Contract: the array is the same one until `replace`; a message that was read is the same object ever after.
 */
class MessageList {
  readonly #nodes: EventNodes;
  #entries: MessageEntry[] = [];
  /** Number of messages that are only in the file. */
  #filed = 0;
  #from = 0;

  constructor(nodes: EventNodes) {
    this.#nodes = nodes;
  }

  get length(): number {
    return this.#entries.length;
  }

  /** All messages; reads those that are still in the file. */
  get all(): Message[] {
    this.readAhead(this.#filed);
    return this.#entries as Message[];
  }

  get entries(): readonly MessageEntry[] {
    return this.#entries;
  }

  /** One message; read from the file for this once where it is there. */
  at(index: number): Message | undefined {
    const entry = this.#entries.at(index);
    return typeof entry === "number" ? this.#load([entry])[0] : entry;
  }

  push(entry: MessageEntry): void {
    if (typeof entry === "number") this.#filed += 1;
    this.#entries.push(entry);
  }

  replace(entries: MessageEntry[]): void {
    this.#entries = entries;
    this.#filed = entries.filter((entry) => typeof entry === "number").length;
    this.#from = 0;
  }

  /** Reads at most `most` of the messages that are still in the file; false when there are none left. */
  readAhead(most: number): boolean {
    const wanted = Math.min(most, this.#filed);
    const found: number[] = [];
    const indexes: number[] = [];
    let at = this.#from;
    for (; found.length < wanted && at < this.#entries.length; at++) {
      const entry = this.#entries[at];
      if (typeof entry !== "number") continue;
      found.push(at);
      indexes.push(entry);
    }
    const messages = this.#load(indexes);
    found.forEach((index, position) => {
      const message = messages[position];
      if (message) this.#entries[index] = message;
    });
    this.#from = at;
    this.#filed -= found.length;
    return this.#filed > 0;
  }

  #load(indexes: readonly number[]): Message[] {
    if (indexes.length === 0) return [];
    const messages = this.#nodes.read(indexes).flatMap((event) => messageOf(event) ?? []);
    if (messages.length === indexes.length) return messages;
    throw new ReasonixError(message`Cannot read the messages of the session: its file is another one now`, {
      remedy: message`continue in a new session, or restore the file`,
    });
  }
}

export type TodoItem = EventBodies["todo.update"]["items"][number];
type TurnEndReason = EventBodies["turn.end"]["reason"];

/** One turn of the conversation as it stands (turns that were rewound are not listed). */
export interface TurnRecord {
  readonly turn: number;
  /** Sequence number of its turn.start. */
  readonly from: number;
  /** Sequence number of its turn.end; absent while it runs. */
  to?: number;
  readonly started: string;
  prompt: string;
  reason?: TurnEndReason;
  answer?: string;
  steps: number;
  usage: Usage;
  cost?: Cost;
  /** Checkpoint taken when the turn began. */
  checkpoint?: string;
}

interface PlanRecord {
  readonly state: EventBodies["plan.change"]["state"];
  readonly plan: string;
  readonly file?: string;
  readonly note?: string;
}

/** A call the model made whose result is not in the conversation yet. */
export interface PendingCall {
  readonly id: string;
  readonly name: string;
  /** True once it was allowed to begin. */
  started: boolean;
}

/** The source of a message; parallel to `messages`. */
export interface MessageSource {
  /** Sequence number of its event; for a summary, of the last event it covers. */
  readonly seq: number;
  readonly kind: MessageKind;
}

/**
 * Everything a session file says, computed by `apply`, which is the only writer.
 *
 * Contract: `messages` only grows while it is the same array object; a compaction or a rewind puts a new
 * array in its place. The message objects are never changed and are the same, field for field and in field
 * order, whenever the file is read.
 */
export interface SessionState {
  session: string | undefined;
  cwd: string | undefined;
  version: string | undefined;
  parent: EventOf<"session.start">["parent"] | undefined;
  created: string | undefined;
  updated: string | undefined;
  prefix: Prefix | undefined;
  model: string | undefined;
  /** Name of the provider's entry that has the model. */
  provider: string | undefined;
  /** The form of tool calls; undefined: native to the wire. */
  toolMode: string | undefined;
  messages: Message[];
  /** The same messages, for the one that need not have them all read from the file. */
  readonly messageList: MessageList;
  sources: MessageSource[];
  turns: TurnRecord[];
  todos: readonly TodoItem[];
  plan: PlanRecord | undefined;
  posture: string | undefined;
  mode: string | undefined;
  /** The mode before the first turn of the conversation, where an event says it. */
  firstMode: string | undefined;
  collaboration: EventBodies["mode.change"]["collaboration"];
  /** The goal as the last event about it says. */
  goal: EventOf<"goal.change"> | undefined;
  title: string | undefined;
  /** Sum over every request of the file, rewound turns included. */
  usage: Usage;
  /** Money by currency. */
  costs: Readonly<Record<string, number>>;
  /** Requests whose price is not known. */
  unpriced: number;
  /** Time of the turns that ended, rewound turns included. */
  durationMs: number;
  /** Agents that have begun to work on a part of the task and are not done, by their identifiers. */
  readonly agents: Map<string, EventOf<"subagent.start">>;
  /** The identifiers that clients gave messages, those that were rewound included. */
  readonly messageIds: Set<string>;
  /** Descriptions of images, by `provider/model` and the hash of the image. */
  readonly descriptions: Map<string, string>;
  /** The server's count for the latest request of the conversation. */
  lastUsage: Usage | undefined;
  lastSeq: number;
  pending: Map<string, PendingCall>;
  /** The request and reply of a compaction itself are in the file but not in the conversation. */
  outOfBand: boolean;
  /** The events that shape the conversation, those of branches that were left among them. */
  readonly events: EventNodes;
  /** Index of the last one of the branch that the conversation is; -1: none. */
  head: number;
}

/** The state before the first event. With a reader, events may be left in the file it reads. */
export function emptyState(read?: EventReader): SessionState {
  const events = new EventNodes(read);
  const messageList = new MessageList(events);
  return {
    session: undefined,
    cwd: undefined,
    version: undefined,
    parent: undefined,
    created: undefined,
    updated: undefined,
    prefix: undefined,
    model: undefined,
    provider: undefined,
    toolMode: undefined,
    messageList,
    get messages() {
      return messageList.all;
    },
    set messages(messages) {
      messageList.replace(messages);
    },
    sources: [],
    turns: [],
    todos: [],
    plan: undefined,
    posture: undefined,
    mode: undefined,
    firstMode: undefined,
    collaboration: undefined,
    goal: undefined,
    title: undefined,
    usage: NO_USAGE,
    costs: {},
    unpriced: 0,
    durationMs: 0,
    lastUsage: undefined,
    lastSeq: 0,
    pending: new Map(),
    outOfBand: false,
    agents: new Map(),
    messageIds: new Set(),
    descriptions: new Map(),
    events,
    head: -1,
  };
}

/** The turn that has begun and not ended, if there is one. */
export function openTurn(state: SessionState): TurnRecord | undefined {
  const last = state.turns.at(-1);
  return last && last.to === undefined ? last : undefined;
}

/** The goal that can be resumed, if there is one. */
export function openGoal({ goal }: Pick<SessionState, "goal">): SessionState["goal"] {
  return goal?.state === "complete" || goal?.state === "cleared" ? undefined : goal;
}

/** The name of a description of an image among those of a session. */
export function descriptionKey(
  { provider, model, image }: Pick<EventOf<"image.described">, "provider" | "model" | "image">,
): string {
  return `${provider}/${model} ${image}`;
}

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
  else if (isInConversation(event)) {
    const kept = stripPayload(state, event);
    const parent = state.head;
    const place = filed && state.events.filed && isLarge(event) ? filed.place : undefined;
    state.head = state.events.push({ event: kept, parent, place });
    applyConversation(state, kept, place && filed?.later ? state.head : undefined);
  }
  return state;
}

/** Decisions without the user are shown in no conversation. */
function isInConversation(event: Event): boolean {
  return CONVERSATION.has(event.type) && !(event.type === "approval.decision" && event.source !== "user");
}

const CONVERSATION: ReadonlySet<string> = new Set(
  [
    "turn.start",
    "turn.end",
    "message.user",
    "message.end",
    "tool.start",
    "approval.request",
    "approval.decision",
    "tool.end",
    "todo.update",
    "plan.change",
    "compaction",
    "checkpoint",
  ] satisfies Event["type"][],
);

/** Reports whether an event has texts that only a rewind and the end of a resumed chat need. */
function isLarge(event: Event): boolean {
  return event.type === "turn.end" ? event.reason === "done" : LARGE.has(event.type);
}

const LARGE: ReadonlySet<string> = new Set(
  [
    "message.user",
    "message.end",
    "tool.start",
    "approval.request",
    "approval.decision",
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
    case "message.user":
      if (event.id !== undefined) state.messageIds.add(event.id);
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
  if (leavesBranch(event)) {
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

/**
 * The events of a file without those that a rewind has left behind, unless a later one went back to them;
 * {@linkcode branchEvents} for readers that have no state.
 */
export function currentBranch(events: readonly Event[]): readonly Event[] {
  if (!events.some(leavesBranch)) return events;
  const before = (event: Event, at: number) =>
    leavesBranch(event) ? events.findLastIndex(({ seq }) => seq <= event.to) : at - 1;
  const parents = Int32Array.from(events, before);
  const branch: Event[] = [];
  for (let at = events.length - 1; at >= 0; at = parents[at] ?? -1) branch.push(...events.slice(at, at + 1));
  return branch.reverse();
}

function leavesBranch(event: Event): event is EventOf<"rewind"> {
  return event.type === "rewind" && event.scope !== "code";
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
 * range, and the harness's ephemeral warnings; what the user wrote, pinned context and earlier summaries stay
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
  // Nothing may be between a reply and its results.
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

export function titleOf(prompt: string): string {
  return cutText(prompt.trimStart().split("\n", 1)[0] ?? "", 80);
}
