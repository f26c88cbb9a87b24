/** The details of a session: its files, its log, and its state. */
import { useComputed, useSignal } from "@preact/signals";
import { html } from "htm/preact";
import { type ComponentChildren, h } from "preact";
import { useEffect } from "preact/hooks";
import type { ApiAnswer } from "../src/frontend/web/schemas.ts";
import { nameUnseen } from "../src/util/exact_text.ts";
import { cacheShare, grouped, lineFigures, moneyFigure } from "../src/view/figures.ts";
import { api, report, signedIn } from "./api.ts";
import { button, search, sendLine, type SessionProps, Setting, usePart } from "./composer.ts";
import { Code } from "./markdown.ts";
import { Diff, Todos } from "./rows.ts";
import { LOG_SOURCES, type LogRow, logSource, logText } from "../src/frontend/session/rows.ts";
import { texts } from "./texts.ts";

interface PanelProps extends SessionProps {
  /** Shows the conversation, where commands print. */
  readonly leave: () => void;
}

type Change = ApiAnswer<"GET /sessions/:id/changes">["changes"][number];
type Content = ApiAnswer<"GET /sessions/:id/files">;

const ACTIONS: Readonly<Record<string, Change["action"]>> = { created: "create", deleted: "delete" };
const TABS = ["files", "log", "session"] as const;
const PANELS = { files: Files, log: Log, session: Session };
const FILTERS = ["all", ...LOG_SOURCES] as const;
/** Entries of the log that are shown; a filter finds the others. */
const MAX_SHOWN = 300;
/** Files change while calls run; they are read again after a pause. */
const PAUSE_MS = 500;
/** A fuller context is shown as a warning. */
const FULL_PERCENT = 80;

export function Panels({ id, model, leave }: PanelProps): ComponentChildren {
  const { details: words } = texts();
  const tab = useSignal<(typeof TABS)[number]>("files");
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const wanted = TABS.at((TABS.indexOf(tab.value) + step) % TABS.length);
    if (step === 0 || !wanted) return;
    tab.value = wanted;
    document.getElementById(`tab-${wanted}`)?.focus();
  };
  return html`
    <div class="panels">
      <div role="tablist" aria-label=${words.label} onKeyDown=${keys}>
        ${TABS.map((name) =>
          html`
            <button type="button" role="tab" id=${`tab-${name}`} aria-selected=${tab.value === name}
              aria-controls="panel" tabindex=${tab.value === name ? 0 : -1}
              onClick=${() => tab.value = name}>${words[name]}</button>
          `
        )}
      </div>
      <div role="tabpanel" id="panel" aria-labelledby=${`tab-${tab.value}`} tabindex="0">
        <${PANELS[tab.value]} key=${id} ...${{ id, model, leave }} />
      </div>
    </div>
  `;
}

/** The files that the session has changed, each with its diff and its content. */
function Files({ id, model }: SessionProps): ComponentChildren {
  const { details: words } = texts();
  const changes = useSignal<readonly Change[] | undefined>(undefined);
  const [files, turnState] = [usePart(model, "files"), usePart(model, "turnState")];
  // A session that is not open has no checkpoints: its events say which files changed.
  const isOpen = usePart(model, "facts").details !== undefined;
  useEffect(() => {
    const asked = new AbortController();
    const failed = (error: { readonly status?: number }) => {
      if (asked.signal.aborted) return;
      if (error.status !== 409) return report(error);
      changes.value = files.map(({ path, change, added, removed }) => ({
        path,
        added,
        removed,
        action: ACTIONS[change] ?? "update",
      }));
    };
    const ask = () =>
      api.get<{ changes: readonly Change[] }>(`/sessions/${id}/changes`, asked.signal)
        .then((given) => changes.value = given.changes).catch(failed);
    if (!isOpen) return failed({ status: 409 });
    const timer = setTimeout(ask, changes.value ? PAUSE_MS : 0);
    return () => (clearTimeout(timer), asked.abort());
  }, [id, files, turnState, isOpen]);
  if (!changes.value?.length) {
    return html`<p class="empty">${changes.value ? words.noFiles : words.loading}</p>`;
  }
  return changes.value.map((change) => h(File, { key: change.path, id, change }));
}

/** An element that is open or closed; what is in it is made when it is open. */
function Details({ line, children }: { line: ComponentChildren; children: () => ComponentChildren }) {
  const open = useSignal(false);
  const toggle = ({ currentTarget }: { currentTarget: HTMLDetailsElement }) =>
    open.value = currentTarget.open;
  return html`<details onToggle=${toggle}><summary>${line}</summary>${open.value && children()}</details>`;
}

function File({ id, change }: { readonly id: string; readonly change: Change }): ComponentChildren {
  const { details: words, overlay } = texts();
  const { path, action, hunks } = change;
  const content = useSignal<Content | undefined>(undefined);
  const look = () => {
    if (content.value) return content.value = undefined;
    api.get<Content>(`/sessions/${id}/files?${new URLSearchParams({ path })}`)
      .then((given) => content.value = given).catch(report);
  };
  const lines = hunks?.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...lines,
  ]);
  const diff = lines
    ? html`<${Diff} diff=${lines.join("\n")} path=${path} />`
    : html`<p class="empty">${overlay.noText}</p>`;
  const line = html`${nameUnseen(path)} <small>${words.actions[action]} ${lineFigures(change)}</small>`;
  return html`<${Details} line=${line}>${() =>
    html`
      ${action !== "delete" && html`
        <button type="button" aria-pressed=${content.value !== undefined} onClick=${look}>
          ${words.content}</button>
      `}
      ${content.value ? preview(path, content.value) : diff}
    `}<//>`;
}

function preview(path: string, content: Content): ComponentChildren {
  if (content.kind === "image") {
    return html`<img alt=${path} src="data:${content.mime};base64,${content.data}" />`;
  }
  return content.kind === "file" && html`
    <${Code} text=${content.text} info=${content.language} />
    ${content.truncated && html`<p class="empty">${texts().details.truncated}</p>`}
  `;
}

/** Calls, servers, hooks and notices, newest last. */
function Log({ model }: SessionProps): ComponentChildren {
  const { details: words } = texts();
  const [kind, filter] = [useSignal("all"), useSignal("")];
  const found = useComputed(() => {
    const wanted = filter.value.toLowerCase();
    return model.log.value.filter((row) =>
      (kind.value === "all" || logSource(row) === kind.value) &&
      (wanted === "" || logText(row).toLowerCase().includes(wanted))
    );
  });
  const choose = ({ currentTarget }: { readonly currentTarget: HTMLSelectElement }) =>
    kind.value = currentTarget.value;
  return html`
    <div class="bar">
      <select aria-label=${words.kind} value=${kind.value} onChange=${choose}>
        ${FILTERS.map((name) => html`<option value=${name}>${words.kinds[name]}</option>`)}
      </select>
      ${search(words.filter, filter)}
      <small role="status">${words.count(found.value.length)}</small>
    </div>
    <ol class="entries">${found.value.slice(-MAX_SHOWN).map((row) =>
      html`
        <li key=${row.key} class=${row.kind === "call" ? row.end?.outcome ?? "running" : row.level}>
          <${Details} line=${firstLine(row)}>${() => html`<pre tabindex="0">${logText(row)}</pre>`}<//>
        </li>
      `
    )}</ol>
  `;
}

function firstLine(row: LogRow): ComponentChildren {
  const text = row.kind === "call" ? `${row.title} ${row.end?.summary ?? ""}` : row.text.split("\n", 1)[0];
  return html`<time datetime=${row.time}>${new Date(row.time).toTimeString().slice(0, 8)}</time> ${text}`;
}

const COMMANDS = ["rewind", "compact", "memory", "settings", "permissions", "mcp"] as const;

/** The state of the session, and the commands that change it. */
function Session({ id, model, leave }: PanelProps): ComponentChildren {
  const { details: words, chat: { statusLine: status }, rows: { serverStates: states } } = texts();
  const { usage, details, settings } = usePart(model, "facts");
  const todos = usePart(model, "todos");
  const percent = usage ? Math.round(100 * usage.used / usage.size) : 0;
  const { servers = [], languageServers = [], goal, spending: { usage: spent } = {} } = details ?? {};
  const server = ({ name, state, tools }: Omit<typeof servers[number], "tools"> & { tools?: number }) =>
    html`<li data-state=${state}>${name}
      <small> ${states[state]} ${tools && state === "ready" ? words.tools(tools) : ""}</small></li>`;
  const command = (name: (typeof COMMANDS)[number]) =>
    button(words.commands[name], () => (leave(), sendLine(id, `/${name}`)));
  const shown = todos.length > 0 ? todos : details?.todos ?? [];
  const rows: readonly (readonly [string, ComponentChildren])[] = [
    [words.model, settings && ["model", "effort"].map((of) => h(Setting, { key: of, id, model, of }))],
    [words.cost, details && moneyFigure(details.spending)],
    [
      words.tokens,
      spent?.inputTokens &&
      words.spent(grouped(spent.inputTokens), cacheShare(spent), grouped(spent.outputTokens)),
    ],
    [words.directory, details?.directory],
    [words.jail, details && (details.confined ? status.jail.on : status.jail.off)],
    [
      words.goal,
      goal && (goal.state === "active" ? status.goal.active(goal.turns + 1) : status.goal[goal.state]),
    ],
    [words.memory, details && words.facts(details.memory ?? 0, details.instructions.length)],
    [words.problem, details?.problem],
  ];
  return html`
    ${usage &&
      html`<label class="context">${words.context(grouped(usage.used), grouped(usage.size), percent)}
      <meter min="0" max="100" high=${FULL_PERCENT} value=${percent}></meter></label>`}
    <dl>${rows.map(([name, value]) => value ? [h("dt", null, name), h("dd", null, value)] : null)}</dl>
    ${servers.length > 0 && html`<h3>${words.servers}</h3>`}
    <ul class="servers">${servers.map(server)}</ul>
    ${languageServers.length > 0 && html`<h3>${words.languageServers}</h3>`}
    <ul class="servers">${languageServers.map(server)}</ul>
    ${shown.length > 0 && html`
      <div class="todo">
        <${Todos} row=${{ items: shown }} />
      </div>
    `}
    ${signedIn.value === "owner" && h("div", { class: "bar" }, COMMANDS.map(command))}
  `;
}
