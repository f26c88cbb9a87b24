import { Marked } from "marked";
import { errorMessage, type Event, type EventOf, message, usageError } from "../../core/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { fenced, moneyFigure, tokenFigures } from "../../view/mod.ts";
import { loadEvents } from "../log/log.ts";
import { branchEvents, type SessionState } from "../state/state.ts";

interface ToolBlock {
  readonly kind: "tool";
  readonly name: string;
  readonly arguments: string;
  readonly outcome: EventOf<"tool.end">["outcome"] | "unknown";
  readonly summary: string;
  readonly output: string;
  readonly diffs: readonly string[];
}

export type Block =
  | { readonly kind: "turn"; readonly turn: number; readonly time: string }
  | { readonly kind: "user"; readonly text: string; readonly images: number }
  | { readonly kind: "harness"; readonly origin: string; readonly text: string }
  | {
    readonly kind: "assistant";
    readonly text: string;
    readonly reasoning: string;
    readonly interrupted: boolean;
  }
  | ToolBlock
  | { readonly kind: "note"; readonly text: string };

export interface Transcript {
  readonly state: SessionState;
  readonly title: string;
  readonly blocks: readonly Block[];
}

/**
 * Reads a session for people: the current branch, including what compactions took from the
 * model.
 */
function readTranscript(path: string): Transcript {
  const ends = new Map<number, EventOf<"tool.end">>();
  const { state } = loadEvents(path, (event) => {
    if (event.type === "tool.end") ends.set(event.seq, event);
  });
  const events = branchEvents(state).map((event) => ends.get(event.seq) ?? event);
  const results = new Map<string, EventOf<"tool.end">>();
  const blocks: Block[] = [];
  // Ids may repeat from turn to turn, so that results are looked up only from the reply on that made the
  // call.
  for (const event of [...events].reverse()) {
    if (event.type === "tool.end") results.set(event.callId, event);
    blocks.push(...blocksOf(event, results).reverse());
  }
  const prompt = state.turns[0]?.prompt.trim().split("\n", 1)[0] ?? "";
  return { state, title: state.title ?? (prompt || state.session || "Session"), blocks: blocks.reverse() };
}

function blocksOf(event: Event, results: Map<string, EventOf<"tool.end">>): Block[] {
  switch (event.type) {
    case "turn.start":
      return [{ kind: "turn", turn: event.turn, time: event.time }];
    case "message.user":
      return [userBlock(event)];
    case "message.end":
      return replyBlocks(event, results);
    case "compaction":
      return [{ kind: "note", text: `Older messages were compacted here (${event.reason})` }];
    case "turn.end":
      return event.reason === "done"
        ? []
        : [{ kind: "note", text: `The turn ended: ${event.detail ?? event.reason}` }];
    default:
      return [];
  }
}

function userBlock(event: EventOf<"message.user">): Block {
  return event.origin === "user" || event.origin === "steer"
    ? { kind: "user", text: event.content, images: event.images?.length ?? 0 }
    : { kind: "harness", origin: event.origin, text: event.content };
}

function replyBlocks(event: EventOf<"message.end">, results: Map<string, EventOf<"tool.end">>): Block[] {
  const blocks: Block[] = [];
  const { content, reasoning = "", interrupted = false } = event;
  if (content !== "" || reasoning !== "") {
    blocks.push({ kind: "assistant", text: content, reasoning, interrupted });
  }
  for (const call of interrupted ? [] : event.calls ?? []) {
    const result = results.get(call.id);
    blocks.push({
      kind: "tool",
      name: call.name,
      arguments: call.arguments,
      outcome: result?.outcome ?? "unknown",
      summary: result?.summary ?? "no result",
      output: result?.content ?? "",
      diffs: (result?.changes ?? []).flatMap(({ diff }) => diff ?? []),
    });
  }
  return blocks;
}

/** "Tokens: in 1,200 (900 cached, 75 %), out 80", and the money as far as it is known. */
function spendingLine(state: SessionState): string {
  const tokens = tokenFigures(state.usage).join(", ") || "unknown";
  return [`Tokens: ${tokens}`, moneyFigure(state) ?? "cost unknown"].join(" · ");
}

function toMarkdown({ title, state, blocks }: Transcript): string {
  const facts = [
    state.session && `Session ${state.session}`,
    state.created,
    state.cwd && code(state.cwd),
    state.model && code(state.model),
  ].filter((fact) => fact);
  const parts = [
    `# ${oneLine(title, Infinity)}`,
    facts.join(" · "),
    spendingLine(state),
    ...blockTexts(blocks),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** The texts of all blocks. Who speaks is said once for all steps of a turn. */
function blockTexts(blocks: readonly Block[]): string[] {
  let speaker = "";
  return blocks.map((block) => {
    const begins = speaker !== "assistant";
    if (block.kind === "assistant" || block.kind === "user" || block.kind === "turn") speaker = block.kind;
    return blockText(block, begins);
  });
}

function blockText(block: Block, begins: boolean): string {
  switch (block.kind) {
    case "turn":
      return `## Turn ${block.turn}`;
    case "user": {
      const images = block.images > 0 ? `\n\n_${block.images} image(s)_` : "";
      return `### You\n\n${quoted(block.text)}${images}`;
    }
    case "harness":
      return markdownDetails(`Harness (${block.origin})`, fenced(block.text));
    case "assistant": {
      const thought = block.reasoning === ""
        ? ""
        : `${markdownDetails("Reasoning", fenced(block.reasoning))}\n\n`;
      const end = block.interrupted ? "\n\n_interrupted_" : "";
      const heading = begins ? "### Reasonix\n\n" : "";
      return `${heading}${thought}${closed(block.text)}${end}`.trimEnd();
    }
    case "tool":
      return toolText(block);
    case "note":
      return `> ${oneLine(block.text, Infinity)}`;
  }
}

function toolText(block: ToolBlock): string {
  const diffs = block.diffs.map((diff) => fenced(diff, "diff"));
  const parts = [fenced(block.arguments, "json"), ...diffs, fenced(block.output)];
  return markdownDetails(
    `${block.name}: ${block.outcome}, ${oneLine(block.summary, Infinity)}`,
    parts.join("\n\n"),
  );
}

function markdownDetails(summary: string, body: string): string {
  const safe = summary.replace(
    /[&<>]/g,
    (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign] ?? sign,
  );
  return `<details>\n<summary>${safe}</summary>\n\n${body}\n\n</details>`;
}

/** Quotes what a person typed, which may be anything; as a quotation nothing in it reaches beyond it. */
function quoted(text: string): string {
  return text.split("\n").map((line) => `> ${line}`.trimEnd()).join("\n");
}

/** A reply that broke off inside a code block would take the rest of the page into it. */
function closed(text: string): string {
  let open = "";
  for (const [, fence = "", rest = ""] of text.matchAll(/^ {0,3}(`{3,}|~{3,})(.*)$/gm)) {
    if (open === "") open = fence;
    else if (fence.startsWith(open) && rest.trim() === "") open = "";
  }
  return open === "" ? text : `${text}\n${open}`;
}

function code(text: string): string {
  return text.includes("`") ? text : `\`${text}\``;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

/** Addresses that may become links; `javascript:`, `data:` and local paths may not. */
const LINK = /^(?:https?|mailto):/i;

const markdown = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    image: ({ href, text }) => `[${escapeHtml(text || href)}]`,
    link({ href, tokens }) {
      const shown = this.parser.parseInline(tokens);
      return LINK.test(href) ? `<a href="${escapeHtml(href)}" rel="noreferrer nofollow">${shown}</a>` : shown;
    },
  },
});

/** Markdown of a model as HTML. HTML inside it is shown as text, images as their description. */
function markdownHtml(text: string): string {
  return markdown.parse(text, { async: false }).trim();
}

const STYLE: Readonly<Record<string, string>> = {
  ":root": "color-scheme: light dark; --line: #8884; --soft: #8881",
  "body": "font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem",
  "h2": "border-top: 1px solid var(--line); padding-top: 1rem; font-size: 1rem",
  ".facts, .note": "color: #777; font-size: .875rem",
  ".user, .assistant": "overflow-wrap: anywhere; margin: 1rem 0",
  ".assistant table": "border-collapse: collapse",
  ".assistant :is(td, th)": "border: 1px solid var(--line); padding: .25rem .5rem",
  ".assistant :is(h1, h2, h3)": "border: 0; padding: 0; font-size: 1.125rem",
  ".user": "white-space: pre-wrap; background: var(--soft); border-radius: .5rem; padding: .75rem 1rem",
  "details": "border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: .25rem .75rem",
  "summary": "cursor: pointer; font: .875rem ui-monospace, monospace",
  "pre": "white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8125rem",
  ".add": "color: #187c2f",
  ".del": "color: #b3261e",
};

/** Nothing is loaded and nothing runs, whatever the session holds. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** The session as one HTML page that needs nothing else and runs nothing. */
function toHtml({ title, state, blocks }: Transcript): string {
  const facts = [state.session, state.created, state.cwd, state.model, spendingLine(state)];
  const head = [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    `<title>${escapeHtml(title)}</title>`,
    `<style>\n${Object.entries(STYLE).map(([name, rules]) => `${name} { ${rules} }\n`).join("")}</style>`,
  ];
  const body = [
    `<h1>${escapeHtml(title)}</h1>`,
    `<p class="facts">${
      facts.map((fact) => escapeHtml(fact ?? "")).filter((fact) => fact !== "").join(" · ")
    }</p>`,
    ...blocks.map(blockHtml),
  ];
  const page = ["<!doctype html>", '<html lang="en">', "<head>", ...head, "</head>", "<body>", ...body];
  return `${[...page, "</body>", "</html>"].join("\n")}\n`;
}

function blockHtml(block: Block): string {
  switch (block.kind) {
    case "turn":
      return `<h2>Turn ${block.turn}</h2>`;
    case "user": {
      const images = block.images > 0 ? `\n[${block.images} image(s)]` : "";
      return `<div class="user">${escapeHtml(block.text + images)}</div>`;
    }
    case "harness":
      return htmlDetails(`Harness (${block.origin})`, pre(block.text));
    case "assistant": {
      const thought = block.reasoning === "" ? "" : htmlDetails("Reasoning", pre(block.reasoning));
      const end = block.interrupted ? "\n<p>[interrupted]</p>" : "";
      return `${thought}<div class="assistant">${markdownHtml(block.text)}${end}</div>`;
    }
    case "tool":
      return toolHtml(block);
    case "note":
      return `<p class="note">${escapeHtml(block.text)}</p>`;
  }
}

function toolHtml(block: ToolBlock): string {
  const body = [pre(block.arguments), ...block.diffs.map(diffHtml), pre(block.output)].join("");
  return htmlDetails(`${block.name}: ${block.outcome}, ${block.summary}`, body);
}

function diffHtml(diff: string): string {
  const lines = diff.split("\n").map((line) => {
    const kind = /^\+(?!\+\+)/.test(line) ? "add" : /^-(?!--)/.test(line) ? "del" : "";
    return kind === "" ? escapeHtml(line) : `<span class="${kind}">${escapeHtml(line)}</span>`;
  });
  return `<pre>${lines.join("\n")}</pre>`;
}

function htmlDetails(summary: string, body: string): string {
  return `<details><summary>${escapeHtml(summary)}</summary>${body}</details>`;
}

function pre(text: string): string {
  return `<pre>${escapeHtml(text)}</pre>`;
}

export type ExportFormat = "markdown" | "html" | "json";

/**
 * A session for other people's eyes: the current branch, with everything the user saw. Does not lock or
 * change the session. Throws ReasonixError when the file is no session.
 */
export function exportSession(path: string, format: ExportFormat): string {
  const transcript = readTranscript(path);
  switch (format) {
    case "markdown":
      return toMarkdown(transcript);
    case "html":
      return toHtml(transcript);
    case "json":
      return toJson(transcript);
  }
}

function toJson({ state, title, blocks }: Transcript): string {
  const { session, cwd, model, created, updated, parent, usage, costs, unpriced, todos, turns } = state;
  const facts = { session, title, cwd, model, created, updated, parent, usage, costs, unpriced, todos };
  return `${JSON.stringify({ format: "reasonix-session", version: 1, ...facts, turns, blocks }, null, 2)}\n`;
}

const ENDINGS: Readonly<Record<string, ExportFormat>> = {
  md: "markdown",
  markdown: "markdown",
  html: "html",
  htm: "html",
  json: "json",
};

interface ExportToFile {
  /** Absent: by the ending of the file; Markdown for others. */
  readonly format?: ExportFormat | undefined;
  readonly force?: boolean;
  readonly taken: string;
}

function formatOf(file: string): ExportFormat {
  return ENDINGS[/\.(\w+)$/.exec(file)?.[1]?.toLowerCase() ?? ""] ?? "markdown";
}

/** Writes a session into a file. Throws ReasonixError (usage) when it is there already. */
export function exportToFile(path: string, file: string, { format, force, taken }: ExportToFile): void {
  const text = exportSession(path, format ?? formatOf(file));
  try {
    Deno.writeTextFileSync(file, text, { createNew: !force });
  } catch (error) {
    const exists = error instanceof Deno.errors.AlreadyExists;
    throw usageError(
      exists
        ? message`Cannot write ${file}: it exists already`
        : message`Cannot write ${file}: ${errorMessage(error)}`,
      exists ? taken : message`name a file in a writable directory`,
    );
  }
}
