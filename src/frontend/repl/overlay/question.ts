import type { Question } from "../../../tool/mod.ts";
import { ChoicePanel, type PanelStyle } from "./choice_panel.ts";

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
  return new ChoicePanel<readonly string[]>({
    title: of > 1 ? `${question}\n${ask.of(at, of)}` : question,
    entries: written ? [own, ...chosen] : [...chosen, own],
    ...(multiple ? { multiple: (values: readonly (readonly string[])[]) => values.flat() } : {}),
  }, style);
}
