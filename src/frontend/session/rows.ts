/** The conversation of a session as data: a row for each part of it that people read. */
import { type Event, type EventOf, isWritten } from "../../core/mod.ts";
import { attachments, userText } from "../../util/user_text.ts";
import { callKind, callTitle, moneyFigure, timeText } from "../../view/mod.ts";
import { agentUpdate } from "../server_updates.ts";
import { LogEntries, type LogTexts } from "./log.ts";

type Image = NonNullable<EventOf<"message.user">["images"]>[number];
type FileChange = NonNullable<EventOf<"tool.end">["changes"]>[number];
type Touched = Pick<FileChange, "path"> & Partial<FileChange>;
type Level = "info" | "warning" | "error";
type TodoItem = EventOf<"todo.update">["items"][number];

interface Placed {
  /** Unique in its session, and the same in every load of it. */
  readonly key: string;
  readonly time: string;
}

export interface UserRow extends Placed {
  readonly kind: "user";
  /** The client's id of the message. */
  readonly id?: string;
  readonly text: string;
  readonly attached: readonly string[];
  readonly images: readonly Image[];
  /** Sent while a turn was running. */
  readonly steer: boolean;
}

export interface ReplyRow extends Placed {
  readonly kind: "reply";
  readonly text: string;
  readonly thinking: string;
  /** Tokens of the thinking as the server counted them. */
  readonly tokens?: number;
  readonly interrupted: boolean;
}

/** A call that runs or has ended, or a command that tested changes. */
export interface CallRow extends Placed {
  readonly kind: "call";
  readonly callId: string;
  readonly name: string;
  readonly title: string;
  readonly arguments: string;
  readonly notes: readonly string[];
  readonly end?: EventOf<"tool.end">;
}

export interface NoteRow extends Placed {
  readonly kind: "note";
  readonly source: "notice" | "server" | "hook" | "job" | "retry" | "mark";
  readonly level: Level;
  readonly text: string;
  /** Markdown that belongs to it: a summary is collapsed, a plan is open. */
  readonly body?: string;
  readonly open?: boolean;
  /** Only in the log. */
  readonly quiet?: boolean;
}

export interface TodoRow extends Placed {
  readonly kind: "todo";
  readonly items: readonly TodoItem[];
}

/** The end of a turn, with its figures. */
export interface TurnRow extends Placed {
  readonly kind: "turn";
  readonly reason: EventOf<"turn.end">["reason"];
  readonly text: string;
}

export type Row = UserRow | ReplyRow | CallRow | NoteRow | TodoRow | TurnRow;

/** A file that calls have changed, or only read. */
export interface SessionFile {
  /** As the call names it. */
  readonly path: string;
  readonly change: FileChange["change"] | "read";
  readonly added: number;
  readonly removed: number;
  /** The last call about it. */
  readonly seq: number;
  /** The ends of the calls that have changed it, which hold the diffs. */
  readonly ends: readonly number[];
}

/** An entry of the log. */
export type LogRow = CallRow | NoteRow;

/** Kinds of entries, by which the log is filtered. */
export const LOG_SOURCES = ["call", "server", "hook", "job", "retry", "notice"] as const;

export function logSource(row: LogRow): (typeof LOG_SOURCES)[number] {
  return row.kind === "call" ? "call" : row.source === "mark" ? "notice" : row.source;
}

/** The level of an entry; a call has that of its end. */
export function logLevel(row: LogRow): Level {
  if (row.kind === "note") return row.level;
  const { outcome = "ok" } = row.end ?? {};
  return outcome === "error" || outcome === "aborted" ? "error" : outcome === "blocked" ? "warning" : "info";
}

/** An entry in full: of a call its arguments and its result. */
export function logText(row: LogRow): string {
  if (row.kind === "note") return [row.text, row.body ?? ""].join("\n\n").trim();
  return [row.title, row.name, row.arguments, ...row.notes, row.end?.content ?? ""].join("\n").trim();
}

/** Leaves out what no row shows, which may be most of an event. */
export function slim(event: Event): Event {
  switch (event.type) {
    case "context.prefix":
      return { ...event, system: "", tools: [] };
    case "message.user":
      return event.origin === "user" || event.origin === "steer" ? event : { ...event, content: "" };
    case "message.end": {
      const { parts: _parts, ...rest } = event;
      return rest;
    }
    case "turn.end":
      return { ...event, answer: "" };
    default:
      return event;
  }
}

/**
 * An event for the log alone, without the texts that only an open entry shows; undefined where no entry is
 * made of it.
 */
export function outline(event: Event): Event | undefined {
  switch (event.type) {
    case "message.user":
    case "message.end":
    case "todo.update":
      return undefined;
    case "tool.start":
      return { ...event, call: { ...event.call, arguments: "" } };
    case "tool.end": {
      const { images: _images, changes, ...rest } = event;
      const files = changes && { changes: changes.map(({ diff: _diff, ...change }) => change) };
      return { ...rest, content: "", ...files };
    }
    case "compaction":
      return { ...event, digest: "" };
    case "plan.change": {
      const { plan: _plan, ...rest } = event;
      return rest;
    }
    default:
      return slim(event);
  }
}

const OUTCOMES = { passed: "ok", failed: "error", timeout: "error", skipped: "skipped" } as const;

/** The rows of a branch of events. */
export class SessionRows {
  readonly all: Row[] = [];
  /** Files by path, the last one that was changed or read at the end. */
  readonly files = new Map<string, SessionFile>();
  todos: readonly TodoItem[] = [];
  since = "";
  quiet = 0;
  readonly #texts: () => LogTexts;
  readonly #log = new LogEntries();
  /** Indexes of the rows of calls that run. */
  readonly #calls = new Map<string, number>();
  /** Files that calls which run read. */
  readonly #reading = new Map<string, readonly string[]>();
  #todoAt: number | undefined;
  #goal = "";

  constructor(texts: () => LogTexts) {
    this.#texts = texts;
  }

  add(event: Event): void {
    const texts = this.#texts();
    // The keyboard of the chat is no hint here.
    for (const entry of this.#log.of(event, { ...texts, showAll: "" })) {
      if (entry.kind === "call") this.#end(event, entry.title, entry.end);
      else {this.#note(event, {
          ...entry.note,
          source: sourceOf(event),
          ...bodyOf(event),
        });}
    }
    switch (event.type) {
      case "turn.start":
        this.since = event.time;
        break;
      case "message.user":
        if (event.origin !== "user" && event.origin !== "steer") break;
        this.#add(event, {
          kind: "user",
          ...("id" in event && typeof event.id === "string" ? { id: event.id } : {}),
          text: userText(event.content).trimEnd(),
          attached: attachments(event.content),
          images: event.images ?? [],
          steer: event.origin === "steer",
        });
        break;
      case "message.end": {
        const { step, content, reasoning = "", interrupted = false, usage } = event;
        // Step 0 is a summary for the model.
        if (step === 0 || (content.trim() === "" && reasoning.trim() === "" && !interrupted)) break;
        const tokens = usage?.reasoningTokens ? { tokens: usage.reasoningTokens } : {};
        this.#add(event, { kind: "reply", text: content, thinking: reasoning, interrupted, ...tokens });
        break;
      }
      case "tool.start": {
        const { call: { id: callId, name, arguments: written }, readOnly, tool, paths } = event;
        if (readOnly && paths && callKind(tool ?? name) === "read") this.#reading.set(callId, paths);
        // The list itself is shown.
        if (name === "todo_write") break;
        this.#calls.set(callId, this.all.length);
        this.#add(event, {
          kind: "call",
          callId,
          name,
          title: callTitle(event, texts),
          arguments: written,
          notes: [],
        });
        break;
      }
      case "subagent.start":
      case "subagent.end":
        this.#change(
          event.callId,
          (row) => ({ ...row, notes: [...row.notes, agentUpdate(event, texts).text] }),
        );
        break;
      case "todo.update":
        this.#todo(event);
        break;
      case "verification": {
        const { command, outcome, exitCode, text: content = "", durationMs } = event;
        const summary = exitCode === undefined ? content.split("\n", 1)[0] ?? "" : `exit code ${exitCode}`;
        const row = { callId: "", name: "verify", title: `${texts.verifying}: ${command}`, arguments: "" };
        const { v, seq, time } = event;
        const end = { callId: "", name: "verify", outcome: OUTCOMES[outcome], content, summary, durationMs };
        const exit = exitCode === undefined ? {} : { exitCode };
        this.#add(event, {
          kind: "call",
          ...row,
          notes: [],
          end: { v, seq, time, type: "tool.end", ...end, ...exit },
        });
        break;
      }
      case "goal.change": {
        const change = `${event.goal} ${event.state}`;
        if (change === this.#goal) break;
        this.#goal = change;
        const words = event.state === "active" ? event.objective : event.note ?? event.objective;
        const level = event.state === "blocked" || event.state === "limit" ? "warning" : "info";
        this.#note(event, { level, text: texts.goal[event.state](words), source: "mark" });
        break;
      }
      case "hook": {
        const { outcome, command, text, event: name } = event;
        const quiet = outcome === "ok" && !text;
        this.#note(event, {
          level: outcome === "ok" ? "info" : "warning",
          text: texts.hook(name, command, outcome),
          source: "hook",
          ...(text ? { body: text } : {}),
          ...(quiet ? { quiet } : {}),
        });
        break;
      }
      case "mcp.server": {
        const line = this.#log.servers.of(event, texts);
        const text = texts.server(event.server, texts.serverStates[event.state]);
        this.#note(event, { source: "server", ...(line ?? { level: "info", text, quiet: true }) });
        break;
      }
      case "lsp.server": {
        const { server, state, detail } = event;
        // A notice says that it is not started again.
        if (state === "failed") break;
        const text = texts.languageServer(server, texts.serverStates[state]);
        const reason = detail === undefined ? {} : { body: detail };
        this.#note(event, {
          source: "server",
          level: detail ? "warning" : "info",
          text,
          quiet: true,
          ...reason,
        });
        break;
      }
      case "turn.end": {
        const { reason, steps, durationMs, cost } = event;
        const money = cost && moneyFigure({ costs: { [cost.currency]: cost.amount }, unpriced: 0 });
        const took = durationMs >= 1000 ? timeText(durationMs, texts) : undefined;
        const text = [texts.reasons[reason], steps > 0 ? texts.steps(steps) : undefined, took, money];
        this.#add(event, {
          kind: "turn",
          reason,
          text: text.filter((part) => part !== undefined).join(" · "),
        });
        [this.#todoAt] = [undefined, this.#calls.clear()];
        break;
      }
    }
  }

  #end(event: Event, title: string, end: EventOf<"tool.end">): void {
    const { callId, name, changes = [], outcome } = end;
    for (const change of changes.filter(isWritten)) this.#file(event.seq, change);
    for (const path of (outcome === "ok" && this.#reading.get(callId)) || []) this.#file(event.seq, { path });
    this.#reading.delete(callId);
    if (this.#change(callId, (row) => ({ ...row, end }))) this.#calls.delete(callId);
    else if (name !== "todo_write" || end.outcome !== "ok") {
      this.#add(event, { kind: "call", callId, name, title, arguments: "", notes: [], end });
    }
  }

  #file(seq: number, { path, from = path, change, added = 0, removed = 0 }: Touched): void {
    const before = this.files.get(path) ?? this.files.get(from);
    for (const each of [from, path]) this.files.delete(each);
    const { ends = [] } = before ?? {};
    const isNew = before?.change === "created" && change === "updated";
    this.files.set(path, {
      path,
      change: isNew ? "created" : change ?? before?.change ?? "read",
      added: added + (before?.added ?? 0),
      removed: removed + (before?.removed ?? 0),
      seq,
      ends: change ? [...ends, seq] : ends,
    });
  }

  /** Changes the row of a call that runs, if there is one. */
  #change(callId: string | undefined, change: (row: CallRow) => CallRow): boolean {
    const at = this.#calls.get(callId ?? "");
    const row = at === undefined ? undefined : this.all[at];
    if (at === undefined || row?.kind !== "call") return false;
    this.all[at] = change(row);
    return true;
  }

  /** A turn has one list, which changes where it is. */
  #todo(event: EventOf<"todo.update">): void {
    this.todos = event.items;
    const row = this.#todoAt === undefined ? undefined : this.all[this.#todoAt];
    if (this.#todoAt !== undefined && row?.kind === "todo") {
      this.all[this.#todoAt] = { ...row, items: event.items };
    } else if (event.items.length > 0) {
      this.#todoAt = this.all.length;
      this.#add(event, { kind: "todo", items: event.items });
    }
  }

  #note(event: Event, note: Omit<NoteRow, "kind" | keyof Placed>): void {
    if (note.quiet) this.quiet++;
    this.#add(event, { kind: "note", ...note });
  }

  #add({ seq, time }: Event, row: Unplaced): void {
    const last = this.all.at(-1)?.key ?? "";
    const [before, more = "1"] = last.split(".");
    const key = before === String(seq) ? `${seq}.${Number(more) + 1}` : String(seq);
    this.all.push({ key, time, ...row });
  }
}

type Unplaced = Row extends infer R ? R extends Row ? Omit<R, keyof Placed> : never : never;

/** Sources of the notes of kinds; those of a mark divide the conversation. */
const SOURCES: Readonly<Partial<Record<Event["type"], NoteRow["source"]>>> = {
  "compaction": "mark",
  "rewind": "mark",
  "plan.change": "mark",
  "checkpoint": "mark",
  "job.change": "job",
  "message.retry": "retry",
};

function sourceOf(event: Event): NoteRow["source"] {
  if (event.type === "notice" && event.code === "lsp") return "server";
  return SOURCES[event.type] ?? "notice";
}

function bodyOf(event: Event): Pick<NoteRow, "body" | "open"> {
  if (event.type === "plan.change" && event.plan !== undefined) return { body: event.plan, open: true };
  if (event.type !== "compaction" || event.action === "prune" || event.digest === "") return {};
  return { body: event.digest.replace(/^<\/?compaction-summary>\n?/gm, "").trim() };
}
