import { html } from "htm/preact";
import type { ComponentChildren } from "preact";
import type { SessionModel } from "./store.ts";

export function Questions({ model }: { readonly model: SessionModel }): ComponentChildren {
  return html`<section class="questions" data-rows=${model.view.value.rows.length}></section>`;
}
