/** The rows of a conversation. */
import { type Signal, useSignal } from "@preact/signals";
import { html } from "htm/preact";
import { Component, type ComponentChildren, h } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { nameUnseen } from "../src/util/exact_text.ts";
import { oneLine, terminalSafe } from "../src/util/terminal_text.ts";
import { outputTail } from "../src/view/call_lines.ts";
import { diffRows } from "../src/view/diff.ts";
import { activityText, callLine, checklistLine, earlyTitle, grouped } from "../src/view/mod.ts";
import { lineFigures, liveTail, timeText } from "../src/view/mod.ts";
import { colored, loadMarks, marks } from "./highlight.ts";
import { Blocks, Code, Copy, Markdown } from "./markdown.ts";
import { isBusy } from "../src/frontend/session/live_state.ts";
import type { CallRow, NoteRow, ReplyRow, Row, TodoRow } from "../src/frontend/session/rows.ts";
import type { TurnRow, UserRow } from "../src/frontend/session/rows.ts";
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

interface RowProps<R> {
  readonly model: SessionModel;
  readonly row: R;
}

const BODIES = { user: User, reply: Reply, call: Call, note: Note, todo: Todos, turn: Turn };

/** The parts of a row that may change; a row that is built again has the same ones. */
function partsOf(item: Row | Said): readonly unknown[] {
  if ("notes" in item) return [item.key, item.end, item.notes.length];
  return [item.key, "items" in item && item.items];
}

/** A row; it is drawn again only when its row has changed. */
export class Item extends Component<ItemProps> {
  override shouldComponentUpdate({ item, model }: ItemProps): boolean {
    const before = partsOf(this.props.item);
    return model !== this.props.model || partsOf(item).some((part, at) => part !== before[at]);
  }

  render({ item, model }: ItemProps): ComponentChildren {
    const isRow = "kind" in item;
    const name = !isRow ? "said" : item.kind === "note" ? `note ${item.level}` : item.kind;
    const body = isRow ? html`<${BODIES[item.kind]} row=${item} model=${model} />` : saidText(item);
    return html`<article class="row ${name}" data-key=${item.key}>${body}</article>`;
  }
}

function saidText({ text, form }: Said): ComponentChildren {
  if (form === "plain") return html`<pre tabindex="0">${terminalSafe(text)}</pre>`;
  return form === "error"
    ? html`<p class="error">✗ ${terminalSafe(text)}</p>`
    : html`<${Markdown} text=${text} />`;
}

interface FoldProps {
  readonly open: Signal<boolean>;
  readonly line: ComponentChildren;
  readonly name?: string;
  /** What is below the line. */
  readonly children: (isOpen: boolean) => ComponentChildren;
}

/** A line that shows more when it is opened. */
function Fold({ open, line, name = "", children }: FoldProps): ComponentChildren {
  const toggle = () => open.value = !open.value;
  return html`
    <button type="button" class="line ${name}" aria-expanded=${open.value}
      onClick=${toggle}>${line}</button>
    ${children(open.value)}
  `;
}

function Pictures({ images }: { readonly images: UserRow["images"] }): ComponentChildren {
  const shown = images.filter(({ mime }) => IMAGES.test(mime));
  return shown.map(({ mime, data }, at) =>
    html`<img class="picture" key=${at} alt=${texts().web.talk.image} src="data:${mime};base64,${data}" />`
  );
}

function User({ row, model }: RowProps<UserRow>): ComponentChildren {
  const { rows, web: { talk } } = texts();
  const all = model.opened(row.key);
  const lines = terminalSafe(row.text).split("\n");
  const isLong = lines.length > USER_LINES + 1 && !all.value;
  return html`
    <h2 class="hidden">${talk.you}</h2>
    <div class="text">${(isLong ? lines.slice(0, USER_LINES) : lines).join("\n")}</div>
    ${isLong && html`<button type="button" class="more" onClick=${() => all.value = true}>
      ${rows.moreLines(lines.length - USER_LINES)}</button>`}
    ${row.attached.map((name) => html`<p class="attached">+ ${terminalSafe(name)}</p>`)}
    <${Pictures} images=${row.images} />
    ${row.steer && html`<p class="attached">↪ ${rows.steered}</p>`}
    <${Copy} text=${row.text} />
  `;
}

/** What the model has thought, with its size: as the server counted it, or by its length. */
function thought(open: Signal<boolean>, text: string, tokens?: number): ComponentChildren {
  const { rows } = texts();
  const size = tokens ? rows.tokens(grouped(tokens)) : rows.aboutTokens(grouped(Math.ceil(text.length / 4)));
  return text.trim() !== "" && html`
    <${Fold} open=${open} name="thought" line=${`∴ ${rows.thought} · ${size}`}>
      ${(isOpen: boolean) => isOpen && html`<div class="thinking">${terminalSafe(text)}</div>`}
    <//>
  `;
}

function Reply({ row, model }: RowProps<ReplyRow>): ComponentChildren {
  const { rows, web: { talk } } = texts();
  return html`
    <h3 class="hidden">${talk.agent}</h3>
    ${thought(model.opened(row.key), row.thinking, row.tokens)}
    <${Markdown} text=${row.text} />
    ${row.interrupted && html`<p class="interrupted">■ ${rows.interrupted}</p>`}
    ${row.text.trim() !== "" && html`<${Copy} text=${row.text} />`}
  `;
}

const LEVELS = { error: "✗", warning: "!", info: "·" } as const;

function Note({ row: { key, level, text, body, open }, model }: RowProps<NoteRow>): ComponentChildren {
  const line = `${LEVELS[level]} ${terminalSafe(text).trim()}`;
  if (body === undefined) return html`<p>${line}</p>`;
  const more = (isOpen: boolean) => isOpen && h("div", { class: "body" }, h(Markdown, { text: body }));
  return html`<${Fold} open=${model.opened(key, open)} line=${line}>${more}<//>`;
}

export function Todos({ row: { items } }: { readonly row: Pick<TodoRow, "items"> }): ComponentChildren {
  const done = items.filter(({ status }) => status === "completed").length;
  return html`
    <p class="title">${texts().rows.todo(done, items.length)}</p>
    <ul>${items.map((item) => html`<li class=${item.status}>${oneLine(checklistLine(item), 500)}</li>`)}</ul>
  `;
}

function Turn({ row }: RowProps<TurnRow>): ComponentChildren {
  return html`<p>${row.text}</p>`;
}

function Spin(): ComponentChildren {
  return html`<span class="mark spin" aria-hidden="true"></span>`;
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
function Running({ row, model }: RowProps<CallRow>): ComponentChildren {
  const live = model.view.value.calls.get(row.callId);
  if (!live) return html`<p class="line"><span class="mark">·</span> ${row.title}</p>`;
  const { progress, tail, since } = live;
  const lines = liveTail(progress ? `${tail}${progress.agent} › ${progress.text}\n` : tail, LIVE_LINES);
  return html`
    <p class="line"><${Spin} /> ${row.title}<${Elapsed} since=${since} /></p>
    ${lines.length > 0 && html`<pre class="output live">${lines.join("\n")}</pre>`}
  `;
}

/** A call with its result: a line, its changes or the end of its output, and all of it when it is opened. */
function Call({ row, model }: RowProps<CallRow>): ComponentChildren {
  const { end, title } = row;
  if (!end) return html`<${Running} row=${row} model=${model} />`;
  const { rows, web: { talk } } = texts();
  const { outcome, content, exitCode, changes = [], images = [] } = end;
  const { mark, result } = callLine(title, end, rows);
  const diffs = changes.filter(({ diff }) => diff !== undefined);
  const most = Math.max(6, Math.floor(DIFF_LINES / Math.max(1, diffs.length)));
  const tail = outcome !== "ok" || exitCode ? FAILED_LINES : OUTPUT_LINES;
  const line = html`
    <span class="mark ${outcome}" role="img" aria-label=${talk.outcomes[outcome]}>${mark}</span>
    <span> ${title}</span>${result !== "" && html`<span class="result ${outcome}"> · ${result}</span>`}
  `;
  const details = (isOpen: boolean) =>
    html`
      ${isOpen && html`
        <div class="details">
          ${row.notes.map((note) => html`<p class="attached">${note}</p>`)}
          ${row.arguments.length > 2 && html`<${Code} text=${argumentText(row.arguments)} info="json" />`}
          ${content.trim() !== "" && html`<${Code} text=${terminalSafe(content)} />`}
        </div>
      `}
      ${diffs.map(({ path, diff = "", ...figures }) =>
        h(Diff, { key: path, path, diff, figures: lineFigures(figures), most: isOpen ? Infinity : most })
      )}
      ${diffs.length === 0 && !isOpen && exitCode !== undefined && outputEnd(content, tail)}
    `;
  return html`
    <${Fold} open=${model.opened(row.key)} line=${line}>${details}<//>
    <${Pictures} images=${images} />
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

function outputEnd(content: string, most: number): ComponentChildren {
  const { lines, before } = outputTail(content, most);
  const above = before > 0 ? `${texts().rows.linesAbove(before)}\n` : "";
  return lines.length > 0 && html`<pre class="output">${above}${lines.join("\n")}</pre>`;
}

interface DiffProps {
  readonly path?: string;
  readonly diff: string;
  readonly figures?: string;
  readonly most?: number;
}

/** A diff with the numbers of its lines, its changed words marked. */
export function Diff({ path = "", diff, figures, most = Infinity }: DiffProps): ComponentChildren {
  const [known, name] = [marks.value, nameUnseen(path)];
  useEffect(() => void loadMarks().catch(() => {}), []);
  const { rows, left } = useMemo(() => diffRows(diff, { most, marks: known }), [diff, most, known]);
  return html`
    <figure class="diff">
      <figcaption><span>${name}</span> <span class="figures">${figures}</span><${Copy} text=${diff} /></figcaption>
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
export function Streaming({ model }: Pick<ItemProps, "model">): ComponentChildren {
  const { message } = model.view.value;
  if (!message) return null;
  const { thinking, blocks, open, calls } = message;
  const writes = blocks.length > 0 || open !== undefined;
  const words = thinking.slice(-300).replace(/\s+/g, " ").trim();
  return html`
    <div class="row reply">
      ${thought(model.opened("open"), thinking)}
      ${!writes && words !== "" && html`<p class="last-words"><bdi>${terminalSafe(words)}</bdi></p>`}
      <${Blocks} blocks=${blocks} open=${open} />
      ${calls.map(({ callId, name, arguments: written = "" }) =>
        html`<p class="line" key=${callId}><span class="mark">…</span> ${earlyTitle(name, written)}</p>`
      )}
    </div>
  `;
}

/** What a running turn does, and its open todos. */
export function Activity({ model }: Pick<ItemProps, "model">): ComponentChildren {
  const view = model.view.value;
  if (!isBusy(view.turnState)) return null;
  // The list of this turn is a row, which may be out of view.
  const open = view.todos.some(({ status }) => status !== "completed") &&
    !view.rows.slice(-NEAR_ROWS).some(({ kind }) => kind === "todo");
  return html`
    ${open && h("div", { class: "row todo pinned" }, h(Todos, { row: { items: view.todos } }))}
    <p class="row activity"><${Spin} /> ${doneBy(view)}
      ${view.since !== "" && html`<${Elapsed} since=${view.since} />`}</p>
  `;
}

function doneBy({ turnState, message, retry }: SessionView): string {
  const { rows } = texts();
  if (retry) return rows.waitingToTry(retry.attempt, retry.maxAttempts);
  const { open, blocks = [], thinking = "", model = rows.theModel } = message ?? {};
  const part = open || blocks.length > 0 ? "writing" : thinking === "" ? undefined : "thinking";
  return activityText(message ? part : turnState, oneLine(model, 40), rows);
}
