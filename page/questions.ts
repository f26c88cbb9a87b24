/** The questions of a session, as dialogs that own the keyboard. */
import { useSignal } from "@preact/signals";
import { html } from "htm/preact";
import { type ComponentChildren, h } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import * as answers from "../src/frontend/session/answers.ts";
import type { AnswerEntry, ApprovalQuestion, OpenQuestion } from "../src/frontend/session/questions.ts";
import type { RuleRefusal } from "../src/permission/mod.ts";
import { exactCells, isExact, nameUnseen } from "../src/util/exact_text.ts";
import { grouped, lineFigures } from "../src/view/figures.ts";
import { api, report, signedIn } from "./api.ts";
import { button, search, type SessionProps, usePart } from "./composer.ts";
import { Markdown } from "./markdown.ts";
import { Diff } from "./rows.ts";
import { texts } from "./texts.ts";

/** A dialog takes the keyboard after a pause in typing, and its answers after another one. */
const [TYPING_MS, READING_MS] = [700, 300];
/** A longer text is edited in several lines. */
const MAX_LINE = 100;
/** Most entries that are shown at once; a filter finds the others. */
const MAX_ENTRIES = 300;

type Entry = AnswerEntry<unknown>;

/** The time of the last change of a text outside of dialogs. */
let typedAt = -TYPING_MS;
function typed({ target }: Event): void {
  if (target instanceof Element && !target.closest("dialog")) typedAt = performance.now();
}

/** The first open question; the others follow in order. */
export function Questions({ id, model }: SessionProps) {
  const { web: { questions: words }, chat } = texts();
  const [aside, looks] = [useSignal(""), useSignal(0)];
  const questions = usePart(model, "questions");
  const [first] = questions;
  useEffect(() => {
    addEventListener("input", typed, { capture: true });
    return () => removeEventListener("input", typed, { capture: true });
  }, []);
  const own = useRef(new Set<string>()).current;
  const { id: closed, by } = model.answered.value;
  useEffect(() => {
    if (by === undefined || own.has(closed)) return;
    model.other("said", { text: chat.answeredElsewhere(by), form: "plain" });
  }, [closed]);
  const wait = !first || isCalled(first) ? 0 : Math.max(0, typedAt + TYPING_MS - performance.now());
  useEffect(() => {
    const timer = wait > 0 ? setTimeout(() => looks.value++, wait) : undefined;
    return () => clearTimeout(timer);
  }, [first?.id, looks.value]);
  if (!first) return null;
  const isOwner = signedIn.value === "owner";
  if (isOwner && aside.value !== first.id && wait === 0) {
    const setAside = () => aside.value = first.id;
    const path = `/sessions/${id}/questions/${first.id}`;
    return h(Dialog, { key: first.id, path, open: first, more: questions.length - 1, aside: setAside, own });
  }
  const show = () => [aside.value, typedAt] = ["", -TYPING_MS];
  return html`
    <div class="question-bar" role="status">
      <span>${isOwner ? words.waits(questions.length) : words.forOwner}</span>
      ${isOwner && button(words.answer, show, { kind: "primary" })}
    </div>
  `;
}

/** A command of the user asks it: the next keys are for it. */
function isCalled({ kind, called }: OpenQuestion): boolean {
  return called || !["approval", "ask", "plan", "trust", "copy"].includes(kind);
}

interface DialogProps {
  readonly path: string;
  readonly open: OpenQuestion;
  /** Questions that follow. */
  readonly more: number;
  readonly aside: () => void;
  /** The questions that this page has answered. */
  readonly own: Set<string>;
}

function Dialog({ path, open, more, aside, own }: DialogProps) {
  const { web: { questions: words } } = texts();
  const dialog = useRef<HTMLDialogElement>(null);
  const called = isCalled(open);
  const [armed, busy, given] = [useSignal(called), useSignal(false), useSignal<readonly unknown[]>([])];
  useLayoutEffect(() => {
    const [element, opener] = [dialog.current, document.activeElement as HTMLElement | null];
    element?.showModal();
    // Not its first button.
    element?.focus();
    return () => {
      element?.close();
      // A field in a dialog that is removed takes the caret with it from the field that gets the focus.
      queueMicrotask(() => (opener?.blur(), opener?.focus()));
    };
  }, []);
  useEffect(() => {
    if (armed.value) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => armed.value = true, READING_MS);
    };
    wait();
    addEventListener("keydown", wait);
    return () => (clearTimeout(timer), removeEventListener("keydown", wait));
  }, [armed.value]);
  const answer = async (value?: unknown) => {
    const all = [...given.value, value];
    // Questions of one call are answered together.
    const isPart = open.kind === "ask" && value !== undefined && all.length < open.question.questions.length;
    if (isPart) return void (given.value = all);
    busy.value = true;
    own.add(open.id);
    const whole = open.kind === "ask" ? all : value;
    await api.post(path, value === undefined ? {} : { answer: whole }).catch(report);
    busy.value = false;
  };
  const at = given.value.length;
  const shown = useMemo(() => answers.formOf(open, at, texts()), [open, at, texts()]);
  const [title = "", ...rest] = shown.title.split("\n");
  const off = !armed.value || busy.value;
  const leave = open.kind === "approval" ? words.stop : called ? words.close : words.leave;
  const cancel = (event: Event) => (event.preventDefault(), called ? void answer() : aside());
  return html`
    <dialog ref=${dialog} class=${`dialog question ${shown.tone ?? ""}`} tabindex="-1" data-kind=${open.kind}
      role=${shown.tone ? "alertdialog" : "dialog"} aria-labelledby="asked" aria-describedby="asked-more"
      onCancel=${cancel}>
      <header>
        <h2 id="asked">${nameUnseen(title)}</h2>
        ${more > 0 && html`<small>${words.more(more)}</small>`}
      </header>
      <p id="asked-more" hidden=${rest.length === 0}>${nameUnseen(rest.join("\n"))}</p>
      <div class="body" tabindex="0" role="group" aria-labelledby="asked">${bodyOf(open)}</div>
      ${h(Answers, { key: at, shown, off, open, answer, path })}
      <footer class="bar">
        ${button(leave, () => answer(), { off })}
        ${!called && button(words.later, aside, { off })}
      </footer>
    </dialog>
  `;
}

interface AnswersProps extends Pick<DialogProps, "path" | "open"> {
  readonly shown: answers.QuestionForm;
  readonly off: boolean;
  readonly answer: (value?: unknown) => void | Promise<void>;
}

/** The entries as buttons: letters and digits choose one, arrows move, and Enter or a click answers. */
function Answers({ shown, off, open, answer, path }: AnswersProps) {
  const { web: { questions: words }, overlay, of } = texts();
  const [list, looked] = [useRef<HTMLDivElement>(null), useRef(0)];
  const nested = useSignal<readonly Entry[] | undefined>(undefined);
  const writes = useSignal<answers.WrittenAnswer | undefined>(shown.writes);
  const [filter, preview, marked] = [useSignal(""), useSignal(""), useSignal<readonly Entry[]>([])];
  const buttons = () => [...list.current?.querySelectorAll<HTMLButtonElement>("button:enabled") ?? []];
  useEffect(() => {
    if (off || writes.value) return;
    const [find, body] = ["[type=search]", ".body"].map((name) =>
      list.current?.closest("dialog")?.querySelector<HTMLElement>(name)
    );
    if (find) return find.focus();
    // Enter alone does not answer what is not seen in full.
    const isCut = body && body.scrollHeight > body.clientHeight + 1;
    (isCut && !nested.value ? body : buttons()[nested.value ? 0 : shown.current ?? 0])?.focus();
  }, [off, nested.value, writes.value]);
  const call = async <T>(name: string, argument: unknown) =>
    (await api.post<{ result?: T }>(`${path}/${name}`, { argument })).result;
  const look = async (index: number) => {
    if (open.kind !== "choose") return;
    const { moves, entries } = open.question;
    [looked.current, preview.value] = [index, ""];
    if (moves) await call("move", index).catch(report);
    const text = entries[index]?.preview && await call<string>("preview", index).catch(String);
    if (looked.current === index) preview.value = text ?? "";
  };
  const choose = (entry: Entry) => {
    const isMarked = marked.value.includes(entry);
    if ("entries" in entry) nested.value = entry.entries;
    else if ("write" in entry) writes.value = entry;
    else if (!shown.multiple) void answer(entry.value);
    else marked.value = isMarked ? marked.value.filter((one) => one !== entry) : [...marked.value, entry];
  };
  const chosen = () => marked.value.flatMap((entry) => "value" in entry ? entry.value : []);
  const keys = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const all = buttons();
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const at = all.findIndex((each) => each === document.activeElement);
    const wanted = step === 0
      ? all.find(({ dataset }) => dataset.key === event.key) ?? all[Number(event.key) - 1]
      : all.at((at + step) % all.length);
    if (wanted) event.preventDefault();
    wanted?.focus();
  };
  const entry = writes.value;
  if (entry) {
    const check = async (text: string) => {
      if (open.kind !== "approval" || !entry.check) return entry.check?.(text);
      const refusal = await call<RuleRefusal>("checkRule", text);
      return refusal && answers.refusalText(text, refusal, { texts: overlay, translator: { text: of } });
    };
    const write = async (text: string) => {
      const value = entry.write(text);
      await answer(shown.multiple ? [...chosen(), text] : value === "leave" ? undefined : value);
    };
    const back = shown.writes ? undefined : () => writes.value = undefined;
    return html`<${Write} ...${{ entry, off, check, write, back }} />`;
  }
  const choice = ({ entry, index }: { readonly entry: Entry; readonly index: number }) => {
    const { key, label, detail } = entry;
    const pressed = shown.multiple && "value" in entry ? marked.value.includes(entry) : undefined;
    return html`
      <button type="button" key=${index} disabled=${off} data-key=${key} aria-keyshortcuts=${key}
        aria-pressed=${pressed} onFocus=${() => look(index)} onClick=${() => choose(entry)}>
        <span>${nameUnseen(label)}</span>
        ${key && html`<kbd aria-hidden="true">${key}</kbd>`}
        ${detail && html`<small>${nameUnseen(detail)}</small>`}
      </button>
    `;
  };
  const wanted = filter.value.toLowerCase();
  const found = (nested.value ?? shown.entries).map((entry, index) => ({ entry, index }))
    .filter(({ entry: { label, detail } }) => `${label} ${detail ?? ""}`.toLowerCase().includes(wanted));
  return html`
    ${shown.filter && search(words.filter, filter)}
    <div ref=${list} class="answers" role="group" aria-label=${words.answers} onKeyDown=${keys}>
      ${found.slice(0, MAX_ENTRIES).map(choice)}
      ${nested.value && button(words.back, () => nested.value = undefined)}
      ${marked.value.length > 0 && button(words.send, () => answer(chosen()), { kind: "primary", off })}
    </div>
    ${preview.value && html`<pre class="preview" tabindex="0">${preview.value}</pre>`}
  `;
}

interface WriteProps {
  readonly entry: answers.WrittenAnswer;
  readonly off: boolean;
  readonly check: (text: string) => Promise<string | undefined>;
  readonly back: (() => void) | undefined;
  readonly write: (text: string) => Promise<void>;
}

/** The field for a note, a rule, a plan, or a text that a command asks for. */
function Write({ entry, off, check, back, write }: WriteProps) {
  const { web: { questions: words } } = texts();
  const [problem, field] = [useSignal(""), useRef<HTMLInputElement & HTMLTextAreaElement>(null)];
  const { initial = "", prompt = entry.label, secret } = entry;
  useEffect(() => {
    if (off) return;
    field.current?.focus();
    field.current?.setSelectionRange(initial.length, initial.length);
  }, [off]);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const { value = "" } = field.current ?? {};
    const text = secret ? value : value.trim();
    problem.value = await check(text).catch((error) => error.message) ?? "";
    if (problem.value === "") await write(text);
  };
  const isLong = initial.length > MAX_LINE || initial.includes("\n");
  const shared = { ref: field, id: "written", disabled: off, defaultValue: initial, autocomplete: "off" };
  return html`
    <form class="write" onSubmit=${send}>
      <label for="written" class=${back ? "" : "hidden"}>${prompt}</label>
      ${isLong
        ? html`<textarea rows="12" ...${shared} />`
        : html`<input type=${secret ? "password" : "text"} ...${shared} />`}
      <p class="error" role="alert">${problem.value}</p>
      <button class="primary" disabled=${off}>${words.send}</button>
      ${back && button(words.back, back)}
    </form>
  `;
}

/** The subject of a question, below its title. */
function bodyOf({ kind, question }: OpenQuestion): ComponentChildren {
  const { overlay, chat } = texts();
  switch (kind) {
    case "approval":
      return html`<${Request} question=${question} />`;
    case "plan":
      return html`<${Markdown} text=${question.plan} />`;
    case "trust":
      return html`
        <ul>${question.lines.map((line) => h("li", null, nameUnseen(line)))}</ul>
        <details><summary>${overlay.trust.details}</summary>${exact(question.details)}</details>
      `;
    case "copy":
      return chat.busyCopy;
    case "confirm":
      return question.text && exact(question.text);
    case "show":
      return html`<pre>${question.text}</pre>`;
    case "changes":
      return question.files.map(({ path, what, diff, ...figures }) => {
        const line = html`${nameUnseen(path)} <small>${what} ${diff && lineFigures(figures)}</small>`;
        const body = diff === undefined ? overlay.noText : h(Diff, { diff: nameUnseen(diff) });
        return h("details", { open: question.files.length === 1 }, h("summary", null, line), body);
      });
  }
}

/** All of a call that requires approval. */
function Request({ question }: { readonly question: ApprovalQuestion }) {
  const { overlay, of } = texts();
  const { approval } = overlay;
  const { subject, rest = "", changes, escape } = question;
  const warning = (text: string) => html`<p class="warning">${text}</p>`;
  const findings = answers.findingsOf(question, { texts: overlay, translator: { text: of } });
  return html`
    <ul class="findings">
      ${findings.map(({ text, isTarget }) => h("li", { class: isTarget ? "target" : "" }, exact(text)))}
    </ul>
    ${changes
      ? changes.map(({ from, path, change, diff = "", ...figures }) =>
        bounded(diff, (shown) =>
          h(Diff, {
            path: from ? `${from} → ${path}` : path,
            diff: nameUnseen(shown),
            figures: `${approval.changes[change]} ${lineFigures(figures)}`,
          }))
      )
      : [subject, rest].map((text) => text !== "" && bounded(text, exact))}
    ${escape && warning(approval.escapeWhy(nameUnseen(escape.evidence)))}
    ${escape && !escape.network && !escape.enforced && warning(approval.escapeMeans)}
  `;
}

/** The start of a text, and a warning about the rest. */
function bounded(text: string, show: (text: string) => ComponentChildren): ComponentChildren {
  const { MAX_SHOWN } = answers;
  if (text.length <= MAX_SHOWN) return show(text);
  const { leftOut } = texts().overlay.approval;
  return html`
    <p class="error">${leftOut(grouped(MAX_SHOWN), grouped(text.length))}</p>
    ${show(text.slice(0, MAX_SHOWN))}
  `;
}

/** A text in which every character can be seen: what hides has a name, and a mark. */
function exact(text: string): ComponentChildren {
  const cells = (line: string) =>
    [...exactCells(line)].map(({ text, named }) => named ? html`<mark>${text}</mark>` : text);
  const lines = text.split("\n").map((line) => h("code", null, isExact(line) ? line : cells(line), "\n"));
  return html`<pre class="exact">${lines}</pre>`;
}
