import type { Message, ToolSchema } from "../core/mod.ts";
import type { SessionState } from "../session/mod.ts";
import type { Recorder } from "./recorder.ts";

/** The head that this process would send of a new conversation. */
export interface WantedPrefix {
  readonly system: string;
  readonly tools: readonly ToolSchema[];
  readonly model: string;
  /** Name of the provider's entry that has the model. */
  readonly provider?: string | undefined;
  /** How the model calls tools; "official" and absent: as the wire has it. */
  readonly toolMode?: string | undefined;
  /**
   * Tagged blocks of what changes over time; each is sent as a message when it differs from the last one of
   * its tag.
   */
  readonly context?: readonly string[];
}

/**
 * Opens or goes on with a conversation. A session that is continued keeps the prefix it was started with,
 * byte for byte, unless the model or the tool set is another one; what changed in the standing instructions
 * follows as a message. Returns the reason of the new prefix, where there is one.
 */
export async function openConversation(
  recorder: Recorder,
  wanted: WantedPrefix,
): Promise<string | undefined> {
  const { prefix } = recorder.state;
  const reset = resetReason(recorder.state, wanted);
  if (reset) {
    const { context: _context, ...head } = wanted;
    await recordPrefix(recorder, { ...reset, ...head });
  } else if (prefix && prefix.system !== wanted.system) {
    const text =
      `<instructions>\nThe standing instructions have changed since this conversation began. These apply now:\n\n` +
      `${wanted.system}</instructions>`;
    await appendIfChanged(recorder, text);
  }
  for (const block of wanted.context ?? []) await appendIfChanged(recorder, block);
  return reset?.reason;
}

/** Declares that the model is offered other tools from now on; nothing where they are the same. */
export async function changeTools(recorder: Recorder, tools: readonly ToolSchema[]): Promise<void> {
  const { prefix, model, provider, toolMode } = recorder.state;
  if (!prefix || model === undefined) return;
  const head = { system: prefix.system, tools, model, provider, toolMode };
  const reset = resetReason(recorder.state, head);
  if (reset) await recordPrefix(recorder, { ...reset, ...head });
}

/** Why the head of a conversation is another one from here on. */
interface Reset {
  readonly reason: string;
  /** For people: "a → b" of models, "+x −y" of tools. */
  readonly detail?: string;
}

/** Declares another head of the conversation. */
export async function recordPrefix(
  recorder: Recorder,
  { tools, provider, toolMode = "official", ...prefix }: Reset & Omit<WantedPrefix, "context">,
): Promise<void> {
  await recorder.record({
    type: "context.prefix",
    ...prefix,
    ...(provider === undefined ? {} : { provider }),
    ...(toolMode === "official" ? {} : { toolMode }),
    tools: tools.map((tool) => ({ ...tool, parameters: { ...tool.parameters } })),
  });
}

function resetReason(
  { prefix, model, provider, toolMode = "official" }: Pick<
    SessionState,
    "prefix" | "model" | "provider" | "toolMode"
  >,
  wanted: WantedPrefix,
): Reset | undefined {
  if (!prefix) return { reason: "start" };
  const tools = JSON.stringify(prefix.tools) === JSON.stringify(wanted.tools)
    ? []
    : [toolChange(prefix.tools, wanted.tools)];
  // The same model at another provider has another cache, and cannot read what the first one signed.
  const moved = provider !== undefined && wanted.provider !== undefined && provider !== wanted.provider;
  if (moved || model !== wanted.model) {
    const [from, to] = moved
      ? [`${provider}/${model}`, `${wanted.provider}/${wanted.model}`]
      : [model ?? "unknown", wanted.model];
    return { reason: "model", detail: [`${from} → ${to}`, ...tools].join("; ") };
  }
  // Tools that are taught as text stand in the system prompt, and earlier calls in the text of replies.
  const wantedMode = wanted.toolMode ?? "official";
  if (toolMode !== wantedMode) {
    return { reason: "tool_mode", detail: [`${toolMode} → ${wantedMode}`, ...tools].join("; ") };
  }
  return tools[0] === undefined ? undefined : { reason: "tools", detail: tools[0] };
}

/** Tools of one server that are named one by one, and other tools. */
const MOST_NAMED = 2;
const MOST_OTHERS = 4;

function toolChange(before: readonly ToolSchema[], after: readonly ToolSchema[]): string {
  const missing = (list: readonly ToolSchema[], from: readonly ToolSchema[]) =>
    list.map(({ name }) => name).filter((name) => !from.some((tool) => tool.name === name));
  const added = counted(missing(after, before), "+");
  const removed = counted(missing(before, after), "−");
  return [...added, ...removed].join(" ") || "other descriptions or another order";
}

/** Names with a sign; of many of one MCP server, or of many others, only their number. */
function counted(names: readonly string[], sign: string): string[] {
  const groups = Map.groupBy(names, (name) => /^mcp__.+?(?=__)/.exec(name)?.[0] ?? "");
  return [...groups].flatMap(([group, own]) => {
    if (own.length <= (group === "" ? MOST_OTHERS : MOST_NAMED)) return own.map((name) => sign + name);
    return [`${sign}${own.length}${group === "" ? "" : ` of ${group.slice("mcp__".length)}`}`];
  });
}

/** Sends a tagged context message unless the latest one with the same tag says the same. */
export async function appendIfChanged(recorder: Recorder, text: string): Promise<void> {
  const tag = text.slice(0, text.indexOf(">") + 1);
  const isTagged = (message: Message) => message.role === "user" && message.content.startsWith(tag);
  const latest = recorder.messages.findLast(isTagged);
  if (latest?.content === text) return;
  await recorder.record({ type: "message.user", content: text, origin: "context" });
}
