import { isRecord } from "../../util/json.ts";

/** One value that a server asks for. */
export interface FormField {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly required: boolean;
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice" | "choices";
  /** Values to choose from, with what they are called. */
  readonly values: readonly { readonly value: string; readonly title: string }[];
  readonly initial: FieldValue | undefined;
  /** Bounds of a number, of a text's characters, or of how many are chosen. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly format: string | undefined;
}

export type FieldValue = string | number | boolean | string[];

/** What is wrong with an answer; a value where nothing is. */
export type Checked =
  | { readonly value: FieldValue }
  | { readonly problem: "number" | "integer" | "min" | "max" | "format" | "choice" | "boolean" };

/** Reads the form of a server; names of what nobody could fill in stand in `unreadable`. */
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
  const own = kind === "choices" && isRecord(property.items) ? property.items : property;
  const values = kind === "choice" || kind === "choices" ? valuesOf(own) : [];
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

/** Takes what a person answered: titles of values, or words of their own. */
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

/** The 31st of February is none. */
function isDay(said: string): boolean {
  const time = Date.parse(`${said}T00:00:00Z`);
  return !isNaN(time) && new Date(time).toISOString().startsWith(said);
}

/** A name under which secrets are kept: they are not to be asked for in a form. */
export function looksSecret({ name, title, description }: FormField): boolean {
  return /passw|passphrase|secret|api.?key|access.?key|private.?key|\btoken\b|credential|\bpin\b|密码|口令|密钥|令牌/i
    .test(`${name} ${title} ${description}`);
}
