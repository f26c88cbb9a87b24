import {
  addSpending,
  mergeSpending,
  NO_SPENDING,
  type Spending,
  totalCost,
  type UserInput,
} from "../core/mod.ts";
import { dispatch } from "./dispatch.ts";
import { RepeatGuard } from "./guard.ts";
import { costStop, providerFailure, type Stop, stopped, StopReason, type TurnOutcome } from "./outcome.ts";
import type { AgentDeps } from "./ports.ts";
import { type Reply, respond } from "./respond.ts";
import { CONTINUE_TEXT, submittedAnswer } from "./submit.ts";
import { loadTextCalls } from "../provider/mod.ts";

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
  parts: AgentDeps,
  input: UserInput,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const { conversation, limits } = parts;
  const now = parts.now ?? performance.now.bind(performance);
  const started = now();
  const turn = conversation.nextTurn;
  const progress: Progress = { steps: 0, spending: NO_SPENDING, answer: "" };
  parts.checkpointer?.begin(turn);
  await conversation.record({ type: "turn.start", turn });
  await conversation.record({
    type: "message.user",
    content: [...(input.references ?? []), input.text].join("\n\n"),
    ...(input.images?.length ? { images: [...input.images] } : {}),
    origin: input.origin ?? "user",
  });
  for (const content of [input.reminder, parts.turnPrompt?.(turn, parts.provider.model)]) {
    if (content) await conversation.record({ type: "message.user", content, origin: "reminder" });
  }
  const deadline = new Deadline(limits.timeMs, signal);
  const stop = await steps(parts, progress, deadline.signal);
  deadline.clear();
  takeSpent(parts, progress);
  const cost = totalCost(progress.spending, parts.provider.model.price?.currency);
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
  await Promise.all([conversation.sync(), parts.checkpointer?.end()]);
  return outcome;
}

async function steps(parts: AgentDeps, progress: Progress, signal: AbortSignal): Promise<Stop> {
  const { conversation, limits } = parts;
  const guard = new RepeatGuard();
  const review = new Review(parts);
  let emptyAnswers = 0;
  for (;;) {
    for (const text of parts.takeSteering?.() ?? []) {
      await conversation.record({ type: "message.user", content: text, origin: "steer" });
    }
    if (signal.aborted) return stopped(signal);
    takeSpent(parts, progress);
    const overspent = limits.cost === undefined ? undefined : costStop(progress.spending, limits.cost);
    if (overspent) return overspent;
    await parts.betweenSteps?.(signal);
    const reply = await respond(parts, progress.steps + 1, signal);
    const goesOn = reply.error !== undefined && await recovers(parts, reply, signal);
    // A request that was refused has cost nothing, and the one that follows can be counted.
    if (!goesOn || reply.usage) progress.spending = addSpending(progress.spending, reply);
    if (goesOn) continue;
    if (reply.error) return providerFailure(reply.error, signal);
    if (reply.text !== "") progress.answer = reply.text;
    if (reply.calls.length === 0) {
      if (reply.text === "") {
        const end = endOfEmpty(reply.finish, ++emptyAnswers);
        if (end) return end;
        continue;
      }
      if (!parts.submit) {
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
      const answer = parts.submit ? submittedAnswer(reply.calls) : undefined;
      if (answer !== undefined) progress.answer = answer;
      const batch = await dispatch(parts, reply.calls, guard, signal);
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
      const taken = progress.steps === 1 ? "1 step" : `${progress.steps} steps`;
      const detail = `Stopped after ${taken}: step limit reached`;
      return { reason: "limit", limit: "steps", detail, said: [["stepLimit", String(progress.steps)]] };
    }
  }
}

/** Adds what others have spent for the turn. */
function takeSpent({ takeSpent }: AgentDeps, progress: Progress): void {
  for (const spent of takeSpent?.() ?? []) progress.spending = mergeSpending(progress.spending, spent);
}

/** Mends what made a request fail, by a shorter conversation or by another model. */
async function recovers(parts: AgentDeps, { error, shown }: Reply, signal: AbortSignal): Promise<boolean> {
  if (!error || signal.aborted) return false;
  if (error.kind === "context_length" && await parts.onContextOverflow?.(signal)) return true;
  return !shown && !signal.aborted && await parts.onFailure?.(error, parts.provider) === true;
}

/** Judges the form of answers: the first that is wrong goes back to the model, the second ends the turn. */
class Review {
  readonly #parts: AgentDeps;
  #returned = false;
  #asked = false;

  constructor(parts: AgentDeps) {
    this.#parts = parts;
  }

  /** Tells whether the model was asked, once in a turn, about a call in its answer that was not executed. */
  async asksAboutCall(answer: string): Promise<boolean> {
    const content = await unexecutedCall(this.#parts, answer);
    if (content === undefined || this.#asked) return false;
    this.#asked = true;
    await this.#parts.conversation.record({ type: "message.user", content, origin: "continue" });
    return true;
  }

  /** Returns how an answer ends the turn; undefined when another one is awaited. */
  async of(answer: string, signal: AbortSignal): Promise<Stop | undefined> {
    const { answerForm, conversation } = this.#parts;
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

  /** What else has a say in whether the turn may end. */
  async #others(answer: string, signal: AbortSignal): Promise<Stop | undefined> {
    const { reviewAnswer, conversation } = this.#parts;
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
    detail: "The model returned an empty answer twice; try again or use another model",
    said: [["emptyTwice"]],
  };
}

function endOfAnswer(finish: string | undefined): Stop {
  if (finish === "content_filter") {
    return {
      reason: "provider",
      detail: "The provider's content filter ended the answer",
      said: [["filtered"]],
    };
  }
  if (finish === "length") {
    return {
      reason: "failed",
      detail: "The answer was cut at the model's output limit; raise max_output_tokens",
      said: [["cutAtLimit"]],
    };
  }
  return { reason: "done" };
}

/** The turn's signal: the caller's, or the time limit. */
class Deadline {
  readonly signal: AbortSignal;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeMs: number | undefined, parent: AbortSignal) {
    if (!timeMs) {
      this.signal = parent;
      return;
    }
    const limit = new AbortController();
    const detail = `Stopped after ${timeMs / 1000} s: time limit reached`;
    this.#timer = setTimeout(
      () => limit.abort(new StopReason("limit", detail, ["timeLimit", String(timeMs / 1000)])),
      timeMs,
    );
    this.signal = AbortSignal.any([parent, limit.signal]);
  }

  clear(): void {
    // Even clearing nothing would load the timer module, which takes milliseconds.
    if (this.#timer !== undefined) clearTimeout(this.#timer);
  }
}

/**
 * Looks for a call in an answer that was not executed. Tells the user when the model's server did not
 * recognise one; returns what to tell a model that writes its calls as text and has put one where it does not
 * count.
 */
async function unexecutedCall(parts: AgentDeps, answer: string): Promise<string | undefined> {
  const { conversation, provider } = parts;
  // Most answers have no sign of a call, and need not wait for the code that reads them.
  if (provider.model.toolMode === "none" || !/```|~~~|[<{[]/.test(answer)) return undefined;
  const tools = new Map(conversation.prefix.tools.map((tool) => [tool.name, tool]));
  const { fencedCalls, readTextCalls } = await loadTextCalls();
  if (provider.model.toolMode === "pseudo") {
    const [call] = fencedCalls(answer, tools);
    return call &&
      `The call of ${call.name} stands in a code fence, so it was not executed. If you meant it, ` +
        "write it again as plain lines without a fence; else repeat your answer without it.";
  }
  const [call] = readTextCalls(answer, tools);
  if (!call) return undefined;
  await conversation.record({
    type: "notice",
    level: "warning",
    code: "text-call",
    text: `The model wrote a call of ${call.name} as text, which is not executed; ` +
      `if that was its intention, set tool_mode = "pseudo" for provider "${provider.name}"`,
    said: [["textCall", call.name, provider.name]],
  });
  return undefined;
}
