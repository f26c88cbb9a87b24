/** The sessions of all projects with their states, and the dialogs about a session and about devices. */
import { computed, effect, signal } from "@preact/signals";
import { html } from "htm/preact";
import type { ComponentChildren } from "preact";
import type { ApiAnswer, SessionEntry } from "../src/frontend/web/schemas.ts";
import { api, report, server, signedIn, signOut } from "./api.ts";
import { hub } from "./hub.ts";
import { texts } from "./texts.ts";

const query = signal("");
/** The ids that a search has found; undefined: there is no search. */
const found = signal<readonly string[] | undefined>(undefined);
/** The cursor of the next entries. */
const next = signal<string | undefined>(undefined);
/** The open dialog: a session is the one that it is about. */
const asked = signal<"new" | "device" | SessionEntry | undefined>(undefined);
const link = signal<ApiAnswer<"POST /links"> | undefined>(undefined);
/** The reason why the dialog could not do its work: it stays open. */
const refusal = signal<string | undefined>(undefined);

/** Shows a session, or none: the page follows its address. */
export function go(id?: string): void {
  const path = id === undefined ? "/" : `/s/${encodeURIComponent(id)}`;
  if (location.pathname !== path) history.pushState(history.state, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
}

/** The entries by their directories, those with the latest change first. */
const projects = computed(() => {
  const shown = hub.sessions.value.filter(({ id }) => found.value?.includes(id) ?? true);
  return [...Map.groupBy(shown, ({ directory }) => directory)];
});

/** Lists the sessions that fit the search, or those after a cursor. */
async function list(cursor?: string): Promise<void> {
  const words = query.value.trim();
  const search = new URLSearchParams({ ...(words && { query: words }), ...(cursor && { cursor }) });
  const { sessions, next: rest } = await api.get<ApiAnswer<"GET /sessions">>(`/sessions?${search}`);
  if (words !== query.value.trim()) return;
  hub.add(sessions);
  const ids = sessions.map(({ id }) => id);
  found.value = words === "" ? undefined : [...(cursor ? found.value ?? [] : []), ...ids];
  next.value = rest;
}

/** Lists each time the stream is open again, and when the search has not changed for a moment. */
export function keepListed(): void {
  effect(() => {
    if (hub.state.value !== "live") return;
    const timer = setTimeout(() => list().catch(report), query.value === "" ? 0 : 200);
    return () => clearTimeout(timer);
  });
}

function button(label: string, work: () => unknown, kind = ""): ComponentChildren {
  return html`<button type="button" class=${kind} onClick=${() => void work()}>${label}</button>`;
}

export function Sessions({ current }: { readonly current: string | undefined }): ComponentChildren {
  const { web: { sessions, device, notify, signOut: out } } = texts();
  const isOwner = signedIn.value === "owner";
  const leave = () => api.post("/sign-out").catch(report).then(signOut);
  return html`
    <div class="tools">
      <input type="search" aria-label=${sessions.search} placeholder=${sessions.search} value=${query.value}
        onInput=${(event: InputEvent) => query.value = (event.currentTarget as HTMLInputElement).value} />
      ${isOwner && button(sessions.new, () => asked.value = "new", "primary")}
    </div>
    <div class="projects">
      ${projects.value.map(([directory, entries]) =>
        html`
          <section key=${directory}>
            <h2 title=${directory}>${directory.replace(/^.*[\\/](?=[^\\/]+$)/, "")}</h2>
            <ul>${entries.map((entry) => html`<${Entry} key=${entry.id} ...${{ entry, current }} />`)}</ul>
          </section>
        `
      )}
      ${projects.value.length === 0 && html`<p class="empty">${sessions.none}</p>`}
      ${next.value && button(sessions.older, () => list(next.value).catch(report))}
    </div>
    <div class="tools">
      ${isOwner && button(device.add, () => asked.value = "device")}
      ${globalThis.Notification?.permission === "default" &&
        button(notify, () => Notification.requestPermission())}
      ${server.value?.auth !== "none" && button(out, leave)}
    </div>
  `;
}

/** Shown in place of a session: how the first one begins, with the setup where no model is set up. */
export function Welcome(): ComponentChildren {
  const { web: { none, setup, sessions } } = texts();
  const isBare = server.value?.configured === false;
  const begin = async () => {
    if (!isBare) asked.value = "new";
    else await api.post<{ id: string }>("/sessions").then(({ id }) => go(id), report);
  };
  return html`
    <section class="welcome">
      <h1>${isBare ? setup.title : "Reasonix"}</h1>
      <p>${isBare ? setup.text : none}</p>
      ${signedIn.value === "owner" && button(isBare ? setup.begin : sessions.new, begin, "primary")}
    </section>
  `;
}

function Entry({ entry, current }: { readonly entry: SessionEntry; readonly current?: string }) {
  const { web: { sessions }, locale } = texts();
  const { id, title, state, elsewhere, updated } = entry;
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(id);
  };
  return html`
    <li class="session" data-state=${state}>
      <a href=${`/s/${id}`} aria-current=${id === current && "page"} onClick=${open}>
        <span class="title">${title || sessions.untitled}</span>
        <span class="mark">${elsewhere ? sessions.elsewhere : sessions.states[state]}</span>
        <time datetime=${updated}>${ago(updated, locale)}</time>
      </a>
      ${signedIn.value === "owner" &&
        html`<button aria-label=${sessions.actions(title)} onClick=${() => asked.value = entry}>⋯</button>`}
    </li>
  `;
}

/** The dialog that is open, if one is. A narrow page may not show the list. */
export function SessionDialog(): ComponentChildren {
  const about = asked.value;
  if (about === undefined) return null;
  const { web: { sessions, device, close, noAnswer } } = texts();
  const home = server.value?.directory;
  const entry = typeof about === "object" ? about : undefined;
  const busy = entry?.elsewhere;
  const shut = () => asked.value = link.value = refusal.value = undefined;
  const run = async (work: Promise<unknown>) => {
    try {
      await work;
      if (about !== "device") shut();
    } catch (error) {
      refusal.value = error instanceof Error && error.message || noAnswer;
    }
  };
  const create = async (body: object) => go((await api.post<{ id: string }>("/sessions", body)).id);
  const makeLink = async (body: object) => link.value = await api.post("/links", body);
  const remove = async (id: string) => {
    await api.delete(`/sessions/${id}`);
    hub.add([], [id]);
    if (location.pathname === `/s/${id}`) go();
  };
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.currentTarget as HTMLFormElement));
    if (entry) void run(api.patch(`/sessions/${entry.id}`, given));
    else if (about === "device") void run(makeLink(given));
    else void run(create(given.directory ? given : {}));
  };
  const [heading, label] = entry
    ? [entry.title || sessions.untitled, sessions.rename]
    : about === "device"
    ? [device.add, device.make]
    : [sessions.new, sessions.begin];
  return html`
    <dialog class="dialog" aria-labelledby="asked" onClose=${shut}
      ref=${(dialog: HTMLDialogElement | null) => dialog?.open === false && dialog.showModal()}>
      <form onSubmit=${send}>
        <h2 id="asked">${heading}</h2>
        ${about === "new" && html`
          <label>${sessions.directory}
            <input name="directory" list="directories" placeholder=${home} autocomplete="off" /></label>
          <datalist id="directories">
            ${projects.value.map(([directory]) => html`<option value=${directory} />`)}</datalist>
        `}
        ${about === "device" && html`
          <label><input type="radio" name="role" value="owner" checked /> ${device.owner}</label>
          <label><input type="radio" name="role" value="viewer" /> ${device.viewer}</label>
          ${link.value && html`<${Link} ...${link.value} />`}
        `}
        ${entry && html`
          <label>${sessions.title}
            <input name="title" required maxlength="200" defaultValue=${entry
              .title} disabled=${busy} /></label>
          <div class="tools">
            ${button(sessions.copy, () => run(create({ copyOf: entry.id })))}
            ${entry.live && button(sessions.close, () => run(api.post(`/sessions/${entry.id}/close`)))}
          </div>
          ${!busy && html`
            <details>
              <summary>${sessions.delete}</summary>
              <p>${sessions.deleted}</p>
              ${button(sessions.delete, () => run(remove(entry.id)), "danger")}
            </details>
          `}
        `}
        ${refusal.value && html`<p class="problem" role="alert">${refusal.value}</p>`}
        <div class="tools">
          ${button(close, shut)}
          <button class="primary" disabled=${busy}>${label}</button>
        </div>
      </form>
    </dialog>
  `;
}

/** A link that signs in one browser, as a QR code and as text. */
function Link({ url, qr }: ApiAnswer<"POST /links">): ComponentChildren {
  const { device } = texts().web;
  const modules = qr.flatMap((row, y) =>
    Array.from(row, (cell, x) => cell === "1" ? `M${x} ${y}h1v1h-1z` : "")
  );
  // Four light modules around it are a part of the code.
  const box = [-4, -4, qr.length + 8, qr.length + 8].join(" ");
  return html`
    <svg class="qr" role="img" aria-label=${device.code} viewBox=${box}>
      <path d=${modules.join("")} />
    </svg>
    <label>${device.link}<input readonly value=${url} /></label>
    <p>${device.once} ${/^https?:..(?:localhost|127\.|\[::1)/.test(url) && device.local}</p>
  `;
}

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60]] as const;

function ago(time: string, locale: string): string {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? UNITS[2];
  const format = new Intl.RelativeTimeFormat(locale, { style: "short", numeric: "auto" });
  return Number.isNaN(seconds) ? "" : format.format(-Math.floor(seconds / size), unit);
}
