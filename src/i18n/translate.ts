import { type LocalizedMessage, message, type MessageValue, type Text } from "../core/mod.ts";

/** Sentences by their English template, with `{1}`, `{2}` … for its values. */
export type Catalogue = Readonly<Record<string, string>>;

/** Gives a template literal in the language of the interface. */
export type Translate = (strings: TemplateStringsArray, ...values: readonly MessageValue[]) => string;

/** Gives texts in one language. */
export interface Translator {
  readonly t: Translate;
  text(text: Text): string;
}

/** Gives texts in another language than English, from a catalogue. */
export class CatalogueTranslator implements Translator {
  readonly #catalogue: Catalogue;
  readonly #lacking: () => void;

  /** `lacking`: is called for a sentence that the catalogue does not have. */
  constructor(catalogue: Catalogue, lacking = () => {}) {
    [this.#catalogue, this.#lacking] = [catalogue, lacking];
  }

  readonly t: Translate = (strings, ...values) => this.text(message(strings, ...values));

  text(text: Text): string {
    return typeof text === "string" ? text : this.#translate(text.template, text.values) ?? text.text;
  }

  #translate(template: string, values: LocalizedMessage["values"]): string | undefined {
    const known = Object.hasOwn(this.#catalogue, template) ? this.#catalogue[template] : undefined;
    const isSeparator = values.length > 0 && !template.includes("{}");
    const sentence = known ?? (isSeparator && !/\w/.test(template) ? template : undefined);
    if (sentence === undefined) return void this.#lacking();
    const texts = values.map((value) => this.text(value));
    if (isSeparator) return texts.join(sentence);
    return sentence.replace(/\{(\d+)\}/g, (_, place) => texts[Number(place) - 1] ?? "");
  }
}
