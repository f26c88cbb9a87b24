import {
  CLAUSES,
  LIST,
  type LocalizedMessage,
  message,
  type MessageValue,
  type Text,
  type WrittenMessage,
} from "../core/mod.ts";

/** Sentences by their English template, with `{1}`, `{2}` … for its values. */
export type Catalogue = Readonly<Record<string, string>>;

/** Gives a template literal in the language of the interface. */
export type Translate = (strings: TemplateStringsArray, ...values: readonly MessageValue[]) => string;

/** Gives texts in one language; without a catalogue in English. */
export class Translator {
  readonly #catalogue: Catalogue | undefined;

  constructor(catalogue?: Catalogue) {
    this.#catalogue = catalogue;
  }

  readonly tag: Translate = (strings, ...values) => this.text(message(strings, ...values));

  text(text: Text): string {
    return typeof text === "string" ? text : this.#translate(text.template, text.values) ?? text.text;
  }

  /** Returns what an event carries: messages in a row; the English text where one of them is unknown. */
  written(said: readonly WrittenMessage[] | undefined, english: string): string {
    if (!this.#catalogue || !said || said.length === 0) return english;
    const texts = said.map((one) => this.#written(one));
    return texts.every((text) => text !== undefined)
      ? texts.join(this.#catalogue[CLAUSES] ?? CLAUSES)
      : english;
  }

  #written([template = "", ...values]: WrittenMessage): string | undefined {
    if (typeof template !== "string") return undefined;
    const known = values.map((value) => typeof value === "string" ? value : this.#written(value));
    if (known.some((value) => value === undefined)) return undefined;
    return this.#translate(template, known.map((value) => value ?? ""));
  }

  #translate(template: string, values: LocalizedMessage["values"]): string | undefined {
    const catalogue = this.#catalogue;
    if (!catalogue) return undefined;
    const texts = () => values.map((value) => this.text(value));
    if (template === LIST || template === CLAUSES) return texts().join(catalogue[template] ?? template);
    if (!Object.hasOwn(catalogue, template)) return undefined;
    const known = texts();
    return (catalogue[template] ?? "").replace(/\{(\d+)\}/g, (_, place) => known[Number(place) - 1] ?? "");
  }
}
