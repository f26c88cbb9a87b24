import type { Question } from "../../../tool/mod.ts";
import { ChoicePanel, type PanelStyle } from "./choice_panel.ts";
import { wordRows } from "./exact_text.ts";
import { ScrollText } from "./scroll_text.ts";

/** Characters of a question above its answers; a longer one is scrolled. */
const MAX_TITLE = 200;

/** A question of the model: its options, and always the user's own words. */
export function questionPanel(
  { question, options, multiple, written }: Question,
  { at, of }: { readonly at: number; readonly of: number },
  style: PanelStyle,
): ChoicePanel<readonly string[]> {
  const { ask } = style.texts;
  const chosen = options.map(({ label, description }) => ({
    label,
    value: [label],
    ...(description === undefined ? {} : { detail: description }),
  }));
  const own = { label: written ? ask.writeIt : ask.ownWords, write: (text: string) => [text] };
  const entries = written ? [own, ...chosen] : [...chosen, own];
  const [first = "", ...rest] = question.split("\n");
  const isLong = first.length > MAX_TITLE;
  const text = isLong ? question : rest.join("\n");
  const title = isLong ? `${first.slice(0, MAX_TITLE)}…` : first;
  return new ChoicePanel<readonly string[]>({
    title: of > 1 ? `${title}\n${ask.of(at, of)}` : title,
    ...(text === ""
      ? {}
      : { body: new ScrollText((columns) => wordRows(text, columns, style.palette.warning)) }),
    entries,
    // Its own words are no answer that a mere Enter gives.
    ...(text === "" ? {} : { unseen: entries.indexOf(own) }),
    ...(multiple ? { multiple: (values: readonly (readonly string[])[]) => values.flat() } : {}),
  }, style);
}
