/** The sessions of all projects with their states, and what can be done with one. */
import { computed, effect, signal } from "@preact/signals";
import { html } from "htm/preact";
import type { ComponentChildren } from "preact";
import type { ApiAnswer, SessionEntry } from "../src/frontend/web/schemas.ts";
import { api, report, server, signedIn, signOut } from "./api.ts";
import { hub } from "./hub.ts";
import { texts } from "./texts.ts";

type Listed = ApiAnswer<"GET /sessions">;
type Go = (id: string | undefined) => void;
/** A dialog of this region. */
type Asked =
  | { readonly kind: "new" | "device" }
  | { readonly kind: "rename" | "delete"; readonly entry: SessionEntry };

const query = signal("");
/** The ids that a search has found; undefined: there is no search. */
const found = signal<readonly string[] | undefined>(undefined);
/** The address of the next entries. */
const next = signal<string | undefined>(undefined);
const asked = signal<Asked | undefined>(undefined);
const link = signal<ApiAnswer<"POST /links"> | undefined>(undefined);

/** The entries by their directories, those with the latest change first. */
const projects = computed(() => {
  const ids = found.value && new Set(found.value);
  const shown = hub.sessions.value.filter(({ id }) => ids?.has(id) ?? true);
  return [...Map.groupBy(shown, ({ directory }) => directory)];
});

/** Lists the sessions that fit the search, or those after the ones that are listed. */
async function list(cursor?: string): Promise<void> {
  const words = query.value.trim();
  const search = new URLSearchParams({ ...(words && { query: words }), ...(cursor && { cursor }) });
  const { sessions, next: rest } = await api.get<Listed>(`/sessions?${search}`);
  if (words !== query.value.trim()) return;
  hub.add(sessions);
  const ids = sessions.map(({ id }) => id);
  found.value = words === "" ? undefined : [...(cursor ? found.value ?? [] : []), ...ids];
  next.value = rest;
}

/** Lists after the sign-in, and when the search has not changed for a moment. */
export function keepListed(): () => void {
  return effect(() => {
    if (signedIn.value === "no" || signedIn.value === "unknown") return;
    const timer = setTimeout(() => list().catch(report), query.value === "" ? 0 : 200);
    return () => clearTimeout(timer);
  });
}

export function Sessions({ go, current }: { readonly go: Go; readonly current?: string }): ComponentChildren {
  const { web } = texts();
  const isOwner = signedIn.value === "owner";
  const type = (event: InputEvent) => query.value = (event.currentTarget as HTMLInputElement).value;
  return html`
    <div class="sessions">
      <div class="tools">
        <input type="search" aria-label=${web.sessions.search} placeholder=${web.sessions.search}
          value=${query.value} onInput=${type} />
        ${isOwner && html`
          <button type="button" class="primary" onClick=${() => asked.value = { kind: "new" }}>
            ${web.sessions.new}</button>
        `}
      </div>
      <div class="projects">
        ${projects.value.map(([directory, entries]) =>
          html`
            <section key=${directory}>
              <h2 title=${directory}>${directory.replace(/^.*[\\/](?=[^\\/]+$)/, "")}</h2>
              <ul>${entries.map((entry) =>
                html`<${Entry} key=${entry.id} ...${{ entry, go, current }} />`
              )}</ul>
            </section>
          `
        )}
        ${projects.value.length === 0 && html`<p class="empty">${web.sessions.none}</p>`}
        ${next.value && html`
          <button type="button" onClick=${() => list(next.value).catch(report)}>${web.sessions.older}</button>
        `}
      </div>
      <div class="tools">
        ${isOwner && html`
          <button type="button" onClick=${() => asked.value = { kind: "device" }}>${web.device.add}</button>
        `}
        ${"Notification" in globalThis && Notification.permission === "default" && html`
          <button type="button" onClick=${() => void Notification.requestPermission()}>${web.notify}</button>
        `}
        ${server.value?.auth !== "none" && html`
          <button type="button" onClick=${() => void api.post("/sign-out").catch(report).then(signOut)}>
            ${web.signOut}</button>
        `}
      </div>
      ${asked.value && html`<${Asking} asked=${asked.value} go=${go} />`}
    </div>
  `;
}

interface EntryProps {
  readonly entry: SessionEntry;
  readonly go: Go;
  readonly current?: string;
}

function Entry({ entry, go, current }: EntryProps): ComponentChildren {
  const { web: { sessions }, locale } = texts();
  const { id, title, state, elsewhere, live, updated } = entry;
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(id);
  };
  const work = (run: () => Promise<unknown>) => (event: Event) => {
    (event.currentTarget as HTMLElement).closest("details")?.removeAttribute("open");
    run().catch(report);
  };
  const copy = () => api.post<{ id: string }>("/sessions", { copyOf: id }).then((made) => go(made.id));
  const ask = (kind: "rename" | "delete") => work(async () => await void (asked.value = { kind, entry }));
  return html`
    <li class="session" data-state=${state}>
      <a href=${`/s/${id}`} aria-current=${id === current ? "page" : undefined} onClick=${open}>
        <span class="title">${title || sessions.untitled}</span>
        <span class="mark">${elsewhere ? sessions.elsewhere : sessions.states[state]}</span>
        <time datetime=${updated}>${ago(updated, locale)}</time>
      </a>
      ${signedIn.value === "owner" && html`
        <details class="menu">
          <summary aria-label=${sessions.actions(title)}>⋯</summary>
          <div>
            ${!elsewhere && html`<button type="button" onClick=${ask("rename")}>${sessions.rename}</button>`}
            <button type="button" onClick=${work(copy)}>${sessions.copy}</button>
            ${live && html`
              <button type="button" onClick=${work(() => api.post(`/sessions/${id}/close`))}>
                ${sessions.close}</button>
            `}
            ${!elsewhere && html`
              <button type="button" class="danger" onClick=${ask("delete")}>${sessions.delete}</button>
            `}
          </div>
        </details>
      `}
    </li>
  `;
}

/** The dialog for a new session, a title, a deletion or a device. */
function Asking(
  { asked: { kind, ...rest }, go }: { readonly asked: Asked; readonly go: Go },
): ComponentChildren {
  const { web } = texts();
  const entry = "entry" in rest ? rest.entry : undefined;
  const show = (dialog: HTMLDialogElement | null) => void (dialog?.open === false && dialog.showModal());
  const close = () => [asked.value, link.value] = [undefined, undefined];
  const works: Record<Asked["kind"], (form: FormData) => Promise<unknown>> = {
    new: async (form) => {
      const directory = String(form.get("text"));
      go((await api.post<{ id: string }>("/sessions", { ...(directory && { directory }) })).id);
    },
    rename: (form) => api.patch(`/sessions/${entry?.id}`, { title: String(form.get("text")) }),
    delete: async () => {
      await api.delete(`/sessions/${entry?.id}`);
      hub.add([], [entry?.id ?? ""]);
      if (location.pathname === `/s/${entry?.id}`) go(undefined);
    },
    device: async (form) => {
      link.value = await api.post("/links", { role: form.get("role") });
    },
  };
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const done = works[kind](new FormData(event.currentTarget as HTMLFormElement));
    done.then(() => kind === "device" || close()).catch((error) => (close(), report(error)));
  };
  return html`
    <dialog class="dialog" ref=${show} onClose=${close} aria-labelledby="asking">
      <form onSubmit=${send}>
        <h2 id="asking">${web.asking[kind]}</h2>
        ${kind === "new" && html`
          <label>${web.sessions.directory}
            <input name="text" list="directories" value=${server.value
              ?.directory} autocomplete="off" /></label>
          <datalist id="directories">
            ${projects.value.map(([directory]) => html`<option value=${directory} />`)}</datalist>
        `}
        ${kind === "rename" && html`
          <label>${web.sessions.title}<input name="text" required maxlength="200" value=${entry
            ?.title} /></label>
        `}
        ${kind === "delete" && html`<p>${web.sessions.deleted(entry?.title || web.sessions.untitled)}</p>`}
        ${kind === "device" && html`
          <label><input type="radio" name="role" value="owner" checked />${web.device.owner}</label>
          <label><input type="radio" name="role" value="viewer" />${web.device.viewer}</label>
          ${link.value && html`<${Link} ...${link.value} />`}
        `}
        <div class="tools">
          <button type="button" onClick=${close}>${web.close}</button>
          <button class=${kind === "delete" ? "danger" : "primary"}>${web.sends[kind]}</button>
        </div>
      </form>
    </dialog>
  `;
}

/** A link that signs in one browser, as text and as a QR code. */
function Link({ url, qr }: ApiAnswer<"POST /links">): ComponentChildren {
  const { device } = texts().web;
  const draw = (canvas: HTMLCanvasElement | null) => {
    const context = canvas?.getContext("2d");
    if (!canvas || !context) return;
    // Four light modules around it are a part of the code.
    canvas.width = canvas.height = qr.length + 8;
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = "#000";
    qr.forEach((row, y) =>
      [...row].forEach((cell, x) => cell === "1" && context.fillRect(x + 4, y + 4, 1, 1))
    );
  };
  return html`
    <canvas class="qr" role="img" aria-label=${device.code} ref=${draw}></canvas>
    <label>${device.link}<input readonly value=${url} onFocus=${(event: FocusEvent) =>
      (event.currentTarget as HTMLInputElement).select()} /></label>
    <p>${device.once}</p>
  `;
}

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60]] as const;

function ago(time: string, locale: string): string {
  const seconds = (Date.parse(time) - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, size]) => -seconds >= size) ?? ["minute", 60];
  const format = new Intl.RelativeTimeFormat(locale, { style: "short", numeric: "auto" });
  return Number.isNaN(seconds) ? "" : format.format(Math.round(seconds / size), unit);
}
