import type { ElicitRequestParams, ElicitResult } from "@modelcontextprotocol/client";
import type { Texts } from "../i18n/mod.ts";
import type { McpQuestions } from "./connection.ts";
import type { Asker, Question } from "../tool/mod.ts";
import { isRecord } from "../util/json.ts";
import { oneLine, terminalSafe } from "../util/terminal_text.ts";

export interface ElicitationHandler {
  /** Absent: the run has no user to ask. */
  readonly asker: Asker | undefined;
  readonly texts: () => Promise<Texts["mcp_questions"]>;
  readonly notify: (text: string, level?: "info" | "warning") => void;
  /** Opens an address in the user's browser; false when that fails. */
  readonly open: (address: URL) => boolean;
}

const MAX_MESSAGE = 2_000;
const MAX_FIELDS = 30;

/**
 * Asks the user the questions of servers, one value at a time. Without a user the answer is "cancel", with a
 * notice.
 */
export function elicitation(
  { asker, texts, notify, open }: ElicitationHandler,
): NonNullable<McpQuestions["elicit"]> {
  return async (server, params, signal) => {
    const words = await texts();
    const name = oneLine(server, 60);
    if (!asker) {
      notify(words.nobody(name, oneLine(params.message, 200)));
      return { action: "cancel" };
    }
    const dialog = new Dialog(name, words, { asker, signal });
    if (params.mode === "url") return await dialog.address(params, { notify, open });
    return await dialog.form(params, notify);
  };
}

type Answer = readonly string[] | undefined;

class Dialog {
  readonly #server: string;
  readonly #texts: Texts["mcp_questions"];
  readonly #asker: Asker;
  readonly #signal: AbortSignal;

  constructor(
    server: string,
    texts: Texts["mcp_questions"],
    { asker, signal }: { readonly asker: Asker; readonly signal: AbortSignal },
  ) {
    this.#server = server;
    this.#texts = texts;
    this.#asker = asker;
    this.#signal = signal;
  }

  /** Shows the whole address and its host; opens it only after approval. */
  async address(
    params: Extract<ElicitRequestParams, { mode: "url" }>,
    { notify, open }: Pick<ElicitationHandler, "notify" | "open">,
  ): Promise<ElicitResult> {
    const texts = this.#texts;
    const address = URL.canParse(params.url) ? new URL(params.url) : undefined;
    if (!address || !["https:", "http:"].includes(address.protocol)) {
      notify(texts.badAddress(this.#server, oneLine(params.url, 200)));
      return { action: "decline" };
    }
    const lines = [
      texts.wantsAddress(this.#server, address.host),
      bounded(params.message),
      terminalSafe(address.href),
      ...(address.protocol === "http:" ? [texts.notEncrypted] : []),
      ...(/(?:^|\.)xn--/.test(address.host) ? [texts.otherLetters] : []),
    ];
    const answer = await this.#ask(lines, [{ label: texts.decline }, { label: texts.openIt }]);
    if (!answer) return { action: "cancel" };
    if (answer[0] !== texts.openIt) return { action: "decline" };
    if (!open(address)) notify(texts.openYourself(address.href));
    return { action: "accept" };
  }

  async form(
    params: Exclude<ElicitRequestParams, { mode: "url" }>,
    notify: ElicitationHandler["notify"],
  ): Promise<ElicitResult> {
    const texts = this.#texts;
    const { fields, unreadable } = formFields(params.requestedSchema);
    if (unreadable.length > 0 || fields.length > MAX_FIELDS) {
      const why = unreadable.length > 0
        ? unreadable.map((each) => oneLine(each, 40)).join(", ")
        : fields.length;
      notify(texts.cannotAsk(this.#server, String(why)));
      return { action: "cancel" };
    }
    const content: Record<string, FieldValue> = {};
    for (const [at, field] of fields.entries()) {
      const given = await this.#field(
        field,
        params.message,
        fields.length > 1 ? `${at + 1}/${fields.length} ` : "",
      );
      if (given === "decline" || given === "cancel") return { action: given };
      if (given.value !== undefined) content[field.name] = given.value;
    }
    if (fields.length === 1) return { action: "accept", content };
    const summary = fields.filter(({ name }) => Object.hasOwn(content, name))
      .map(({ name, title }) => `${oneLine(title, 60)}: ${oneLine(String(content[name]), 200)}`);
    const head = fields.length === 0 ? bounded(params.message) : texts.theseValues;
    const answer = await this.#ask([texts.asks(this.#server), head, ...summary], [
      { label: texts.send },
      { label: texts.decline },
    ]);
    if (!answer) return { action: "cancel" };
    return answer[0] === texts.send ? { action: "accept", content } : { action: "decline" };
  }

  /** Asks for one value until it is valid; undefined when it is left empty. */
  async #field(
    field: FormField,
    message: string,
    place: string,
  ): Promise<"decline" | "cancel" | { readonly value: FieldValue | undefined }> {
    const texts = this.#texts;
    const { initial } = field;
    const shown = initial === undefined ? undefined : texts.useDefault(oneLine(titleOf(field, initial), 100));
    let problem = "";
    while (true) {
      const lines = [
        texts.asks(this.#server),
        bounded(message),
        `${place}${oneLine(field.title, 100)}${field.required ? "" : ` ${texts.optional}`}`,
        ...(field.description === "" ? [] : [bounded(field.description)]),
        ...(rangeOf(field, texts) === "" ? [] : [rangeOf(field, texts)]),
        ...(looksSecret(field) ? [texts.secret] : []),
        ...(problem === "" ? [] : [`! ${problem}`]),
      ];
      const answer = await this.#ask(lines, [
        ...(shown === undefined ? [] : [{ label: shown }]),
        ...this.#options(field),
        ...(field.required ? [] : [{ label: texts.leaveEmpty }]),
        { label: texts.decline },
      ], field);
      if (!answer) return "cancel";
      if (answer.includes(texts.decline)) return "decline";
      if (answer.includes(texts.leaveEmpty)) return { value: undefined };
      if (shown !== undefined && answer.includes(shown)) return { value: initial };
      const checked = checkedAnswer(field, answer.map((each) => this.#meant(field, each)));
      if ("value" in checked) return checked;
      problem = texts.problems[checked.problem](rangeOf(field, texts) || (field.format ?? ""));
    }
  }

  #options({ kind, values }: FormField): Question["options"] {
    if (kind === "boolean") return [{ label: this.#texts.yes }, { label: this.#texts.no }];
    return values.map(({ title, value }) => ({
      label: oneLine(title, 100),
      ...(title === value ? {} : { description: oneLine(value, 100) }),
    }));
  }

  /** Maps a label to its value. */
  #meant({ kind, values }: FormField, said: string): string {
    if (kind === "boolean") {
      return said === this.#texts.yes ? "true" : said === this.#texts.no ? "false" : said;
    }
    return values.find(({ title }) => oneLine(title, 100) === said)?.value ?? said;
  }

  async #ask(lines: readonly string[], options: Question["options"], field?: FormField): Promise<Answer> {
    const question = lines.filter((line) => line !== "").join("\n");
    const multiple = field?.kind === "choices";
    const written = field !== undefined && ["text", "number", "integer"].includes(field.kind) &&
      field.initial === undefined;
    const answers = await this.#asker.ask([{ question, options, multiple, written }], this.#signal);
    this.#signal.throwIfAborted();
    return answers?.[0];
  }
}

function bounded(text: string): string {
  const safe = terminalSafe(text).trim();
  return safe.length > MAX_MESSAGE ? `${safe.slice(0, MAX_MESSAGE).toWellFormed()}…` : safe;
}

function titleOf({ values }: FormField, value: FieldValue): string {
  const one = (each: string) => values.find((known) => known.value === each)?.title ?? each;
  return Array.isArray(value) ? value.map(one).join(", ") : one(String(value));
}

function rangeOf({ min, max, kind, format }: FormField, texts: Texts["mcp_questions"]): string {
  const { units } = texts;
  const unit = kind === "text" ? units.characters : kind === "choices" ? units.values : "";
  return [format, boundsOf({ min, max }, unit, texts)].filter(Boolean).join(", ");
}

function boundsOf(
  { min, max }: Pick<FormField, "min" | "max">,
  unit: string,
  texts: Texts["mcp_questions"],
): string {
  if (min === undefined) return max === undefined ? "" : texts.atMost(max, unit);
  return max === undefined ? texts.atLeast(min, unit) : texts.between(min, max, unit);
}

interface FormField {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly required: boolean;
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice" | "choices";
  /** Choices with their labels. */
  readonly values: readonly { readonly value: string; readonly title: string }[];
  readonly initial: FieldValue | undefined;
  /** Bounds of a number, of a text's characters, or of how many are chosen. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly format: string | undefined;
}

type FieldValue = string | number | boolean | string[];

type Checked =
  | { readonly value: FieldValue }
  | { readonly problem: "number" | "integer" | "min" | "max" | "format" | "choice" | "boolean" };

/** Reads the form of a server; required fields of an unknown kind are `unreadable`. */
export function formFields(schema: unknown): { fields: FormField[]; unreadable: string[] } {
  const { properties, required } = isRecord(schema) ? schema : {};
  const needed = Array.isArray(required) ? required : [];
  const fields: FormField[] = [];
  const unreadable: string[] = [];
  for (const [name, property] of Object.entries(isRecord(properties) ? properties : {})) {
    const field = isRecord(property) ? formField(name, property, needed.includes(name)) : undefined;
    if (field) fields.push(field);
    else if (needed.includes(name)) unreadable.push(name);
  }
  return { fields, unreadable };
}

type Property = Readonly<Record<string, unknown>>;

function formField(name: string, property: Property, required: boolean): FormField | undefined {
  const kind = kindOf(property);
  if (!kind) return undefined;
  const source = kind === "choices" && isRecord(property.items) ? property.items : property;
  const values = kind === "choice" || kind === "choices" ? valuesOf(source) : [];
  const [min, max] = kind === "text"
    ? [property.minLength, property.maxLength]
    : kind === "choices"
    ? [property.minItems, property.maxItems]
    : [property.minimum, property.maximum];
  return {
    name,
    title: text(property.title) ?? name,
    description: text(property.description) ?? "",
    required,
    kind,
    values,
    initial: isValue(property.default) ? property.default : undefined,
    min: typeof min === "number" ? min : undefined,
    max: typeof max === "number" ? max : undefined,
    format: text(property.format),
  };
}

function kindOf({ type, enum: list, oneOf, items }: Property): FormField["kind"] | undefined {
  if (Array.isArray(list) || Array.isArray(oneOf)) return "choice";
  if (type === "array") return isRecord(items) && valuesOf(items).length > 0 ? "choices" : undefined;
  if (type === "string") return "text";
  return type === "number" || type === "integer" || type === "boolean" ? type : undefined;
}

function valuesOf({ enum: list, enumNames, oneOf, anyOf }: Property): { value: string; title: string }[] {
  const names = Array.isArray(enumNames) ? enumNames : [];
  if (Array.isArray(list)) {
    return list.map((value, at) => ({ value: String(value), title: text(names[at]) ?? String(value) }));
  }
  const titled = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : [];
  return titled.filter(isRecord).map((each) => ({
    value: String(each.const),
    title: text(each.title) ?? String(each.const),
  }));
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isValue(value: unknown): value is FieldValue {
  return ["string", "number", "boolean"].includes(typeof value) ||
    (Array.isArray(value) && value.every((each) => typeof each === "string"));
}

/** Validates an answer: titles of values, or free text. */
export function checkedAnswer(field: FormField, answer: readonly string[]): Checked {
  const [first = ""] = answer;
  const valueOf = (said: string) =>
    field.values.find(({ title, value }) => title === said || value === said)?.value;
  switch (field.kind) {
    case "boolean":
      return /^(?:true|yes|y|1)$/i.test(first)
        ? { value: true }
        : /^(?:false|no|n|0)$/i.test(first)
        ? { value: false }
        : { problem: "boolean" };
    case "choice": {
      const value = valueOf(first);
      return value === undefined ? { problem: "choice" } : { value };
    }
    case "choices": {
      const values = answer.map(valueOf).filter((each) => each !== undefined);
      if (values.length < answer.length) return { problem: "choice" };
      return outside(field, values.length) ?? { value: values };
    }
    case "number":
    case "integer":
      return checkedNumber(field, first.trim());
    case "text":
      return outside(field, [...first].length) ??
        (hasFormat(first, field.format) ? { value: first } : { problem: "format" });
  }
}

function checkedNumber(field: FormField, said: string): Checked {
  const value = Number(said);
  if (said === "" || !Number.isFinite(value)) return { problem: "number" };
  if (field.kind === "integer" && !Number.isSafeInteger(value)) return { problem: "integer" };
  return outside(field, value) ?? { value };
}

function outside({ min, max }: FormField, size: number): Checked | undefined {
  if (min !== undefined && size < min) return { problem: "min" };
  return max !== undefined && size > max ? { problem: "max" } : undefined;
}

function hasFormat(said: string, format: string | undefined): boolean {
  switch (format) {
    case "email":
      return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(said);
    case "uri":
      return URL.canParse(said);
    case "date":
      return /^\d{4}-\d\d-\d\d$/.test(said) && isDay(said);
    case "date-time":
      return /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/.test(said) && !isNaN(Date.parse(said));
    default:
      return true;
  }
}

function isDay(said: string): boolean {
  const time = Date.parse(`${said}T00:00:00Z`);
  return !isNaN(time) && new Date(time).toISOString().startsWith(said);
}

/** Reports whether a field asks for a secret, which forms must not do. */
function looksSecret({ name, title, description }: FormField): boolean {
  return /passw|passphrase|secret|api.?key|access.?key|private.?key|\btoken\b|credential|\bpin\b|密码|口令|密钥|令牌/i
    .test(`${name} ${title} ${description}`);
}
