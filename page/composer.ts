/** The field for messages: completion, images, earlier messages, the queue, and how far the agent may go. */
import { computed, type Signal, useSignal } from "@preact/signals";
import { html } from "htm/preact";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { isBusy } from "../src/frontend/session/live_state.ts";
import type { ApiAnswer } from "../src/frontend/web/schemas.ts";
import { api, ApiError, report, signedIn, store, stored } from "./api.ts";
import { hub } from "./hub.ts";
import type { SessionModel, SessionView } from "./store.ts";
import { texts } from "./texts.ts";

type Completions = ApiAnswer<"GET /sessions/:id/completions">;
type Completion = Completions["entries"][number];

/** An image of a message, in base64. */
interface Image {
  readonly name: string;
  readonly mime: string;
  readonly data: string;
}

/** What the server takes; larger images are drawn smaller. */
const [MAX_IMAGES, MAX_BYTES, MAX_SIDE] = [20, 4 * 1024 * 1024, 2000];
const isTouch = () => matchMedia("(pointer: coarse)").matches;
const IMAGE = /^image\/(?:png|jpeg|gif|webp)$/;
/** Rows of the field before it scrolls. */
const MAX_ROWS = 12;
/** The start of a command, or a reference at its end. */
const COMPLETED = /^\/[^/]|^\/$|(?:^|\s)@(?:"[^"]*|[^\s"]*)$/;

/** An identifier by which a message counts once. `randomUUID` exists on secure origins only. */
const newId = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** A message that is being sent: it is kept until the server has it, also over a reload. */
interface Sending {
  readonly id: string;
  readonly text: string;
}

/** A button that does some work: its kind says how it looks, and it may be off. */
export function button(
  label: string,
  work: () => unknown,
  { kind = "", off = false } = {},
): ComponentChildren {
  const act = () => void work();
  return html`<button type="button" class=${kind} disabled=${off} onClick=${act}>${label}</button>`;
}

/** A field that filters a list. */
export function search(label: string, filter: Signal<string>): ComponentChildren {
  const type = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
    filter.value = currentTarget.value;
  return html`
    <input type="search" aria-label=${label} placeholder=${label} value=${filter.value}
      onInput=${type} />
  `;
}

function queued(state: string, text: string, more?: ComponentChildren): ComponentChildren {
  return html`<li><b>${state}</b> <span>${text}</span> ${more}</li>`;
}

/** What a part of the page that shows a session gets. */
export interface SessionProps {
  readonly id: string;
  readonly model: SessionModel;
}

/** Sends a line to a session, such as a command. */
export function sendLine(session: string, text: string): void {
  api.post(`/sessions/${session}/messages`, { id: newId(), text }).catch(report);
}

/** A part of a view: a component that reads it is drawn again only when that part changes. */
export function usePart<K extends keyof SessionView>({ view }: SessionModel, name: K): SessionView[K] {
  return useMemo(() => computed(() => view.value[name]), [view, name]).value;
}

export function Composer({ id, model }: SessionProps) {
  const { web: { composer: words } } = texts();
  const [waiting, steering] = [usePart(model, "waiting"), usePart(model, "steering")];
  const isRunning = isBusy(usePart(model, "turnState"));
  const field = useRef<HTMLTextAreaElement>(null);
  const images = useSignal<readonly Image[]>([]);
  const menu = useSignal<(Completions & { readonly at: number; readonly isOld: boolean }) | undefined>(
    undefined,
  );
  const [start, busy, sending] = [useSignal(""), useSignal(false), useSignal<readonly Sending[]>([])];
  /** The earlier message in the field, counted from the last one, and the draft before it. */
  const walk = useRef({ at: 0, draft: "", pasted: false, asked: new AbortController() }).current;
  const [draftKey, sendingKey] = [`reasonix.draft.${id}`, `reasonix.sending.${id}`];

  const changed = () => {
    const text = field.current?.value ?? "";
    store(draftKey, text);
    start.value = /^[/!#]/.exec(text)?.[0] ?? "";
    if (text === "") walk.pasted = false;
    if (field.current) field.current.rows = Math.min(MAX_ROWS, text.split("\n").length);
  };
  const put = (text: string, caret = text.length) => {
    if (!field.current) return;
    field.current.value = text;
    field.current.setSelectionRange(caret, caret);
    field.current.focus();
    changed();
  };
  const putBack = (...given: readonly string[]) =>
    put([...given, field.current?.value ?? ""].filter((text) => text !== "").join("\n"));
  const deliver = async (message: Sending, given: readonly Image[] = []) => {
    const keep = (all: readonly Sending[]) => store(sendingKey, JSON.stringify(sending.value = all));
    keep([...sending.value, message]);
    const sent = given.map(({ mime, data }) => ({ mime, data }));
    try {
      await api.post(`/sessions/${id}/messages`, { ...message, images: sent });
    } catch (error) {
      report(error);
      putBack(message.text);
      images.value = [...given, ...images.value];
    }
    keep(sending.value.filter((each) => each !== message));
  };
  useEffect(() => {
    if (field.current) field.current.value = stored(draftKey) ?? "";
    changed();
    if (!isTouch()) field.current?.focus();
    // Their ids make them count once.
    for (const left of JSON.parse(stored(sendingKey) ?? "[]")) void deliver(left);
  }, []);
  const returned = model.returned.value as readonly { readonly text?: string }[];
  useEffect(() => {
    if (returned.length === 0) return;
    putBack(...returned.map(({ text = "" }) => text));
    model.returned.value = [];
  }, [returned]);

  const complete = async () => {
    walk.asked.abort();
    const { value = "", selectionEnd = 0 } = field.current ?? {};
    if (!COMPLETED.test(value.slice(0, selectionEnd))) return void (menu.value = undefined);
    const { signal } = walk.asked = new AbortController();
    if (menu.value) menu.value = { ...menu.value, isOld: true };
    const query = new URLSearchParams({ text: value, cursor: String(selectionEnd) });
    const given = await api.get<Completions>(`/sessions/${id}/completions?${query}`, signal).catch(() =>
      undefined
    );
    if (signal.aborted) return;
    menu.value = given && given.entries.length > 0 ? { ...given, at: 0, isOld: false } : undefined;
  };
  /** False: the text is complete, and can be sent. */
  const take = ({ insert, more, sends }: Completion, byEnter = false): boolean => {
    const { from, to } = menu.value ?? { from: 0, to: 0 };
    const text = field.current?.value ?? "";
    menu.value = undefined;
    if (byEnter && text.slice(from, to) === insert.trimEnd()) return false;
    put(text.slice(0, from) + insert + text.slice(to), from + insert.length);
    if (more) void complete();
    return !byEnter || !sends;
  };
  const send = (steer = false) => {
    const [text, given, { pasted }] = [field.current?.value ?? "", images.value, walk];
    if (text.trim() === "" && given.length === 0) return;
    walk.asked.abort();
    [walk.at, images.value, menu.value] = [0, [], undefined];
    put("");
    void deliver({ id: newId(), text, ...(pasted ? { pasted } : {}), ...(steer ? { steer } : {}) }, given);
  };
  const open = () => api.post(`/sessions/${id}/open`).catch(report);
  const stop = () => api.post(`/sessions/${id}/interrupt`).catch(report);
  const takeBack = (message: string) =>
    api.delete<{ text: string }>(`/sessions/${id}/messages/${message}`)
      .then(({ text }) => putBack(text)).catch(report);
  /** Moves through earlier messages, from the first and the last row of the field. */
  const earlier = (by: number): boolean => {
    const { value = "", selectionStart = 0, selectionEnd } = field.current ?? {};
    const edge = by < 0 ? value.slice(0, selectionStart) : value.slice(selectionStart);
    if (edge.includes("\n") || selectionStart !== selectionEnd) return false;
    const all = model.view.value.rows.flatMap((row) => row.kind === "user" ? [row.text] : []);
    const at = Math.min(all.length, Math.max(0, walk.at - by));
    if (at === walk.at) return false;
    if (walk.at === 0) walk.draft = value;
    walk.at = at;
    put(at === 0 ? walk.draft : all.at(-at) ?? "");
    return true;
  };
  const keys = (event: KeyboardEvent) => {
    const { key, ctrlKey, metaKey, shiftKey, altKey } = event;
    // A key of an input method composes a character.
    if (event.isComposing || event.keyCode === 229) return;
    const open = menu.value;
    // Who types fast does not mean the entries of an earlier text.
    const chosen = open?.isOld ? undefined : open?.entries[open.at];
    const step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    const isPlain = !shiftKey && !altKey && !ctrlKey && !metaKey;
    let isDone = true;
    if (open && step !== 0) {
      menu.value = { ...open, at: (open.at + step + open.entries.length) % open.entries.length };
    } else if (chosen && key === "Tab" && isPlain) take(chosen);
    else if (key === "Escape" && open) menu.value = undefined;
    else if (key === "Escape" && isRunning) void stop();
    else if (key === "Enter" && (ctrlKey || metaKey)) send(true);
    else if (key !== "Enter" || !isPlain || isTouch()) isDone = step !== 0 && isPlain && earlier(step);
    else if (!chosen || !take(chosen, true)) send();
    if (isDone) event.preventDefault();
  };
  const add = async (files: Iterable<File>) => {
    busy.value = true;
    for (const file of files) {
      try {
        if (images.value.length >= MAX_IMAGES) throw new ApiError(0, words.tooMany(MAX_IMAGES));
        const image = await imageOf(file, words.noImage(file.name));
        images.value = [...images.value, image];
      } catch (error) {
        report(error);
      }
    }
    busy.value = false;
  };
  const files = (event: Event, given: FileList | undefined) => {
    if (!given?.length) return;
    event.preventDefault();
    void add([...given]);
  };
  const paste = (event: ClipboardEvent) => {
    if (field.current?.selectionStart === 0) walk.pasted = true;
    files(event, event.clipboardData?.files);
  };
  const pick = async ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
    await add([...currentTarget.files ?? []]);
    currentTarget.value = "";
  };
  const { elsewhere, live } = hub.sessions.value.find((each) => each.id === id) ?? {};
  if (signedIn.value !== "owner" || elsewhere) {
    return html`<p class="composer">${elsewhere ? words.elsewhere : words.viewer}</p>`;
  }
  const option = (entry: Completion, index: number, isChosen: boolean) => {
    const click = (event: Event) => (event.preventDefault(), take(entry));
    return html`
      <li role="option" key=${entry.insert} id="completion-${index}" aria-selected=${isChosen}
        ref=${isChosen ? near : undefined} onMouseDown=${click}>
            <span>${entry.label}</span> <small>${entry.detail}</small></li>
    `;
  };
  const { entries = [], at = 0, isOld = false } = menu.value ?? {};
  const isOpen = entries.length > 0;
  const hint = start.value === "" ? busy.value && words.reading : words.starts[start.value];
  return html`
    <section class="composer" aria-label=${words.label} data-start=${start.value}
      onDragOver=${(event: Event) => event.preventDefault()}
      onDrop=${(event: DragEvent) => files(event, event.dataTransfer?.files)}>
      <ul class="queue" aria-label=${words.queue}>
        ${steering.map((text) => queued(words.steers, text))}
        ${waiting.map(({ id, text }) =>
          queued(words.waits, text, id && button(words.takeBack, () => takeBack(id)))
        )}
        ${sending.value.map(({ text }) => queued(words.sending, text))}
      </ul>
      <ul class="images" aria-label=${words.images}>${images.value.map((image) =>
        html`<li><img src="data:${image.mime};base64,${image.data}" alt=${image.name} />
          <button type="button" aria-label=${words.remove(image.name)}
            onClick=${() => images.value = images.value.filter((one) => one !== image)}>×</button></li>`
      )}</ul>
      ${isOpen && html`
        <ul class="completions" tabindex="0" role="listbox" id="completions" aria-busy=${isOld}
          aria-label=${words.completions}>
          ${entries.map((entry, index) => option(entry, index, index === at))}
        </ul>
      `}
      <p class="hidden" role="status">${isOpen ? words.found(entries.length) : ""}</p>
      <textarea ref=${field} rows="1" aria-label=${words.label} placeholder=${words.placeholder}
        aria-autocomplete="list" aria-controls=${isOpen ? "completions" : undefined}
        aria-activedescendant=${isOpen ? `completion-${at}` : undefined} onKeyDown=${keys} onPaste=${paste}
        onInput=${(event: InputEvent) => (changed(), event.isComposing || void complete())}
        onCompositionEnd=${complete} onBlur=${() => menu.value = undefined}></textarea>
      <div class="bar">
        <label class="button">${words.attach}
          <input type="file" accept="image/*" multiple class="hidden" onChange=${pick} /></label>
        <${Setting} id=${id} model=${model} of="approval" />
        <${Setting} id=${id} model=${model} of="collaboration" />
        ${live === false && button(words.open, open)}
        <span class="hint">${hint}</span>
        ${isRunning && [button(words.steer, () => send(true)), button(words.stop, stop, { kind: "stop" })]}
        ${button(isRunning ? words.queueIt : words.send, () => send(), { kind: "primary" })}
      </div>
    </section>
  `;
}

function near(row: Element | null): void {
  row?.scrollIntoView({ block: "nearest" });
}

/** A setting of a session as a list of its values. */
export function Setting({ id, model, of }: SessionProps & { readonly of: string }) {
  const setting = usePart(model, "facts").settings?.settings.find((each) => each.id === of);
  if (!setting) return null;
  const change = ({ currentTarget: { value } }: { readonly currentTarget: HTMLSelectElement }) =>
    api.patch(`/sessions/${id}/settings`, { id: of, value }).catch(report);
  const groups = [...Map.groupBy(setting.choices, ({ group = "" }) => group)];
  const options = (choices: typeof setting.choices) =>
    choices.map(({ value, name, description }) =>
      html`<option value=${value} title=${description} selected=${value === setting.current}>${name}</option>`
    );
  return html`
    <select class="setting" aria-label=${setting.name} title=${setting.name} data-value=${setting.current}
      value=${setting.current} disabled=${signedIn.value !== "owner"} onChange=${change}>
      ${groups.map(([group, choices]) =>
        group === "" ? options(choices) : html`<optgroup label=${group}>${options(choices)}</optgroup>`
      )}
    </select>
  `;
}

/** An image as the server takes it: as it is, or drawn smaller. */
async function imageOf(file: File, problem: string): Promise<Image> {
  let blob: Blob = file;
  if (!IMAGE.test(file.type) || file.size > MAX_BYTES) {
    const bitmap = await createImageBitmap(file).catch(() => undefined);
    if (!bitmap) throw new ApiError(0, problem);
    const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
    const canvas = new OffscreenCanvas(Math.ceil(bitmap.width * scale), Math.ceil(bitmap.height * scale));
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.85 });
  }
  const reader = new FileReader();
  reader.readAsDataURL(blob);
  await new Promise((resolve) => reader.onloadend = resolve);
  if (typeof reader.result !== "string") throw new ApiError(0, problem);
  const data = reader.result.slice(reader.result.indexOf(",") + 1);
  return { name: file.name, mime: blob.type, data };
}
