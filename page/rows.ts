/** The rows of a conversation. */
import { useSignal } from "@preact/signals";
import { html } from "htm/preact";
import { Component, type ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { oneLine, terminalSafe } from "../src/util/terminal_text.ts";
import { callLine, outputTail } from "../src/view/call_lines.ts";
import { diffRows } from "../src/view/diff.ts";
import { checklistLine, earlyTitle, grouped, lineFigures, liveTail, timeText } from "../src/view/mod.ts";
import { colored, loadMarks, marks } from "./highlight.ts";
import { Blocks, Code, Copy, Markdown } from "./markdown.ts";
import type { CallRow, NoteRow, ReplyRow, Row, TodoRow, UserRow } from "../src/frontend/session/rows.ts";
import type { Said, SessionModel, SessionView } from "./store.ts";
import { texts } from "./texts.ts";

/** Lines that are shown of a long text, as in the chat. */
const [USER_LINES, DIFF_LINES, OUTPUT_LINES, FAILED_LINES, LIVE_LINES] = [20, 24, 4, 20, 5];
const IMAGES = /^image\/(?:png|jpeg|gif|webp|avif)$/;
const SECOND = 1000;
/** Rows before the end that are usually in view. */
const NEAR_ROWS = 10;

interface ItemProps {
  readonly model: SessionModel;
  readonly item: Row | Said;
}

/** A row; it is drawn again only when its row has changed. */
export class Item extends Component<ItemProps> {
  override shouldComponentUpdate({ item, model }: ItemProps): boolean {
    const before = this.props.item;
    if (before.key !== item.key || model !== this.props.model) return true;
    if ("end" in item || "notes" in item) {
      return !("notes" in before) || before.end !== item.end || before.notes.length !== item.notes.length;
    }
    return "items" in item && "items" in before && item.items !== before.items;
  }

  render({ item, model }: ItemProps): ComponentChildren {
    if (!("kind" in item)) {
      return html`
        <div class="row said" data-key=${item.key}>
          <${SaidText} ...${item} />
        </div>
      `;
    }
    const name = item.kind === "note" ? `note ${item.level}` : item.kind;
    return html`<article class="row ${name}" data-key=${item.key}>${this.#body(item, model)}</article>`;
  }

  #body(row: Row, model: SessionModel): ComponentChildren {
    switch (row.kind) {
      case "user":
        return html`<${User} ...${row} />`;
      case "reply":
        return html`<${Reply} ...${row} />`;
      case "call":
        return row.end
          ? html`<${Call} row=${row} end=${row.end} />`
          : html`<${Running} row=${row} model=${model} />`;
      case "note":
        return html`<${Note} ...${row} />`;
      case "todo":
        return html`<${Todos} ...${row} />`;
      case "turn":
        return html`<p>${row.text}</p>`;
    }
  }
}

function SaidText({ text, form }: Said): ComponentChildren {
  if (form === "plain") return html`<pre tabindex="0">${terminalSafe(text)}</pre>`;
  return form === "error"
    ? html`<p class="error">✗ ${terminalSafe(text)}</p>`
    : html`<${Markdown} text=${text} />`;
}

/** A line that shows more when it is opened. */
function Fold(
  { line, open = false, children, name = "" }: {
    readonly line: ComponentChildren;
    readonly open?: boolean;
    readonly name?: string;
    readonly children: () => ComponentChildren;
  },
): ComponentChildren {
  const isOpen = useSignal(open);
  const toggle = () => isOpen.value = !isOpen.value;
  return html`
    <button type="button" class="line ${name}" aria-expanded=${isOpen.value}
      onClick=${toggle}>${line}</button>
    ${isOpen.value && children()}
  `;
}

function Pictures({ images }: { readonly images: UserRow["images"] }): ComponentChildren {
  const shown = images.filter(({ mime }) => IMAGES.test(mime));
  return shown.map(({ mime, data }, at) =>
    html`<img class="picture" key=${at} alt=${texts().web.talk.image} src="data:${mime};base64,${data}" />`
  );
}

function User({ text, attached, images, steer }: UserRow): ComponentChildren {
  const { rows, web: { talk } } = texts();
  const all = useSignal(false);
  const lines = terminalSafe(text).split("\n");
  const isLong = lines.length > USER_LINES + 1 && !all.value;
  const shown = isLong ? lines.slice(0, USER_LINES) : lines;
  const more = () => all.value = true;
  return html`
    <h2 class="hidden">${talk.you}</h2>
    <div class="text">${shown.join("\n")}</div>
    ${isLong && html`<button type="button" class="more" onClick=${more}>
      ${rows.moreLines(lines.length - USER_LINES)}</button>`}
    ${attached.map((name) => html`<p class="attached">+ ${terminalSafe(name)}</p>`)}
    <${Pictures} images=${images} />
    ${steer && html`<p class="attached">↪ ${rows.steered}</p>`}
    <${Copy} text=${text} />
  `;
}

function Thought({ text, line }: { readonly text: string; readonly line: string }): ComponentChildren {
  return html`<${Fold} name="thought" line=${`∴ ${line}`}>${() =>
    html`<div class="thinking">${terminalSafe(text)}</div>`}<//>`;
}

function Reply({ text, thinking, tokens, interrupted }: ReplyRow): ComponentChildren {
  const { rows, web: { talk } } = texts();
  const size = tokens
    ? rows.tokens(grouped(tokens))
    : rows.aboutTokens(grouped(Math.ceil(thinking.length / 4)));
  return html`
    <h3 class="hidden">${talk.agent}</h3>
    ${thinking.trim() !== "" && html`<${Thought} text=${thinking} line=${`${rows.thought} · ${size}`} />`}
    <${Markdown} text=${text} />
    ${interrupted && html`<p class="interrupted">■ ${rows.interrupted}</p>`}
    ${text.trim() !== "" && html`<${Copy} text=${text} />`}
  `;
}

function Note({ level, text, body, open }: NoteRow): ComponentChildren {
  const mark = level === "error" ? "✗" : level === "warning" ? "!" : "·";
  const line = `${mark} ${terminalSafe(text).trim()}`;
  if (body === undefined) return html`<p>${line}</p>`;
  return html`<${Fold} line=${line} open=${open}>${() =>
    html`
      <div class="body">
        <${Markdown} text=${body} />
      </div>
    `}<//>`;
}

function Todos({ items }: Pick<TodoRow, "items">): ComponentChildren {
  const done = items.filter(({ status }) => status === "completed").length;
  return html`
    <p class="title">${texts().rows.todo(done, items.length)}</p>
    <ul>${items.map((item) => html`<li class=${item.status}>${oneLine(checklistLine(item), 500)}</li>`)}</ul>
  `;
}

/** The seconds since a time, counted while it is shown. */
function Elapsed({ since }: { readonly since: string }): ComponentChildren {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => now.value = Date.now(), SECOND);
    return () => clearInterval(timer);
  }, []);
  const took = now.value - Date.parse(since);
  return took >= SECOND ? html`<span class="result"> · ${timeText(took, texts().rows)}</span>` : null;
}

/** A call without a result yet: its line, and the end of its output. */
function Running({ row, model }: { readonly row: CallRow; readonly model: SessionModel }): ComponentChildren {
  const live = model.view.value.calls.get(row.callId);
  if (!live) return html`<p class="line"><span class="mark">·</span> ${row.title}</p>`;
  const { progress, tail, since } = live;
  const lines = liveTail(progress ? `${tail}${progress.agent} › ${progress.text}\n` : tail, LIVE_LINES);
  return html`
    <p
      class="line"><span class="mark spin" aria-hidden="true"></span> ${row
        .title}<${Elapsed} since=${since} /></p>
    ${lines.length > 0 && html`<pre class="output live">${lines.join("\n")}</pre>`}
  `;
}

/** A call with its result: a line, its changes or the end of its output, and all of it when it is opened. */
function Call(
  { row, end }: { readonly row: CallRow; readonly end: NonNullable<CallRow["end"]> },
): ComponentChildren {
  const { rows, web: { talk } } = texts();
  const isOpen = useSignal(false);
  const { mark, result } = callLine(row.title, end, rows);
  const diffs = (end.changes ?? []).filter(({ diff }) => diff !== undefined);
  const failed = end.outcome !== "ok" || (end.exitCode ?? 0) !== 0;
  const toggle = () => isOpen.value = !isOpen.value;
  const most = isOpen.value ? Infinity : Math.max(6, Math.floor(DIFF_LINES / Math.max(1, diffs.length)));
  return html`
    <button type="button" class="line" aria-expanded=${isOpen.value} onClick=${toggle}>
      <span class="mark ${end.outcome}" role="img" aria-label=${talk.outcomes[end.outcome]}>${mark}</span>
      <span> ${row.title}</span>${result !== "" &&
        html`<span class="result ${end.outcome}"> · ${result}</span>`}
    </button>
    ${isOpen.value && html`<${CallDetails} row=${row} end=${end} />`}
    ${diffs.map(({ path, diff = "", added, removed }) =>
      html`<${Diff} key=${path} path=${path} diff=${diff} figures=${
        lineFigures({ added, removed })
      } most=${most} />`
    )}
    ${diffs.length === 0 && !isOpen.value && end.exitCode !== undefined &&
      html`<${Tail} content=${end.content} most=${failed ? FAILED_LINES : OUTPUT_LINES} />`}
    <${Pictures} images=${end.images ?? []} />
  `;
}

function CallDetails(
  { row, end }: { readonly row: CallRow; readonly end: NonNullable<CallRow["end"]> },
): ComponentChildren {
  const content = terminalSafe(end.content);
  return html`
    <div class="details">
      ${row.notes.map((note) => html`<p class="attached">${note}</p>`)}
      ${row.arguments.length > 2 && html`<${Code} text=${argumentText(row.arguments)} info="json" />`}
      ${content.trim() !== "" && html`<${Code} text=${content} />`}
    </div>
  `;
}

/** Arguments with a line each, where they are JSON. */
function argumentText(written: string): string {
  try {
    return terminalSafe(JSON.stringify(JSON.parse(written), undefined, 2));
  } catch {
    return terminalSafe(written);
  }
}

function Tail({ content, most }: { readonly content: string; readonly most: number }): ComponentChildren {
  const { lines, before } = outputTail(content, most);
  if (lines.length === 0) return null;
  const above = before > 0 ? `${texts().rows.linesAbove(before)}\n` : "";
  return html`<pre class="output">${above}${lines.join("\n")}</pre>`;
}

interface DiffProps {
  readonly path: string;
  readonly diff: string;
  readonly figures: string;
  readonly most?: number;
}

/** A diff with the numbers of its lines, its changed words marked. */
export function Diff({ path, diff, figures, most = Infinity }: DiffProps): ComponentChildren {
  const known = marks.value;
  useEffect(() => void loadMarks().catch(() => {}), []);
  const { rows, left } = useMemo(() => diffRows(diff, { most, marks: known }), [diff, most, known]);
  return html`
    <figure class="diff">
      <figcaption><span>${path}</span> <span class="figures">${figures}</span><${Copy} text=${diff} /></figcaption>
      <div class="wide" tabindex="0"><table><tbody>
        ${rows.map(({ mark, old, fresh, text, words, tokens }) =>
          html`
            <tr class=${mark === "+" ? "add" : mark === "-" ? "del" : mark === "…" ? "gap" : ""}>
              <td class="number" data-number=${(mark === "-" ? old : fresh) ?? ""}></td>
              <td class="sign">${mark}</td>
              <td class="text">${colored(text, tokens, words)}</td>
            </tr>
          `
        )}
      </tbody></table></div>
      ${left > 0 && html`<p class="attached">${texts().rows.moreLines(left)}</p>`}
    </figure>
  `;
}

/** The reply that streams, and the calls that the model writes. */
export function Streaming({ model }: { readonly model: SessionModel }): ComponentChildren {
  const { message } = model.view.value;
  const { rows } = texts();
  if (!message) return null;
  const { thinking, blocks, open, calls } = message;
  const writes = blocks.length > 0 || open !== undefined;
  const words = thinking.slice(-300).replace(/\s+/g, " ").trim();
  const size = rows.aboutTokens(grouped(Math.ceil(thinking.length / 4)));
  return html`
    <div class="row reply">
      ${thinking !== "" && html`<${Thought} text=${thinking} line=${`${rows.thought} · ${size}`} />`}
      ${!writes && words !== "" && html`<p class="last-words"><bdi>${terminalSafe(words)}</bdi></p>`}
      <${Blocks} blocks=${blocks} open=${open} />
      ${calls.map(({ callId, name, arguments: written = "" }) =>
        html`<p class="line" key=${callId}><span class="mark">…</span> ${earlyTitle(name, written)}</p>`
      )}
    </div>
  `;
}

const RESTS: readonly unknown[] = [undefined, "idle", "done", "failed", "stopped"];

export function isBusy({ turnState }: Pick<SessionView, "turnState">): boolean {
  return !RESTS.includes(turnState);
}

/** What a running turn does, and its open todos. */
export function Activity({ model }: { readonly model: SessionModel }): ComponentChildren {
  const view = model.view.value;
  const { rows } = texts();
  if (!isBusy(view)) return null;
  // The list of this turn is a row, which may be out of view.
  const open = view.todos.some(({ status }) => status !== "completed") &&
    !view.rows.slice(-NEAR_ROWS).some(({ kind }) => kind === "todo");
  return html`
    ${open && html`
      <div class="row todo pinned">
        <${Todos} items=${view.todos} />
      </div>
    `}
    <p class="row activity"><span class="mark spin" aria-hidden="true"></span> ${activityText(view, rows)}
      ${view.since !== "" && html`<${Elapsed} since=${view.since} />`}</p>
  `;
}

function activityText(
  { turnState, message, retry }: SessionView,
  rows: ReturnType<typeof texts>["rows"],
): string {
  if (retry) return rows.waitingToTry(retry.attempt, retry.maxAttempts);
  if (turnState === "compacting") return rows.compacting;
  if (turnState === "verifying") return rows.verifying;
  if (turnState === "running_tools") return rows.working;
  if (turnState === "awaiting_approval" || turnState === "awaiting_answer") return rows.waitingForYou;
  const model = oneLine(message?.model ?? rows.theModel, 40);
  if (message?.open || message?.blocks.length) return rows.writing(model);
  return message && message.thinking !== "" ? rows.thinking(model) : rows.waitingFor(model);
}
