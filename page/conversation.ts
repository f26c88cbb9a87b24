import { html } from "htm/preact";
import type { ComponentChildren } from "preact";
import type { SessionModel } from "./store.ts";

/** Longest time without a frame, which a page in the background does not get. */
const NO_FRAME_MS = 250;

/** Calls a function before the next frame. */
export function nextFrame(run: () => void): void {
  const timer = setTimeout(() => (cancelAnimationFrame(frame), run()), NO_FRAME_MS);
  const frame = requestAnimationFrame(() => (clearTimeout(timer), run()));
}

export function Conversation({ model }: { readonly model: SessionModel }): ComponentChildren {
  return html`<section class="conversation" data-rows=${model.view.value.rows.length}></section>`;
}
