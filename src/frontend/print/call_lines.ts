import type { EventOf } from "../../core/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { diffLines, outputTail, type Palette } from "../../view/mod.ts";

/** The detail in which calls are shown. */
export interface CallView {
  readonly palette: Palette;
  /** Cuts a line to the width of the terminal, leaving room for `reserved` columns. */
  readonly fit: (line: string, reserved?: number) => string;
  /** Shows the diffs of edits and the ends of outputs. */
  readonly details: boolean;
  /** Shows all of them. */
  readonly verbose: boolean;
}

type Started = Pick<EventOf<"tool.start">, "call" | "summary" | "title">;

/** Room for what says what to do next: a reason that is cut loses its remedy. */
const WHOLE = 1000;
const DIFF_LINES = 24;
const TAIL_LINES = 4;
const FAILED_TAIL_LINES = 20;
const SLOW_MS = 1000;

/** Returns what a call does, in one line. */
export function callTitle({ call, summary, title }: Started): string {
  return oneLine(title ?? `${call.name} ${summary}`, WHOLE);
}

/** A finished call: one line with its result, then what it changed or the end of what it printed. */
export function callLines(title: string, end: EventOf<"tool.end">, view: CallView): string[] {
  return [headline(title, end, view), ...details(end, view).map((line) => `  ${line}`)];
}

function headline(title: string, end: EventOf<"tool.end">, { palette, fit }: CallView): string {
  const time = end.durationMs >= SLOW_MS ? ` · ${(end.durationMs / 1000).toFixed(1)} s` : "";
  const summary = oneLine(end.summary, end.outcome === "ok" ? undefined : WHOLE);
  switch (end.outcome) {
    case "ok": {
      const result = `${summary === "" ? "" : ` · ${summary}`}${time}`;
      return `${palette.good("✓")} ${fit(title, result.length + 2)}${palette.dim(result)}`;
    }
    case "skipped":
      return palette.dim(`– ${fit(title, 12)} · skipped: ${summary}`);
    default: {
      const word = { error: "", blocked: "blocked: ", aborted: "stopped: " }[end.outcome];
      const mark = end.outcome === "blocked" ? "⊘" : "✗";
      const result = `${word}${summary}${time}`;
      return `${palette.bad(mark)} ${fit(title, Math.min(result.length, 40) + 4)} · ${palette.bad(result)}`;
    }
  }
}

function details(end: EventOf<"tool.end">, view: CallView): string[] {
  const { palette, verbose } = view;
  const fit = (line: string) => view.fit(line, 2);
  // A dry run is asked for to see what it would change.
  const changes = (end.changes ?? []).filter((change) => view.details || verbose || change.written === false);
  const maxLines = verbose ? Infinity : Math.max(6, Math.floor(DIFF_LINES / Math.max(1, changes.length)));
  const diffs = changes.flatMap(({ diff }) =>
    diff === undefined ? [] : diffLines(diff, { palette, maxLines, fit })
  );
  if (diffs.length > 0 || end.exitCode === undefined || !(view.details || verbose)) return diffs;
  const failed = end.outcome !== "ok" || end.exitCode !== 0;
  const most = verbose ? Infinity : failed ? FAILED_TAIL_LINES : TAIL_LINES;
  const { lines, before } = outputTail(end.content, most);
  const more = before > 0 ? [palette.dim(`… ${before} more ${before === 1 ? "line" : "lines"} above`)] : [];
  return [...more, ...lines.map((line) => palette.dim(fit(line)))];
}
