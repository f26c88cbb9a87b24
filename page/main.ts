/** Starts the page. The token of a link leaves the address bar before anything else happens. */
import { html } from "htm/preact";
import { render } from "preact";
import { App, start } from "./app.ts";

const link = new URLSearchParams(location.hash.slice(1));
if (location.hash !== "") history.replaceState(null, "", location.pathname);
// A link that is put into the address bar of an open page loads nothing.
addEventListener("hashchange", () => location.hash.startsWith("#token=") && location.reload());
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(html`<${App} />`, root);
}
void start(link);
