/** Leaf types of a conversation, independent of any vendor's wire format. */

/**
 * One function call the model asked for. `arguments` is raw JSON text, kept exactly as it will be sent back.
 */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** An image for a model that sees: MIME type and base64 data. */
export interface ImagePart {
  readonly mime: string;
  readonly data: string;
}

export interface UserMessage {
  readonly role: "user";
  readonly content: string;
  readonly images?: readonly ImagePart[];
}

/**
 * What one wire wants back exactly as it came, and nobody else can read: a signed thought, an encrypted
 * reasoning item, the signature of a call.
 */
export interface ProviderPart {
  /** The provider kind that wrote it. */
  readonly kind: string;
  /** Name of the configured provider it came from. */
  readonly provider: string;
  readonly model: string;
  /** A JSON value that only the kind reads. */
  readonly data: unknown;
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: string;
  readonly reasoning?: string;
  readonly calls?: readonly ToolCall[];
  /** In the order in which the reply brought them. */
  readonly parts?: readonly ProviderPart[];
}

export interface ToolMessage {
  readonly role: "tool";
  readonly callId: string;
  readonly name: string;
  readonly content: string;
  readonly images?: readonly ImagePart[];
}

/**
 * A message after the system prompt. The system prompt and the tool list are the request's {@linkcode
 * Prefix}, kept apart because they only change at a declared reset.
 *
 * Contract: a message object is never mutated once it is in a conversation; providers cache its serialised
 * form by identity.
 */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** A JSON Schema object describing a tool's arguments. */
export type JsonSchema = { readonly [key: string]: unknown };

/** A tool as the model is told about it. */
export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

/** The cache-stable head of every request of a conversation. */
export interface Prefix {
  readonly system: string;
  readonly tools: readonly ToolSchema[];
}
