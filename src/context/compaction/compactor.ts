import {
  clausesOf,
  errorMessage,
  type LocalizedMessage,
  type Message,
  message,
  type NewEventOf,
  newNotice,
  type Text,
} from "../../core/mod.ts";
import { type MessageSource, prunedOutput } from "../../session/mod.ts";
import { TokenCounter } from "../tokens.ts";
import {
  type CompactionMethod,
  type CompactionOptions,
  type CompactionReport,
  triggerOf,
} from "./options.ts";
import { summarize, summaryMessage, type SummaryOutcome } from "./summary.ts";

/** A conversation as plans see it; `weigh` gives the tokens of a message. */
interface Plannable {
  readonly messages: readonly Message[];
  readonly sources: readonly MessageSource[];
  readonly weigh: (message: Message) => number;
}

/** The messages a compaction may remove. */
interface CompactionDepth {
  /** Tokens of the newest messages that stay as they are. */
  readonly tail: number;
  /** User turns longer than this many characters are removed too. */
  readonly keepBelow: number;
  readonly summaries: boolean;
}

/** A range of events and the messages of it that will be gone. */
interface CompactionPlan extends CompactionDepth {
  readonly from: number;
  readonly to: number;
  readonly removed: readonly Message[];
  readonly freed: number;
}

/**
 * Plans the removal of everything before the newest messages, by the survival rules of docs/context.md;
 * undefined when nothing can go. Results the model has not seen yet are never part of it, and no result is
 * separated from its call.
 */
function planCompaction(state: Plannable, depth: CompactionDepth): CompactionPlan | undefined {
  const boundary = tailStart(state, depth.tail);
  const indexes = range(0, boundary).filter((i) => isRemovable(state, i, depth));
  return planOf(state, depth, indexes);
}

/** The plan that removes these messages, which are in order; undefined when there are none. */
function planOf(
  state: Plannable,
  depth: CompactionDepth,
  indexes: readonly number[],
): CompactionPlan | undefined {
  const first = indexes[0];
  const last = indexes.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const removed = indexes.flatMap((i) => state.messages[i] ?? []);
  return {
    ...depth,
    from: seqAt(state, first),
    to: seqAt(state, last),
    removed,
    freed: sum(removed, state.weigh),
  };
}

function isRemovable(state: Plannable, index: number, depth: CompactionDepth): boolean {
  const message = state.messages[index];
  switch (state.sources[index]?.kind) {
    case "user":
      return message !== undefined && message.content.length > depth.keepBelow;
    case "summary":
      return depth.summaries;
    case "pinned":
    case undefined:
      return false;
    default:
      return true;
  }
}

/**
 * Returns where the part begins that stays: enough of the newest messages, never beginning with a result,
 * never cutting unseen ones off.
 */
function tailStart(state: Plannable, tokens: number): number {
  const { messages } = state;
  let boundary = messages.length;
  for (let left = tokens; boundary > 0; boundary--) {
    const message = messages[boundary - 1];
    left -= message ? state.weigh(message) : 0;
    if (left < 0) break;
  }
  boundary = Math.min(boundary, pendingStart(messages));
  while (boundary > 0 && messages[boundary]?.role === "tool") boundary--;
  return boundary;
}

/** Index of the last reply when its results have not been answered yet, else of what came after it. */
function pendingStart(messages: readonly Message[]): number {
  const last = messages.findLastIndex((message) => message.role === "assistant");
  const reply = messages[last];
  return reply?.role === "assistant" && reply.calls?.length ? last : last + 1;
}

interface PrunePlan {
  readonly from: number;
  readonly to: number;
  readonly keepBelow: number;
  readonly keepHead: number;
  readonly keepTail: number;
  readonly digest: string;
  readonly freed: number;
}

interface PruneDepth {
  /** Index of the first message that stays as it is. */
  readonly end: number;
  readonly keepHead: number;
  readonly keepTail: number;
  readonly isKept?: (message: Message) => boolean;
}

const MARKER = "\n[… output shortened to make room; run the call again if the rest is needed …]\n";

/** Prunes of the outputs before `end`: one per stretch between outputs that must stay whole. */
function planPrune(state: Plannable, depth: PruneDepth): PrunePlan[] {
  const shape = { ...depth, keepBelow: 2 * (depth.keepHead + depth.keepTail), digest: MARKER };
  const plans: PrunePlan[] = [];
  let open: { from: number; to: number; freed: number } | undefined;
  const close = () => {
    if (open) {
      const { keepBelow, keepHead, keepTail, digest } = shape;
      plans.push({ ...open, keepBelow, keepHead, keepTail, digest });
    }
    open = undefined;
  };
  for (let i = 0; i < depth.end; i++) {
    const message = state.messages[i];
    if (message?.role !== "tool" || message.content.length <= shape.keepBelow) continue;
    if (depth.isKept?.(message)) {
      close();
      continue;
    }
    const short = { ...message, content: prunedOutput(message.content, shape) };
    const freed = (open?.freed ?? 0) + state.weigh(message) - state.weigh(short);
    open = { from: open?.from ?? seqAt(state, i), to: seqAt(state, i), freed };
  }
  close();
  return plans;
}

/** The oldest part after the first task, so that about `tokens` stay; undefined when nothing can go. */
function planDrop(state: Plannable, tokens: number): CompactionPlan | undefined {
  const { messages, sources } = state;
  const task = sources.findIndex((source) => source.kind === "user");
  const end = pendingStart(messages);
  const after = weightsFromEnd(state);
  const starts = range(task + 2, end + 1).filter((i) => i < messages.length && messages[i]?.role !== "tool");
  const enough = starts.find((i) => (after[i] ?? 0) <= tokens) ?? starts.at(-1);
  if (enough === undefined) return undefined;
  // What the user says after an answer; the harness may say it for them.
  const begins = (i: number) => messages[i]?.role === "user" && messages[i - 1]?.role !== "user";
  const turn = starts.find((i) => i >= enough && begins(i));
  const boundary = turn !== undefined && (after[turn] ?? 0) >= tokens / 2 ? turn : enough;
  const depth = { tail: 0, keepBelow: 0, summaries: true };
  const indexes = range(task + 1, boundary).filter((i) => isRemovable(state, i, depth));
  return planOf(state, depth, indexes);
}

/** For each index the tokens of the message there and all that follow. */
function weightsFromEnd({ messages, weigh }: Plannable): number[] {
  const weights = Array.from({ length: messages.length }, () => 0);
  for (let i = messages.length - 1, total = 0; i >= 0; i--) {
    const message = messages[i];
    weights[i] = total += message ? weigh(message) : 0;
  }
  return weights;
}

function seqAt(state: Plannable, index: number): number {
  return state.sources[index]?.seq ?? 0;
}

function sum(messages: readonly Message[], weigh: (message: Message) => number): number {
  return messages.reduce((total, message) => total + weigh(message), 0);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}

type Reason = "pressure" | "overflow" | "manual";

/** The conversation with its token count, and the events that shorten it. */
class TokenAccountant {
  readonly counter: TokenCounter;
  readonly #options: CompactionOptions;
  #seenUsage: unknown;

  constructor(options: CompactionOptions) {
    this.#options = options;
    this.counter = new TokenCounter({
      sendsReasoning: options.sendsReasoning,
      sentPrefix: options.provider.sentPrefix,
    });
  }

  estimate(): number {
    const { conversation } = this.#options;
    const { state } = conversation;
    if (state.lastUsage && state.lastUsage !== this.#seenUsage) {
      this.#seenUsage = state.lastUsage;
      const reply = state.messages.findLastIndex((message) => message.role === "assistant");
      if (reply >= 0) {
        this.counter.observe(conversation.prefix, state.messages, reply, state.lastUsage.inputTokens);
      }
    }
    return this.counter.estimate(conversation.prefix, state.messages);
  }

  get view(): Plannable {
    const { messages, sources } = this.#options.conversation.state;
    return { messages, sources, weigh: (message) => this.counter.calibratedMessage(message) };
  }

  async prune(reason: Reason, plans: readonly PrunePlan[]): Promise<void> {
    for (const { freed, ...plan } of plans) {
      const before = this.estimate();
      await this.#options.conversation.record({
        type: "compaction",
        reason,
        action: "prune",
        ...plan,
        tokensBefore: before,
        tokensAfter: Math.max(0, Math.round(before - freed)),
      });
    }
  }

  async compact(
    reason: Reason,
    plan: CompactionPlan,
    result: { readonly summary: string; readonly archive?: string },
  ): Promise<void> {
    const before = this.estimate();
    const message: Message = { role: "user", content: result.summary };
    const added = result.summary === "" ? 0 : this.counter.calibratedMessage(message);
    const event: NewEventOf<"compaction"> = {
      type: "compaction",
      reason,
      from: plan.from,
      to: plan.to,
      digest: result.summary,
      keepBelow: plan.keepBelow,
      ...(plan.summaries ? { digests: true } : {}),
      ...(result.archive === undefined ? {} : { archive: result.archive }),
      tokensBefore: before,
      tokensAfter: Math.max(0, Math.round(before - plan.freed + added)),
    };
    await this.#options.conversation.record(event);
  }

  /** Archives the originals; a failure is only a notice, because the session file has them as well. */
  async archive(messages: readonly Message[]): Promise<{ archive?: string }> {
    const { archive } = this.#options;
    if (!archive) return {};
    try {
      return { archive: await archive(messages) };
    } catch (error) {
      const problem = errorMessage(error);
      await this.notice(
        "warning",
        message`The compacted messages could not be archived: ${problem}; the session file still has them`,
      );
      return {};
    }
  }

  report(method: CompactionMethod, tokensBefore: number): CompactionReport {
    return { method, tokensBefore, tokensAfter: this.estimate() };
  }

  async notify(report: CompactionReport): Promise<void> {
    const { method, tokensBefore, tokensAfter, problem, archive } = report;
    const before = tokensBefore.toLocaleString("en");
    const after = tokensAfter.toLocaleString("en");
    const text = clausesOf([
      message`Context compacted (${METHODS[method]}): ${before} → ${after} tokens`,
      ...(problem === undefined ? [] : [problem]),
      ...(archive === undefined ? [] : [message`the session keeps the originals`]),
    ]);
    const level = method === "extract" || problem !== undefined ? "warning" : "info";
    await this.notice(level, text);
  }

  async notice(level: "info" | "warning", text: LocalizedMessage): Promise<void> {
    await this.#options.conversation.record(newNotice(level, "compaction", text));
  }
}

const METHODS: Readonly<Record<CompactionMethod, Text>> = {
  prune: message`prune`,
  summary: message`summary`,
  "summary of shortened outputs": message`summary of shortened outputs`,
  "summary in parts": message`summary in parts`,
  extract: message`extract`,
  drop: message`drop`,
  none: "none",
};

interface CompactionRequest {
  readonly reason: Reason;
  /** Tokens the conversation should have afterwards. */
  readonly goal: number;
  readonly hint?: string;
  /** The server refuses the conversation, and nothing else is left to shorten. */
  readonly lastResort?: boolean;
}

/** Part of the goal that the newest messages may take. */
const TAIL_PART = 0.2;
/** Part of the goal that earlier summaries may take before they are merged into the new one. */
const SUMMARY_PART = 0.4;
/** A prune that frees less than this part of the window is not worth the lost cache. */
const WORTH = 0.15;
/** After this many consecutive outages, the summary is made without the model. */
const MAX_OUTAGES = 3;
/** Characters an unseen output keeps when the server refuses the request as it is. */
const UNSEEN_STEPS = [6_000, 2_000, 600];

/** Shortens a conversation. Contract: no method rejects because a summary could not be had. */
export class Compactor {
  readonly accountant: TokenAccountant;
  readonly #options: CompactionOptions;
  /** The server refused a request of this size, whatever the configuration says. */
  #refused = Infinity;
  #outages = 0;
  /** No new attempt below this many tokens. */
  #notBelow = 0;

  constructor(options: CompactionOptions) {
    this.#options = options;
    this.accountant = new TokenAccountant(options);
  }

  /** The smallest size that is known not to fit. */
  get #limit(): number {
    return Math.min(this.#options.window() || Infinity, this.#refused);
  }

  /** Fill at which compaction begins between steps; undefined below it. */
  pressure(): { readonly window: number; readonly trigger: number } | undefined {
    const { settings } = this.#options;
    const window = Math.min(this.#options.window(), this.#refused);
    if (!settings.auto || window <= 0) return undefined;
    const trigger = triggerOf(window, settings.ratio, this.#options.provider.model.maxOutputTokens);
    const tokens = this.accountant.estimate();
    return tokens < Math.max(trigger, this.#notBelow) ? undefined : { window, trigger };
  }

  /** Leaves the conversation as it is until it has grown by a part. */
  wait(): void {
    this.#notBelow = this.accountant.estimate() + this.#options.window() * 0.03;
  }

  async betweenSteps(signal: AbortSignal): Promise<void> {
    const full = signal.aborted ? undefined : this.pressure();
    if (!full) return;
    const { window, trigger } = full;
    const { settings } = this.#options;
    if (settings.strategy === "prune") return void await this.#drop("pressure", trigger * 0.6);
    if (settings.prune && await this.#prune("pressure", { window, goal: trigger * 0.85 })) return;
    await this.#summarizeRange({ reason: "pressure", goal: trigger * 0.8 }, signal);
  }

  /** Compacts after the server refused the conversation as too long; false when nothing is left to drop. */
  async onContextOverflow(signal: AbortSignal): Promise<boolean> {
    const { settings } = this.#options;
    const tokens = this.accountant.estimate();
    this.#refused = Math.min(this.#refused, tokens);
    const goal = this.#limit * 0.6;
    if (settings.strategy === "prune") return await this.#drop("overflow", goal) !== undefined;
    if (settings.prune && await this.#prune("overflow", { window: tokens, goal: tokens * 0.8 })) return true;
    const report = await this.#summarizeRange({ reason: "overflow", goal }, signal);
    if (report.method !== "none") return true;
    if (signal.aborted) return false;
    if (await this.#shortenUnseen(goal)) return true;
    return (await this.#summarizeRange({ reason: "overflow", goal, lastResort: true }, signal)).method !==
      "none";
  }

  /** Compacts at the user's request, whatever the fill. The caller gets a report instead of a notice. */
  async compact(hint: string | undefined, signal: AbortSignal): Promise<CompactionReport> {
    const tokens = this.accountant.estimate();
    const goal = Math.min(tokens, this.#options.window() || Infinity) * 0.5;
    if (this.#options.settings.strategy === "prune") {
      return await this.#drop("manual", goal) ?? this.accountant.report("none", tokens);
    }
    this.#outages = MAX_OUTAGES;
    return await this.#summarizeRange({ reason: "manual", goal, ...(hint ? { hint } : {}) }, signal);
  }

  /**
   * Shortens old outputs if that alone frees enough; otherwise leaves them for the summary, which is read
   * from cache then.
   */
  async #prune(reason: Reason, { window, goal }: { window: number; goal: number }): Promise<boolean> {
    const view = this.accountant.view;
    const end = Math.min(tailStart(view, window * TAIL_PART), pendingStart(view.messages));
    const isKept = (message: Message) => this.#options.carry?.(message) !== undefined;
    const plans = planPrune(view, { end, keepHead: 800, keepTail: 400, isKept });
    const before = this.accountant.estimate();
    const freed = plans.reduce((sum, plan) => sum + plan.freed, 0);
    if (freed < window * WORTH || before - freed > goal) return false;
    await this.accountant.prune(reason, plans);
    await this.accountant.notify(this.accountant.report("prune", before));
    return true;
  }

  /** Results the model has not read are shortened only here: the server takes them in no other way. */
  async #shortenUnseen(goal: number): Promise<boolean> {
    const before = this.accountant.estimate();
    for (const keep of UNSEEN_STEPS) {
      const view = this.accountant.view;
      const plans = planPrune(view, {
        end: view.messages.length,
        keepHead: Math.floor(keep * 0.65),
        keepTail: Math.floor(keep * 0.35),
      });
      if (plans.length === 0) continue;
      await this.accountant.prune("overflow", plans);
      if (this.accountant.estimate() <= goal) break;
    }
    const report = this.accountant.report("prune", before);
    if (report.tokensAfter >= before) return false;
    await this.accountant.notify({ ...report, problem: "the newest tool output did not fit as it was" });
    return true;
  }

  async #drop(reason: Reason, goal: number): Promise<CompactionReport | undefined> {
    const before = this.accountant.estimate();
    const messages = this.accountant.view.messages.reduce(
      (sum, message) => sum + this.accountant.counter.calibratedMessage(message),
      0,
    );
    const plan = planDrop(this.accountant.view, Math.max(0, goal - (before - messages)));
    if (!plan) return undefined;
    const archive = await this.accountant.archive(plan.removed);
    await this.accountant.compact(reason, plan, { summary: "", ...archive });
    const report = { ...this.accountant.report("drop", before), removed: plan.removed.length, ...archive };
    if (reason !== "manual") await this.accountant.notify(report);
    return report;
  }

  async #summarizeRange(request: CompactionRequest, signal: AbortSignal): Promise<CompactionReport> {
    const before = this.accountant.estimate();
    const limit = this.#summaryLimit(request.reason, before);
    const plan = this.#choose(request, limit);
    if (!plan) return this.accountant.report("none", before);
    const outcome = await this.#summarize(request, { plan, limit }, signal);
    if (signal.aborted) return this.accountant.report("none", before);
    if (outcome.text === undefined && this.#mayWait(outcome, before)) {
      const why = outcome.problem ?? "no summary could be had";
      await this.accountant.notice("warning", message`Compaction waits: ${why}`);
      return this.accountant.report("none", before);
    }
    this.#outages = 0;
    this.#notBelow = 0;
    const carried = this.#carried(plan);
    const archive = await this.accountant.archive(plan.removed);
    const summary = summaryMessage({
      ...(outcome.text === undefined ? {} : { summary: outcome.text }),
      removed: plan.removed,
      describe: this.#options.describe,
      todos: this.#options.conversation.state.todos,
      keepBelow: plan.keepBelow,
      maxChars: limit * 4,
      ...archive,
    });
    await this.accountant.compact(request.reason, plan, { summary, ...archive });
    for (const content of carried) {
      await this.#options.conversation.record({ type: "message.user", content, origin: "context" });
    }
    const report: CompactionReport = {
      ...this.accountant.report(outcome.text === undefined ? "extract" : outcome.method ?? "summary", before),
      removed: plan.removed.length,
      ...archive,
      ...(outcome.problem === undefined ? {} : { problem: outcome.problem }),
    };
    if (request.reason !== "manual") await this.accountant.notify(report);
    return report;
  }

  /** The shallowest compaction that frees enough, or the one that frees most. */
  #choose(request: CompactionRequest, limit: number): CompactionPlan | undefined {
    const { goal } = request;
    const view = this.accountant.view;
    const before = this.accountant.estimate();
    let best: CompactionPlan | undefined;
    for (const depth of this.#depths(request, before)) {
      const plan = planCompaction(view, depth);
      if (!plan || plan.freed <= limit * 1.1 || plan.freed <= (best?.freed ?? 0)) continue;
      best = plan;
      if (before - plan.freed + limit <= goal) return plan;
    }
    return best;
  }

  /**
   * Returns how deep a compaction may go, shallowest first. Small user turns are safe in all but the last
   * resort, and earlier summaries as long as they do not take up the window themselves.
   */
  #depths({ goal, lastResort }: CompactionRequest, tokens: number): CompactionDepth[] {
    const window = this.#limit === Infinity ? tokens : this.#limit;
    const keepBelow = Math.min(8_000, Math.max(1_000, Math.floor(window / 4)));
    if (lastResort) {
      return [1, 4, 16].map((part) => ({
        tail: 0,
        keepBelow: Math.floor(keepBelow / part),
        summaries: true,
      }));
    }
    const summaries = this.#summaryTokens() > goal * SUMMARY_PART;
    return [{ tail: goal * TAIL_PART, keepBelow, summaries }, {
      tail: 0,
      keepBelow,
      summaries,
    }];
  }

  #summaryTokens(): number {
    const { messages, sources } = this.#options.conversation.state;
    return messages.reduce(
      (sum, message, i) =>
        sources[i]?.kind === "summary" ? sum + this.accountant.counter.calibratedMessage(message) : sum,
      0,
    );
  }

  async #summarize(
    request: CompactionRequest,
    { plan, limit }: { plan: CompactionPlan; limit: number },
    signal: AbortSignal,
  ): Promise<SummaryOutcome> {
    const { conversation, summaryProvider, provider, hooks } = this.#options;
    const window = this.#limit;
    try {
      const hint = [request.hint, hooks?.guide()].filter((text) => text).join("\n");
      return await summarize({
        provider: await summaryProvider?.() ?? provider,
        conversation,
        removed: plan.removed,
        limit,
        window: window === Infinity ? undefined : window,
        tokens: this.accountant.estimate(),
        replacesSummaries: plan.summaries,
        ...(hint === "" ? {} : { hint }),
      }, signal);
    } catch (error) {
      return { problem: errorMessage(error) };
    }
  }

  /** Reports whether an outage can be sat out: the window is not full, and it has not lasted long. */
  #mayWait(outcome: SummaryOutcome, tokens: number): boolean {
    const window = Math.min(this.#options.window() || 0, this.#refused);
    if (!outcome.outage || tokens > window * 0.93 || ++this.#outages >= MAX_OUTAGES) return false;
    this.#notBelow = tokens + window * 0.03;
    return true;
  }

  /** Tokens of the summary; a small conversation that is compacted by hand gets a small one. */
  #summaryLimit(reason: Reason, tokens: number): number {
    const { settings } = this.#options;
    if (settings.maxSummaryTokens > 0) return settings.maxSummaryTokens;
    const window = Math.min(this.#limit, 100_000, reason === "manual" ? tokens * 2 : Infinity);
    return Math.max(300, Math.floor(window / 16));
  }

  #carried(plan: CompactionPlan): string[] {
    const { carry, conversation } = this.#options;
    const standing = new Set(conversation.state.messages.map((message) => message.content));
    for (const message of plan.removed) standing.delete(message.content);
    const texts = plan.removed.flatMap((message) => carry?.(message) ?? []);
    return [...new Set(texts)].filter((text) => !standing.has(text));
  }
}
