/** The conversation: a window of its rows is in the page, and it follows the end unless one scrolls. */
import { computed, signal } from "@preact/signals";
import { html } from "htm/preact";
import { Component, type ComponentChildren, createRef, h } from "preact";
import { useRef } from "preact/hooks";
import { Activity, Item, Streaming } from "./rows.ts";
import { isBusy } from "../src/frontend/session/live_state.ts";
import type { Row } from "../src/frontend/session/rows.ts";
import type { Said, SessionModel } from "./store.ts";
import { texts } from "./texts.ts";

/** Longest time without a frame, which a page in the background does not get. */
const NO_FRAME_MS = 250;

/** Calls a function before the next frame. */
export function nextFrame(run: () => void): void {
  const timer = setTimeout(() => (cancelAnimationFrame(frame), run()), NO_FRAME_MS);
  const frame = requestAnimationFrame(() => (clearTimeout(timer), run()));
}

/** Rows in the page: at most, at first, and as many more where the reader comes near an end of them. */
const [MOST_ROWS, FIRST_ROWS, MORE_ROWS] = [300, 120, 60];
/** Pixels from an end within which the next rows are put in the page: far less than the rows in it take. */
const NEAR = 1000;
/** Pixels from the end that count as the end. */
const AT_END = 32;

interface TalkProps {
  readonly model: SessionModel;
}

/** The keys of the first and the last row in the page; absent: of the latest ones, and the end. */
interface Range {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * The rows with the texts that were said between them. A row at the edge of the view keeps its place, with
 * whatever comes and goes above it; browsers that do so themselves are told not to.
 */
export class Conversation extends Component<TalkProps> {
  readonly #range = signal<Range>({});
  readonly #follows = signal(true);
  readonly #scroller = createRef<HTMLDivElement>();
  readonly #content = createRef<HTMLDivElement>();
  // Not the whole view: it changes with every frame of a reply.
  readonly #items = computed(() => itemsOf(this.props.model));
  readonly #first = computed(() => this.props.model.view.value.first);
  readonly #sizes = new ResizeObserver(() => this.#settle());
  /** The first row in the view, and its distance from the top of the content. */
  #anchor: { readonly key: string; readonly top: number } | undefined;
  #top = 0;
  #failed = false;

  override componentDidMount(): void {
    for (const { current } of [this.#scroller, this.#content]) if (current) this.#sizes.observe(current);
    this.#settle();
  }

  override componentDidUpdate(): void {
    this.#settle();
  }

  override componentWillUnmount(): void {
    this.#sizes.disconnect();
  }

  render({ model }: TalkProps): ComponentChildren {
    const { talk } = texts().web;
    const items = this.#items.value;
    const { from, to } = this.#indexes(items);
    const toEnd = () => (this.#toEnd(), this.#scroller.current?.focus());
    return html`
      <section class="conversation" aria-label=${talk.label}>
        <div class="scroller" ref=${this.#scroller} tabindex="0" role="log" aria-live="off"
          aria-label=${talk.label} onScroll=${() => this.#scrolled()} onClick=${this.#clicked}>
          <div class="content" ref=${this.#content}>
            <p class="row earlier">${this.#first.value ? "" : talk.earlier}</p>
            ${items.slice(from, to).map((item) => h(Item, { key: item.key, item, model }))}
            ${to === items.length && [h(Streaming, { model }), h(Activity, { model })]}
          </div>
        </div>
        <${Status} model=${model} />
        ${!this.#follows.value &&
          html`<button type="button" class="to-end" onClick=${toEnd}>↓ ${talk.toEnd}</button>`}
      </section>
    `;
  }

  /** The rows in the page; above the end, what comes behind the last of them waits for the reader. */
  #indexes(items: readonly (Row | Said)[]): { from: number; to: number } {
    const { from, to } = this.#range.value;
    // Rows that were left by a rewind are no ends of a range.
    const indexOf = (wanted?: string) =>
      wanted === undefined ? -1 : items.findLastIndex(({ key }) => key === wanted);
    const [begin, end] = [indexOf(from), indexOf(to)];
    const last = end < 0 ? items.length : end + 1;
    if (begin < 0) return { from: Math.max(0, last - FIRST_ROWS), to: last };
    return { from: begin, to: Math.min(last, begin + MOST_ROWS) };
  }

  #show(from: number, to: number): void {
    const items = this.#items.peek();
    this.#range.value = { from: items[from]?.key, to: to >= items.length ? undefined : items[to - 1]?.key };
  }

  /** Keeps the place of the reader after a change, and puts more rows in the page where they come near. */
  #settle(): void {
    const scroller = this.#scroller.current;
    if (!scroller) return;
    // The event of a scroll may come after the change.
    if (scroller.scrollTop < this.#top - 1 && below(scroller) >= AT_END) this.#leaveEnd();
    if (this.#follows.peek()) scroller.scrollTop = scroller.scrollHeight;
    else if (this.#anchor) {
      const row = scroller.querySelector(`[data-key="${this.#anchor.key}"]`);
      const moved = row ? this.#topOf(row) - this.#anchor.top : 0;
      if (moved !== 0) scroller.scrollTop += moved;
    }
    // All of it is in view.
    if (scroller.scrollHeight <= scroller.clientHeight) this.#toEnd();
    this.#look(scroller);
  }

  #scrolled(): void {
    const scroller = this.#scroller.current;
    if (!scroller) return;
    const items = this.#items.peek();
    if (below(scroller) < AT_END && this.#indexes(items).to === items.length) this.#toEnd();
    else if (scroller.scrollTop < this.#top - 1) this.#leaveEnd();
    this.#look(scroller);
  }

  /** The rows stay where they are from here on. */
  #leaveEnd(): void {
    if (!this.#follows.peek()) return;
    const { from, to } = this.#indexes(this.#items.peek());
    this.#follows.value = false;
    this.#show(from, to);
    const scroller = this.#scroller.current;
    if (scroller) this.#remember(scroller);
  }

  #look(scroller: HTMLElement): void {
    this.#top = scroller.scrollTop;
    // With each frame of a reply: the end needs no row that keeps its place.
    if (!this.#follows.peek()) this.#remember(scroller);
    this.#fill(scroller);
  }

  #remember({ scrollTop }: HTMLElement): void {
    for (const row of this.#content.current?.querySelectorAll<HTMLElement>(":scope > [data-key]") ?? []) {
      const top = this.#topOf(row);
      this.#anchor = { key: row.dataset.key ?? "", top };
      if (top + row.offsetHeight > scrollTop) return;
    }
  }

  #topOf(row: Element): number {
    return row.getBoundingClientRect().top - (this.#content.current?.getBoundingClientRect().top ?? 0);
  }

  #fill(scroller: HTMLElement): void {
    const items = this.#items.peek();
    const { from, to } = this.#indexes(items);
    if (scroller.scrollTop < NEAR) {
      if (from > 0 && (!this.#follows.peek() || to - from < FIRST_ROWS)) {
        const first = Math.max(0, from - MORE_ROWS);
        this.#show(first, Math.min(to, first + MOST_ROWS));
      } else if (from <= MORE_ROWS && !this.#first.peek()) this.#load();
    } else if (below(scroller) < NEAR && to < items.length) {
      const last = Math.min(items.length, to + MORE_ROWS);
      this.#show(Math.max(from, last - MOST_ROWS), last);
    }
  }

  #load(): void {
    if (this.#failed) return;
    this.props.model.older().catch(() => {
      // Tried again when the reader scrolls, not before.
      this.#failed = true;
      setTimeout(() => this.#failed = false, 3000);
    });
  }

  /** Opens and closes parts without a jump: at the end they would move the line that was clicked. */
  readonly #clicked = ({ target }: MouseEvent) => {
    if (target instanceof Element && target.closest("[aria-expanded]")) this.#leaveEnd();
  };

  #toEnd(): void {
    if (this.#follows.peek()) return;
    this.#range.value = {};
    this.#follows.value = true;
  }
}

/** Pixels below the view. */
function below({ scrollTop, scrollHeight, clientHeight }: Element): number {
  return scrollHeight - scrollTop - clientHeight;
}

/** The rows, and what was said after each. */
function itemsOf({ view }: SessionModel): readonly (Row | Said)[] {
  const { rows, said } = view.value;
  const placeOf = (item: Row | Said) => "after" in item ? item.after + 0.5 : Number.parseInt(item.key);
  return said.length === 0 ? rows : [...rows, ...said].sort((a, b) => placeOf(a) - placeOf(b));
}

/** Says once that a turn works, and how it has ended. */
function Status({ model }: TalkProps): ComponentChildren {
  const view = model.view.value;
  const busy = isBusy(view.turnState);
  const was = useRef(busy);
  const text = useRef("");
  if (busy !== was.current) {
    const last = view.rows.findLast(({ kind }) => kind === "turn");
    text.current = busy ? texts().rows.working : last?.kind === "turn" ? last.text : "";
    was.current = busy;
  }
  return html`<p class="hidden" role="status">${text.current}</p>`;
}
