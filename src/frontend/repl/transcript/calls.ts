import type { EventOf, NewEventOf, PersonWaits } from "../../../core/mod.ts";
import { timeText, type TranscriptTexts } from "../chat_texts.ts";
import { CollapsedItems, type PrintedPieces } from "./printed.ts";
import { displayWidth, fitDisplay } from "../../../util/display_width.ts";
import { terminalSafe } from "../../../util/terminal_text.ts";
import {
  callLines,
  callTitle,
  type CallView,
  type DiffMarks,
  loadDiffMarks,
  type Palette,
  Refusals,
} from "../../../view/mod.ts";

/** The last lines of a running command that are shown. */
const TAIL_LINES = 5;
/** More of its output is not needed for them. */
const TAIL_CHARACTERS = 8 * 1024;

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

interface CallsDeps {
  readonly palette: Palette;
  readonly history: PrintedPieces;
  readonly folded: CollapsedItems;
  readonly texts: () => TranscriptTexts;
}

/** The calls: each that runs has a line of its own with the end of its output, and becomes its result. */
export class Calls {
  readonly #parts: CallsDeps;
  readonly #running = new Map<string, Running>();
  readonly #refusals = new Refusals();
  #marks: DiffMarks | "none" | undefined;
  #loading: Promise<void> | undefined;

  constructor(parts: CallsDeps) {
    this.#parts = parts;
  }

  get any(): boolean {
    return this.#running.size > 0;
  }

  start(event: EventOf<"tool.start">, now: number): void {
    this.#running.set(event.call.id, { title: callTitle(event, this.#parts.texts()), since: now, tail: "" });
  }

  decided(event: EventOf<"approval.decision">): void {
    this.#refusals.note(event);
  }

  output({ callId, text }: NewEventOf<"tool.delta">): void {
    const call = this.#running.get(callId);
    if (call) call.tail = (call.tail + text).slice(-TAIL_CHARACTERS);
  }

  /** An agent that works on a call is doing something. */
  progress({ callId = "", text, calls }: EventOf<"subagent.progress">): void {
    this.output({
      type: "tool.delta",
      callId,
      text: `${this.#parts.texts().agents.calls(calls)} › ${text}\n`,
    });
  }

  /** A call is over. */
  end(event: EventOf<"tool.end">, isLive: boolean): void {
    const title = this.#running.get(event.callId)?.title ?? event.name;
    this.#running.delete(event.callId);
    // The list itself is shown.
    if (event.name === "todo_write" && event.outcome === "ok") return;
    this.#fold(title, event);
    const end = this.#refusals.translated(event, this.#parts.texts().refused);
    const hasDiff = isLive && event.changes?.some(({ diff }) => diff !== undefined);
    this.#parts.history.lines(
      "call",
      (columns) => callLines(title, end, this.#view(columns)),
      hasDiff ? () => this.#prepare() : undefined,
    );
  }

  /** Loads what marks the lines of diffs; undefined when there is nothing to wait for. */
  #prepare(): Promise<void> | undefined {
    if (this.#marks) return undefined;
    return this.#loading ??= loadDiffMarks(this.#parts.palette).then(
      (marks) => void (this.#marks = marks),
      // A diff can be read without marks.
      () => void (this.#marks = "none"),
    );
  }

  clear(): void {
    this.#running.clear();
  }

  #view(columns: number): CallView {
    const { palette, texts } = this.#parts;
    const said = texts();
    return {
      palette,
      texts: () => ({
        ...said,
        linesAbove: (count) => `${said.linesAbove(count)} · ${said.showAll}`,
        moreLines: (count) => `${said.moreLines(count)} · ${said.showAll}`,
      }),
      layout: { columns: () => columns, fit: fitDisplay, width: displayWidth },
      verbose: false,
      marks: this.#marks === "none" ? undefined : this.#marks,
    };
  }

  #fold(title: string, { content, changes = [] }: EventOf<"tool.end">): void {
    const diffs = changes.flatMap(({ diff }) => diff ?? []);
    if (diffs.length > 0) this.#parts.folded.add({ kind: "diff", title, text: diffs.join("\n") });
    else this.#parts.folded.add({ kind: "output", title, text: terminalSafe(content) });
  }

  /** The lines of all of them; fewer lines of output where there is no room for more. */
  live(
    columns: number,
    rows: number,
    { now, spinner, waits }: CallsNow,
  ): string[] {
    const { palette, texts } = this.#parts;
    const calls = [...this.#running];
    const each = Math.floor((rows - calls.length) / Math.max(1, calls.length));
    const room = Math.max(0, Math.min(TAIL_LINES, each));
    return calls.flatMap(([id, { title, since, tail }]) => {
      const took = now - since - waits.since(since, now, id);
      const elapsed = took < 1000 || waits.waiting(id) ? "" : ` · ${timeText(took, texts())}`;
      const head = fitDisplay(title, Math.max(1, columns - displayWidth(elapsed) - 2));
      const lines = room > 0 ? tailOf(tail, room) : [];
      return [
        `${palette.accent(waits.waiting(id) ? "•" : spinner)} ${head}${palette.dim(elapsed)}`,
        ...lines.map((line) => palette.dim(fitDisplay(`  ${line}`, columns))),
      ];
    }).slice(0, Math.max(0, rows));
  }
}

/** The last lines that say something, as a terminal would show them: `\r` writes over a line. */
function tailOf(text: string, most: number): string[] {
  const lines = text.replace(/\r+\n/g, "\n").trimEnd().split("\n").slice(-most);
  return lines
    .map((line) => terminalSafe(line.slice(line.lastIndexOf("\r") + 1).replaceAll("\t", "  ")))
    .filter((line) => line.trim() !== "");
}
