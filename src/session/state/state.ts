import type { EventBodies } from "../../core/event_schema.ts";
import { EventNodes, type EventReader } from "./event_nodes.ts";
import { MessageList } from "./message_list.ts";
import type { MessageKind } from "./messages.ts";
import { type Cost, type EventOf, type Message, NO_USAGE, type Prefix, type Usage } from "../../core/mod.ts";

export type TodoItem = EventBodies["todo.update"]["items"][number];
export type TurnEndReason = EventBodies["turn.end"]["reason"];

/** One turn of the conversation as it stands (turns that were rewound are not listed). */
export interface TurnRecord {
  readonly turn: number;
  /** Sequence number of its turn.start. */
  readonly from: number;
  /** Sequence number of its turn.end; absent while it runs. */
  to?: number;
  readonly started: string;
  /** The user's text, whole. */
  prompt: string;
  reason?: TurnEndReason;
  answer?: string;
  steps: number;
  usage: Usage;
  cost?: Cost;
  /** Checkpoint taken when the turn began. */
  checkpoint?: string;
}

/** The latest plan, as it stands. */
export interface PlanRecord {
  readonly state: EventBodies["plan.change"]["state"];
  /** Markdown. */
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
  /** How the model calls tools; undefined: as the wire has it. */
  toolMode: string | undefined;
  messages: Message[];
  /** The same messages, for whoever need not have them all read from the file. */
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
  /** What a model has said an image shows, by `provider/model` and the hash of the image. */
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

/** The goal that can be gone on with, if there is one. */
export function openGoal({ goal }: Pick<SessionState, "goal">): SessionState["goal"] {
  return goal?.state === "complete" || goal?.state === "cleared" ? undefined : goal;
}

/** The name of a description of an image among those of a session. */
export function descriptionKey(
  { provider, model, image }: Pick<EventOf<"image.described">, "provider" | "model" | "image">,
): string {
  return `${provider}/${model} ${image}`;
}
