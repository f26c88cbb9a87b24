/** Tool calls as clients show them: kind, title, files, diffs and output. */
import type { ToolCallContent, ToolCallLocation, ToolCallUpdate, ToolKind } from "@agentclientprotocol/sdk";
import type { EventOf } from "../../core/mod.ts";
import { absolutePath, normalize } from "../../path/lexical.ts";
import { defined, isRecord, mapTexts, parseJson } from "../../util/json.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { hunkTexts } from "../../view/mod.ts";

/** Most characters of a title, of each argument, of a result, and of all diffs of a call. */
const MOST = { title: 300, argument: 8_192, output: 32_768, diffs: 262_144 };

const KINDS: Readonly<Record<string, string>> = {
  execute: "bash shell exec execute run command terminal job jobs",
  think: "todo todowrite task think goal plan step update_goal read_only_task",
  switch_mode: "exit_plan_mode",
  delete: "delete remove forget drop",
  move: "move rename",
  edit: "edit write create update patch insert replace append save remember set add lsp_rename",
  fetch: "fetch http url web browse browser navigate download",
  search: "grep glob search find query list ls symbols references definition history",
  read: "read get view show hover memory resource open describe",
};

const KIND_OF = new Map(
  Object.entries(KINDS).flatMap(([kind, words]) => words.split(" ").map((word) => [word, kind as ToolKind])),
);

/** The kind of a tool by its name, else by the first word of it that has one; the name of a server aside. */
export function kindOf(name: string): ToolKind {
  const own = name.replace(/^mcp__.+?__/, "").replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  return [own, ...own.split(/[^a-z]+/)].map((word) => KIND_OF.get(word)).find(Boolean) ?? "other";
}

export function isShell(name: string): boolean {
  return /^(?:bash|shell|shell_command|run_shell_command)$/i.test(name);
}

const ABOUT = /"(command|path|file_path|pattern|query|url|description)"\s*:\s*("(?:[^"\\]|\\.)*")/;

/** The title of a call by as many of its arguments as there are. */
export function earlyTitle(name: string, written: string): string {
  const [, field, text = '""'] = ABOUT.exec(written) ?? [];
  const about = String(parseJson(text) ?? "");
  return titleLine(field === "command" && isShell(name) ? `$ ${about}` : `${name} ${about}`);
}

/** Clients refuse lines with half a surrogate pair, which a cut may leave. */
export function titleLine(text: string): string {
  return oneLine(text, MOST.title).toWellFormed();
}

export function inputOf(written: string): unknown {
  return mapTexts(parseJson(written) ?? written, (text) => bounded(text, MOST.argument));
}

/** The files of a call, with the line that its arguments name. */
export function locationsOf({ call, paths = [] }: EventOf<"tool.start">, cwd: string): ToolCallLocation[] {
  const args = paths.length === 1 ? parseJson(call.arguments) : undefined;
  const line = isRecord(args) ? args.offset ?? args.line ?? args.start_line : undefined;
  const lines = Number.isInteger(line) && Number(line) > 0 ? { line: Number(line) } : {};
  return paths.map((path) => ({ path: absolute(path, cwd), ...lines }));
}

function absolute(path: string, cwd: string): string {
  return normalize(absolutePath(path, { cwd }));
}

interface EndView {
  readonly cwd: string;
  readonly kind: ToolKind;
  /** The summary in the language of the user. */
  readonly summary: string;
  /** The end of the output that was shown as text. */
  readonly tail: string;
  /** The client shows the output in a terminal. */
  readonly terminal: boolean;
}

/** The end of a call: its diffs, else its output, or why there is none. */
export function resultOf(end: EventOf<"tool.end">, { cwd, kind, summary, tail, terminal }: EndView) {
  const { outcome, content, changes = [], exitCode, signal, durationMs, truncated, images = [] } = end;
  const ran = outcome === "ok" || outcome === "error";
  const { diffs, locations } = changesOf(changes, cwd);
  const says = !ran || changes.some(({ written }) => written === false);
  const hidden = terminal || diffs.length > 0;
  const texts = [
    ...(ran || terminal || tail === "" ? [] : [fenced(tail)]),
    ...(says
      ? [summary]
      : hidden
      ? []
      : [PROSE.includes(kind) ? bounded(content) : fenced(bounded(content))]),
  ];
  return {
    status: outcome === "ok" ? "completed" : "failed",
    content: [
      ...diffs,
      ...texts.filter((text) => text.trim() !== "").map(textContent),
      ...images.map((image): ToolCallContent => ({ type: "content", content: imageBlock(image) })),
    ],
    ...(locations.length > 0 ? { locations } : {}),
    rawOutput: defined({
      outcome,
      summary: summary.toWellFormed(),
      durationMs,
      exitCode,
      signal,
      truncated,
      output: ran && hidden ? bounded(content) : undefined,
    }),
  } satisfies Partial<ToolCallUpdate>;
}

/** Kinds with results in prose; others are quoted, since clients read texts as Markdown. */
const PROSE: readonly ToolKind[] = ["think", "fetch", "switch_mode", "other"];

export function fenced(text: string): string {
  if (text.trim() === "") return "";
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** The beginning and the end of a long text. */
export function bounded(text: string, most = MOST.output): string {
  if (text.length <= most) return text.toWellFormed();
  const head = text.slice(0, most / 2).replace(/[\ud800-\udbff]$/, "");
  const tail = text.slice(-most / 2).replace(/^[\udc00-\udfff]/, "");
  return `${head}\n[… ${text.length - head.length - tail.length} …]\n${tail}`.toWellFormed();
}

export function textContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
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
    const hunks = hunkTexts(diff);
    const line = change === "deleted" ? undefined : hunks[0]?.line;
    locations.push(line === undefined ? { path } : { path, line });
    size += diff.length;
    if (size > MOST.diffs) continue;
    if (change === "created" && hunks.length === 0) diffs.push({ type: "diff", path, newText: "" });
    for (const { before, after } of hunks) {
      const old = change === "created" ? {} : { oldText: before };
      diffs.push({ type: "diff", path, ...old, newText: after });
    }
  }
  const isWhole = size <= MOST.diffs && changes.every(({ diff }) => diff !== undefined);
  return { diffs, locations, isWhole };
}
