import { errorMessage, type Message, message } from "../../core/mod.ts";
import { summaryMessage } from "./summary_message.ts";
import { type Reason, TokenAccountant } from "./token_accountant.ts";
import { type CompactionOptions, type CompactionReport, triggerOf } from "./options.ts";
import {
  type CompactionDepth,
  type CompactionPlan,
  pendingStart,
  planCompaction,
  planDrop,
  planPrune,
  tailStart,
} from "./compaction_plan.ts";
import { summarize, type SummaryOutcome } from "./summarize.ts";

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
/** After so many outages in a row the summary is made without the model. */
const MAX_OUTAGES = 3;
/** Characters an unseen output keeps when the server refuses the request as it is. */
const UNSEEN_STEPS = [6_000, 2_000, 600];

/** Makes room in a conversation. Contract: no method rejects because a summary could not be had. */
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

  /** Fill at which room is made between steps; undefined while there is enough. */
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

  /** Makes room when the window is nearly full. */
  async betweenSteps(signal: AbortSignal): Promise<void> {
    const full = signal.aborted ? undefined : this.pressure();
    if (!full) return;
    const { window, trigger } = full;
    const { settings } = this.#options;
    if (settings.strategy === "prune") return void await this.#drop("pressure", trigger * 0.6);
    if (settings.prune && await this.#prune("pressure", { window, goal: trigger * 0.85 })) return;
    await this.#summarizeRange({ reason: "pressure", goal: trigger * 0.8 }, signal);
  }

  /** Makes room after the server refused the conversation as too long; false when nothing is left to drop. */
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

  /** Compacts at the user's wish, whatever the fill. Who asked is told by the report, not by a notice. */
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
    await this.accountant.tell(this.accountant.report("prune", before));
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
    await this.accountant.tell({ ...report, problem: "the newest tool output did not fit as it was" });
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
    if (reason !== "manual") await this.accountant.tell(report);
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
    if (request.reason !== "manual") await this.accountant.tell(report);
    return report;
  }

  /** The shallowest fold that makes enough room, or the one that makes most. */
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
   * resort, and earlier summaries as long as they do not take up the room themselves.
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

  /** Reports whether an outage can be sat out: there is still room, and it has not lasted long. */
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
