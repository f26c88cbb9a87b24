import type { AssistantMessage, Message, Prefix } from "../core/mod.ts";
import type { SessionState } from "../session/mod.ts";
import { isSummary } from "./compaction/summary.ts";
import { triggerOf } from "./compaction/options.ts";
import type { Instructions } from "./instructions.ts";
import type { SkillSet } from "./skills/discover.ts";
import { roughTokens } from "./rough_tokens.ts";
import { TokenCounter } from "./tokens.ts";

export interface ReportInput {
  readonly prefix: Prefix;
  readonly state: Pick<SessionState, "messages" | "sources" | "lastUsage">;
  readonly model: string;
  readonly instructions?: Instructions;
  readonly skills?: SkillSet;
  /** Texts of the user in the system prompt, each with its setting. */
  readonly supplements?: readonly { readonly from: string; readonly text: string }[];
  /** MCP servers, and what the names of their tools begin with. */
  readonly servers?: readonly { readonly name: string; readonly prefix: string }[];
  /** Section of the system prompt that names the skills. */
  readonly catalogue?: string;
  /** Tokens; 0 when not known. */
  readonly window: number;
  /** The source of the window's size, such as "declared". */
  readonly windowSource?: string;
  readonly compaction: { readonly auto: boolean; readonly ratio: number };
  readonly maxOutputTokens?: number;
  readonly sendsReasoning?: (message: AssistantMessage) => boolean;
  /** Tokens of the next request as the server counted them for this report. */
  readonly exact?: number | undefined;
  /** The prefix as it is sent, where that differs. */
  readonly sentPrefix?: ((prefix: Prefix) => Prefix) | undefined;
}

export interface LoadedPart {
  readonly kind:
    | "supplemental prompt"
    | "instructions"
    | "late instructions"
    | "skill"
    | "active skill"
    | "MCP server"
    | "MCP index";
  readonly name: string;
  readonly from?: string;
  readonly tokens: number;
}

/**
 * The content of the context, its sources and how full it is: the data of `reasonix context` and `/context`.
 */
export interface ContextReport {
  readonly model: string;
  readonly tokens: number;
  /** "reported": from the server's own count; "estimated": before the server counted. */
  readonly measure: "reported" | "estimated";
  readonly window: number;
  readonly windowSource?: string;
  /** Of the window; absent when that is not known. */
  readonly percent?: number;
  /** Tokens at which compaction begins; absent when it does not. */
  readonly compactsAt?: number;
  readonly messages: number;
  readonly categories: readonly { readonly name: ContextCategory; readonly tokens: number }[];
  readonly loaded: readonly LoadedPart[];
  readonly shadowed: Instructions["shadowed"];
  readonly notices: readonly { readonly path: string; readonly text: string }[];
  /** Part of the last request that was read from the cache. */
  readonly cachedPercent?: number;
}

const CATEGORIES = [
  "system prompt",
  "instructions",
  "skills",
  "tools",
  "environment and notes",
  "user",
  "summaries",
  "assistant",
  "tool results",
] as const;

export type ContextCategory = (typeof CATEGORIES)[number];

/** Estimates the parts of the context; the sum is the server's count as far as there is one. */
export function contextReport(input: ReportInput): ContextReport {
  const counter = new TokenCounter({
    sendsReasoning: input.sendsReasoning,
    sentPrefix: input.sentPrefix,
  });
  const { messages, lastUsage } = input.state;
  const reply = messages.findLastIndex((message) => message.role === "assistant");
  if (lastUsage && reply >= 0) counter.observe(input.prefix, messages, reply, lastUsage.inputTokens);
  const tokens = input.exact ?? counter.estimate(input.prefix, messages);
  const parts = categories(input, counter);
  const sum = [...parts.values()].reduce((total, part) => total + part, 0);
  const scale = sum > 0 ? tokens / sum : 1;
  const { window, windowSource, compaction, maxOutputTokens } = input;
  const cached = lastUsage && lastUsage.inputTokens > 0
    ? Math.round(100 * lastUsage.cachedTokens / lastUsage.inputTokens)
    : undefined;
  return {
    model: input.model,
    tokens,
    measure: input.exact !== undefined || counter.calibrated ? "reported" : "estimated",
    window,
    ...(windowSource === undefined ? {} : { windowSource }),
    ...(window > 0 ? { percent: Math.round(1000 * tokens / window) / 10 } : {}),
    ...(window > 0 && compaction.auto
      ? { compactsAt: triggerOf(window, compaction.ratio, maxOutputTokens) }
      : {}),
    messages: messages.length,
    categories: CATEGORIES.map((name) => ({ name, tokens: Math.round((parts.get(name) ?? 0) * scale) })),
    loaded: loadedParts(input, counter),
    shadowed: [
      ...input.instructions?.shadowed ?? [],
      ...(input.skills?.shadowed ?? []).map(({ name, file }) => ({
        path: file,
        by: input.skills?.skills.find((skill) => skill.name === name)?.file ?? "",
      })),
    ],
    notices: [
      ...(input.instructions?.notices ?? []).map(({ path, problem }) => ({ path, text: problem })),
      ...input.skills?.warnings ?? [],
    ],
    ...(cached === undefined ? {} : { cachedPercent: cached }),
  };
}

function categories(input: ReportInput, counter: TokenCounter): Map<ContextCategory, number> {
  const { prefix, state } = input;
  const sums = new Map<ContextCategory, number>();
  const add = (name: ContextCategory, tokens: number) => sums.set(name, (sums.get(name) ?? 0) + tokens);
  const instructions = (input.instructions?.files ?? [])
    .filter((file) => prefix.system.includes(file.text.trim()))
    .reduce((sum, file) => sum + roughTokens(file.text) + roughTokens(file.label), 0);
  const skills = input.catalogue !== undefined && prefix.system.includes(input.catalogue)
    ? roughTokens(input.catalogue)
    : 0;
  add("instructions", instructions);
  add("skills", skills);
  add("system prompt", Math.max(0, roughTokens(prefix.system) - instructions - skills));
  add("tools", counter.tools(prefix));
  state.messages.forEach((message, i) => {
    add(categoryOf(message, state.sources[i]?.kind), counter.message(message));
  });
  return sums;
}

function categoryOf(message: Message, kind: string | undefined): ContextCategory {
  if (message.role === "assistant") return "assistant";
  if (message.content.startsWith('<skill name="')) return "skills";
  if (message.role === "tool") return "tool results";
  if (kind === "summary" || isSummary(message)) return "summaries";
  if (message.content.startsWith("<instructions")) return "instructions";
  return kind === "user" ? "user" : "environment and notes";
}

function loadedParts(input: ReportInput, counter: TokenCounter): LoadedPart[] {
  const supplements = (input.supplements ?? []).map(({ from, text }): LoadedPart => ({
    kind: "supplemental prompt",
    name: from,
    tokens: roughTokens(text),
  }));
  const files = (input.instructions?.files ?? []).map((file): LoadedPart => ({
    kind: "instructions",
    name: file.label,
    from: file.path,
    tokens: roughTokens(file.text),
  }));
  const skills = (input.skills?.skills ?? []).map((skill): LoadedPart => ({
    kind: "skill",
    name: skill.name,
    from: skill.file,
    tokens: skill.listed ? roughTokens(`- ${skill.name}: ${skill.description}`) : 0,
  }));
  const said = input.state.messages.flatMap((message): LoadedPart[] => {
    const late = /^<instructions folder="([^"]*)">/.exec(message.content)?.[1];
    const active = /^<skill name="([^"]*)" folder="([^"]*)">/.exec(message.content);
    const tokens = counter.message(message);
    if (late !== undefined) return [{ kind: "late instructions", name: late, from: late, tokens }];
    return active ? [{ kind: "active skill", name: active[1] ?? "", from: active[2] ?? "", tokens }] : [];
  });
  return [...supplements, ...files, ...skills, ...serverParts(input, counter), ...said];
}

/** Tokens of the tools of each MCP server, or of the index that represents them. */
function serverParts({ servers = [], prefix }: ReportInput, counter: TokenCounter): LoadedPart[] {
  const cost = (offered: (name: string) => boolean) => {
    const tools = prefix.tools.filter(({ name }) => offered(name));
    return { count: tools.length, tokens: counter.tools({ system: "", tools }) };
  };
  const parts = servers.map(({ name, prefix: begins }): LoadedPart => {
    const { count, tokens } = cost((tool) => tool.startsWith(begins));
    return { kind: "MCP server", name: `${name} (${count === 1 ? "1 tool" : `${count} tools`})`, tokens };
  });
  const index = cost((tool) => ["mcp_search", "mcp_call", "mcp_resource"].includes(tool));
  return index.count > 0
    ? [...parts, { kind: "MCP index", name: "search, call, resources", tokens: index.tokens }]
    : parts;
}
