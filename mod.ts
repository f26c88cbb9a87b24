/**
 * Reasonix as a library: run the agent from a program of your own, with your own tools and provider.
 *
 * @example An agent with one tool
 * ```ts
 * import { createAgent, type Provider, type Tool } from "./mod.ts";
 *
 * const add: Tool = {
 *   name: "add",
 *   description: "Add two numbers",
 *   schema: {
 *     type: "object",
 *     properties: { a: { type: "number" }, b: { type: "number" } },
 *     required: ["a", "b"],
 *   },
 *   readOnly: true,
 *   execute: ({ a, b }) => Promise.resolve({ content: String(Number(a) + Number(b)), summary: "added" }),
 * };
 * const provider: Provider = {
 *   name: "scripted",
 *   model: { provider: "scripted", id: "demo", contextWindow: 0, vision: false },
 *   async *stream({ messages }) {
 *     const last = messages.at(-1);
 *     if (last?.role === "tool") yield { type: "text", text: `The sum is ${last.content}` };
 *     else yield { type: "tool_call", call: { id: "1", name: "add", arguments: '{"a":2,"b":3}' } };
 *     yield { type: "done", reason: "stop" };
 *   },
 * };
 * const agent = await createAgent({ provider, tools: [add] });
 * const { answer } = await agent.run("What is 2 + 3?");
 * if (answer !== "The sum is 5") throw new Error(answer);
 * ```
 *
 * @example A model behind an OpenAI-compatible server
 * ```ts ignore
 * import { createAgent, createProvider, parseProvider } from "./mod.ts";
 *
 * const entry = parseProvider({ name: "local", base_url: "http://127.0.0.1:8080/v1", model: "qwen3" });
 * const provider = await createProvider({ entry, model: "qwen3", version: "1.0.0" });
 * const agent = await createAgent({ provider });
 * console.log((await agent.run("Say hello")).answer);
 * ```
 *
 * @module
 */
export type {
  AssistantMessage,
  Chunk,
  Cost,
  Event,
  EventSink,
  EventType,
  FinishReason,
  ImagePart,
  JsonSchema,
  Message,
  Prefix,
  PreparedCall,
  Price,
  ProviderError,
  ProviderErrorKind,
  ToolCall,
  ToolMessage,
  ToolSchema,
  Usage,
  UserInput,
  UserMessage,
} from "./src/core/mod.ts";
export { ReasonixError } from "./src/core/mod.ts";
export {
  type CreateOptions,
  createProvider,
  type ModelInfo,
  type ModelRequest,
  type Provider,
} from "./src/provider/mod.ts";
export { parseProvider, type ProviderEntry } from "./src/config/mod.ts";
export {
  type FileChange,
  type Tool,
  type ToolContext,
  type ToolResult,
  type Truncation,
} from "./src/tool/mod.ts";
export { type Decision, type Gate } from "./src/permission/mod.ts";
export { type Limits, type TurnOutcome, type TurnReason } from "./src/agent/mod.ts";
export { type AgentOptions, Controller, createAgent, type EmbeddedAgent } from "./src/control/mod.ts";
