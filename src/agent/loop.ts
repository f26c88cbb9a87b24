import {
  addSpending,
  argumentsLine,
  type Chunk,
  type Cost,
  costOf,
  detailFields,
  type FinishReason,
  mergeSpending,
  message,
  type NewEventOf,
  newNotice,
  NO_SPENDING,
  type ProviderError,
  type ProviderPart,
  type Spending,
  type ToolCall,
  totalCost,
  type Usage,
  type UserInput,
  writtenFields,
} from "../core/mod.ts";
import { loadTextCalls } from "../provider/mod.ts";
import type { Tool } from "../tool/mod.ts";
import { defined, isRecord, parseJson } from "../util/json.ts";
import { oneLine } from "../util/terminal_text.ts";
import { after } from "../util/timer.ts";
import { dispatch, type RepeatedFailures } from "./dispatch.ts";
import {
  type AgentDeps,
  costStop,
  providerFailure,
  type Stop,
  stopped,
  StopReason,
  type TurnOutcome,
} from "./ports.ts";

export const SUBMIT_TOOL: Tool = {
  name: "submit",
  description: "Hand in the final answer and end the task.",
  schema: {
    type: "object",
    properties: { answer: { type: "string", description: "The complete final answer" } },
    required: ["answer"],
    additionalProperties: false,
  },
  readOnly: true,
  execute: () => Promise.resolve({ content: "Answer received", summary: "answer handed in" }),
};

const CONTINUE_TEXT = "Continue with the task. When it is finished, call the submit tool with your answer.";

/** The answer handed in by the first call of a message, if that is what it does. */
function submittedAnswer(calls: readonly ToolCall[]): string | undefined {
  const first = calls[0];
  if (first?.name !== SUBMIT_TOOL.name) return undefined;
  const args = parseJson(first.arguments);
  return isRecord(args) && "answer" in args ? String(args.answer) : undefined;
}

interface Progress {
  steps: number;
  spending: Spending;
  answer: string;
}

/**
 * Runs one turn: asks the model, runs its calls, and repeats until it answers or a limit is reached.
 *
 * Contract: never rejects for anything the model, the provider or a tool does; records `turn.start` …
 * `turn.end`.
 */
export async function runTurn(
  deps: AgentDeps,
  input: UserInput,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const { conversation, limits } = deps;
  const now = deps.now ?? performance.now.bind(performance);
  const started = now();
  const turn = conversation.nextTurn;
  const progress: Progress = { steps: 0, spending: NO_SPENDING, answer: "" };
  deps.checkpointer?.begin(turn);
  await conversation.record({ type: "turn.start", turn });
  await conversation.record({
    type: "message.user",
    ...defined({ id: input.id }),
    content: [...(input.references ?? []), input.text].join("\n\n"),
    ...(input.images?.length ? { images: [...input.images] } : {}),
    origin: input.origin ?? "user",
  });
  for (const content of [input.reminder, deps.turnPrompt?.(turn, deps.provider.model)]) {
    if (content) await conversation.record({ type: "message.user", content, origin: "reminder" });
  }
  const deadline = withDeadline(limits.timeMs, signal);
  const stop = await steps(deps, progress, deadline.signal);
  deadline.clear();
  takeSpent(deps, progress);
  const cost = totalCost(progress.spending, deps.provider.model.price?.currency);
  const outcome: TurnOutcome = {
    ...stop,
    answer: progress.answer,
    steps: progress.steps,
    usage: progress.spending.usage,
    ...(cost ? { cost } : {}),
    durationMs: Math.max(0, Math.round(now() - started - conversation.waitedForPerson(started))),
  };
  if (stop.reason !== "done") {
    await conversation.record({ type: "error", code: stop.reason, text: stop.detail ?? stop.reason });
  }
  await conversation.record({ type: "turn.end", turn, ...outcome });
  await Promise.all([conversation.sync(), deps.checkpointer?.end()]);
  return outcome;
}

async function steps(deps: AgentDeps, progress: Progress, signal: AbortSignal): Promise<Stop> {
  const { conversation, limits } = deps;
  const failures: RepeatedFailures = new Map();
  const review = new Review(deps);
  let emptyAnswers = 0;
  for (;;) {
    for (const { text, id } of deps.takeSteering?.() ?? []) {
      await conversation.record({ type: "message.user", ...defined({ id }), content: text, origin: "steer" });
    }
    if (signal.aborted) return stopped(signal);
    takeSpent(deps, progress);
    const overspent = limits.cost === undefined ? undefined : costStop(progress.spending, limits.cost);
    if (overspent) return overspent;
    await deps.betweenSteps?.(signal);
    const reply = await respond(deps, progress.steps + 1, signal);
    const isRetried = reply.error !== undefined && await recovers(deps, reply, signal);
    // A request that was refused has cost nothing, and the one that follows can be counted.
    if (!isRetried || reply.usage) progress.spending = addSpending(progress.spending, reply);
    if (isRetried) continue;
    if (reply.error) return providerFailure(reply.error, signal);
    if (reply.text !== "") progress.answer = reply.text;
    if (reply.calls.length === 0) {
      if (reply.text === "") {
        const end = endOfEmpty(reply.finish, ++emptyAnswers);
        if (end) return end;
        continue;
      }
      if (!deps.submit) {
        if (await review.asksAboutCall(reply.text)) continue;
        const end = endOfAnswer(reply.finish);
        const judged = end.reason === "done" ? await review.of(reply.text, signal) : end;
        if (judged) return judged;
        continue;
      }
      await conversation.record({ type: "message.user", content: CONTINUE_TEXT, origin: "continue" });
      progress.steps += 1;
    } else {
      emptyAnswers = 0;
      const answer = deps.submit ? submittedAnswer(reply.calls) : undefined;
      if (answer !== undefined) progress.answer = answer;
      const batch = await dispatch(deps, reply.calls, failures, signal);
      progress.steps += 1;
      const judged = answer === undefined ? undefined : await review.of(answer, signal);
      if (judged) return judged;
      if (signal.aborted) return stopped(signal);
      if (batch.blocked) return { reason: "blocked", detail: batch.blocked };
      if (batch.stuck) return { reason: "failed", detail: batch.stuck };
      if (batch.ended) {
        progress.answer = batch.ended.answer ?? progress.answer;
        return { reason: "done" };
      }
    }
    if (limits.maxSteps && progress.steps >= limits.maxSteps) {
      const text = progress.steps === 1
        ? message`Stopped after 1 step: step limit reached`
        : message`Stopped after ${progress.steps} steps: step limit reached`;
      return { reason: "limit", limit: "steps", ...detailFields(text) };
    }
  }
}

function takeSpent({ takeSpent }: AgentDeps, progress: Progress): void {
  for (const spent of takeSpent?.() ?? []) progress.spending = mergeSpending(progress.spending, spent);
}

/** Recovers from a failed request with a shorter conversation or another model. */
async function recovers(deps: AgentDeps, { error, shown }: Reply, signal: AbortSignal): Promise<boolean> {
  if (!error || signal.aborted) return false;
  if (error.kind === "context_length" && await deps.onContextOverflow?.(signal)) return true;
  return !shown && !signal.aborted && await deps.onFailure?.(error, deps.provider) === true;
}

/** Judges the form of answers: the first that is wrong goes back to the model, the second ends the turn. */
class Review {
  readonly #deps: AgentDeps;
  #returned = false;
  #asked = false;

  constructor(deps: AgentDeps) {
    this.#deps = deps;
  }

  /** Asks the model, once in a turn, about an unexecuted call in its answer. Returns whether it did. */
  async asksAboutCall(answer: string): Promise<boolean> {
    const content = await unexecutedCall(this.#deps, answer);
    if (content === undefined || this.#asked) return false;
    this.#asked = true;
    await this.#deps.conversation.record({ type: "message.user", content, origin: "continue" });
    return true;
  }

  /** Returns how an answer ends the turn; undefined when another one is awaited. */
  async of(answer: string, signal: AbortSignal): Promise<Stop | undefined> {
    const { answerForm, conversation } = this.#deps;
    const problem = await answerForm?.problem(answer, signal);
    if (signal.aborted) return stopped(signal);
    if (problem === undefined) return await this.#others(answer, signal);
    if (this.#returned) {
      return { reason: "limit", limit: "repairs", detail: `Stopped after one repair: ${problem}` };
    }
    this.#returned = true;
    const content = `${problem}\nAnswer again: the corrected JSON value and nothing else.`;
    await conversation.record({ type: "message.user", content, origin: "continue" });
  }

  /** Lets extensions decide whether the turn may end. */
  async #others(answer: string, signal: AbortSignal): Promise<Stop | undefined> {
    const { reviewAnswer, conversation } = this.#deps;
    const found = await reviewAnswer?.(answer, signal);
    if (signal.aborted) return stopped(signal);
    if (typeof found !== "string") return found ?? { reason: "done" };
    await conversation.record({ type: "message.user", content: found, origin: "continue" });
  }
}

/** Returns how a reply without text and calls ends the turn; undefined: the model is to be asked again. */
function endOfEmpty(finish: string | undefined, times: number): Stop | undefined {
  const end = endOfAnswer(finish);
  // Thoughts that filled the limit, or were filtered, would do so again.
  if (end.reason !== "done") return end;
  return times < 2 ? undefined : {
    reason: "provider",
    ...detailFields(message`The model returned an empty answer twice; try again or use another model`),
  };
}

function endOfAnswer(finish: string | undefined): Stop {
  if (finish === "content_filter") {
    return {
      reason: "provider",
      ...detailFields(message`The provider's content filter ended the answer`),
    };
  }
  if (finish === "length") {
    return {
      reason: "failed",
      ...detailFields(message`The answer was cut at the model's output limit; raise max_output_tokens`),
    };
  }
  return { reason: "done" };
}

/** The signal of a turn: the caller's, or its time limit. `clear` stops the timer. */
function withDeadline(timeMs: number | undefined, parent: AbortSignal) {
  // Even clearing no timer would load the timer module, which takes milliseconds.
  if (!timeMs) return { signal: parent, clear() {} };
  const limit = new AbortController();
  const detail = message`Stopped after ${timeMs / 1000} s: time limit reached`;
  const timer = setTimeout(() => limit.abort(new StopReason("limit", detail)), timeMs);
  return { signal: AbortSignal.any([parent, limit.signal]), clear: () => clearTimeout(timer) };
}

/**
 * Looks for a call in an answer that was not executed. Warns the user when the model's server did not
 * recognise one; returns the message to a model that writes its calls as text and has put one where it does
 * not count.
 */
async function unexecutedCall(deps: AgentDeps, answer: string): Promise<string | undefined> {
  const { conversation, provider } = deps;
  // Most answers have no sign of a call, and need not wait for the code that reads them.
  if (provider.model.toolMode === "none" || !/```|~~~|[<{[]/.test(answer)) return undefined;
  const tools = new Map(conversation.prefix.tools.map((tool) => [tool.name, tool]));
  const { fencedCalls, readTextCalls } = await loadTextCalls();
  if (provider.model.toolMode === "pseudo") {
    const [call] = fencedCalls(answer, tools);
    return call &&
      `The call of ${call.name} is in a code fence, so it was not executed. If you meant it, ` +
        "write it again as plain lines without a fence; else repeat your answer without it.";
  }
  const [call] = readTextCalls(answer, tools);
  if (!call) return undefined;
  await conversation.record(
    newNotice(
      "warning",
      "text-call",
      message`The model wrote a call of ${call.name} as text, which is not executed; if that was its intention, set tool_mode = "pseudo" for provider "${provider.name}"`,
    ),
  );
  return undefined;
}

/** One model reply. Without an error the message is in the conversation. */
interface Reply {
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
async function respond(deps: AgentDeps, step: number, signal: AbortSignal): Promise<Reply> {
  const { provider, conversation } = deps;
  const now = deps.now ?? performance.now.bind(performance);
  const started = now();
  await conversation.record({ type: "message.start", step, model: provider.model.id });
  const draft = await collect(deps, step, signal);
  const cost = draft.usage && costOf(draft.usage, provider.model.price);
  const isWhole = !draft.error && (draft.text !== "" || draft.calls.length > 0);
  // What broke off has its text alone. A reply without any was paid for all the same.
  if (isWhole || draft.text !== "" || draft.usage) {
    await conversation.record({
      type: "message.end",
      step,
      model: provider.model.id,
      content: draft.text,
      ...(isWhole ? contentOf(draft) : {}),
      ...(!isWhole && draft.text !== "" ? { interrupted: true } : {}),
      ...(draft.usage ? { usage: draft.usage } : {}),
      ...(cost ? { cost } : {}),
      durationMs: Math.round(now() - started),
    });
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

/** The fields of a message in addition to its text. */
function contentOf({ reasoning, calls, parts, finish }: Draft) {
  return {
    ...(reasoning ? { reasoning } : {}),
    ...(calls.length > 0 ? { calls } : {}),
    ...(parts.length > 0 ? { parts } : {}),
    ...(finish ? { finish } : {}),
  };
}

/**
 * Once the reply comes, or when it came faster than this, there is no time to spare for what the next step
 * may need.
 */
const WARM_AFTER_MS = 40;

async function collect(deps: AgentDeps, step: number, signal: AbortSignal): Promise<Draft> {
  const { provider, conversation } = deps;
  let draft = emptyDraft();
  const cancelWarmUp = step === 1 && deps.warm ? after(WARM_AFTER_MS, deps.warm) : undefined;
  const request = {
    prefix: conversation.prefix,
    messages: conversation.messages,
    ...(deps.toolChoice ? { toolChoice: deps.toolChoice } : {}),
    announceCalls: true as const,
  };
  const begun = new Set<string>();
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
      case "call_progress": {
        const { id: callId, name, arguments: args } = chunk;
        if (!begun.has(callId)) deps.onCall?.(name);
        begun.add(callId);
        const given = args === undefined ? {} : { arguments: args };
        const behind = conversation.record({ type: "tool.call", step, callId, name, ...given });
        if (behind) await behind;
        break;
      }
      case "part":
        draft.parts.push(chunk.part);
        break;
      case "remote_call":
        await conversation.record(remoteCallNotice(chunk));
        break;
      case "usage":
        draft.usage = chunk.usage;
        break;
      case "retry": {
        const { localized, ...retry } = chunk;
        if (chunk.discarded) draft = { ...emptyDraft(), shown: true };
        await conversation.record({ ...retry, ...writtenFields(localized), type: "message.retry" });
        break;
      }
      case "notice": {
        const { localized, ...notice } = chunk;
        await conversation.record({ ...notice, ...writtenFields(localized) });
        break;
      }
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

/** Informs people of a call that the model's server has made: it is over, and stays with the reply. */
function remoteCallNotice(call: Extract<Chunk, { type: "remote_call" }>): NewEventOf<"notice"> {
  const server = oneLine(call.server, 60);
  const tool = oneLine(call.tool, 100);
  const args = oneLine(argumentsLine(call.arguments), SHOWN.args);
  const output = oneLine(call.output, SHOWN.output) || message`(nothing)`;
  const { failed } = call;
  const what = tool === "" ? message`could not list its tools` : `${tool}(${args})`;
  return newNotice(
    failed ? "warning" : "info",
    "mcp",
    failed
      ? message`${server} failed: ${what}: ${output}`
      : message`${server} was called: ${what}: ${output}`,
  );
}
