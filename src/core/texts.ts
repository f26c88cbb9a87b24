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
export type MessageValue = Text | number | readonly (Text | number)[];

/** A problem, and the next step for the user. */
export interface MessageTexts {
  readonly message: Text;
  readonly remedy?: Text;
}

/** Returns message and remedy in one text. */
export function clauses({ message, remedy }: MessageTexts): Text {
  return remedy === undefined ? message : clausesOf([message, remedy]);
}

/** The template of a list; catalogues have the separator of their language for it. */
export const LIST = ", ";
/** The template of clauses in a row. */
export const CLAUSES = "; ";

/** Makes a message from a template literal: `` message`Provider "${name}" names no model` ``. */
export function message(strings: TemplateStringsArray, ...values: readonly MessageValue[]): LocalizedMessage {
  const known = values.map((value) => isList(value) ? listOf(value.map(ofNumber)) : ofNumber(value));
  return {
    text: strings.map((part, index) => index === 0 ? part : textOf(known[index - 1] ?? "") + part).join(""),
    template: strings.join("{}"),
    values: known,
  };
}

/**
 * Joins texts with a separator. It is the template, which has no place for a value, so that a catalogue may
 * have another one for it.
 */
export function joined(separator: string, texts: readonly Text[]): LocalizedMessage {
  return { text: texts.map(textOf).join(separator), template: separator, values: texts };
}

/** Joins texts as a language separates the entries of a list. */
export function listOf(texts: readonly Text[]): LocalizedMessage {
  return joined(LIST, texts);
}

/** Joins clauses: what happened, then what to do about it. */
export function clausesOf(texts: readonly Text[]): LocalizedMessage {
  return joined(CLAUSES, texts);
}

/** Returns the English text. */
export function textOf(text: Text): string {
  return typeof text === "string" ? text : text.text;
}

function isList(value: MessageValue): value is readonly (Text | number)[] {
  return Array.isArray(value);
}

function ofNumber(value: Text | number): Text {
  return typeof value === "number" ? String(value) : value;
}

/** A message and its remedy, in English and for other languages. */
export function withRemedy(
  message: Text,
  remedy: Text,
): { readonly message: string; readonly remedy: string; readonly texts: Required<MessageTexts> } {
  return { message: textOf(message), remedy: textOf(remedy), texts: { message, remedy } };
}

/** A message as events keep it: `[template, ...values]`, where a value that is a message is an array too. */
export type WrittenMessage = readonly (string | WrittenMessage)[];

function writeMessage({ template, values }: LocalizedMessage): WrittenMessage {
  return [template, ...values.map((value) => typeof value === "string" ? value : writeMessage(value))];
}

/**
 * Reads the text of an event. Sessions of earlier versions hold codes in place of templates: what is in no
 * catalogue is shown in English.
 */
export function writtenText(said: readonly WrittenMessage[] | undefined, english: string): Text {
  const [one, other] = said ?? [];
  return one && !other ? { ...readMessage(one), text: english } : english;
}

function readMessage([template = "", ...written]: WrittenMessage): LocalizedMessage {
  const values = written.map((value) => typeof value === "string" ? value : readMessage(value));
  const parts = String(template).split("{}");
  if (parts.length === 1 && values.length > 0) return joined(String(template), values);
  const text = parts.map((part, index) => index === 0 ? part : textOf(values[index - 1] ?? "") + part).join(
    "",
  );
  return { text, template: String(template), values };
}

/** Returns the fields by which an event carries a text: English, and the message for other languages. */
export function textFields(text: Text): { readonly text: string; readonly said?: readonly WrittenMessage[] } {
  return { text: textOf(text), ...writtenFields(text) };
}

/** The same for the end of a turn, whose text is its detail. */
export function detailFields(
  text: Text,
): { readonly detail: string; readonly said?: readonly WrittenMessage[] } {
  return { detail: textOf(text), ...writtenFields(text) };
}

/** Returns the field by which an event carries a text for other languages. */
export function writtenFields(text: Text | undefined): { readonly said?: readonly WrittenMessage[] } {
  return text === undefined || typeof text === "string" ? {} : { said: [writeMessage(text)] };
}
