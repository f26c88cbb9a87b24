import type { Event, EventOf } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { callTitle, grouped, planText, retryText } from "../../view/mod.ts";
import { agentUpdate, ServerUpdates } from "../server_updates.ts";

/** Texts of every run, and of the turns of a session that is shown. */
export type LogTexts = Texts["run"] & Texts["turn_view"];

/** A line about an event other than texts and calls. */
export interface Note {
  readonly text: string;
  readonly level: "info" | "warning" | "error";
}

/** An entry of the log of a session: a note, or a call that has ended. */
export type LogEntry =
  | { readonly kind: "note"; readonly note: Note }
  | { readonly kind: "call"; readonly title: string; readonly end: EventOf<"tool.end"> };

/** The log of a session as data: the entries of its events. A decision of the user is noted with its call. */
export class LogEntries {
  readonly servers = new ServerUpdates();
  readonly #titles = new Map<string, string>();
  readonly #asked = new Map<string, string>();
  #retryReason = "";
  /** The answer of this turn was marked as interrupted. */
  #marked = false;

  /** A log that continues in the same way; it watches no servers. */
  copy(): LogEntries {
    const copy = new LogEntries();
    for (const [id, title] of this.#titles) copy.#titles.set(id, title);
    for (const [id, subject] of this.#asked) copy.#asked.set(id, subject);
    [copy.#retryReason, copy.#marked] = [this.#retryReason, this.#marked];
    return copy;
  }

  of(event: Event, texts: LogTexts): LogEntry[] {
    if (event.type === "tool.start") this.#titles.set(event.call.id, callTitle(event, texts));
    if (event.type !== "tool.end") {
      return this.#notes(event, texts).map((note) => ({ kind: "note", note }));
    }
    const title = this.#titles.get(event.callId) ?? event.name;
    this.#titles.delete(event.callId);
    return [{ kind: "call", title, end: event }];
  }

  #notes(event: Event, texts: LogTexts): Note[] {
    switch (event.type) {
      case "message.retry":
        return this.#retry(event, texts);
      case "approval.request":
        this.#asked.set(event.callId, oneLine(`${event.tool} ${event.subject}`));
        return [];
      case "approval.decision": {
        const subject = this.#asked.get(event.callId);
        this.#asked.delete(event.callId);
        if (subject === undefined || event.source !== "user") return [];
        if (event.decision === "deny") return [info(texts.denied(subject))];
        return [
          info(event.rule === undefined ? texts.allowed(subject) : texts.allowedByRule(subject, event.rule)),
        ];
      }
      case "message.end":
        this.#marked = event.interrupted ?? false;
        return [];
      case "turn.end": {
        const said = this.#marked && event.reason === "interrupted";
        [this.#retryReason, this.#marked] = ["", false];
        this.#asked.clear();
        this.#titles.clear();
        return said ? [] : turnEnd(event, texts);
      }
      default:
        return plainNotes(event, texts);
    }
  }

  #retry(event: EventOf<"message.retry">, texts: LogTexts): Note[] {
    const text = retryText(event, texts, this.#retryReason);
    this.#retryReason = event.reason;
    return [...(event.discarded ? [info(texts.brokeOff)] : []), { level: "warning", text }];
  }
}

const info = (text: string): Note => ({ level: "info", text });

function turnEnd(event: EventOf<"turn.end">, texts: LogTexts): Note[] {
  const { reason, detail, said } = event;
  if (reason === "done") return [];
  if (reason === "interrupted" || reason === "terminated") return [info(texts.reasons[reason])];
  return [{ level: "error", text: texts.turnEnded(texts.written(said, detail ?? texts.reasons[reason])) }];
}

function plainNotes(event: Event, texts: LogTexts): Note[] {
  switch (event.type) {
    case "notice":
      return [{ level: event.level, text: texts.written(event.said, event.text) }];
    case "error":
      // The end of a turn has the reason.
      return event.code in texts.reasons ? [] : [{ level: "error", text: event.text }];
    case "context.prefix":
      if (event.reason === "start") return [];
      return [info(texts.prefixRebuilt(event.reason, event.detail ?? texts.prefixChanged))];
    case "compaction": {
      const figures = [grouped(event.tokensBefore), grouped(event.tokensAfter)] as const;
      if (event.action === "prune") return [info(texts.pruned(...figures))];
      const hint = event.digest === "" || texts.showAll === "" ? "" : ` · ${texts.showAll}`;
      return [info(texts.compacted(...figures) + hint)];
    }
    case "rewind":
      return [info(texts.wentBack(texts.scopes[event.scope]))];
    case "checkpoint":
      return event.files > 0 ? [info(texts.checkpoint(grouped(event.files)))] : [];
    case "plan.change":
      return [info(planText(event, texts.plan))];
    case "subagent.start":
    case "subagent.end":
      // A subagent that a call waits for is shown as that call.
      return event.background || event.callId === undefined ? [agentUpdate(event, texts)] : [];
    case "job.change":
      return [info(texts.jobs[event.status](oneLine(event.command)))];
    default:
      return [];
  }
}
