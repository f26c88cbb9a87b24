/**
 * Texts for people: English sentences that know their template and values, so that a catalogue can say the
 * same in another language. Models, logs and machines read the English `text`.
 */
export interface LocalizedMessage {
  readonly text: string;
  /** The English sentence with `{}` in place of each value: the key of a catalogue. */
  readonly template: string;
  readonly values: readonly (string | LocalizedMessage)[];
}

/** A text for people; a plain string reads the same in every language. */
export type Text = string | LocalizedMessage;

/** A value of a message; each language joins lists in its own way. */
export type MessageValue = Text | number | readonly Text[];

/** The template of a list; catalogues have the separator of their language for it. */
export const LIST = ", ";
/** The template of clauses in a row. */
export const CLAUSES = "; ";

/** Makes a message from a template literal: `` message`Provider "${name}" names no model` ``. */
export function message(strings: TemplateStringsArray, ...values: readonly MessageValue[]): LocalizedMessage {
  const known = values.map((value) =>
    typeof value === "number" ? String(value) : isList(value) ? listOf(value) : value
  );
  return {
    text: strings.map((part, index) => index === 0 ? part : textOf(known[index - 1] ?? "") + part).join(""),
    template: strings.join("{}"),
    values: known,
  };
}

/** Joins texts as a language separates the entries of a list. */
export function listOf(texts: readonly Text[]): LocalizedMessage {
  return { text: texts.map(textOf).join(LIST), template: LIST, values: texts };
}

/** Joins clauses: what happened, then what to do about it. */
export function clausesOf(texts: readonly Text[]): LocalizedMessage {
  return { text: texts.map(textOf).join(CLAUSES), template: CLAUSES, values: texts };
}

/** Returns the English text. */
export function textOf(text: Text): string {
  return typeof text === "string" ? text : text.text;
}

function isList(value: MessageValue): value is readonly Text[] {
  return Array.isArray(value);
}

/** A message as events keep it: `[template, ...values]`, where a value that is a message is an array too. */
export type WrittenMessage = readonly (string | WrittenMessage)[];

export function writeMessage({ template, values }: LocalizedMessage): WrittenMessage {
  return [template, ...values.map((value) => typeof value === "string" ? value : writeMessage(value))];
}

/** Returns the fields by which an event carries a text: English, and the message for other languages. */
export function textFields(text: Text): { readonly text: string; readonly said?: readonly WrittenMessage[] } {
  return typeof text === "string" ? { text } : { text: text.text, said: [writeMessage(text)] };
}
