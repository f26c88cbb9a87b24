import type { Message, Prefix, ToolSchema } from "../core/mod.ts";
import type { Recorder } from "./recorder.ts";

/** The head that this process would send of a new conversation. */
export interface WantedPrefix {
  readonly system: string;
  readonly tools: readonly ToolSchema[];
  readonly model: string;
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
  const { prefix, model } = recorder.state;
  const reset = resetReason(prefix, model, wanted);
  if (reset) {
    const { system, tools, model } = wanted;
    await recordPrefix(recorder, { ...reset, system, tools, model });
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
  const { prefix, model } = recorder.state;
  if (!prefix || model === undefined) return;
  const reset = resetReason(prefix, model, { system: prefix.system, tools, model });
  if (reset) await recordPrefix(recorder, { ...reset, system: prefix.system, tools, model });
}

async function recordPrefix(
  recorder: Recorder,
  { tools, ...prefix }: {
    reason: string;
    detail?: string;
    system: string;
    tools: readonly ToolSchema[];
    model: string;
  },
): Promise<void> {
  await recorder.record({
    type: "context.prefix",
    ...prefix,
    tools: tools.map((tool) => ({ ...tool, parameters: { ...tool.parameters } })),
  });
}

function resetReason(
  prefix: Prefix | undefined,
  model: string | undefined,
  wanted: WantedPrefix,
): { reason: string; detail?: string } | undefined {
  if (!prefix) return { reason: "start" };
  const tools = JSON.stringify(prefix.tools) === JSON.stringify(wanted.tools)
    ? []
    : [toolChange(prefix.tools, wanted.tools)];
  if (model !== wanted.model) {
    return { reason: "model", detail: [`${model ?? "unknown"} → ${wanted.model}`, ...tools].join("; ") };
  }
  return tools[0] === undefined ? undefined : { reason: "tools", detail: tools[0] };
}

/** Tools of one server that are named one by one. */
const MOST_NAMED = 2;

function toolChange(before: readonly ToolSchema[], after: readonly ToolSchema[]): string {
  const missing = (list: readonly ToolSchema[], from: readonly ToolSchema[]) =>
    list.map(({ name }) => name).filter((name) => !from.some((tool) => tool.name === name));
  const added = counted(missing(after, before), "+");
  const removed = counted(missing(before, after), "−");
  return [...added, ...removed].join(" ") || "other descriptions or another order";
}

/** Names with a sign; of many of one MCP server only their number. */
function counted(names: readonly string[], sign: string): string[] {
  const groups = Map.groupBy(names, (name) => /^mcp__.+?(?=__)/.exec(name)?.[0] ?? name);
  return [...groups].flatMap(([group, own]) =>
    own.length > MOST_NAMED
      ? [`${sign}${own.length} of ${group.slice("mcp__".length)}`]
      : own.map((name) => sign + name)
  );
}

/** Sends a tagged context message unless the latest one with the same tag says the same. */
export async function appendIfChanged(recorder: Recorder, text: string): Promise<void> {
  const tag = text.slice(0, text.indexOf(">") + 1);
  const isTagged = (message: Message) => message.role === "user" && message.content.startsWith(tag);
  const latest = recorder.messages.findLast(isTagged);
  if (latest?.content === text) return;
  await recorder.record({ type: "message.user", content: text, origin: "context" });
}
