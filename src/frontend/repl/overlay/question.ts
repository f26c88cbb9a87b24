import type { Question } from "../../../tool/mod.ts";
import { ChoicePanel, type PanelStyle } from "./choice_panel.ts";

/** A question of the model: its options, and always the user's own words. */
export function questionPanel(
  { question, options, multiple }: Question,
  { at, of }: { readonly at: number; readonly of: number },
  style: PanelStyle,
): ChoicePanel<readonly string[]> {
  const { ask } = style.texts;
  return new ChoicePanel<readonly string[]>({
    title: of > 1 ? `${question}\n${ask.of(at, of)}` : question,
    entries: [
      ...options.map(({ label, description }) => ({
        label,
        value: [label],
        ...(description === undefined ? {} : { detail: description }),
      })),
      { label: ask.ownWords, write: (text) => [text] },
    ],
    ...(multiple ? { multiple: (values: readonly (readonly string[])[]) => values.flat() } : {}),
  }, style);
}
