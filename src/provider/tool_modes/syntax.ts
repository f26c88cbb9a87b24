import type { Prefix, ToolCall, ToolSchema } from "../../core/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import template from "./addendum.md" with { type: "text" };

export interface TextCall {
  readonly name: string;
  /** A JSON object; of a call that cannot be read the text of the call itself. */
  readonly arguments: string;
}

/** Lines that mean something, and lines that only look so because backslashes stand before them. */
const MARKER_LINE = /^([ \t]*)(?=\\*%%(?:CMD|BLOCK|END|RESULT))/gim;
const ESCAPED_LINE = /^([ \t]*)\\(?=\\*%%(?:CMD|BLOCK|END|RESULT))/gim;
const PLAIN_KEY = /^[A-Za-z_][\w.-]*$/;
/** Longer texts are easier to write, and to read, in a block. */
const LONGEST_ATTRIBUTE = 100;

/** The text with a backslash before each line that would be a marker. */
export function escapeMarkers(text: string): string {
  return text.includes("%%") ? text.replace(MARKER_LINE, "$1\\") : text;
}

/** Takes back what {@linkcode escapeMarkers} did. */
export function unescapeMarkers(text: string): string {
  return text.includes("\\") ? text.replace(ESCAPED_LINE, "$1") : text;
}

/**
 * The call as the model is taught to write it, always the same text for the same call. A call that could not
 * be read is its own text.
 */
export function writeCall({ name, arguments: text }: Pick<ToolCall, "name" | "arguments">): string {
  const args = parseJson(text);
  if (!isRecord(args)) return text;
  const head = `%%CMD%% name=${JSON.stringify(name)}`;
  if (!Object.keys(args).every((key) => PLAIN_KEY.test(key))) {
    return `${head} arguments=${JSON.stringify(args)}\n%%END%%`;
  }
  const entries = Object.entries(args);
  const inBlock = (value: unknown) => typeof value === "string" && needsBlock(value);
  const attributes = entries.filter(([, value]) => !inBlock(value))
    .map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
  const blocks = entries.filter(([, value]) => inBlock(value))
    .map(([key, value]) => `%%BLOCK:${key}%%\n${escapeMarkers(String(value))}\n`);
  return `${head}${attributes.join("")}\n${blocks.join("")}%%END%%`;
}

function needsBlock(value: string): boolean {
  return value.length > LONGEST_ATTRIBUTE || /["\\\p{Cc}\u2028\u2029]/u.test(value);
}

/** A result as the model reads it. Contract: no text in it can end it or begin another one. */
export function writeResult(number: number, name: string, content: string): string {
  return `%%RESULT%% ${number} name=${JSON.stringify(name)}\n${escapeMarkers(content)}\n%%END%%`;
}

/** An example of a call of the tool: its first text in the head, further ones in blocks. */
export function exampleCall({ name, parameters }: ToolSchema): string {
  const [first, ...more] = requiredNames(parameters);
  const properties = isRecord(parameters.properties) ? parameters.properties : {};
  const isText = (key: string) => {
    const property = properties[key];
    return isRecord(property) && property.type === "string" && !Array.isArray(property.enum);
  };
  const attribute = (key: string) => ` ${key}=${isText(key) ? '"…"' : "…"}`;
  const heads = [...(first === undefined ? [] : [first]), ...more.filter((key) => !isText(key))];
  const blocks = more.filter(isText).map((key) => `%%BLOCK:${key}%%\n…\n`);
  return `%%CMD%% name=${JSON.stringify(name)}${heads.map(attribute).join("")}\n${blocks.join("")}%%END%%`;
}

export function requiredNames(parameters: ToolSchema["parameters"]): readonly string[] {
  return Array.isArray(parameters.required)
    ? parameters.required.filter((key): key is string => typeof key === "string")
    : [];
}

/**
 * The head of a conversation with a model that is told in the system prompt how to call its tools.
 *
 * Contract: the same prefix gives the same bytes.
 */
export function taughtPrefix({ system, tools }: Prefix): Prefix {
  if (tools.length === 0) return { system, tools };
  const [first] = tools;
  const telling = tools.find(({ parameters }) => requiredNames(parameters).length > 1) ?? first;
  const addendum = template.trimEnd()
    .replace("{{example}}", () => telling ? exampleCall(telling) : "")
    .replace("{{tools}}", () => tools.map(toolText).join("\n\n"));
  return { system: `${system}${system === "" ? "" : "\n"}${addendum}\n`, tools: [] };
}

function toolText({ name, description, parameters }: ToolSchema): string {
  const properties = isRecord(parameters.properties) ? Object.entries(parameters.properties) : [];
  const required = requiredNames(parameters);
  const lines = properties.map(([key, property]) => argumentLine(key, property, required.includes(key)));
  return [`## ${name}`, description.trim(), ...(lines.length > 0 ? [lines.join("\n")] : [])]
    .filter((part) => part !== "").join("\n");
}

function argumentLine(key: string, property: unknown, required: boolean): string {
  const { description, ...schema } = isRecord(property) ? property : {};
  const facts = `${typeText(schema)}${required ? ", required" : ""}`;
  const about = typeof description === "string" ? `: ${description.trim().replace(/\s*\n\s*/g, " ")}` : "";
  return `- ${key} (${facts})${about}`;
}

/** A type in words where it is simple, else as JSON Schema. */
function typeText(schema: Readonly<Record<string, unknown>>): string {
  const { type, enum: values, default: usual, minimum, maximum, ...more } = schema;
  const bounds = [
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
    ...(maximum === undefined ? [] : [`at most ${maximum}`]),
    ...(usual === undefined ? [] : [`default ${JSON.stringify(usual)}`]),
  ];
  if (typeof type !== "string" || Object.keys(more).length > 0) return `JSON: ${JSON.stringify(schema)}`;
  const what = Array.isArray(values)
    ? `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`
    : type;
  return [what, ...bounds].join(", ");
}
