import type { Texts } from "../../../i18n/mod.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import { byScore, type CompletionItem, type CompletionList, scored } from "../../session/completion.ts";
import { argumentSource, treeSource } from "../../session/completion_sources.ts";
import type { AnswerEntry } from "../../session/questions.ts";
import { Panel, type PanelStyle } from "../overlay/panel.ts";
import type { LayoutDeps } from "../chat_layout.ts";

interface PaletteDeps extends Pick<LayoutDeps, "commands" | "live" | "submit"> {
  readonly paths: Pick<LayoutDeps["paths"], "cwd">;
  readonly style: PanelStyle;
  readonly texts: Texts["full"]["palette"];
  /** Types a text into the draft. */
  readonly type: (text: string) => void;
}

type Kind = "command" | "session" | "model" | "file";

/** Entries of one kind, as many as completion offers. */
const MAX_ENTRIES = 200;

/** A list of commands, sessions, models and files; its answer sends the chosen one, or drafts it. */
export function palettePanel(deps: PaletteDeps): Panel<() => void> {
  const { commands, live, paths: { cwd }, style, texts } = deps;
  const lists = new Map<Kind, CompletionList>();
  const search = (query: string) => {
    const found = [...lists].flatMap(([kind, { items, search }]) => {
      const named = kind === "command" && query !== "" ? query.replace(/^\/?/, "/") : query;
      return (search?.(query, MAX_ENTRIES) ?? scored(items, named))
        .map(({ item, score }) => ({ item: entryOf(kind, item, deps), score }));
    });
    return byScore(found).slice(0, MAX_ENTRIES).map(({ item }) => item);
  };
  const panel = new Panel<() => void>({ title: texts.title, filter: true, search, entries: [] }, style);
  const load = async (kind: Kind, list: () => Promise<CompletionList>) => {
    lists.set(kind, await list().catch((): CompletionList => ({ items: [] })));
    panel.refresh();
  };
  const values = argumentSource(commands);
  const hidden = async () => {
    const { workspace } = await live.host.ifOpen();
    return (path: string) => workspace.hidden(path);
  };
  void load("command", () => commandItems(commands));
  void load("session", () => values.items("resume"));
  void load("model", () => values.items("model"));
  void load("file", () => treeSource({ cwd, hidden }).items(""));
  return panel;
}

async function commandItems(commands: PaletteDeps["commands"]): Promise<CompletionList> {
  const items = (await commands.commands()).map(({ name, aliases = [], argumentHint, brief }) => {
    // What needs an argument is not sent without one.
    const sends = !argumentHint?.startsWith("<");
    const detail = oneLine([argumentHint, brief].filter(Boolean).join(" · "), 400);
    return {
      label: `/${name}`,
      detail,
      also: aliases.join(" "),
      insert: `/${name}${sends ? "" : " "}`,
      sends,
    };
  });
  return { items };
}

function entryOf(
  kind: Kind,
  { label, detail = "", insert, sends = false }: CompletionItem,
  { texts: { kinds }, submit, type }: PaletteDeps,
): AnswerEntry<() => void> {
  if (kind === "command") return { label, detail, value: () => sends ? submit(insert) : type(insert) };
  const value = {
    session: () => submit(`/resume ${insert}`),
    model: () => submit(`/model ${insert}`),
    file: () => type(insert),
  }[kind];
  return { label, detail: [kinds[kind], detail].filter(Boolean).join("  "), value };
}
