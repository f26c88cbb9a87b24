/** The parts of a request to the Messages API that the scripted server reads. */

export interface WireBlock {
  readonly type?: string;
  readonly cache_control?: { readonly type: string; readonly ttl?: "5m" | "1h" };
  // deno-lint-ignore no-explicit-any
  readonly [key: string]: any;
}

export interface WireMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly WireBlock[];
}

export interface MessagesRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly WireMessage[];
  readonly system?: readonly WireBlock[];
  readonly tools?: readonly WireBlock[];
  readonly mcp_servers?: readonly { readonly name: string; readonly url: string }[];
  readonly thinking?: { readonly type: string; readonly budget_tokens?: number };
  readonly tool_choice?: { readonly type: string };
  readonly temperature?: number;
  readonly top_p?: number;
  readonly stream?: boolean;
}

/** Thinking modes of a model. */
export type ThinkingStyle = "budget" | "adaptive";
