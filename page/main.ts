/** The frame of the page: sign-in, addresses, layout, and what happens when the server is newer or gone. */
import { batch, computed, effect, signal, untracked, useSignal } from "@preact/signals";
import { html } from "htm/preact";
import { type ComponentChildren, render } from "preact";
import type { ApiAnswer } from "../src/frontend/web/schemas.ts";
import { api, problem, repeated, report, server, signedIn, signIn } from "./api.ts";
import { Composer } from "./composer.ts";
import { Conversation, nextFrame } from "./conversation.ts";
import { hub } from "./hub.ts";
import { Panels } from "./panels.ts";
import { Questions } from "./questions.ts";
import { go, keepListed, SessionDialog, Sessions, Welcome } from "./sessions.ts";
import { SessionModel } from "./store.ts";
import type { StreamEvent } from "./stream.ts";
import { firstLocale, speak, texts } from "./texts.ts";

const WINDOW = 200;
/** The regions; a narrow page shows one at a time. */
const REGIONS = ["sessions", "chat", "panels"] as const;

const region = signal<typeof REGIONS[number]>("chat");
/** The session of the address. */
const current = signal<{ readonly id: string; readonly model: SessionModel } | undefined>(undefined);
/** Loads the shown session again. */
let again = () => {};

/** Opens the session of the address. */
async function show(): Promise<void> {
  const id = /^\/s\/([^/]+)$/.exec(location.pathname)?.[1];
  region.value = id === undefined && server.value?.configured !== false ? "sessions" : "chat";
  // The setup may have ended.
  if (server.value?.configured === false) {
    api.get<typeof server.value>("/server").then((one) => server.value = one, report);
  }
  if (current.value?.id === id) return;
  hub.watch();
  current.value = undefined;
  again = () => {};
  if (id === undefined) return;
  const model = new SessionModel({
    texts: () => texts().rows,
    frame: nextFrame,
    load: (before) => api.get(`/sessions/${id}/events?limit=${WINDOW}${before ? `&before=${before}` : ""}`),
  });
  const shown = current.value = { id, model };
  const open = async () => {
    await model.older();
    if (current.value === shown) hub.watch(id, model.seq, listen);
  };
  again = () => {
    hub.watch();
    model.reset();
    open().catch(report);
  };
  const listen = ({ name, data }: StreamEvent) => {
    if (name === "event" && data.event) model.event(data.event);
    else if (name === "snapshot" && data.snapshot) model.snapshot({ ...data, snapshot: data.snapshot });
    else if (name === "reset") again();
    else model.other(name, data);
  };
  await open().catch(report);
}

/** Signs in by a link, asks for the server, and opens the stream. */
async function follow(link: URLSearchParams): Promise<void> {
  await speak(firstLocale()).catch(report);
  const [token, session] = [link.get("token"), link.get("session")];
  if (session !== null) history.replaceState(history.state, "", `/s/${encodeURIComponent(session)}`);
  const refusal = token === null ? undefined : await signIn({ token }).catch((error) => error);
  await enter().catch(report);
  // A link that was used before is no problem in the browser that used it.
  if (token !== null) problem.value = signedIn.value === "no" ? refusal : undefined;
}

async function enter(): Promise<void> {
  const ask = () => repeated(() => api.get<ApiAnswer<"GET /server">>("/server"), Infinity);
  // After a refusal this browser has no secret any more.
  const known = await ask().catch((error) => error.status === 401 ? ask() : Promise.reject(error));
  if (isOlder(known.build)) return;
  if (known.locale !== undefined) await speak(known.locale);
  batch(() => {
    server.value = known;
    signedIn.value = known.role ?? "no";
  });
  if (known.role === undefined) return;
  hub.refresh();
  await show();
}

/** A page that is older than its server is loaded again: once for each build, so that it cannot loop. */
function isOlder(build: string): boolean {
  if (build === document.documentElement.dataset.build) return false;
  const isFirst = history.state?.reloaded !== build;
  history.replaceState({ reloaded: build }, "");
  if (isFirst) location.reload();
  else problem.value = new Error(texts().web.outdated);
  return isFirst;
}

const waiting = computed(() => hub.sessions.value.filter(({ state }) => state === "waiting"));

/** The title says how many sessions wait, and which one is shown. */
function entitle(): void {
  const count = waiting.value.length;
  const name = hub.sessions.value.find(({ id }) => id === current.value?.id)?.title;
  document.title = `${count > 0 ? `(${count}) ` : ""}${name ? `${name} · ` : ""}Reasonix`;
}

/** The sessions that the user knows to wait. */
let known: ReadonlySet<string> = new Set();

/** Shows a notification for each session that begins to wait while the page is hidden, if that is allowed. */
function notify(): void {
  const isAllowed = document.hidden && globalThis.Notification?.permission === "granted";
  for (const { id, title } of waiting.value) {
    if (!isAllowed || known.has(id)) continue;
    try {
      // The tag joins those of several pages.
      const shown = new Notification(texts().web.sessions.states.waiting, { body: title, tag: id });
      shown.onclick = () => (focus(), go(id), shown.close());
    } catch { /* some systems show those of service workers only */ }
  }
  known = new Set(waiting.value.map(({ id }) => id));
}

function App(): ComponentChildren {
  const { web } = texts();
  if (signedIn.value === "no") return html`<${SignIn} />`;
  const { id, model } = current.value ?? {};
  const state = hub.state.value;
  return html`
    <div class="app" data-region=${region.value}>
      <header class="top">
        <b class="brand">Reasonix</b>
        <nav class="regions" aria-label=${web.regions.label}>
          ${REGIONS.map((name) =>
            html`<button aria-pressed=${region.value === name} onClick=${() => region.value = name}>
              ${web.regions[name]}</button>`
          )}
        </nav>
        <span class="connection" role="status" data-state=${state}>${web.connection[state]}</span>
      </header>
      <${Problem} />
      <aside class="left sessions" aria-label=${web.regions.sessions}>
        <${Sessions} current=${id} />
      </aside>
      <main class="centre">
        ${model && html`
          <${Conversation} key=${id} model=${model} />
          <${Composer} key=${id} id=${id} model=${model} />
        `}
        ${!model && server.value?.role && html`<${Welcome} />`}
      </main>
      ${model && html`
        <aside class="right" aria-label=${web.regions.panels}>
          <${Panels} key=${id} ...${{ id, model, leave: () => region.value = "chat" }} />
        </aside>
        <${Questions} key=${id} id=${id} model=${model} />
      `}
      <${SessionDialog} />
    </div>
  `;
}

function Problem(): ComponentChildren {
  const { web } = texts();
  return problem.value && html`
    <p class="problem" role="alert"><span>${problem.value.message || web.noAnswer}</span>
      <button type="button" onClick=${() => problem.value = undefined}>${web.close}</button></p>
  `;
}

/** The form for a token or a password; after a refusal it waits longer each time. */
function SignIn(): ComponentChildren {
  const { web } = texts();
  const [refusals, busy] = [useSignal(0), useSignal(false)];
  const kind = server.value?.auth === "password" ? "password" : "token";
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const given = String(new FormData(event.target as HTMLFormElement).get("secret"));
    busy.value = true;
    try {
      await signIn(
        kind === "password" ? { password: given } : { token: given.replace(/^.*#token=([^&]*).*$/, "$1") },
      );
      problem.value = undefined;
      await enter();
    } catch (error) {
      problem.value = error instanceof Error ? error : undefined;
      await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** refusals.value++, 10_000)));
    }
    busy.value = false;
  };
  return html`
    <main class="sign-in">
      <h1>Reasonix</h1>
      <form onSubmit=${send}>
        <label for="secret">${web.signIn[kind]}</label>
        <input id="secret" name="secret" type="password" required autocomplete="current-password" autofocus />
        <button disabled=${busy.value}>${web.signIn.send}</button>
      </form>
      ${kind === "token" && html`<p>${web.signIn.help}</p>`}
      <${Problem} />
    </main>
  `;
}

/** Returns what the address says after #, and takes it out of the address bar. */
function take(): URLSearchParams {
  const link = new URLSearchParams(location.hash.slice(1));
  if (location.hash !== "") history.replaceState(history.state, "", location.pathname);
  return link;
}

// The token of a link leaves the address bar before anything else happens.
const link = take();
const root = document.getElementById("app");
root?.replaceChildren();
if (root) render(html`<${App} />`, root);
addEventListener("popstate", () => void show());
addEventListener("storage", ({ key }) => key === "reasonix.secret" && location.reload());
// A link in the address bar of an open page does not load it again.
addEventListener("hashchange", () => void follow(take()));
hub.heard = ({ data: { build, changed, removed } }) => {
  if (build !== undefined) isOlder(build);
  hub.add(changed, removed);
};
effect(entitle);
effect(notify);
// Rows have the texts of one language.
effect(() => (texts(), untracked(again)));
keepListed();
void follow(link);
