/** Refusals of the vendor, in its words (invalid_request_error), or nearly so. */
import type { MessagesRequest, ThinkingStyle, WireBlock } from "./shapes.ts";
import { thoughtProblem } from "./signatures.ts";

export interface Rules {
  readonly thinking: ThinkingStyle;
  /** Thoughts count only behind the conversation that they came from. */
  readonly bound: boolean;
}

const ID = /^[a-zA-Z0-9_-]+$/;
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** The first rule that a request breaks. */
export function brokenRule(request: MessagesRequest, rules: Rules): string | undefined {
  const checks = [fields, marks, toolRules, mcpServers, order, pairs, texts, thoughts];
  for (const check of checks) {
    const problem = check(request, rules);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function fields(request: MessagesRequest, { thinking: style }: Rules): string | undefined {
  const { max_tokens: limit, messages, system, thinking, temperature, top_p, tool_choice } = request;
  if (!Number.isSafeInteger(limit) || limit < 1) return "max_tokens: Field required";
  if (!Array.isArray(messages) || messages.length === 0) return "messages: at least one message is required";
  if (system !== undefined && !Array.isArray(system)) return "system: Input should be a valid list";
  if (tool_choice && !["auto", "any", "tool", "none"].includes(tool_choice.type)) {
    return "tool_choice: Input tag";
  }
  if (thinking?.type === "enabled") {
    const budget = thinking.budget_tokens ?? 0;
    if (style === "adaptive") {
      return '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and ' +
        '"output_config.effort" to control thinking behavior.';
    }
    if (budget < 1024) return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024";
    if (budget >= limit) return "`max_tokens` must be greater than `thinking.budget_tokens`";
  }
  if (thinking?.type === "adaptive" && style === "budget") {
    return "adaptive thinking is not supported on this model";
  }
  const thinks = thinking !== undefined && thinking.type !== "disabled";
  if ((thinks || style === "adaptive") && temperature !== undefined && temperature !== 1) {
    return "`temperature` may only be set to 1 when thinking is enabled";
  }
  if (thinks && top_p !== undefined && top_p < 0.95) return "`top_p` must be greater than or equal to 0.95";
  return undefined;
}

function marks({ tools = [], system = [], messages }: MessagesRequest): string | undefined {
  const marked = [...tools, ...system, ...messages.flatMap(({ content }) => content)]
    .filter((block) => block.cache_control);
  if (marked.length > 4) {
    return `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`;
  }
  let short = false;
  for (const { type, cache_control: mark, text } of marked) {
    if (type === "thinking" || type === "redacted_thinking") return `cache_control cannot be set for ${type}`;
    if (type === "text" && text === "") return "cache_control cannot be set for empty text blocks";
    if (mark?.ttl === "1h" && short) {
      return "a ttl='1h' cache_control block must not come after a ttl='5m' block";
    }
    if (mark?.ttl !== "1h") short = true;
  }
  return undefined;
}

/** Every server has exactly one set of tools, and every set a server. */
function mcpServers({ mcp_servers: servers = [], tools = [] }: MessagesRequest): string | undefined {
  const sets = tools.filter(({ type }) => type === "mcp_toolset").map((tool) => tool.mcp_server_name);
  for (const { name, url } of servers) {
    if (!/^https?:/.test(url)) return `mcp_servers: the url of '${name}' is not valid`;
    const own = sets.filter((set) => set === name).length;
    if (own !== 1) return `mcp_servers: MCP server '${name}' must be referenced by exactly one mcp_toolset`;
  }
  const lost = sets.find((set) => !servers.some(({ name }) => name === set));
  return lost === undefined ? undefined : `tools: mcp_toolset references unknown MCP server '${lost}'`;
}

function toolRules({ tools = [] }: MessagesRequest): string | undefined {
  const names = new Set<string>();
  for (const [at, { name, type, input_schema: schema }] of tools.entries()) {
    if (type !== undefined && type !== "custom") continue;
    if (!NAME.test(name)) return `tools.${at}.custom.name: String should match pattern '${NAME.source}'`;
    if (names.has(name)) return "tools: Tool names must be unique.";
    names.add(name);
    if (schema?.type !== "object") return `tools.${at}.custom.input_schema.type: Field required`;
    if (["oneOf", "allOf", "anyOf"].some((key) => key in schema)) {
      return `tools.${at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`;
    }
  }
  return undefined;
}

function order({ messages }: MessagesRequest): string | undefined {
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== "user" && role !== "assistant") {
      return `messages.${at}.role: Input should be 'user' or 'assistant'`;
    }
    if (at === 0 && role !== "user") return 'messages: first message must use the "user" role';
    if (!Array.isArray(content) || content.length === 0) {
      return `messages.${at}: all messages must have non-empty content`;
    }
  }
  const last = messages.at(-1);
  const paused = last?.content.some(({ type = "" }) => type.startsWith("server_") || type.startsWith("mcp_"));
  if (last?.role === "assistant" && !paused) {
    return "This model does not support assistant message prefill. The conversation must end with a user message.";
  }
  return undefined;
}

function pairs({ messages }: MessagesRequest): string | undefined {
  const seen = new Set<string>();
  for (const [at, { role, content }] of messages.entries()) {
    const calls = content.filter(({ type }) => type === "tool_use");
    for (const { id, name, input } of calls) {
      if (!ID.test(id)) return `messages.${at}.tool_use.id: String should match pattern '${ID.source}'`;
      if (!NAME.test(name)) {
        return `messages.${at}.tool_use.name: String should match pattern '${NAME.source}'`;
      }
      if (typeof input !== "object" || input === null) {
        return `messages.${at}.tool_use.input: Input should be an object`;
      }
      if (seen.has(id)) return `messages.${at}: \`tool_use\` ids must be unique`;
      seen.add(id);
    }
    const problem = role === "user"
      ? resultProblem(content, messages[at - 1]?.content ?? [], at)
      : missing(calls, messages[at + 1]?.content ?? [], at);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function missing(calls: readonly WireBlock[], next: readonly WireBlock[], at: number): string | undefined {
  const given = next.map(({ tool_use_id }) => tool_use_id);
  const open = calls.filter(({ id }) => !given.includes(id)).map(({ id }) => id);
  return open.length === 0
    ? undefined
    : `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks ` +
      `immediately after: ${
        open.join(", ")
      }. Each \`tool_use\` block must have a corresponding \`tool_result\` block ` +
      "in the next message.";
}

function resultProblem(
  content: readonly WireBlock[],
  before: readonly WireBlock[],
  at: number,
): string | undefined {
  const calls = before.filter(({ type }) => type === "tool_use").map(({ id }) => id);
  let others = false;
  for (const [number, { type, tool_use_id: id }] of content.entries()) {
    if (type !== "tool_result") {
      others = true;
      continue;
    }
    if (others) return `messages.${at}: \`tool_result\` blocks must come first in the content`;
    if (!calls.includes(id)) {
      return `messages.${at}.content.${number}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.";
    }
  }
  return undefined;
}

function texts({ messages }: MessagesRequest): string | undefined {
  for (const { content } of messages) {
    const inner = content.flatMap((block) => Array.isArray(block.content) ? block.content : []);
    for (const { type, text } of [...content, ...inner]) {
      if (type !== "text") continue;
      if (text === "") return "messages: text content blocks must be non-empty";
      if (text.trim() === "") return "messages: text content blocks must contain non-whitespace text";
    }
  }
  return undefined;
}

function thoughts(request: MessagesRequest, { bound }: Rules): string | undefined {
  const { messages, thinking } = request;
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  for (const [number, { role, content }] of messages.entries()) {
    if (role !== "assistant") continue;
    for (const [at, block] of content.entries()) {
      if (!isThought(block)) continue;
      const problem = thoughtProblem(block, request, { number, bound });
      if (problem !== undefined) return `messages.${number}.content.${at}: ${problem}`;
      if (thinking?.type === "disabled" && number === last) {
        return `messages.${number}.content.${at}: When thinking is disabled, an \`assistant\` message in the final ` +
          "position cannot contain `thinking`.";
      }
    }
    const end = content.at(-1);
    if (end && isThought(end)) {
      return `messages.${number}: The final block in an assistant message cannot be \`thinking\`.`;
    }
  }
  return thinking?.type === "enabled" ? loopProblem(request) : undefined;
}

/** With a budget the first reply of the pending calls has to begin with a thought. */
function loopProblem({ messages }: MessagesRequest): string | undefined {
  const isResults = (at: number) => messages[at]?.content.some(({ type }) => type === "tool_result");
  let start = messages.length - 1;
  if (!isResults(start)) return undefined;
  while (isResults(start)) start -= 2;
  const first = messages[start + 1]?.content[0];
  if (!first || isThought(first)) return undefined;
  return `messages.${start + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
    `\`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block ` +
    "(preceeding the lastmost set of `tool_use` and `tool_result` blocks).";
}

function isThought({ type }: WireBlock): boolean {
  return type === "thinking" || type === "redacted_thinking";
}
