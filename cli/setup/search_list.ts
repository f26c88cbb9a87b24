import { AutocompletePrompt } from "@clack/core";
import { limitOptions, S_BAR, S_BAR_END, S_RADIO_ACTIVE, S_RADIO_INACTIVE, symbol } from "@clack/prompts";
import { styleText } from "node:util";
import type { Texts } from "../../src/i18n/mod.ts";

interface SearchOptions {
  readonly message: string;
  readonly names: readonly string[];
  readonly initialValue?: string | undefined;
  readonly texts: Texts["setup"];
}

const ROWS = 16;

/** A list of names that typing narrows: the kit's own one says its words in English only. */
export function searchList({ message, names, initialValue, texts }: SearchOptions): Promise<unknown> {
  const dim = (text: string) => styleText("dim", text);
  const prompt = new AutocompletePrompt({
    options: names.map((value) => ({ value })),
    ...(initialValue === undefined ? {} : { initialValue: [initialValue] }),
    filter: (search, { value }) => value.toLowerCase().includes(search.toLowerCase()),
    render() {
      const head = `${styleText("gray", S_BAR)}\n${symbol(this.state)}  ${message}\n`;
      if (this.state === "submit") return `${head}${styleText("gray", S_BAR)}  ${dim(String(this.value))}`;
      if (this.state === "cancel") return `${head}${styleText("gray", S_BAR)}`;
      const bar = `${styleText("cyan", S_BAR)}  `;
      const found = this.filteredOptions;
      const typed = this.isNavigating ? dim(this.userInput) : this.userInputWithCursor;
      const count = found.length === names.length ? "" : dim(` (${texts.matches(found.length)})`);
      const list = found.length === 0 ? [] : limitOptions({
        cursor: this.cursor,
        options: found,
        columnPadding: 3,
        rowPadding: 6,
        maxItems: ROWS,
        style: ({ value }, active) =>
          active
            ? `${styleText("green", S_RADIO_ACTIVE)} ${value}`
            : `${dim(S_RADIO_INACTIVE)} ${dim(value)}`,
      });
      const lines = [`${dim(texts.search)} ${typed}${count}`, ...list, dim(texts.searchKeys)];
      return `${head}${lines.map((line) => bar + line).join("\n")}\n${styleText("cyan", S_BAR_END)}`;
    },
  });
  return prompt.prompt();
}
