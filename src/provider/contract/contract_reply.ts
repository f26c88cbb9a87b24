import type { AssistantMessage, Chunk, Message, ProviderError, ToolCall, Usage } from "../../core/mod.ts";
import type { ModelRequest, Provider } from "../provider.ts";

/** One reply, sorted. What a retry discarded is left out of all but `chunks`. */
export interface ContractReply {
  readonly chunks: readonly Chunk[];
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  readonly usage: Usage | undefined;
  readonly finish: string | undefined;
  readonly error: ProviderError | undefined;
  /** The reply as it stands in the conversation afterwards. */
  readonly message: AssistantMessage;
}

/** Runs one request to its end, as the agent does. */
export async function replyTo(
  provider: Provider,
  messages: readonly Message[],
  more: Partial<ModelRequest> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<ContractReply> {
  const request = { prefix: PREFIX, messages, ...more };
  const chunks: Chunk[] = [];
  for await (const chunk of provider.stream(request, signal)) chunks.push(chunk);
  return sorted(chunks);
}

/** One tool, so that calls make sense. */
export const PREFIX: ModelRequest["prefix"] = {
  system: "Be brief",
  tools: [{
    name: "look",
    description: "Looks at a path",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  }],
};

function sorted(chunks: readonly Chunk[]): ContractReply {
  const counted = chunks.slice(chunks.findLastIndex((one) => one.type === "retry" && one.discarded) + 1);
  const of = <T extends Chunk["type"]>(type: T) =>
    counted.filter((chunk): chunk is Extract<Chunk, { type: T }> => chunk.type === type);
  const text = of("text").map((chunk) => chunk.text).join("");
  const reasoning = of("reasoning").map((chunk) => chunk.text).join("");
  const calls = of("tool_call").map((chunk) => chunk.call);
  const parts = of("part").map((chunk) => chunk.part);
  return {
    chunks,
    text,
    reasoning,
    calls,
    usage: of("usage").at(-1)?.usage,
    finish: of("done")[0]?.reason,
    error: of("error")[0]?.error,
    message: {
      role: "assistant",
      content: text,
      ...(reasoning === "" ? {} : { reasoning }),
      ...(calls.length === 0 ? {} : { calls }),
      ...(parts.length === 0 ? {} : { parts }),
    },
  };
}
