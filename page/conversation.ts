import { html } from "htm/preact";
import type { ComponentChildren } from "preact";
import type { SessionModel } from "./store.ts";

export function Conversation({ model }: { readonly model: SessionModel }): ComponentChildren {
  return html`<section class="conversation" data-rows=${model.view.value.rows.length}></section>`;
}
