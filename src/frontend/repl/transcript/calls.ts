import type { EventOf, NewEventOf, PersonWaits } from "../../../core/mod.ts";
import type { TranscriptTexts } from "../chat_texts.ts";
import { boundedTail } from "../../session/live_state.ts";
import type { LogEntry } from "../../session/log.ts";
import type { CollapsedItem, CollapsedItems, PrintedPieces } from "./printed.ts";
import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import {
  callLines,
  callTitle,
  type CallView,
  type DiffMarks,
  liveTail,
  loadDiffMarks,
  type Palette,
  timeText,
} from "../../../view/mod.ts";

const TAIL_LINES = 5;

interface Running {
  readonly title: string;
  readonly since: number;
  tail: string;
}

interface CallsNow {
  readonly now: number;
  readonly spinner: string;
  readonly waits: Pick<PersonWaits, "since" | "waiting">;
}

export interface CallsDeps {
  readonly palette: Palette;
  readonly history: PrintedPieces;
  readonly collapsed: CollapsedItems;
  readonly texts: () => TranscriptTexts;
}

/** Running calls, each with a line and the end of its output, until its result is printed. */
export class Calls {
  readonly #deps: CallsDeps;
  readonly #running = new Map<string, Running>();
  #marks: DiffMarks | "none" | undefined;
  #loading: Promise<void> | undefined;

  constructor(deps: CallsDeps) {
    this.#deps = deps;
  }

  get any(): boolean {
    return this.#running.size > 0;
  }

  start(event: EventOf<"tool.start">, now: number): void {
    this.#running.set(event.call.id, { title: callTitle(event, this.#deps.texts()), since: now, tail: "" });
  }

  output({ callId, text }: Pick<NewEventOf<"tool.delta">, "callId" | "text">): void {
    const call = this.#running.get(callId);
    if (call) call.tail = boundedTail(call.tail + text);
  }

  /** Adds the progress of a subagent to the output of its call. */
  progress({ callId = "", text, calls }: EventOf<"subagent.progress">): void {
    this.output({ callId, text: `${this.#deps.texts().agents.calls(calls)} › ${text}\n` });
  }

  end({ title, end: event }: Extract<LogEntry, { kind: "call" }>, isLive: boolean): void {
    this.#running.delete(event.callId);
    // The list itself is shown.
    if (event.name === "todo_write" && event.outcome === "ok") return;
    const item = this.#collapse(title, event);
    const hasDiff = isLive && event.changes?.some(({ diff }) => diff !== undefined);
    this.#deps.history.lines(
      "call",
      (columns) => callLines(title, event, this.#view(columns)),
      { item, prepare: hasDiff ? () => this.#prepare() : undefined },
    );
  }

  /** Loads the marks for diffs; undefined when they are loaded. */
  #prepare(): Promise<void> | undefined {
    if (this.#marks) return undefined;
    return this.#loading ??= loadDiffMarks(this.#deps.palette).then(
      (marks) => void (this.#marks = marks),
      // A diff can be read without marks.
      () => void (this.#marks = "none"),
    );
  }

  clear(): void {
    this.#running.clear();
  }

  #view(columns: number): CallView {
    const { palette, texts } = this.#deps;
    const plain = texts();
    return {
      palette,
      texts: () => ({
        ...plain,
        linesAbove: (count) => `${plain.linesAbove(count)} · ${plain.showAll}`,
        moreLines: (count) => `${plain.moreLines(count)} · ${plain.showAll}`,
      }),
      layout: { columns: () => columns, fit: fitDisplay, width: displayWidth },
      verbose: false,
      marks: this.#marks === "none" ? undefined : this.#marks,
    };
  }

  #collapse(title: string, { content, changes = [] }: EventOf<"tool.end">): CollapsedItem | undefined {
    const diffs = changes.flatMap(({ diff }) => diff ?? []);
    return diffs.length > 0
      ? this.#deps.collapsed.add({ kind: "diff", title, text: diffs.join("\n") })
      : this.#deps.collapsed.add({ kind: "output", title, text: terminalSafe(content) });
  }

  /** The lines of all calls, with as much output as there is space for. */
  live(
    columns: number,
    rows: number,
    { now, spinner, waits }: CallsNow,
  ): string[] {
    const { palette, texts } = this.#deps;
    const calls = [...this.#running];
    const each = Math.floor((rows - calls.length) / Math.max(1, calls.length));
    const space = Math.max(0, Math.min(TAIL_LINES, each));
    return calls.flatMap(([id, { title, since, tail }]) => {
      const took = now - since - waits.since(since, now, id);
      const elapsed = took < 1000 || waits.waiting(id) ? "" : ` · ${timeText(took, texts())}`;
      const head = fitDisplay(title, Math.max(1, columns - displayWidth(elapsed) - 2));
      const lines = space > 0 ? liveTail(tail, space) : [];
      return [
        `${palette.accent(waits.waiting(id) ? "•" : spinner)} ${head}${palette.dim(elapsed)}`,
        ...lines.map((line) => palette.dim(fitDisplay(`  ${line}`, columns))),
      ];
    }).slice(0, Math.max(0, rows));
  }
}
