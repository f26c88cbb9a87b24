import type {
  AssistantMessage,
  ImagePart,
  Message,
  Prefix,
  ToolCall,
  ToolMessage,
  ToolSchema,
  UserMessage,
} from "../../../core/mod.ts";
import { isRecord, safeText } from "../../../util/json.ts";
import type { KindOptions } from "../../kind.ts";
import type { ModelInfo, ModelRequest } from "../../provider.ts";
import { APPROVED, type RemoteServer } from "../../remote/remote_server.ts";
import { Fingerprint } from "../../wire/fingerprint.ts";
import {
  bodyHead,
  bodyTail,
  consistsOf,
  dataUrl,
  extraFields,
  type Fields,
  IMAGES_ABOVE,
  isFieldsList,
  partsFor,
  toolChoice,
  visibleText,
  wireArguments,
  wireName,
} from "../../wire/message_parts.ts";
import { oldResponsesItems } from "../../wire/old_parts.ts";
import { strictSchema } from "../../wire/json_schema.ts";

export const KIND = "responses";

/** The type of an item that asks whether an MCP server may be called. */
export const ASKS = "mcp_approval_request";

/** The data of the part that a reply leaves behind. */
export interface ReplyPart {
  /**
   * Its items as they came, in their order. One of type "function_call" has only the arguments, where the
   * tool got others: the calls of the message are the calls of its items in order.
   */
  readonly items: readonly Fields[];
  /** The id under which the server stores the conversation up to this reply. */
  readonly stored?: StoredReply;
}

export interface StoredReply {
  readonly id: string;
  /** Digest of the conversation before the reply. */
  readonly after: string;
}

/** The part that this model left with a message; undefined where there is none that is readable. */
export function replyPartOf(message: AssistantMessage, model: ModelInfo): ReplyPart | undefined {
  const data = partsFor(message, KIND, model)[0]?.data;
  return isRecord(data) && isFieldsList(data.items) ? { ...data, items: data.items } : undefined;
}

/** The items of a reply of this model; undefined where the message was changed since. */
function itemsOf(message: AssistantMessage, model: ModelInfo): readonly Fields[] | undefined {
  const part = replyPartOf(message, model);
  const items = part && oldResponsesItems(message, part.items);
  const texts = items?.filter(({ type }) => type === "message").map(({ content }) => String(content));
  const fits = texts && items?.filter(isCall).length === (message.calls?.length ?? 0);
  return fits && consistsOf(message.content, texts) ? items : undefined;
}

function isCall({ type }: Fields): boolean {
  return type === "function_call" || type === ASKS;
}

interface ItemStyle {
  readonly model: ModelInfo;
  readonly toolImages: boolean;
  readonly unreadable: WeakSet<Message>;
}

export class InputItems {
  readonly #style: ItemStyle;
  #pendingImages: ImagePart[] = [];
  readonly #asking = new Set<string>();

  constructor(style: ItemStyle) {
    this.#style = style;
  }

  /** Registers the calls of a reply that the server has stored. */
  register(message: Message | undefined): void {
    if (message?.role !== "assistant") return;
    itemsOf(message, this.#style.model)?.filter(isCall).forEach(({ type }, at) => {
      const call = type === ASKS ? message.calls?.[at] : undefined;
      if (call) this.#asking.add(call.id);
    });
  }

  write(message: Message): string[] {
    const { model, toolImages, unreadable } = this.#style;
    this.register(message);
    if (message.role === "tool" && this.#asking.has(message.callId)) {
      return [JSON.stringify(answerItem(message))];
    }
    if (message.role === "tool") {
      if (!toolImages && model.vision) this.#pendingImages.push(...message.images ?? []);
      return [JSON.stringify(resultItem(message, this.#style))];
    }
    const items = message.role === "user" ? [userItem(message, model)] : replyItems(message, model);
    const readable = unreadable.has(message) ? items.filter(({ type }) => type !== "reasoning") : items;
    return [...this.flush(), ...readable.map((item) => JSON.stringify(item))];
  }

  flush(): string[] {
    if (this.#pendingImages.length === 0) return [];
    const images = this.#pendingImages;
    this.#pendingImages = [];
    const content = [textPart(IMAGES_ABOVE), ...images.map(imagePart)];
    return [JSON.stringify({ type: "message", role: "user", content })];
  }
}

function textPart(text: string): Fields {
  return { type: "input_text", text };
}

function imagePart(image: ImagePart): Fields {
  return { type: "input_image", detail: "auto", image_url: dataUrl(image) };
}

function userItem(message: UserMessage, { vision }: ModelInfo): Fields {
  return { type: "message", role: "user", content: contentOf(message, vision) };
}

function resultItem(message: ToolMessage, { model, toolImages }: ItemStyle): Fields {
  const output = toolImages ? contentOf(message, model.vision) : visibleText(message, model.vision);
  return { type: "function_call_output", call_id: message.callId, output };
}

function contentOf(message: UserMessage | ToolMessage, vision: boolean): string | Fields[] {
  const text = visibleText(message, vision);
  if (!vision || !message.images?.length) return text;
  return [...(text === "" ? [] : [textPart(text)]), ...message.images.map(imagePart)];
}

/** A reply as the model gave it; from another model, or changed, its text and then its calls. */
function replyItems(message: AssistantMessage, model: ModelInfo): readonly Fields[] {
  const { content, calls = [] } = message;
  const items = itemsOf(message, model);
  if (!items) return [...(content === "" ? [] : [textItem(content)]), ...calls.map((call) => callItem(call))];
  const left = calls.values();
  const sent: Fields[] = [];
  let pending: Fields[] = [];
  for (const item of items) {
    if (item.type === "reasoning") {
      pending.push(...reasoningItem(item));
      continue;
    }
    // Reasoning is only taken with what it led to.
    sent.push(...pending);
    pending = [];
    const call = isCall(item) ? left.next().value : undefined;
    if (item.type === "message") sent.push(textItem(String(item.content), item.phase));
    else if (!call || item.type === ASKS) sent.push(item);
    else sent.push(callItem(call, typeof item.arguments === "string" ? item.arguments : undefined));
  }
  return sent;
}

/** The item as it came. Without encrypted content, the server could not find it by its id. */
function reasoningItem(item: Fields): readonly Fields[] {
  if (typeof item.encrypted_content === "string") return [item];
  const { id: _, ...rest } = item;
  return item.content === undefined ? [] : [rest];
}

function textItem(text: string, phase?: unknown): Fields {
  return {
    type: "message",
    role: "assistant",
    content: safeText(text),
    ...(phase === undefined ? {} : { phase }),
  };
}

function callItem(call: ToolCall, written = call.arguments): Fields {
  return {
    type: "function_call",
    call_id: call.id,
    name: wireName(call.name),
    arguments: wireArguments(written),
  };
}

function answerItem({ callId, content }: ToolMessage): Fields {
  const approve = content === APPROVED;
  return {
    type: "mcp_approval_response",
    approval_request_id: callId,
    approve,
    ...(approve ? {} : { reason: content }),
  };
}

type BodyOptions = Pick<KindOptions, "entry" | "model" | "effort" | "remote">;

/** Fields that `extra` may set but that belong to the single request. */
const OF_A_REQUEST = ["max_output_tokens", "tool_choice", "previous_response_id", "input"];

export interface WireTools {
  readonly list: readonly Fields[];
  readonly strict: ReadonlyMap<string, ToolSchema>;
}

/** A tool whose schema has no strict form is declared as it is. */
export function wireTools(tools: readonly ToolSchema[], strict: boolean): WireTools {
  const strictTools = new Map<string, ToolSchema>();
  const list = tools.map((tool) => {
    const schema = strict ? strictSchema(tool.parameters) : undefined;
    if (schema) strictTools.set(tool.name, tool);
    const { name, description, parameters } = tool;
    // Servers make the schema strict by default.
    return {
      type: "function",
      name,
      description,
      parameters: schema ?? parameters,
      strict: schema !== undefined,
    };
  });
  return { list, strict: strictTools };
}

/**
 * Everything before the items: the same bytes for a whole conversation. The system prompt goes into
 * `instructions`: they are sent with each request also where the server keeps the conversation, and stand
 * before all of it.
 */
export function head(
  options: BodyOptions,
  { system, tools }: Prefix,
  { list }: WireTools,
  refused: ReadonlySet<string>,
): string {
  const { entry, model } = options;
  const { compat } = entry;
  const extra = extraFields(entry);
  for (const name of OF_A_REQUEST) delete extra[name];
  const all = Array.isArray(extra.tools) ? [...list, ...extra.tools] : list;
  delete extra.tools;
  const fields: Record<string, unknown> = {
    model: model.id,
    stream: true,
    store: entry.store,
    ...(model.reasoning?.thinks === false ? {} : { include: ["reasoning.encrypted_content"] }),
    ...(system === "" ? {} : { instructions: safeText(system) }),
    prompt_cache_key: cacheKey(model.id, system, all),
    reasoning: reasoningFields(options),
    text: entry.verbosity === undefined ? undefined : { verbosity: entry.verbosity },
    temperature: entry.temperature,
    top_p: entry.top_p,
    ...(all.length > 0 ? { parallel_tool_calls: compat.parallel_tool_calls } : {}),
  };
  for (const [name, value] of Object.entries(extra)) {
    const known = fields[name];
    fields[name] = isRecord(known) && isRecord(value) ? { ...known, ...value } : value;
  }
  // Requests outside of the conversation have no tools, these neither.
  const remote = tools.length > 0 ? options.remote?.servers() ?? [] : [];
  const declared = [...all, ...remote.map(remoteTool)];
  if (declared.length > 0) fields.tools = declared;
  for (const path of refused) leaveOut(fields, path.split("."));
  return bodyHead(fields, "input");
}

function reasoningFields({ entry, model, effort }: BodyOptions): Fields | undefined {
  if (model.reasoning?.thinks === false) return undefined;
  const summary = entry.reasoning_summary;
  const fields = {
    ...(effort ? { effort } : {}),
    ...(summary === "none" || effort === "none" ? {} : { summary }),
  };
  return Object.keys(fields).length > 0 ? fields : undefined;
}

/** The same for all sessions with this prefix, so that their requests reach the same cache. */
function cacheKey(model: string, system: string, tools: readonly unknown[]): string {
  return `reasonix-${new Fingerprint().add(model).add(system).add(JSON.stringify(tools)).value}`;
}

function leaveOut(fields: Record<string, unknown>, [first = "", ...rest]: readonly string[]): void {
  const inner = fields[first];
  if (rest.length === 0 || !isRecord(inner)) {
    delete fields[first];
    return;
  }
  const left = { ...inner };
  leaveOut(left, rest);
  fields[first] = Object.keys(left).length > 0 ? left : undefined;
}

export function tail(
  { entry, model }: BodyOptions,
  request: ModelRequest,
  refused: ReadonlySet<string>,
  previous?: string,
): string {
  const limit = request.maxOutputTokens ?? extraFields(entry).max_output_tokens ?? model.maxOutputTokens;
  const fields: Record<string, unknown> = {
    max_output_tokens: limit,
    tool_choice: toolChoice(request, entry),
    previous_response_id: previous,
  };
  for (const path of refused) delete fields[path];
  return bodyTail(fields);
}

/** A server in the list of tools. Its calls wait for approval unless all of its tools are approved. */
function remoteTool(
  { name, url, headers, enabledTools, disabledTools, unasked }: RemoteServer,
): Fields {
  // This wire has no field for disabled tools: a call of one is refused when it asks.
  const asksNothing = unasked === "all" && disabledTools.length === 0;
  return {
    type: "mcp",
    server_label: name,
    server_url: url,
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(enabledTools.length > 0 ? { allowed_tools: enabledTools } : {}),
    require_approval: asksNothing ? "never" : "always",
  };
}
