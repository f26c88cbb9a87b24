/**
 * Reasonix as a library: run the agent from a program of your own, with the built-in tools, your own, and the
 * model of your choice. It is the agent of the command line; only the terminal is missing.
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
 * await using agent = await createAgent({ provider, tools: [add] });
 * const { answer } = await agent.run("What is 2 + 3?");
 * if (answer !== "The sum is 5") throw new Error(answer);
 * ```
 *
 * @example Settings as an object: files may be edited, commands may not run
 * ```ts
 * import { createAgent, type Provider } from "./mod.ts";
 *
 * const provider: Provider = {
 *   name: "scripted",
 *   model: { provider: "scripted", id: "demo", contextWindow: 0, vision: false },
 *   async *stream({ messages }) {
 *     const last = messages.at(-1);
 *     const call = { id: "1", name: "bash", arguments: '{"command":"touch made"}' };
 *     if (last?.role === "tool") yield { type: "text", text: last.content };
 *     else yield { type: "tool_call", call };
 *     yield { type: "done", reason: "stop" };
 *   },
 * };
 * const config = { permissions: { allow: ["Edit(docs/**)"] } };
 * await using agent = await createAgent({ provider, config });
 * const { answer } = await agent.run("Make a file");
 * if (!answer.startsWith("blocked")) throw new Error(answer);
 * ```
 *
 * @example A model behind an OpenAI-compatible server
 * ```ts ignore
 * import { createAgent, createProvider, parseProvider } from "./mod.ts";
 *
 * const entry = parseProvider({ name: "local", base_url: "http://127.0.0.1:8080/v1", model: "qwen3" });
 * const provider = await createProvider({ entry, model: "qwen3", version: "1.0.0" });
 * await using agent = await createAgent({ provider, session: "memory" });
 * console.log((await agent.run("Say hello")).answer);
 * ```
 *
 * @example A question beside the conversation, without tools and without a front end
 * ```ts
 * import { createAgent, type Provider, runInternal } from "./mod.ts";
 *
 * const provider: Provider = {
 *   name: "scripted",
 *   model: { provider: "scripted", id: "demo", contextWindow: 0, vision: false },
 *   async *stream({ messages, prefix }) {
 *     const last = messages.at(-1);
 *     yield { type: "text", text: `${prefix.tools.length} tools: ${last?.content}` };
 *     yield { type: "done", reason: "stop" };
 *   },
 * };
 * await using agent = await createAgent({ provider });
 * const { text } = await runInternal(agent, { prompt: "Name it", contexts: ["<log>…</log>"] });
 * if (text !== "0 tools: <log>…</log>\n\nName it") throw new Error(text);
 * ```
 *
 * @example Vectors for texts, here from a stand-in for an embedding server
 * ```ts
 * import { createProvider, parseProvider } from "./mod.ts";
 *
 * await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
 *   const { input } = await request.json();
 *   return Response.json({
 *     data: input.map((text: string, index: number) => ({ index, embedding: [text.length, 1] })),
 *     usage: { prompt_tokens: 7 },
 *   });
 * });
 * const entry = parseProvider({ name: "local", base_url: `http://127.0.0.1:${server.addr.port}/v1` });
 * const provider = await createProvider({ entry, model: "", version: "1.0.0" });
 * const found = await provider.embed?.(["a cat", "two dogs"], "nomic-embed-text");
 * if (JSON.stringify(found?.vectors) !== "[[5,1],[8,1]]") throw new Error("no vectors");
 * ```
 *
 * @example The user's own configuration, a session file, and a person who is asked
 * ```ts ignore
 * import { createAgent } from "./mod.ts";
 *
 * const approver = {
 *   ask: ({ tool, subject }) => Promise.resolve({ allow: confirm(`${tool} ${subject}?`), scope: "once" }),
 * };
 * await using agent = await createAgent({ config: "load", session: "file", approver });
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
  ProviderPart,
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
  type Embeddings,
  endpointOf,
  endpointUrl,
  type KindOptions,
  type MessageWriter,
  type ModelInfo,
  type ModelRequest,
  partsFor,
  protocolFailure,
  type Provider,
  type ProviderKind,
  type ReplyReader,
  RequestBuffer,
  requestHeaders,
  streamingProvider,
  type Wire,
} from "./src/provider/mod.ts";
export { type ConfigInput, parseProvider, type ProviderEntry } from "./src/config/mod.ts";
export {
  type Asker,
  type FileChange,
  type Question,
  type Tool,
  type ToolContext,
  type ToolResult,
  type Truncation,
} from "./src/tool/mod.ts";
export { type Decision, type Gate } from "./src/permission/mod.ts";
export { type AnswerForm, type Limits, type TurnOutcome, type TurnReason } from "./src/agent/mod.ts";
export { Controller, type FileReport, type RewindScope } from "./src/control/mod.ts";
export { type AgentOptions, createAgent, type EmbeddedAgent, runInternal } from "./src/features/mod.ts";
export {
  type InternalRequest,
  type InternalResult,
  type PlanAnswer,
  type PlanApproval,
  type PlanProposal,
  type PlanReviewer,
  runWorker,
  type TurnInput,
} from "./src/run/mod.ts";
