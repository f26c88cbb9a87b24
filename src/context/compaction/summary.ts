import {
  costOf,
  type FinishReason,
  type Message,
  type PreparedCall,
  type ProviderErrorKind,
  type ToolCall,
  type Usage,
} from "../../core/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import type { TodoItem } from "../../session/mod.ts";
import { checklist } from "../../tool/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { userText } from "../../util/user_text.ts";
import type { CompactedConversation } from "./options.ts";
import template from "./summary.md" with { type: "text" };
import { attempt } from "../../util/lazy.ts";

/** Text with its middle left out when it is longer than `max` characters. */
function middleCut(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = text.slice(0, Math.floor(max * 0.65)).replace(/[\uD800-\uDBFF]$/, "");
  const tail = text.slice(text.length - Math.floor(max * 0.3)).replace(/^[\uDC00-\uDFFF]/, "");
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`;
}

function messageText(message: Message, max: number): string {
  if (message.role === "tool") return `[result of ${message.name}]\n${middleCut(message.content, max)}`;
  if (message.role === "user") return `[user]\n${middleCut(message.content, max)}`;
  const calls = (message.calls ?? []).map((call) =>
    `[call] ${call.name} ${middleCut(call.arguments, Math.floor(max / 2))}`
  );
  return ["[assistant]", middleCut(message.content, max), ...calls].filter((part) => part !== "").join("\n");
}

/** The messages as texts of at most `size` characters each, cut between messages. */
function transcriptParts(messages: readonly Message[], size: number): string[] {
  const parts: string[] = [];
  let open: string[] = [];
  let length = 0;
  for (const message of messages) {
    const text = messageText(message, Math.floor(size / 4));
    if (length + text.length > size && open.length > 0) {
      parts.push(open.join("\n\n"));
      open = [];
      length = 0;
    }
    open.push(text);
    length += text.length + 2;
  }
  if (open.length > 0) parts.push(open.join("\n\n"));
  return parts;
}

/**
 * The same messages with tool outputs and call arguments shortened, for a request that would be too long
 * otherwise.
 */
function shortened(messages: readonly Message[], max: number): Message[] {
  return messages.map((message): Message => {
    if (message.role === "tool" && message.content.length > max) {
      return {
        role: "tool",
        callId: message.callId,
        name: message.name,
        content: middleCut(message.content, max),
      };
    }
    if (message.role === "user" && message.content.length > 4 * max) {
      return { role: "user", content: middleCut(message.content, 4 * max) };
    }
    if (message.role === "assistant" && message.calls?.some((call) => call.arguments.length > max)) {
      const calls = message.calls.map((call) => ({
        ...call,
        arguments: shortArguments(call.arguments, max),
      }));
      return { ...message, calls };
    }
    return message;
  });
}

/** Arguments that are still JSON, with long texts cut. */
function shortArguments(json: string, max: number): string {
  const cut = (_key: string, value: unknown) => typeof value === "string" ? middleCut(value, max) : value;
  return attempt(() => JSON.stringify(JSON.parse(json, cut))) ?? "{}";
}

/** The facts about removed messages that need no model. */
interface Extract {
  readonly changed: readonly string[];
  readonly read: readonly string[];
  readonly commands: readonly string[];
  readonly errors: readonly string[];
  /** The assistant's latest own words. */
  readonly said: readonly string[];
}

const MAX_FILES = 60;
const MAX_COMMANDS = 30;
const MAX_ERRORS = 15;
const MAX_SAID = 6;
const LINE = 200;
const SAID = 700;

/** Finds out what a call of the conversation was about. */
type DescribeCall = (call: ToolCall) => PreparedCall | undefined;

/** Collects files, commands and errors from the calls and results, newest last, without repeats. */
function extract(messages: readonly Message[], describe: DescribeCall): Extract {
  const changed = new Set<string>();
  const read = new Set<string>();
  const commands: string[] = [];
  const errors = new Set<string>();
  const said: string[] = [];
  const open = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "assistant") {
      if (message.content.trim() !== "") said.push(middleCut(message.content.trim(), SAID));
      for (const call of message.calls ?? []) {
        const { reads = [], writes = [], command } = describe(call) ?? {};
        for (const path of reads) if (path !== ".") renew(read, path);
        for (const path of writes) renew(changed, path);
        if (command) {
          open.set(call.id, oneLine(command.line, LINE));
          commands.push(oneLine(command.line, LINE));
        }
      }
    } else if (message.role === "tool") {
      const problem = problemOf(message.content);
      if (problem) renew(errors, `${open.get(message.callId) ?? message.name}: ${problem}`);
    }
  }
  for (const path of changed) read.delete(path);
  return {
    changed: [...changed].slice(-MAX_FILES),
    read: [...read].slice(-MAX_FILES),
    commands: [...new Set(commands.reverse())].slice(0, MAX_COMMANDS).reverse(),
    errors: [...errors].slice(-MAX_ERRORS),
    said: said.slice(-MAX_SAID),
  };
}

/** The extract as the summary of last resort. */
function extractText(found: Extract): string {
  const list = (title: string, items: readonly string[]) =>
    items.length === 0 ? [] : [`${title}:\n${items.map((item) => `- ${item}`).join("\n")}`];
  const parts = [
    ...list("Files changed", found.changed),
    ...list("Files read", found.read),
    ...list("Commands run", found.commands),
    ...list("Errors seen", found.errors),
    ...list("Said along the way", found.said.map((text) => text.replace(/\n+/g, " / "))),
  ];
  return parts.length === 0 ? "Nothing but passing remarks was left out." : parts.join("\n\n");
}

/** A failure as one line: its own message, or the last words before a bad exit. */
function problemOf(content: string): string | undefined {
  if (/^(?:error|blocked):/.test(content)) return oneLine(content, LINE);
  const exit = /\[exit code (\d+)\]/.exec(content.slice(-200));
  if (!exit || exit[1] === "0") return undefined;
  const last = content.replace(/\[exit code \d+\][\s\S]*$/, "").trimEnd().slice(-LINE);
  return oneLine(`exit code ${exit[1]}: ${last}`, LINE);
}

function renew(set: Set<string>, item: string): void {
  set.delete(item);
  set.add(item);
}

interface SummaryParts {
  /** Written by the model; absent: only what can be read off the messages. */
  readonly summary?: string;
  readonly removed: readonly Message[];
  readonly describe: DescribeCall;
  readonly todos: readonly TodoItem[];
  /** User turns up to this many characters stay verbatim. */
  readonly keepBelow: number;
  readonly archive?: string;
  readonly maxChars: number;
}

const TAG = "compaction-summary";
const OPENING = `<${TAG}>`;

/** Reports whether a message is the result of a compaction. */
export function isSummary(message: Message): boolean {
  return message.role === "user" && message.content.startsWith(OPENING);
}

/** The message that takes the place of the removed ones. */
export function summaryMessage(parts: SummaryParts): string {
  const found = extract(parts.removed, parts.describe);
  const changed = found.changed.length > 0 && parts.summary !== undefined
    ? `Files changed: ${found.changed.join(", ")}`
    : "";
  const where = parts.archive ? ` The originals are in ${parts.archive}.` : "";
  const body = [
    "Earlier replies and tool results were replaced by this summary to make room; the user's own messages stay word for " +
    `word.${where}`,
    parts.summary === undefined
      ? middleCut(extractText(found), parts.maxChars)
      : middleCut(parts.summary, parts.maxChars),
    parts.summary === undefined ? earlierSummaries(parts) : "",
    changed,
    todoText(parts.todos),
    longMessages(parts),
  ];
  return `${OPENING}\n${body.filter((part) => part !== "").join("\n\n")}\n</${TAG}>`;
}

function todoText(todos: readonly TodoItem[]): string {
  return todos.length === 0 ? "" : `Todo list:\n${checklist(todos)}`;
}

/** Keeps an earlier summary that could not be merged, at least its end. */
function earlierSummaries({ removed, maxChars }: SummaryParts): string {
  const texts = removed.filter(isSummary).map((message) =>
    message.content.slice(OPENING.length).replace(`</${TAG}>`, "").trim()
  );
  return texts.length === 0 ? "" : `Earlier summaries:\n${middleCut(texts.join("\n\n"), maxChars)}`;
}

/**
 * The user's own text next to the files and pastes that made a message too long to be kept: a fact in there
 * would be lost with the bulk.
 */
function longMessages({ removed, keepBelow }: SummaryParts): string {
  const words = removed.flatMap((message) => {
    if (message.role !== "user" || isSummary(message) || message.content.length <= keepBelow) return [];
    return [middleCut(userText(message.content).trim(), Math.max(keepBelow, 600))];
  });
  return words.length === 0
    ? ""
    : `Long messages of the user, without attachments:\n${
      words.map((text) => `<user>\n${text}\n</user>`).join("\n")
    }`;
}

export interface SummaryTask {
  readonly provider: Provider;
  readonly conversation: CompactedConversation;
  readonly removed: readonly Message[];
  readonly limit: number;
  /** Tokens a request may have; undefined when not known. */
  readonly window: number | undefined;
  /** Tokens of the conversation as it is. */
  readonly tokens: number;
  readonly hint?: string;
  readonly replacesSummaries: boolean;
}

type SummaryMethod = "summary" | "summary of shortened outputs" | "summary in parts";

export interface SummaryOutcome {
  /** Absent when no request gave a summary. */
  readonly text?: string;
  readonly method?: SummaryMethod;
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
  if (short.text !== undefined) return summarized(short.text, "summary of shortened outputs", problem);
  problem = short.problem ?? problem;
  if (signal.aborted || short.outage) return { ...short, ...(problem ? { problem } : {}) };
  const parts = await inParts(task, prompt, signal);
  return parts.text === undefined ? parts : summarized(parts.text, "summary in parts", problem);
}

function summarized(text: string, method: SummaryMethod, problem: string | undefined): SummaryOutcome {
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

/** One request; its usage is recorded outside of the conversation. */
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

/** Reasoning counts as output too, so the limit is above the size that the summary should have. */
function outputLimit({ limit, window, tokens, provider }: SummaryTask): number {
  const wanted = Math.min(limit * 2 + 1_000, provider.model.maxOutputTokens ?? Infinity);
  return window === undefined
    ? wanted
    : Math.max(Math.min(limit, wanted), Math.min(wanted, window - tokens - 300));
}
