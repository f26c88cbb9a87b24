/** Tool calls as clients show them: files, diffs and output. */
import type { ToolCall, ToolCallContent, ToolCallLocation, ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { EventOf } from "../../core/mod.ts";
import { absolutePath, normalize } from "../../path/lexical.ts";
import { keepEnds } from "../../tool/mod.ts";
import { defined, isRecord, mapTexts, parseJson } from "../../util/json.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { type CallKind, fenced, hunkTexts } from "../../view/mod.ts";

/** Characters of a title, bytes of an argument and of a result, and characters of all diffs of a call. */
const MOST = { title: 300, argument: 8_192, output: 32_768, diffs: 262_144 };

/** Clients refuse lines with half a surrogate pair, which a cut may leave. */
export function titleLine(text: string): string {
  return oneLine(text, MOST.title).toWellFormed();
}

export function inputOf(written: string): unknown {
  return mapTexts(parseJson(written) ?? written, (text) => bounded(text, MOST.argument));
}

function bounded(text: string, maxBytes = MOST.output): string {
  return keepEnds(text.toWellFormed(), { maxBytes }, { next: "the session has all of it" }).text;
}

/** The files of a call, with the line that its arguments name. */
export function locationsOf({ call, paths = [] }: EventOf<"tool.start">, cwd: string): ToolCallLocation[] {
  const args = paths.length === 1 ? parseJson(call.arguments) : undefined;
  const line = isRecord(args) ? Number(args.offset ?? args.line ?? args.start_line) : NaN;
  return paths.map((path) => ({ path: absolute(path, cwd), ...line > 0 && line % 1 === 0 ? { line } : {} }));
}

function absolute(path: string, cwd: string): string {
  return normalize(absolutePath(path, { cwd }));
}

/** A call that has not ended. */
export interface Call {
  /** The call as the client knows it. */
  readonly shown: ToolCall;
  /** Its output goes to a terminal of the client. */
  readonly isTerminal: boolean;
  /** It is part of a complete message; otherwise the model may still drop it. */
  isCertain: boolean;
  /** The end of its output, the part that is to be sent, and the length of what was sent. */
  tail: string;
  unsent: string;
  sent: number;
}

/** The end of a call: its diffs, else its output, or why there is none. */
export function resultOf(end: EventOf<"tool.end">, call: Call, summary: string, cwd: string) {
  const { shown: { kind = "other" }, tail, isTerminal } = call;
  const { outcome, content, changes = [], exitCode, signal, durationMs, truncated, images = [] } = end;
  const ran = outcome === "ok" || outcome === "error";
  const { diffs, locations } = changesOf(changes, cwd);
  const isHidden = isTerminal || diffs.length > 0;
  const texts = ran && !changes.some(({ written }) => written === false)
    ? isHidden || content.trim() === ""
      ? []
      : [PROSE.includes(kind) ? bounded(content) : fenced(bounded(content))]
    : [...(isTerminal || tail === "" ? [] : [fenced(tail)]), summary];
  return {
    status: outcome === "ok" ? "completed" : "failed",
    content: [
      ...diffs,
      ...texts.map(textContent),
      ...images.map((image) => ({ type: "content" as const, content: imageBlock(image) })),
    ],
    ...(locations.length > 0 ? { locations } : {}),
    rawOutput: defined({
      outcome,
      summary: summary.toWellFormed(),
      durationMs,
      exitCode,
      signal,
      truncated,
      output: ran && isHidden ? bounded(content) : undefined,
    }),
  } satisfies Partial<ToolCallUpdate>;
}

/** Clients read texts as Markdown: the results of other kinds are quoted. */
const PROSE: readonly CallKind[] = ["think", "fetch", "switch_mode", "other"];

export function textContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text: text.toWellFormed() } };
}

export function imageBlock({ mime, data }: { readonly mime: string; readonly data: string }) {
  return { type: "image" as const, mimeType: mime, data };
}

type FileChanges = readonly NonNullable<EventOf<"tool.end">["changes"]>[number][];

/** One diff for each hunk, and for each file the first line that changes; not whole: some have no diff. */
export function changesOf(changes: FileChanges, cwd: string) {
  const diffs: ToolCallContent[] = [];
  const locations: ToolCallLocation[] = [];
  let size = 0;
  for (const { path: name, change, diff = "" } of changes) {
    if (change === "unchanged") continue;
    const path = absolute(name, cwd);
    const hunks = change === "created" && diff === ""
      ? [{ before: "", after: "", line: 1 }]
      : hunkTexts(diff);
    locations.push({ path, ...change === "deleted" || !hunks[0] ? {} : { line: hunks[0].line } });
    size += diff.length;
    for (const { before, after } of size > MOST.diffs ? [] : hunks) {
      diffs.push({ type: "diff", path, ...change === "created" ? {} : { oldText: before }, newText: after });
    }
  }
  const isWhole = size <= MOST.diffs && changes.every(({ diff }) => diff !== undefined);
  return { diffs, locations, isWhole };
}
