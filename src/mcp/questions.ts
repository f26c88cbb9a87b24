/** Answers to questions of servers: forms and addresses from the user, messages of the session's model. */
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestParams,
  ElicitResult,
  SamplingMessage,
} from "@modelcontextprotocol/client";
import { type Cost, costOf, errorMessage, type Message, type NewEvent, ReasonixError } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";
import type { McpQuestions } from "./connection.ts";
import { type CollectedReply, collectReply, type Provider } from "../provider/mod.ts";
import type { Asker, Question } from "../tool/mod.ts";
import { isRecord, recordOf } from "../util/json.ts";
import { oneLine, terminalSafe } from "../util/terminal_text.ts";

export interface QuestionContext {
  /** Absent: the run has no user to ask. */
  readonly asker: Asker | undefined;
  readonly texts: () => Promise<Texts["mcp_questions"]>;
  readonly notify: (text: string, level?: "info" | "warning") => void;
}

export interface ElicitationContext extends QuestionContext {
  /** Opens an address in the user's browser; false when that fails. */
  readonly open: (address: URL) => boolean;
}

export interface SamplingContext extends QuestionContext {
  readonly provider: Provider;
  /** Tokens, in and out, that each server may use in this run. */
  readonly budget: number;
  readonly record: (event: NewEvent) => void | Promise<void>;
}

type AddressParams = Extract<ElicitRequestParams, { mode: "url" }>;
type FormParams = Exclude<ElicitRequestParams, { mode: "url" }>;

const MAX_MESSAGE = 2_000;
const MAX_FIELDS = 30;

/**
 * Asks the user the questions of servers, one value at a time. Without a user the answer is "cancel", with a
 * notice.
 */
export function elicitation(context: ElicitationContext): NonNullable<McpQuestions["elicit"]> {
  return async (server, params, signal) => {
    const { asker, notify } = context;
    const texts = await context.texts();
    const name = oneLine(server, 60);
    if (!asker) {
      notify(texts.noUser(name, oneLine(params.message, 200)));
      return { action: "cancel" };
    }
    const dialog: Dialog = {
      ...context,
      server: name,
      texts,
      async ask(lines, options, kind = {}) {
        const question = lines.filter((line) => line !== "").join("\n");
        const answers = await asker.ask([{ question, options, multiple: false, ...kind }], signal);
        signal.throwIfAborted();
        return answers?.[0];
      },
    };
    return params.mode === "url" ? await askAddress(dialog, params) : await askForm(dialog, params);
  };
}

interface Dialog extends Omit<ElicitationContext, "texts" | "asker"> {
  readonly server: string;
  readonly texts: Texts["mcp_questions"];
  /** Chosen labels or free text; undefined when the user left. */
  readonly ask: (
    lines: readonly string[],
    options: Question["options"],
    kind?: { readonly multiple?: boolean; readonly written?: boolean },
  ) => Promise<readonly string[] | undefined>;
}

/** Shows the whole address and its host; opens it only after approval. */
async function askAddress(
  { server, texts, notify, open, ask }: Dialog,
  params: AddressParams,
): Promise<ElicitResult> {
  const address = URL.parse(params.url);
  if (!address || !["https:", "http:"].includes(address.protocol)) {
    notify(texts.badAddress(server, oneLine(params.url, 200)));
    return { action: "decline" };
  }
  const answer = await ask([
    texts.wantsAddress(server, address.host),
    bounded(params.message),
    terminalSafe(address.href),
    address.protocol === "http:" ? texts.notEncrypted : "",
    /(?:^|\.)xn--/.test(address.host) ? texts.otherLetters : "",
  ], [{ label: texts.decline }, { label: texts.openIt }]);
  if (!answer) return { action: "cancel" };
  if (answer[0] !== texts.openIt) return { action: "decline" };
  if (!open(address)) notify(texts.openYourself(address.href));
  return { action: "accept" };
}

async function askForm(dialog: Dialog, params: FormParams): Promise<ElicitResult> {
  const { server, texts, notify, ask } = dialog;
  const { fields, unreadable } = formFields(params.requestedSchema);
  if (unreadable.length > 0 || fields.length > MAX_FIELDS) {
    const names = unreadable.map((each) => oneLine(each, 40)).join(", ");
    notify(texts.cannotAsk(server, names || String(fields.length)));
    return { action: "cancel" };
  }
  const content: Record<string, FieldValue> = {};
  const summary: string[] = [];
  for (const [at, field] of fields.entries()) {
    const count = fields.length > 1 ? `${at + 1}/${fields.length} ` : "";
    const given = await askField(dialog, field, [texts.asks(server), bounded(params.message), count]);
    if (given === "decline" || given === "cancel") return { action: given };
    if (given.value === undefined) continue;
    content[field.name] = given.value;
    summary.push(`${oneLine(field.title, 60)}: ${oneLine(String(given.value), 200)}`);
  }
  if (fields.length === 1) return { action: "accept", content };
  const heading = fields.length === 0 ? bounded(params.message) : texts.theseValues;
  const options = [{ label: texts.send }, { label: texts.decline }];
  const answer = await ask([texts.asks(server), heading, ...summary], options);
  if (!answer) return { action: "cancel" };
  return answer[0] === texts.send ? { action: "accept", content } : { action: "decline" };
}

/** Asks for one value until it is valid; undefined when it is left empty. */
async function askField(
  { texts, ask }: Dialog,
  field: FormField,
  [asks, message, count]: readonly [string, string, string],
): Promise<"decline" | "cancel" | { readonly value: FieldValue | undefined }> {
  const { kind, values, initial, required } = field;
  const range = rangeOf(field, texts);
  const proposal = initial === undefined
    ? undefined
    : texts.useDefault(oneLine(titleOf(field, initial), 100));
  const options = [
    ...(proposal === undefined ? [] : [{ label: proposal }]),
    ...(kind === "boolean" ? [{ label: texts.yes }, { label: texts.no }] : values.map(({ title, value }) => ({
      label: oneLine(title, 100),
      ...(title === value ? {} : { description: oneLine(value, 100) }),
    }))),
    ...(required ? [] : [{ label: texts.leaveEmpty }]),
    { label: texts.decline },
  ];
  const written = ["text", "number", "integer"].includes(kind) && initial === undefined;
  const booleans = new Map([[texts.yes, "true"], [texts.no, "false"]]);
  const valueOf = (label: string) =>
    kind === "boolean"
      ? booleans.get(label) ?? label
      : values.find(({ title }) => oneLine(title, 100) === label)?.value ?? label;
  let problem = "";
  while (true) {
    const answer = await ask(
      [
        asks,
        message,
        `${count}${oneLine(field.title, 100)}${required ? "" : ` ${texts.optional}`}`,
        bounded(field.description),
        range,
        looksSecret(field) ? texts.secret : "",
        problem === "" ? "" : `! ${problem}`,
      ],
      options,
      { multiple: kind === "choices", written },
    );
    if (!answer) return "cancel";
    if (answer.includes(texts.decline)) return "decline";
    if (answer.includes(texts.leaveEmpty)) return { value: undefined };
    if (proposal !== undefined && answer.includes(proposal)) return { value: initial };
    const checked = checkedAnswer(field, answer.map(valueOf));
    if ("value" in checked) return checked;
    problem = texts.problems[checked.problem](range || (field.format ?? ""));
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
  const unit = kind === "text" ? texts.units.characters : kind === "choices" ? texts.units.values : "";
  const bounds = min === undefined
    ? max === undefined ? "" : texts.atMost(max, unit)
    : max === undefined
    ? texts.atLeast(min, unit)
    : texts.between(min, max, unit);
  return [format, bounds].filter(Boolean).join(", ");
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
  const { properties, required } = recordOf(schema);
  const needed = Array.isArray(required) ? required : [];
  const fields: FormField[] = [];
  const unreadable: string[] = [];
  for (const [name, property] of Object.entries(recordOf(properties))) {
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
    values: kind === "choice" ? valuesOf(property) : kind === "choices" ? valuesOf(property.items) : [],
    initial: isValue(property.default) ? property.default : undefined,
    min: typeof min === "number" ? min : undefined,
    max: typeof max === "number" ? max : undefined,
    format: text(property.format),
  };
}

function kindOf({ type, enum: list, oneOf, items }: Property): FormField["kind"] | undefined {
  if (Array.isArray(list) || Array.isArray(oneOf)) return "choice";
  if (type === "array") return valuesOf(items).length > 0 ? "choices" : undefined;
  if (type === "string") return "text";
  return type === "number" || type === "integer" || type === "boolean" ? type : undefined;
}

function valuesOf(schema: unknown): FormField["values"] {
  const { enum: list, enumNames, oneOf, anyOf } = recordOf(schema);
  const names = Array.isArray(enumNames) ? enumNames : [];
  const titled = Array.isArray(list)
    ? list.map((value, at) => ({ const: value, title: names[at] }))
    : [oneOf, anyOf].find(Array.isArray) ?? [];
  return titled.filter(isRecord).map((each) => {
    const value = String(each.const);
    return { value, title: text(each.title) ?? value };
  });
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
  const values = answer.map((given) =>
    field.values.find(({ title, value }) => title === given || value === given)?.value
  );
  switch (field.kind) {
    case "boolean":
      if (/^(?:true|yes|y|1)$/i.test(first)) return { value: true };
      return /^(?:false|no|n|0)$/i.test(first) ? { value: false } : { problem: "boolean" };
    case "choice":
      return values[0] === undefined ? { problem: "choice" } : { value: values[0] };
    case "choices": {
      const known = values.filter((each) => each !== undefined);
      if (known.length < answer.length) return { problem: "choice" };
      return outside(field, known.length) ?? { value: known };
    }
    case "number":
    case "integer": {
      const value = Number(first.trim());
      if (first.trim() === "" || !Number.isFinite(value)) return { problem: "number" };
      if (field.kind === "integer" && !Number.isSafeInteger(value)) return { problem: "integer" };
      return outside(field, value) ?? { value };
    }
    case "text":
      return outside(field, [...first].length) ??
        (hasFormat(first, field.format) ? { value: first } : { problem: "format" });
  }
}

function outside({ min, max }: FormField, size: number): Checked | undefined {
  if (min !== undefined && size < min) return { problem: "min" };
  return max !== undefined && size > max ? { problem: "max" } : undefined;
}

function hasFormat(text: string, format: string | undefined): boolean {
  switch (format) {
    case "email":
      return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text);
    case "uri":
      return URL.canParse(text);
    case "date": {
      const time = Date.parse(`${text}T00:00:00Z`);
      return /^\d{4}-\d\d-\d\d$/.test(text) && !isNaN(time) && new Date(time).toISOString().startsWith(text);
    }
    case "date-time":
      return /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/.test(text) && !isNaN(Date.parse(text));
    default:
      return true;
  }
}

/** Reports whether a field asks for a secret, which forms must not do. */
function looksSecret({ name, title, description }: FormField): boolean {
  return /passw|passphrase|secret|api.?key|access.?key|private.?key|\btoken\b|credential|\bpin\b|密码|口令|密钥|令牌/i
    .test(`${name} ${title} ${description}`);
}

const CHARS_PER_TOKEN = 4;
const MAX_OUTPUT = 4_000;
const EXCERPT = 600;

/** Metadata of a message whose failure the server wants as a result, so that others of one call count. */
const FAILURE_AS_RESULT = "reasonix/failure";

/**
 * Lets servers use the session's model: with the user's approval, without tools, within a budget. Servers may
 * want several messages at once: the prompts of one server come one after the other, so that an approval for
 * the session answers the rest, and a message counts as its maximum until it is written.
 */
export function sampling(given: SamplingContext): NonNullable<McpQuestions["sample"]> {
  const { provider, budget } = given;
  const warned = new Set<string>();
  const context: SamplingContext = {
    ...given,
    notify(text, level) {
      if (level === "info" || !warned.has(text)) given.notify(text, level);
      warned.add(text);
    },
  };
  const { model } = provider;
  const used = new Map<string, number>();
  const granted = new Set<string>();
  const lastPrompts = new Map<string, Promise<unknown>>();
  const add = (server: string, tokens: number) => used.set(server, (used.get(server) ?? 0) + tokens);
  const write = async (server: string, params: CreateMessageRequestParams, signal: AbortSignal) => {
    const name = oneLine(server, 60);
    const messages = params.messages.map((each) => messageOf(each, model.vision));
    const system = params.systemPrompt ?? "";
    const characters = messages.reduce((sum, { content }) => sum + content.length, system.length);
    const input = Math.ceil(characters / CHARS_PER_TOKEN);
    const last = messages.at(-1)?.content ?? "";
    const admit = async () => {
      signal.throwIfAborted();
      const before = used.get(server) ?? 0;
      const left = budget - before - input;
      const output = Math.min(params.maxTokens, MAX_OUTPUT, left, model.maxOutputTokens ?? Infinity);
      if (output <= 0) {
        context.notify((await context.texts()).overBudget(name, before, budget));
        throw new ReasonixError("The budget for messages of the model is used up");
      }
      const approval = await approve(context, { name, isGranted: granted.has(server) }, (texts) =>
        [
          texts.wantsMessage(name, input, output),
          ...(system === "" ? [] : [texts.systemOf(oneLine(system, EXCERPT))]),
          texts.lastOf(oneLine(last, EXCERPT)),
        ].join("\n"), signal);
      if (approval === "session") granted.add(server);
      add(server, input + output);
      return output;
    };
    const prompted = (lastPrompts.get(server) ?? Promise.resolve()).then(admit);
    lastPrompts.set(server, prompted.catch(() => {}));
    const output = await prompted;
    let tokens = 0;
    try {
      const started = performance.now();
      const request = { prefix: { system, tools: [] }, messages, maxOutputTokens: output };
      const reply = await collectReply(provider, request, signal);
      signal.throwIfAborted();
      const { usage, text } = reply;
      tokens = usage
        ? usage.inputTokens + usage.outputTokens
        : input + Math.ceil(text.length / CHARS_PER_TOKEN);
      await recordReply(context, reply, { name, last, durationMs: Math.round(performance.now() - started) });
      if (reply.error) throw new ReasonixError(reply.error.message);
      return messageResult(model.id, text, reply.finish === "length" ? "maxTokens" : "endTurn");
    } finally {
      add(server, tokens - input - output);
    }
  };
  return async (server, params, signal) => {
    try {
      return await write(server, params, signal);
    } catch (error) {
      if (signal.aborted || recordOf(params.metadata)[FAILURE_AS_RESULT] !== "result") throw error;
      return messageResult(model.id, errorMessage(error), "error");
    }
  };
}

function messageResult(model: string, text: string, stopReason: string): CreateMessageResult {
  return { role: "assistant", model, content: { type: "text", text }, stopReason };
}

/** Throws a ReasonixError, which the server reads, without the user's approval. */
async function approve(
  { asker, texts: load, notify }: SamplingContext,
  { name, isGranted }: { readonly name: string; readonly isGranted: boolean },
  questionIn: (texts: Texts["mcp_questions"]) => string,
  signal: AbortSignal,
): Promise<"once" | "session"> {
  const texts = await load();
  if (!asker) {
    notify(texts.noUserAllows(name));
    throw new ReasonixError("No user is available to allow a message of the model");
  }
  if (isGranted) return "session";
  const question = questionIn(texts);
  const options = [{ label: texts.once }, { label: texts.session }, { label: texts.decline }];
  const [answer] = await asker.ask([{ question, options, multiple: false }], signal) ?? [];
  signal.throwIfAborted();
  if (answer?.[0] === texts.session) return "session";
  if (answer?.[0] === texts.once) return "once";
  throw new ReasonixError("The user declined");
}

/** Records the messages and the usage in the session. */
async function recordReply(
  { record, provider, notify, texts }: SamplingContext,
  { usage, text, error }: CollectedReply,
  { name, last, durationMs }: { readonly name: string; readonly last: string; readonly durationMs: number },
): Promise<void> {
  if (text === "" && !usage) return;
  const cost: Cost | undefined = usage && costOf(usage, provider.model.price);
  // Both at once: a reply of the agent must not come in between.
  const asked = record({
    type: "message.user",
    content: `[for MCP server ${name}]\n${last}`,
    origin: "summary",
  });
  const answered = record({
    type: "message.end",
    step: 0,
    model: provider.model.id,
    content: text,
    ...(error ? { interrupted: true } : {}),
    ...(usage ? { usage } : {}),
    ...(cost ? { cost } : {}),
    durationMs,
  });
  await Promise.all([asked, answered]);
  if (usage) notify((await texts()).wrote(name, usage.inputTokens, usage.outputTokens), "info");
}

function messageOf({ role, content }: SamplingMessage, vision: boolean): Message {
  const blocks = Array.isArray(content) ? content : [content];
  const texts = blocks.map((block) => block.type === "text" ? block.text : `[${block.type}]`);
  if (role === "assistant") return { role, content: texts.join("\n") };
  const images = blocks.flatMap((block) =>
    vision && block.type === "image" ? [{ mime: block.mimeType, data: block.data }] : []
  );
  return { role: "user", content: texts.join("\n"), ...(images.length > 0 ? { images } : {}) };
}
