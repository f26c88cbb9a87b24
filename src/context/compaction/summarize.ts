import template from "./summary.md" with { type: "text" };
import {
  costOf,
  type FinishReason,
  type Message,
  type ProviderErrorKind,
  type Usage,
} from "../../core/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import type { CompactedConversation } from "./options.ts";
import { shortened, transcriptParts } from "./transcript.ts";

export interface SummaryTask {
  readonly provider: Provider;
  readonly conversation: CompactedConversation;
  /** Messages that will be gone. */
  readonly removed: readonly Message[];
  /** Tokens of the summary. */
  readonly limit: number;
  /** Tokens a request may have; undefined when not known. */
  readonly window: number | undefined;
  /** Tokens of the conversation as it is. */
  readonly tokens: number;
  /** The user's wish for what is kept. */
  readonly hint?: string;
  /** Earlier summaries go as well. */
  readonly replacesSummaries: boolean;
}

export type SummaryMethod = "summary" | "summary of shortened outputs" | "summary in parts";

export interface SummaryOutcome {
  /** Absent when no request gave a summary. */
  readonly text?: string;
  readonly method?: SummaryMethod;
  /** Problems met on the way. */
  readonly problem?: string;
  /** The server could not be reached or was busy: another attempt later may work. */
  readonly outage?: boolean;
}

const OUTAGES: ReadonlySet<ProviderErrorKind> = new Set([
  "server",
  "connection",
  "timeout",
  "rate_limit",
  "auth",
]);

/** Characters an output keeps in a request that has to be shorter. */
const SHORT_OUTPUT = 1_200;
const MAX_PARTS = 6;
const CHARS_PER_TOKEN = 3;

/**
 * Has the model write the summary. The first request is the conversation as it is plus one message, so all of
 * it is read from the cache; where that is too long, outputs are shortened, and then the parts are summarised
 * one by one.
 */
export async function summarize(task: SummaryTask, signal: AbortSignal): Promise<SummaryOutcome> {
  const { messages } = task.conversation.state;
  const prompt = promptText(task);
  const closing: Message = { role: "user", content: prompt };
  const fits = task.window === undefined || task.tokens + task.limit + 300 <= task.window;
  let problem: string | undefined;
  if (fits) {
    const whole = await ask(task, [...messages, closing], prompt, signal);
    if (whole.text !== undefined) return { text: whole.text, method: "summary" };
    if (signal.aborted || whole.outage) return whole;
    problem = whole.problem;
  }
  const short = await ask(task, [...shortened(messages, SHORT_OUTPUT), closing], prompt, signal);
  if (short.text !== undefined) return told(short.text, "summary of shortened outputs", problem);
  problem = short.problem ?? problem;
  if (signal.aborted || short.outage) return { ...short, ...(problem ? { problem } : {}) };
  const parts = await inParts(task, prompt, signal);
  return parts.text === undefined ? parts : told(parts.text, "summary in parts", problem);
}

function told(text: string, method: SummaryMethod, problem: string | undefined): SummaryOutcome {
  return { text, method, ...(problem === undefined ? {} : { problem }) };
}

async function inParts(task: SummaryTask, prompt: string, signal: AbortSignal): Promise<SummaryOutcome> {
  const size = Math.max(4_000, Math.floor((task.window ?? task.tokens) * 0.4 * CHARS_PER_TOKEN));
  let parts = transcriptParts(task.removed, size);
  if (parts.length > MAX_PARTS) parts = transcriptParts(shortened(task.removed, SHORT_OUTPUT / 2), size);
  const texts: string[] = [];
  for (const [i, part] of parts.slice(-MAX_PARTS).entries()) {
    const content = `<transcript part="${i + 1}">\n${part}\n</transcript>\n\n${prompt}`;
    const reply = await ask(task, [{ role: "user", content }], `[part ${i + 1}]\n${prompt}`, signal);
    if (reply.text === undefined) return reply;
    texts.push(reply.text);
  }
  return { text: texts.join("\n\n") };
}

function promptText(task: SummaryTask): string {
  const fields: Readonly<Record<string, string>> = {
    words: String(Math.max(80, Math.floor(task.limit * 0.6))),
    earlier: task.replacesSummaries
      ? "\nEarlier summaries (<compaction-summary>) go as well: carry over everything in them that still matters.\n"
      : "",
    hint: task.hint ? `\nThe user asks to keep in particular: ${task.hint}\n` : "",
  };
  return template.replace(/\{(\w+)\}/g, (_, name: string) => fields[name] ?? "").trim();
}

interface Heard {
  text: string;
  usage?: Usage;
  finish?: FinishReason;
  error?: { readonly kind: ProviderErrorKind; readonly message: string };
}

/** One request; what was said and spent is recorded beside the conversation. */
async function ask(
  task: SummaryTask,
  messages: readonly Message[],
  recorded: string,
  signal: AbortSignal,
): Promise<SummaryOutcome> {
  const { provider, conversation } = task;
  const started = performance.now();
  await conversation.record({ type: "message.start", step: 0, model: provider.model.id });
  const heard = await listen(task, messages, signal);
  const text = heard.text.trim();
  if (text !== "" || heard.usage) {
    const cost = heard.usage && costOf(heard.usage, provider.model.price);
    await conversation.record({ type: "message.user", content: recorded, origin: "summary" });
    await conversation.record({
      type: "message.end",
      step: 0,
      model: provider.model.id,
      content: text,
      ...(heard.finish ? { finish: heard.finish } : {}),
      ...(heard.error ? { interrupted: true } : {}),
      ...(heard.usage ? { usage: heard.usage } : {}),
      ...(cost ? { cost } : {}),
      durationMs: Math.round(performance.now() - started),
    });
  }
  if (heard.error) {
    return { problem: heard.error.message, outage: OUTAGES.has(heard.error.kind) };
  }
  if (text === "") return { problem: "the model answered the request for a summary with nothing" };
  return { text };
}

async function listen(task: SummaryTask, messages: readonly Message[], signal: AbortSignal): Promise<Heard> {
  const { provider, conversation } = task;
  let heard: Heard = { text: "" };
  const request = {
    prefix: conversation.prefix,
    messages,
    toolChoice: "none" as const,
    maxOutputTokens: outputLimit(task),
  };
  for await (const chunk of provider.stream(request, signal)) {
    if (chunk.type === "text") heard.text += chunk.text;
    else if (chunk.type === "usage") heard.usage = chunk.usage;
    else if (chunk.type === "done") heard.finish = chunk.reason;
    else if (chunk.type === "error") heard.error = chunk.error;
    else if (chunk.type === "retry" && chunk.discarded) heard = { text: "" };
  }
  return heard;
}

/** Reasoning counts as output too, so there is more room than the summary should take. */
function outputLimit({ limit, window, tokens, provider }: SummaryTask): number {
  const wanted = Math.min(limit * 2 + 1_000, provider.model.maxOutputTokens ?? Infinity);
  return window === undefined
    ? wanted
    : Math.max(Math.min(limit, wanted), Math.min(wanted, window - tokens - 300));
}
