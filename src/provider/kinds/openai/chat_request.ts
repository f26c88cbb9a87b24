import type { ProviderEntry } from "../../../config/mod.ts";
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
import { recordOf, safeText } from "../../../util/json.ts";
import type { KindOptions } from "../../kind.ts";
import { thinkingBudget } from "../../model/model_info.ts";
import type { ModelRequest } from "../../provider.ts";
import {
  bodyHead,
  bodyTail,
  dataUrl,
  extraFields,
  type Fields,
  IMAGES_ABOVE,
  toolChoice,
  visibleText,
  wireArguments,
  wireName,
} from "../../wire/message_parts.ts";
import type { MessageWriter } from "../../wire/request_buffer.ts";

type BodyOptions = Pick<KindOptions, "entry" | "model" | "effort">;
interface WireMessage {
  readonly role: string;
  readonly content: string | readonly unknown[] | null;
}

interface WireStyle {
  readonly compat: ProviderEntry["compat"];
  readonly vision: boolean;
}

export class ChatMessages implements MessageWriter {
  readonly head: string;
  readonly first: readonly string[];
  /** The messages before the conversation: the system prompt. */
  readonly opening: readonly WireMessage[];
  readonly #options: BodyOptions;
  readonly #style: WireStyle;
  #pendingImages: ImagePart[] = [];

  constructor(options: BodyOptions, { system, tools }: Prefix) {
    const { entry: { compat }, model } = options;
    this.#options = options;
    this.#style = { compat, vision: model.vision };
    this.head = head(options, tools);
    this.opening = system === "" ? [] : [{ role: compat.system_role, content: safeText(system) }];
    this.first = this.opening.map((message) => JSON.stringify(message));
  }

  write(message: Message): string[] {
    return this.wire(message).map((wire) => JSON.stringify(wire));
  }

  flush(): string[] {
    return this.pending().map((wire) => JSON.stringify(wire));
  }

  /** A result of a tool cannot carry images on this wire; they follow the last result of the group. */
  wire(message: Message): readonly WireMessage[] {
    if (message.role === "tool") {
      if (this.#style.vision) this.#pendingImages.push(...message.images ?? []);
      return [toolMessage(message, this.#style)];
    }
    const wire = message.role === "user"
      ? userMessage(message, this.#style)
      : assistantMessage(message, this.#style.compat);
    return [...this.pending(), wire];
  }

  pending(): readonly WireMessage[] {
    if (this.#pendingImages.length === 0) return [];
    const images = this.#pendingImages;
    this.#pendingImages = [];
    const label = { type: "text", text: IMAGES_ABOVE };
    return [{ role: "user", content: [label, ...images.map(imagePart)] }];
  }

  end(request: ModelRequest): string {
    return `]${tail(this.#options, request)}}`;
  }
}

function imagePart(image: ImagePart): unknown {
  return { type: "image_url", image_url: { url: dataUrl(image) } };
}

function userMessage(message: UserMessage, style: WireStyle): WireMessage {
  const text = visibleText(message, style.vision);
  if (!style.vision || !message.images?.length) return { role: "user", content: text };
  const parts = text === "" ? [] : [{ type: "text", text }];
  return { role: "user", content: [...parts, ...message.images.map(imagePart)] };
}

function toolMessage(message: ToolMessage, style: WireStyle): WireMessage & Fields {
  return {
    role: "tool",
    tool_call_id: message.callId,
    ...(style.compat.tool_name ? { name: wireName(message.name) } : {}),
    content: visibleText(message, style.vision),
  };
}

function assistantMessage(
  message: AssistantMessage,
  compat: ProviderEntry["compat"],
): WireMessage & Fields {
  const calls = message.calls ?? [];
  const content = safeText(message.content);
  const field = compat.reasoning_field;
  const reasoned = field !== undefined && message.reasoning !== undefined &&
    (calls.length > 0 || compat.reasoning_scope === "all");
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 && compat.null_content ? null : content,
    ...(reasoned ? { [field]: safeText(message.reasoning) } : {}),
    ...(calls.length > 0 ? { tool_calls: calls.map(wireCall) } : {}),
  };
}

function wireCall(call: ToolCall): unknown {
  return {
    id: call.id,
    type: "function",
    function: { name: wireName(call.name), arguments: wireArguments(call.arguments) },
  };
}

/** Sent where the template wants a message of the user. */
const CONTINUE: WireMessage = { role: "user", content: "Continue." };
/** Sent between results of tools and a message of the user right behind them. */
const READ: WireMessage = { role: "assistant", content: "(read)" };

/**
 * The messages of one conversation for chat templates in which user and assistant must take turns. What the
 * user says without an answer in between is one message, the last of which stays open: what follows an
 * aborted request becomes part of it.
 */
export class AlternatingMessages implements MessageWriter {
  readonly head: string;
  readonly first: readonly string[];
  readonly #inner: ChatMessages;
  #open: WireMessage | undefined;
  #lastRole: string | undefined;

  constructor(options: BodyOptions, prefix: Prefix) {
    this.#inner = new ChatMessages(options, prefix);
    this.head = this.#inner.head;
    this.first = this.#take(this.#inner.opening);
  }

  write(message: Message): readonly string[] {
    return this.#take(this.#inner.wire(message));
  }

  flush(): readonly string[] {
    return this.#take(this.#inner.pending());
  }

  end(request: ModelRequest, started: boolean): string {
    const open = this.#open ? `${started ? "," : ""}${JSON.stringify(this.#open)}` : "";
    return `${open}${this.#inner.end(request)}`;
  }

  /** Returns the messages that can no longer change. */
  #take(messages: readonly WireMessage[]): string[] {
    const closed: WireMessage[] = [];
    for (const message of messages) {
      if (message.role === "user") {
        if (this.#lastRole === "tool") closed.push(READ);
        this.#open = this.#open ? joined(this.#open, message) : message;
      } else {
        const wantsUser = message.role === "assistant" && this.#lastRole !== "tool";
        if (this.#open || (wantsUser && this.#lastRole !== "user")) closed.push(this.#open ?? CONTINUE);
        this.#open = undefined;
        closed.push(message);
      }
      this.#lastRole = message.role;
    }
    return closed.map((message) => JSON.stringify(message));
  }
}

function joined(first: WireMessage, second: WireMessage): WireMessage {
  const [a, b] = [first.content, second.content];
  if (typeof a === "string" && typeof b === "string") {
    return { ...first, content: [a, b].filter((text) => text !== "").join("\n\n") };
  }
  return { ...first, content: [...partsOf(a), ...partsOf(b)] };
}

function partsOf(content: WireMessage["content"]): readonly unknown[] {
  if (typeof content !== "string") return content ?? [];
  return content === "" ? [] : [{ type: "text", text: content }];
}

/** Everything before the messages: the same bytes for a whole conversation. */
function head(options: BodyOptions, tools: readonly ToolSchema[]): string {
  const { entry, model } = options;
  const { compat } = entry;
  const extra = extraFields(entry);
  // They belong to the single request.
  for (const name of [compat.max_tokens_field, "tool_choice", "messages"]) delete extra[name];
  const declared = tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, description, parameters },
  }));
  const all = Array.isArray(extra.tools) ? [...declared, ...extra.tools] : declared;
  delete extra.tools;
  const fields: Fields = {
    model: model.id,
    stream: true,
    ...(compat.stream_usage ? { stream_options: { include_usage: true } } : {}),
    temperature: entry.temperature,
    top_p: entry.top_p,
    seed: entry.seed,
    ...extra,
    ...effortFields(options, extra),
    ...(all.length > 0 ? { tools: all, parallel_tool_calls: compat.parallel_tool_calls } : {}),
  };
  return bodyHead(fields, "messages");
}

function tail({ entry, model }: BodyOptions, request: ModelRequest): string {
  const field = entry.compat.max_tokens_field;
  return bodyTail({
    [field]: request.maxOutputTokens ?? extraFields(entry)[field] ?? model.maxOutputTokens,
    tool_choice: toolChoice(request, entry),
  });
}

/** Returns the fields that ask for an effort: its name, and where a vendor has one the switch of thinking. */
function effortFields({ entry: { compat }, model, effort }: BodyOptions, extra: Fields): Fields {
  if (effort === undefined || effort === "") return {};
  const { levels } = model.reasoning ?? {};
  switch (compat.thinking_field) {
    case "thinking": {
      const isSwitch = model.reasoning?.toggle === true;
      const isNamed = levels === undefined ? !isSwitch : levels.includes(effort);
      const type = effort === "none" ? "disabled" : "enabled";
      return {
        ...(isSwitch ? { thinking: { ...recordOf(extra.thinking), type } } : {}),
        ...(isNamed ? levelField(compat.effort_field, effort, extra) : {}),
      };
    }
    case "enable_thinking": {
      if (levels?.includes(effort)) return levelField(compat.effort_field, effort, extra);
      const budget = model.reasoning?.budget && thinkingBudget(effort, model.reasoning.budget);
      return {
        enable_thinking: effort !== "none",
        ...(budget ? { thinking_budget: budget } : {}),
      };
    }
    default:
      return levelField(compat.effort_field, effort, extra);
  }
}

function levelField(name: string, effort: string, extra: Fields): Fields {
  if (name === "reasoning_effort") return { reasoning_effort: effort };
  return { reasoning: { ...recordOf(extra.reasoning), effort } };
}
