import type { CommandHost, SlashCommand } from "../../../command/mod.ts";
import type { Assembly } from "../../../run/mod.ts";
import type { InputEvent } from "../terminal/terminal.ts";
import { oneLine } from "../../../util/terminal_text.ts";
import {
  byScore,
  type CompletionItem,
  type CompletionList,
  type Scored,
  scored,
} from "../../session/completion.ts";
import { argumentSource, treeSource } from "../../session/completion_sources.ts";
import type { AnswerEntry } from "../../session/questions.ts";
import { Panel, type PanelStyle } from "../overlay/panel.ts";
import type { Overlay } from "../screen/view.ts";
import type { PanelTexts } from "./list_panel.ts";

interface PaletteParts {
  readonly style: PanelStyle;
  readonly texts: PanelTexts["full"];
  readonly commands: CommandHost;
  readonly session: () => Promise<Assembly>;
  readonly cwd: string;
  readonly show: <T>(overlay: Overlay<T>) => Promise<T | undefined>;
  /** Sends a line as if it had been typed. */
  readonly submit: (line: string) => void;
  /** Types a text into the draft. */
  readonly type: (event: InputEvent) => void;
}

/** A line to send, or a text for the draft. */
interface Chosen {
  readonly text: string;
  readonly sends: boolean;
}

type Kind = "command" | "session" | "model" | "file";

/** Entries of one kind, as many as completion offers. */
const MAX_ENTRIES = 200;

/** Asks for a command, a session, a model or a file, and sends it, or puts it into the draft. */
export async function openPalette(parts: PaletteParts): Promise<void> {
  const { style, texts, commands, session, cwd, show } = parts;
  const lists = new Map<Kind, CompletionList>();
  const search = (query: string) => entriesOf(lists, query, texts);
  const panel = new Panel<Chosen>({ title: texts.palette.title, filter: true, search, entries: [] }, style);
  const load = async (kind: Kind, list: () => Promise<CompletionList>) => {
    const found = await list().catch((): CompletionList => ({ items: [] }));
    lists.set(kind, found);
    panel.refresh();
  };
  const values = argumentSource(commands);
  const hidden = async () => {
    const { workspace } = await session();
    return (path: string) => workspace.hidden(path);
  };
  void load("command", async () => ({ items: (await commands.commands()).map(commandItem) }));
  void load("session", () => values.items("resume"));
  void load("model", () => values.items("model"));
  void load("file", () => treeSource({ cwd, hidden }).items(""));
  const chosen = await show(panel);
  if (!chosen) return;
  if (chosen.sends) parts.submit(chosen.text);
  else parts.type({ kind: "key", key: "text", text: chosen.text });
}

function commandItem({ name, aliases = [], argumentHint, brief }: SlashCommand): CompletionItem {
  // What needs an argument is not sent without one.
  const sends = !argumentHint?.startsWith("<");
  const detail = oneLine([argumentHint, brief].filter(Boolean).join(" · "), 400);
  return { label: `/${name}`, detail, also: aliases.join(" "), insert: `/${name}${sends ? "" : " "}`, sends };
}

/** The best entries of all kinds; files only where something is searched. */
function entriesOf(
  lists: ReadonlyMap<Kind, CompletionList>,
  query: string,
  texts: PanelTexts["full"],
): readonly AnswerEntry<Chosen>[] {
  const found = [...lists].flatMap(([kind, { items, search }]) => {
    const named = kind === "command" ? query.replace(/^\/?/, "/") : query;
    const some: readonly Scored<CompletionItem>[] = search?.(query, MAX_ENTRIES) ??
      scored(items, query === "" ? "" : named);
    return some.map(({ item, score }) => ({ item: { ...item, kind }, score }));
  });
  return byScore(found).slice(0, MAX_ENTRIES).map(({ item }) => {
    const { kind, label, detail = "", insert } = item;
    const of = kind === "command" ? detail : [texts.palette.kinds[kind], detail].filter(Boolean).join("  ");
    return { label, detail: of, value: chosenOf(item.kind, { ...item, insert }) };
  });
}

function chosenOf(kind: Kind, { insert, sends = false }: CompletionItem): Chosen {
  if (kind === "session") return { text: `/resume ${insert}`, sends: true };
  if (kind === "model") return { text: `/model ${insert}`, sends: true };
  return { text: insert, sends: kind === "command" && sends };
}
