/** The frame of the page: sign-in, addresses, layout, and what happens when the server is newer or gone. */
import { batch, computed, effect, signal, useSignal } from "@preact/signals";
import { html } from "htm/preact";
import type { ComponentChildren } from "preact";
import type { ApiAnswer } from "../src/frontend/web/schemas.ts";
import { api, problem, repeated, report, server, signedIn, signIn, store, stored } from "./api.ts";
import { Composer } from "./composer.ts";
import { Conversation, nextFrame } from "./conversation.ts";
import { hub } from "./hub.ts";
import { Panels } from "./panels.ts";
import { Questions } from "./questions.ts";
import { keepListed, SessionDialog, Sessions, Welcome } from "./sessions.ts";
import { SessionModel } from "./store.ts";
import type { StreamEvent } from "./stream.ts";
import { firstLocale, speak, texts } from "./texts.ts";

type Server = ApiAnswer<"GET /server">;
const WINDOW = 200;
const [THEME, RELOADED] = ["reasonix.theme", "reasonix.reloaded"];
const THEMES = ["system", "light", "dark", "contrast"] as const;

/** The regions; a narrow page shows one at a time. */
type Region = "sessions" | "chat" | "panels";

const region = signal<Region>("chat");
/** The session of the address. */
const current = signal<{ readonly id: string; readonly model: SessionModel } | undefined>(undefined);
const theme = signal(stored(THEME) ?? "system");
let leave = () => {};

/** Shows a session, or none; the address follows. */
function go(id: string | undefined): void {
  const path = id === undefined ? "/" : `/s/${encodeURIComponent(id)}`;
  if (location.pathname !== path) history.pushState(null, "", path);
  region.value = id === undefined ? "sessions" : "chat";
  // The setup may have ended.
  if (server.value?.configured === false) {
    void api.get<Server>("/server").then((one) => server.value = one, report);
  }
  void show();
}

/** Opens the session of the address. */
async function show(): Promise<void> {
  const id = /^\/s\/([^/]+)$/.exec(location.pathname)?.[1];
  if (current.value?.id === id) return;
  leave();
  leave = () => {};
  current.value = undefined;
  if (id === undefined) return;
  const model = new SessionModel({
    texts: () => texts().rows,
    frame: nextFrame,
    load: (before) => api.get(`/sessions/${id}/events?limit=${WINDOW}${before ? `&before=${before}` : ""}`),
  });
  const shown = current.value = { id, model };
  const open = async () => {
    await model.older();
    if (current.value === shown) leave = hub.watch(id, model.seq, listen);
  };
  const listen = ({ name, data }: StreamEvent) => {
    if (name === "event" && data.event) return model.event(data.event);
    if (name === "snapshot" && data.snapshot) return model.snapshot({ ...data, snapshot: data.snapshot });
    if (name !== "reset") return model.other(name, data);
    leave();
    model.reset();
    open().catch(report);
  };
  await open().catch(report);
}

/** Follows what happens to the page. */
export function start(): void {
  addEventListener("popstate", () => void show());
  addEventListener("storage", ({ key }) => key === "reasonix.secret" && location.reload());
  hub.heard = heard;
  effect(() => store(THEME, document.documentElement.dataset.theme = theme.value));
  effect(() => void (document.title = title.value));
  effect(notify);
  keepListed();
}

/** Signs in by a link, asks for the server, and opens the stream. */
export async function follow(link: URLSearchParams): Promise<void> {
  await speak(firstLocale()).catch(report);
  const [token, session] = [link.get("token"), link.get("session")];
  if (session !== null) history.replaceState(null, "", `/s/${encodeURIComponent(session)}`);
  const refusal = token === null ? undefined : await signIn({ token }).catch((error) => error);
  await enter().catch(report);
  // A link that was used before is no problem in the browser that used it.
  if (token !== null) problem.value = signedIn.value === "no" ? refusal : undefined;
}

async function enter(): Promise<void> {
  const ask = () => repeated(() => api.get<Server>("/server"), Infinity);
  // After a refusal this browser has no secret any more.
  const known = await ask().catch((error) => error.status === 401 ? ask() : Promise.reject(error));
  if (isOlder(known.build)) return;
  if (known.locale !== undefined) await speak(known.locale);
  batch(() => {
    server.value = known;
    region.value = location.pathname === "/" && known.configured !== false ? "sessions" : "chat";
    signedIn.value = known.role ?? "no";
  });
  if (known.role === undefined) return;
  hub.refresh();
  await show();
}

/** A page that is older than its server is loaded again: once for each build, so that it cannot loop. */
function isOlder(build: string): boolean {
  if (build === document.documentElement.dataset.build) return false;
  if (stored(RELOADED, "tab") === build) {
    problem.value = new Error(texts().web.outdated);
    return false;
  }
  store(RELOADED, build, "tab");
  location.reload();
  return true;
}

function heard({ data: { build, changed, removed } }: StreamEvent): void {
  if (build !== undefined) isOlder(build);
  if (changed ?? removed) hub.add(changed, removed);
}

const waiting = computed(() => hub.sessions.value.filter(({ state }) => state === "waiting"));
const title = computed(() => {
  const name = hub.sessions.value.find(({ id }) => id === current.value?.id)?.title;
  const mark = waiting.value.length > 0 ? `(${waiting.value.length}) ` : "";
  return `${mark}${name ? `${name} · ` : ""}Reasonix`;
});

/** The sessions that the user knows to wait. */
let known: ReadonlySet<string> = new Set();

/** Shows a notification for each session that begins to wait while the page is hidden, if that is allowed. */
function notify(): void {
  const entries = waiting.value;
  for (const { id, title } of document.hidden ? entries : []) {
    if (known.has(id) || !("Notification" in globalThis) || Notification.permission !== "granted") continue;
    try {
      // The tag joins those of several pages.
      const shown = new Notification(texts().web.sessions.states.waiting, { body: title, tag: id });
      shown.onclick = () => (focus(), go(id), shown.close());
    } catch { /* some systems show those of service workers only */ }
  }
  known = new Set(entries.map(({ id }) => id));
}

export function App(): ComponentChildren {
  const { web } = texts();
  if (signedIn.value === "no") return html`<${SignIn} />`;
  const { id, model } = current.value ?? {};
  const state = hub.state.value;
  return html`
    <div class="app" data-region=${region.value}>
      <header class="top">
        <b class="brand">Reasonix</b>
        <nav class="regions" aria-label=${web.regions.label}>
          ${(["sessions", "chat", "panels"] as const).map((name) =>
            html`
              <button type="button" aria-pressed=${region.value === name}
                onClick=${() => region.value = name}>${web.regions[name]}</button>
            `
          )}
        </nav>
        <span class="connection" role="status" data-state=${state}>${web.connection[state]}</span>
        <select class="theme" aria-label=${web.theme.label} value=${theme.value}
          onChange=${(event: Event) => theme.value = (event.currentTarget as HTMLSelectElement).value}>
          ${THEMES.map((name) => html`<option value=${name}>${web.theme[name]}</option>`)}
        </select>
      </header>
      <${Problem} />
      <aside class="left sessions" aria-label=${web.regions.sessions}>
        <${Sessions} go=${go} current=${id} />
      </aside>
      <main class="centre">
        ${model
          ? html`
            <${Conversation} key=${current.value?.id} model=${model} />
            <${Composer} key=${id} id=${id} model=${model} />
          `
          : signedIn.value !== "unknown" && html`<${Welcome} go=${go} />`}
      </main>
      ${model && html`
        <aside class="right" aria-label=${web.regions.panels}>
          <${Panels} key=${id} ...${{ id, model, leave: () => region.value = "chat" }} />
        </aside>
      `}
      <${SessionDialog} go=${go} />
      ${model && html`<${Questions} key=${id} id=${id} model=${model} />`}
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
  const isPassword = server.value?.auth === "password";
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const given = String(new FormData(event.target as HTMLFormElement).get("secret"));
    busy.value = true;
    try {
      await signIn(isPassword ? { password: given } : { token: given.replace(/^.*#token=([^&]*).*$/, "$1") });
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
        <label for="secret">${isPassword ? web.signIn.password : web.signIn.token}</label>
        <input id="secret" name="secret" type="password" required autocomplete="current-password" autofocus />
        <button disabled=${busy.value}>${web.signIn.send}</button>
      </form>
      <p>${isPassword ? "" : web.signIn.help}</p>
      <${Problem} />
    </main>
  `;
}
