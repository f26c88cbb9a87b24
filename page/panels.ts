import { html } from "htm/preact";
import type { ComponentChildren } from "preact";
import type { SessionModel } from "./store.ts";

export function Panels({ model }: { readonly model: SessionModel }): ComponentChildren {
  return html`<section class="panels" data-rows=${model.view.value.rows.length}></section>`;
}
