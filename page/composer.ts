/** The field for messages: completion, images, earlier messages, the queue, and how far the agent may go. */
import { batch, useSignal } from "@preact/signals";
import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import type { ApiAnswer } from "../src/frontend/web/schemas.ts";
import { api, ApiError, report, signedIn, store, stored } from "./api.ts";
import { isBusy } from "./rows.ts";
import type { SessionModel } from "./store.ts";
import { texts } from "./texts.ts";

type Completions = ApiAnswer<"GET /sessions/:id/completions">;
type Completion = Completions["entries"][number];

interface Image {
  readonly name: string;
  readonly mime: string;
  readonly data: string;
  readonly url: string;
}

/** What the server takes; larger images are drawn smaller. */
const [MAX_IMAGES, MAX_BYTES, MAX_SIDE] = [20, 4 * 1024 * 1024, 2000];
const IMAGE = /^image\/(?:png|jpeg|gif|webp)$/;
/** The start of a command, or a reference at its end. */
const COMPLETED = /^\/[^/]|^\/$|(?:^|\s)@(?:"[^"]*|[^\s"]*)$/;

/** An identifier by which a message counts once. */
function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

/** Sends a line to a session, such as a command. */
export async function sendLine(session: string, text: string, rest: object = {}): Promise<void> {
  await api.post(`/sessions/${session}/messages`, { id: newId(), text, ...rest });
}

export function Composer({ id, model }: { readonly id: string; readonly model: SessionModel }) {
  const { web: { composer: words } } = texts();
  const { rows, turnState, waiting, steering, facts } = model.view.value;
  const field = useRef<HTMLTextAreaElement>(null);
  const images = useSignal<readonly Image[]>([]);
  const menu = useSignal<(Completions & { readonly at: number }) | undefined>(undefined);
  const [start, busy] = [useSignal(""), useSignal(false)];
  /** The earlier messages that are walked through, and the draft before them. */
  const walk = useRef({ at: 0, draft: "", pasted: false, asked: new AbortController() });
  const isRunning = isBusy({ turnState });
  const key = `reasonix.draft.${id}`;

  const changed = () => {
    const text = field.current?.value ?? "";
    store(key, text);
    start.value = /^[/!#]/.exec(text)?.[0] ?? "";
    if (text === "") walk.current.pasted = false;
  };
  const put = (text: string, caret = text.length) => {
    if (!field.current) return;
    field.current.value = text;
    field.current.setSelectionRange(caret, caret);
    field.current.focus();
    changed();
  };
  const putBack = (text: string) => {
    if (text !== "") put([text, field.current?.value ?? ""].filter(Boolean).join("\n"));
  };
  useEffect(() => {
    if (field.current) field.current.value = stored(key) ?? "";
    changed();
  }, [id]);
  const { returned } = model;
  useEffect(() => {
    if (returned.value.length === 0) return;
    putBack(
      (returned.value as readonly { readonly text?: string }[]).map(({ text = "" }) => text).join("\n"),
    );
    returned.value = [];
  }, [returned.value]);

  const complete = async () => {
    const { asked } = walk.current;
    asked.abort();
    const { value = "", selectionEnd = 0 } = field.current ?? {};
    if (!COMPLETED.test(value.slice(0, selectionEnd))) return void (menu.value = undefined);
    const { signal } = walk.current.asked = new AbortController();
    const query = new URLSearchParams({ text: value, cursor: String(selectionEnd) });
    const given = await api.get<Completions>(`/sessions/${id}/completions?${query}`, signal)
      .catch(() => undefined);
    if (signal.aborted) return;
    menu.value = given && given.entries.length > 0 ? { ...given, at: 0 } : undefined;
  };
  const take = (entry: Completion, byEnter = false): boolean => {
    const { from, to } = menu.value ?? { from: 0, to: 0 };
    const text = field.current?.value ?? "";
    menu.value = undefined;
    // What is typed in full is sent.
    if (byEnter && text.slice(from, to) === entry.insert.trimEnd()) return false;
    put(text.slice(0, from) + entry.insert + text.slice(to), from + entry.insert.length);
    if (entry.more) void complete();
    return !(byEnter && entry.sends);
  };
  const send = async (steer = false) => {
    const text = field.current?.value ?? "";
    if (text.trim() === "" && images.value.length === 0) return;
    const given = images.value;
    const { pasted } = walk.current;
    const sent = given.map(({ mime, data }) => ({ mime, data }));
    walk.current.at = 0;
    walk.current.asked.abort();
    batch(() => [images.value, menu.value] = [[], undefined]);
    put("");
    const rest = { ...(sent.length > 0 ? { images: sent } : {}), ...(pasted ? { pasted } : {}) };
    try {
      await sendLine(id, text, { ...rest, ...(steer ? { steer } : {}) });
      given.forEach(({ url }) => URL.revokeObjectURL(url));
    } catch (error) {
      report(error);
      putBack(text);
      images.value = [...given, ...images.value];
    }
  };
  const stop = () => api.post(`/sessions/${id}/interrupt`).catch(report);
  const history = (by: number): boolean => {
    const { value = "", selectionStart = 0, selectionEnd } = field.current ?? {};
    const edge = by < 0 ? value.slice(0, selectionStart) : value.slice(selectionStart);
    if (edge.includes("\n") || selectionStart !== selectionEnd) return false;
    const all = rows.flatMap((row) => row.kind === "user" ? [row.text] : []);
    const at = Math.min(all.length, Math.max(0, walk.current.at - by));
    if (at === walk.current.at) return false;
    if (walk.current.at === 0) walk.current.draft = value;
    walk.current.at = at;
    put(at === 0 ? walk.current.draft : all.at(-at) ?? "");
    return true;
  };
  const keys = (event: KeyboardEvent) => {
    // A key of an input method composes a character.
    if (event.isComposing || event.keyCode === 229) return;
    const { key: pressed, ctrlKey, metaKey, shiftKey, altKey } = event;
    const open = menu.value;
    const chosen = open?.entries[open.at];
    const step = pressed === "ArrowDown" || (ctrlKey && pressed === "n")
      ? 1
      : pressed === "ArrowUp" || (ctrlKey && pressed === "p")
      ? -1
      : 0;
    const isPlain = !shiftKey && !altKey && !ctrlKey && !metaKey;
    let isDone = true;
    if (open && step !== 0) {
      menu.value = { ...open, at: (open.at + step + open.entries.length) % open.entries.length };
    } else if (chosen && pressed === "Tab" && isPlain) take(chosen);
    else if (pressed === "Escape" && open) menu.value = undefined;
    else if (pressed === "Escape" && isRunning) void stop();
    else if (pressed === "Enter" && (ctrlKey || metaKey)) void send(true);
    else if (pressed === "Enter" && isPlain && !matchMedia("(pointer: coarse)").matches) {
      if (!chosen || !take(chosen, true)) void send();
    } else isDone = step !== 0 && isPlain && history(step);
    if (isDone) event.preventDefault();
  };
  const add = async (files: Iterable<File>) => {
    busy.value = true;
    for (const file of files) {
      try {
        if (images.value.length >= MAX_IMAGES) throw new ApiError(0, words.tooMany(MAX_IMAGES));
        images.value = [...images.value, await imageOf(file, words.noImage(file.name))];
      } catch (error) {
        report(error);
      }
    }
    busy.value = false;
  };
  const paste = (event: ClipboardEvent) => {
    const files = event.clipboardData?.files ?? [];
    if (field.current?.selectionStart === 0) walk.current.pasted = true;
    if (files.length === 0) return;
    event.preventDefault();
    void add(files);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    void add(event.dataTransfer?.files ?? []);
  };
  if (signedIn.value !== "owner") return html`<p class="composer viewer">${words.viewer}</p>`;
  const { value: { entries = [], at = 0 } = {} } = menu;
  return html`
    <section class="composer" aria-label=${words.label} data-start=${start.value} onDrop=${drop}
      onDragOver=${(event: DragEvent) => event.preventDefault()}>
      ${waiting.length + steering.length > 0 && html`<ul class="queue" aria-label=${words.queue}>
        ${steering.map((text) => html`<li><b>${words.steers}</b> <span>${text}</span></li>`)}
        ${
        waiting.map(({ id: message, text }) =>
          html`<li><b>${words.waits}</b> <span>${text}</span>
          ${
            message && html`<button type="button" onClick=${() =>
              api.delete<{ text: string }>(`/sessions/${id}/messages/${message}`)
                .then((given) => putBack(given.text)).catch(report)}>${words.takeBack}</button>`
          }</li>`
        )
      }
      </ul>`}
      ${images.value.length > 0 && html`<ul class="images" aria-label=${words.images}>
        ${
        images.value.map((image) =>
          html`<li><img src=${image.url} alt=${image.name} />
          <button type="button" aria-label=${words.remove(image.name)} onClick=${() =>
            images.value = images.value.filter((one) => one !== image)}>×</button></li>`
        )
      }
      </ul>`}
      ${entries.length > 0 && html`
        <ul class="completions" role="listbox" id="completions"
          aria-label=${words.completions}>
                ${entries.map((entry, index) =>
                  html`
                    <li role="option" id=${`completion-${index}`} key=${entry.insert}
                      aria-selected=${index === at} ref=${(element: Element | null) =>
                        index === at && element?.scrollIntoView({ block: "nearest" })}
                      onMouseDown=${(event: Event) => (event.preventDefault(), take(entry))}>
                              <span>${entry.label}</span> <small>${entry.detail}</small></li>
                  `
                )}
              </ul>
      `}
      <p class="hidden" role="status">${entries.length > 0 ? words.found(entries.length) : ""}</p>
      <textarea ref=${field} rows="1" aria-label=${words.label} placeholder=${words.placeholder}
        aria-autocomplete="list" aria-controls=${entries.length > 0 ? "completions" : undefined}
        aria-activedescendant=${entries.length > 0 ? `completion-${at}` : undefined}
        onInput=${(event: InputEvent) => (changed(), event.isComposing || void complete())} onKeyDown=${keys}
        onCompositionEnd=${complete} onPaste=${paste} onBlur=${() => menu.value = undefined}></textarea>
      <div class="bar">
        <label class="button">${words.attach}<input type="file" accept="image/*" multiple class="hidden"
          onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) =>
            add([...currentTarget.files ?? []]).then(() => currentTarget.value = "")} /></label>
        <${Setting} id=${id} facts=${facts} of="approval" />
        <${Setting} id=${id} facts=${facts} of="collaboration" />
        <span class="hint">${start.value === ""
          ? busy.value && words.reading
          : words.starts[start.value]}</span>
        ${isRunning && html`
          <button type="button" onClick=${() => send(true)}>${words.steer}</button>
          <button type="button" class="stop" onClick=${stop}>${words.stop}</button>
        `}
        <button type="button" class="primary" onClick=${() => send()}>
          ${isRunning ? words.queueIt : words.send}</button>
      </div>
    </section>
  `;
}

interface SettingProps {
  readonly id: string;
  readonly facts: SessionModel["view"]["value"]["facts"];
  readonly of: string;
}

/** A setting of a session as a list of its values. */
export function Setting({ id, facts, of }: SettingProps) {
  const setting = facts.settings?.settings.find((each) => each.id === of);
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
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return { name: file.name, mime: blob.type, data: bytes.toBase64(), url: URL.createObjectURL(blob) };
}
