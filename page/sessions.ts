/** The sessions of all projects, with their states. */
import { html } from "htm/preact";
import type { ComponentChildren } from "preact";

export function Sessions({ go }: { readonly go: (id: string | undefined) => void }): ComponentChildren {
  return html`<div class="sessions" onClick=${() => go(undefined)}></div>`;
}
