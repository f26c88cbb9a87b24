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
 * Content that one wire wants back byte for byte, and that is opaque to others: a signed thought, an
 * encrypted reasoning item, the signature of a call.
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
  /** In the order of the reply. */
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

/** A tool as declared to the model. */
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

/** The user's input for one turn, after references are resolved. */
export interface UserInput {
  readonly text: string;
  /** The identifier of its client. */
  readonly id?: string;
  /** The author: the user, or the program when it continues automatically. Default: the user. */
  readonly origin?: "user" | "continue";
  readonly images?: readonly ImagePart[];
  /** A text that the program appends to the message. */
  readonly reminder?: string;
  /** Blocks that precede the text in the same message (file references, piped input). */
  readonly references?: readonly string[];
}

/** Answer to an approval request. */
export interface ApprovalAnswer {
  readonly allow: boolean;
  /** `project` lasts as `always` does, in this project alone. */
  readonly scope: "once" | "session" | "project" | "always";
  /** The rule that the scope covers, a proposed one or one that `checkRule` takes; absent: the exact one. */
  readonly rule?: string;
  /** Opens the network that the request names: for this call, until the session ends, or for the project. */
  readonly network?: "once" | "session" | "project";
  /** Passed on to the model with a refusal. */
  readonly note?: string;
  /** Answered in place of the user. */
  readonly by?: "hook";
  /** The turn ends with the refusal. */
  readonly stop?: true;
}

/** Everything a front end can ask of the controller. */
export type Submission =
  | { readonly type: "turn"; readonly input: UserInput }
  /** A command line of the user, without the model. */
  | ({ readonly type: "shell"; readonly command: string } & Pick<UserInput, "id">)
  | ({ readonly type: "steer" } & Pick<UserInput, "text" | "id">)
  | { readonly type: "interrupt"; readonly reason: "interrupted" | "terminated" };
