import { errorMessage, type Message, type NewEventOf } from "../../core/mod.ts";
import { TokenCounter } from "../tokens.ts";
import type { CompactionMethod, CompactionOptions, CompactionReport } from "./options.ts";
import { type CompactionPlan, type Plannable, plannable, type PrunePlan } from "./compaction_plan.ts";

export type Reason = "pressure" | "overflow" | "manual";

/** The outcome of a compaction, besides what it removes. */
export interface CompactionResult {
  readonly summary: string;
  readonly archive?: string;
}

/** The conversation with its token count, and the events that shorten it. */
export class TokenAccountant {
  readonly counter: TokenCounter;
  readonly #options: CompactionOptions;
  #seenUsage: unknown;

  constructor(options: CompactionOptions) {
    this.#options = options;
    this.counter = new TokenCounter({
      model: options.provider.model.id,
      ...(options.sendsReasoning ? { reasoning: true } : {}),
    });
  }

  /** Tokens of the next request. */
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

  /** The estimate; with a vocabulary when the rough one is too close to the limit to tell. */
  async preciseCount(limit: number): Promise<number> {
    const rough = this.estimate();
    if (this.counter.exact) return rough;
    const doubt = this.counter.calibrated ? 0.05 : 0.4;
    if (rough < limit * (1 - doubt) || rough > limit * (1 + doubt)) return rough;
    await this.counter.load();
    return this.estimate();
  }

  get view(): Plannable {
    return plannable(this.#options.conversation.state, (message) => this.counter.calibratedMessage(message));
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

  async compact(reason: Reason, plan: CompactionPlan, result: CompactionResult): Promise<void> {
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

  /** Keeps the originals; a failure is told and nothing more, because the session file has them as well. */
  async archive(messages: readonly Message[]): Promise<{ archive?: string }> {
    const { archive } = this.#options;
    if (!archive) return {};
    try {
      return { archive: await archive(messages) };
    } catch (error) {
      await this.notice(
        "warning",
        `The compacted messages could not be archived: ${
          errorMessage(error)
        }; the session file still has them`,
      );
      return {};
    }
  }

  report(method: CompactionMethod, tokensBefore: number): CompactionReport {
    return { method, tokensBefore, tokensAfter: this.estimate() };
  }

  async tell(report: CompactionReport): Promise<void> {
    const { method, tokensBefore, tokensAfter, problem, archive } = report;
    const [before, after] = [tokensBefore, tokensAfter].map((count) => count.toLocaleString("en"));
    const text = `Context shortened (${method}): ${before} → ${after} tokens` +
      (problem === undefined ? "" : `; ${problem}`) +
      (archive === undefined ? "" : "; the session keeps the originals");
    await this.notice(method === "extract" || problem !== undefined ? "warning" : "info", text);
  }

  async notice(level: "info" | "warning", text: string): Promise<void> {
    await this.#options.conversation.record({ type: "notice", level, code: "compaction", text });
  }
}
