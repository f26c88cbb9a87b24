/** Starts the page. The token of a link leaves the address bar before anything else happens. */
import { html } from "htm/preact";
import { render } from "preact";
import { App, follow, start } from "./app.ts";

/** Returns what the part after # says. */
function take(): URLSearchParams {
  const link = new URLSearchParams(location.hash.slice(1));
  if (location.hash !== "") history.replaceState(null, "", location.pathname);
  return link;
}

const link = take();
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(html`<${App} />`, root);
}
start();
void follow(link);
// A link in the address bar of an open page does not load it again.
addEventListener("hashchange", () => void follow(take()));
