import {
  argumentsLine,
  type Chunk,
  type Cost,
  costOf,
  type FinishReason,
  type NewEventOf,
  type ProviderError,
  type ProviderPart,
  type Sayings,
  type ToolCall,
  type Usage,
} from "../core/mod.ts";
import { oneLine } from "../util/terminal_text.ts";
import { after } from "../util/timer.ts";
import type { AgentDeps } from "./ports.ts";

/** One model reply. Without an error the message is in the conversation. */
export interface Reply {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly finish?: FinishReason;
  readonly usage?: Usage;
  readonly cost?: Cost;
  readonly error?: ProviderError;
  /** Something of it was shown, whether it counts or not. */
  readonly shown: boolean;
}

interface Draft {
  text: string;
  reasoning: string;
  calls: ToolCall[];
  parts: ProviderPart[];
  usage?: Usage;
  finish?: FinishReason;
  error?: ProviderError;
  shown: boolean;
}

function emptyDraft(): Draft {
  return { text: "", reasoning: "", calls: [], parts: [], shown: false };
}

/** Streams one reply to the readers and records it as one message. */
export async function respond(parts: AgentDeps, step: number, signal: AbortSignal): Promise<Reply> {
  const { provider, conversation } = parts;
  const now = parts.now ?? performance.now.bind(performance);
  const started = now();
  await conversation.record({ type: "message.start", step, model: provider.model.id });
  const draft = await collect(parts, step, signal);
  const cost = draft.usage && costOf(draft.usage, provider.model.price);
  const common = { step, model: provider.model.id, durationMs: Math.round(now() - started) };
  const spent = { ...(draft.usage ? { usage: draft.usage } : {}), ...(cost ? { cost } : {}) };
  if (!draft.error && (draft.text !== "" || draft.calls.length > 0)) {
    await conversation.record(messageEnd(draft, { ...common, ...spent }));
  } else if (draft.text !== "") {
    await conversation.record({
      type: "message.end",
      ...common,
      content: draft.text,
      interrupted: true,
      ...spent,
    });
  } else if (draft.usage) {
    // Nothing was said, and it was paid for all the same.
    await conversation.record({ type: "message.end", ...common, content: "", ...spent });
  }
  return {
    text: draft.text,
    calls: draft.error ? [] : draft.calls,
    shown: draft.shown,
    ...(draft.finish ? { finish: draft.finish } : {}),
    ...(draft.usage ? { usage: draft.usage } : {}),
    ...(cost ? { cost } : {}),
    ...(draft.error ? { error: draft.error } : {}),
  };
}

type MessageEnd = NewEventOf<"message.end">;

function messageEnd(
  draft: Draft,
  common: Pick<MessageEnd, "step" | "model" | "durationMs" | "usage" | "cost">,
): MessageEnd {
  return {
    type: "message.end",
    step: common.step,
    model: common.model,
    content: draft.text,
    ...(draft.reasoning ? { reasoning: draft.reasoning } : {}),
    ...(draft.calls.length > 0 ? { calls: draft.calls } : {}),
    ...(draft.parts.length > 0 ? { parts: draft.parts } : {}),
    ...(draft.finish ? { finish: draft.finish } : {}),
    ...(common.usage ? { usage: common.usage } : {}),
    ...(common.cost ? { cost: common.cost } : {}),
    durationMs: common.durationMs,
  };
}

/**
 * Once the reply comes, or when it came faster than this, there is no time to spare for what the next step
 * may need.
 */
const WARM_AFTER_MS = 40;

async function collect(parts: AgentDeps, step: number, signal: AbortSignal): Promise<Draft> {
  const { provider, conversation } = parts;
  let draft = emptyDraft();
  const cancelWarmUp = step === 1 && parts.warm ? after(WARM_AFTER_MS, parts.warm) : undefined;
  const request = {
    prefix: conversation.prefix,
    messages: conversation.messages,
    ...(parts.toolChoice ? { toolChoice: parts.toolChoice } : {}),
    ...(parts.onCall ? { onCall: parts.onCall } : {}),
  };
  for await (const chunk of provider.stream(request, signal)) {
    if (chunk.type !== "notice") cancelWarmUp?.();
    switch (chunk.type) {
      case "text":
      case "reasoning": {
        draft[chunk.type] += chunk.text;
        draft.shown = true;
        const behind = conversation.record({ type: "message.delta", channel: chunk.type, text: chunk.text });
        if (behind) await behind;
        break;
      }
      case "tool_call":
        draft.calls.push(chunk.call);
        break;
      case "part":
        draft.parts.push(chunk.part);
        break;
      case "remote_call":
        await conversation.record(remoteCallNotice(chunk));
        break;
      case "usage":
        draft.usage = chunk.usage;
        break;
      case "retry":
        if (chunk.discarded) draft = { ...emptyDraft(), shown: true };
        await conversation.record({ ...chunk, type: "message.retry" });
        break;
      case "notice":
        await conversation.record(chunk);
        break;
      case "done":
        draft.finish = chunk.reason;
        break;
      case "error":
        draft.error = chunk.error;
    }
  }
  return draft;
}

/** Characters that are shown of what a call was given, and of what it gave. */
const SHOWN = { args: 200, output: 300 };

/** Tells people of a call that the model's server has made: it is over, and stays with the reply. */
function remoteCallNotice(call: Extract<Chunk, { type: "remote_call" }>): NewEventOf<"notice"> {
  const server = oneLine(call.server, 60);
  const tool = oneLine(call.tool, 100);
  const args = oneLine(argumentsLine(call.arguments), SHOWN.args);
  const output = oneLine(call.output, SHOWN.output) || "(nothing)";
  const { failed } = call;
  const what = tool === "" ? "could not be asked for its tools" : `${tool}(${args})`;
  const said: Sayings = [[failed ? "remoteFailed" : "remoteCalled", server, tool, args, output]];
  return {
    type: "notice",
    level: failed ? "warning" : "info",
    code: "mcp",
    text: failed ? `${server} failed: ${what}: ${output}` : `${server} was called: ${what}: ${output}`,
    said,
  };
}
